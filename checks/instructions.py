"""Counts the instructions of each hot kernel under callgrind and compares them with checks/instructions.json.

Wall-clock times say little on a busy machine; instructions are the same again and again. `--update` writes the counts
down. A kernel that needs 10 % more than was written down fails; one that needs 10 % less asks to be written down.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

WRITTEN = Path(__file__).with_name("instructions.json")
KERNELS = [
    "product",
    "encode-images",
    "learn-images",
    "learn-decoder",
    "learn-scan",
    "learn-lstm",
    "online-step",
    "normal-numbers",
]
TIMES = 4
# Compilers differ by a few per cent; a lost vectorisation costs far more.
MARGIN = 0.10


def binary():
    build = ["cargo", "bench", "-p", "driftless-kernels", "--bench", "kernels", "--no-run", "--message-format=json"]
    lines = subprocess.run(build, check=True, capture_output=True, text=True).stdout.splitlines()
    made = [json.loads(line).get("executable") for line in lines if '"executable"' in line]
    return next(path for path in made if path and "kernels" in path)


def collected(program, kernel, times):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, "--count", kernel, str(times)]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"callgrind failed on {kernel}:\n{done.stderr}")
    return int(found.group(1))


def main():
    program = binary()
    # The first run makes room; what is counted are the others.
    counts = {k: (collected(program, k, 1 + TIMES) - collected(program, k, 1)) // TIMES for k in KERNELS}
    if "--update" in sys.argv:
        WRITTEN.write_text(json.dumps(counts, indent=2) + "\n")
        print(f"{WRITTEN} is written")
        return
    written, failed = json.loads(WRITTEN.read_text()), False
    for kernel, count in counts.items():
        ratio = count / written[kernel]
        verdict = "slower" if ratio > 1 + MARGIN else "faster: run with --update" if ratio < 1 - MARGIN else "as before"
        failed |= ratio > 1 + MARGIN
        print(f"{kernel:<16} {count:>12,} instructions, {100 * ratio:.1f} % of before: {verdict}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
