"""Counts how often the heart of a particle filter is written down, and where code knows the lines of a table by name, and
compares with the tables in ARCHITECTURE.md.

    python checks/counts.py

Each piece is known by what any copy of it must contain; tests are not looked at. A new copy changes a count, and CI fails
until somebody has thought about it.
"""

import pathlib
import re
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
CRATES = ["driftless-core", "driftless-kernels", "driftless"]
ALL = [*CRATES, "driftless-world", "driftless-cli"]

# A piece, and the expressions that mark one copy of it. All must be found in one file for a filter step, any line counts
# for the others.
PIECES = {
    # Ancestors are drawn, particles moved and weights renewed in one place.
    "filter steps": [r"resampl|ancestors", r"propagate\(|\.advance\(|moved\(model|drive\(", r"\.?reweight\(|\.weigh\("],
    # exp(x - highest), summed.
    "log-sum-exp": [r"fn log_(sum|mean)_?\w*[<(]|\b(most|highest|largest)\)\.exp\(\).*sum"],
    # Markers (j + u) / N.
    "systematic resampling": [r"as f64 \+ (uniform\(\)|u|offset|uniforms\[0\])\)"],
    # Code that asks for one of the table's ids. Whoever adds a line would have to look there, too.
    "which layout": [r"(format|kind|layout)\.id [!=]= \"|FileKind::"],
    "which simulated world": [r"world(\.as_str\(\))? [!=]= \"|\"(house|maze\d)\" =>"],
    # forward c - left s, in any order and whatever it is called; not where it is divided by a length: that is a derivative.
    "SE(2) composition": [
        r"\b(c|cos|cosine)(\.clone\(\))? \* [\w\[\]().]+ - (s|sin|sine)(\.clone\(\))? \* "
        r"|\* (c|cos|cosine)(\.clone\(\))? - ([\w\[\]().]+ \* (s|sin|sine)\b(?!\) /)|across)"
    ],
}


def sources():
    for crate in ALL:
        for path in sorted((REPOSITORY / "crates" / crate / "src").rglob("*.rs")):
            if "tests" in path.parts or path.name in ("tests.rs", "testing.rs", "contract.rs"):
                continue
            code = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
            yield crate, path.relative_to(REPOSITORY), "\n".join(
                line for line in code.splitlines() if not line.lstrip().startswith("//")
            )


def found():
    counts = {piece: [] for piece in PIECES}
    for crate, path, code in sources():
        for piece, marks in PIECES.items():
            if crate not in CRATES and not piece.startswith(("which", "SE(2)")):
                continue
            if piece == "filter steps":
                if all(re.search(mark, code) for mark in marks):
                    counts[piece].append(str(path))
            else:
                counts[piece] += [str(path) for _ in re.finditer(marks[0], code)]
    return counts


def main() -> int:
    table = (REPOSITORY / "ARCHITECTURE.md").read_text()
    wrong = 0
    for piece, places in found().items():
        row = re.search(rf"^\| {re.escape(piece)} \| (\d+) \|", table, re.MULTILINE)
        expected = int(row.group(1)) if row else None
        print(f"{piece}: {len(places)}" + "".join(f"\n  {place}" for place in places))
        if expected != len(places):
            print(f"  ARCHITECTURE.md says {expected}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
