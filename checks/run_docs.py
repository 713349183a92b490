"""Runs every command and every Python snippet of README.md, CONTRIBUTING.md and docs/*.md, in order.

    python checks/run_docs.py            # after `cargo build --release`

Blocks marked `sh` and `python` are run, file by file, each file in a scratch folder of its own with
`driftless` on the path; blocks with `cargo` run in the repository, which Python knows as REPOSITORY. Other
blocks are left alone.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run(block: str, language: str, scratch: str) -> subprocess.CompletedProcess:
    path = f"{REPOSITORY / 'target' / 'release'}{os.pathsep}{os.path.dirname(sys.executable)}{os.pathsep}"
    environment = {**os.environ, "PATH": path + os.environ["PATH"]}
    preamble = f"import pathlib\nREPOSITORY = pathlib.Path({str(REPOSITORY)!r})\n"
    command = [sys.executable, "-c", preamble + block] if language == "python" else ["bash", "-euo", "pipefail", "-c", block]
    folder = REPOSITORY if "cargo " in block else scratch
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def main() -> int:
    ran = 0
    for page in [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]:
        with tempfile.TemporaryDirectory() as scratch:
            for language, block in BLOCK.findall(page.read_text()):
                # The test command is CI's own step; running it here would run it twice.
                if language not in ("sh", "python") or block.startswith("cargo test"):
                    continue
                result = run(block, language, scratch)
                ran += 1
                if result.returncode:
                    print(f"{page.relative_to(REPOSITORY)}: this block failed:\n{block}\n{result.stdout}{result.stderr}")
                    return 1
    print(f"{ran} blocks ran")
    return 0 if ran else 1


if __name__ == "__main__":
    sys.exit(main())
