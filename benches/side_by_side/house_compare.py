"""Runs both contenders in turns and prints what each reached, with ratios: house_compare.py DRIFTLESS INPUTS ROUNDS."""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
STEPS = 3


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def driftless(binary):
    found = run(binary, "bench", "house", "--json", "--rounds", STEPS)
    return {
        "training step, s": found["training_seconds"]["min"],
        "memory, MiB": found["peak_memory_mib"],
        "step in use, 1000 particles, s": found["seconds_a_step"]["min"],
    }


def pytorch(inputs):
    program = [sys.executable, HERE / "house_torch.py", inputs, "--json", "--rounds", STEPS]
    training = run(*program, "--objective", "sdpf", "--noise-metres", 0.04, "--noise-degrees", 5)
    using = run(*program, "--evaluate")
    return {
        "training step, s": training["min_s"],
        "memory, MiB": training["memory_mib"],
        "step in use, 1000 particles, s": using["min_s"],
    }


def main():
    binary, inputs, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    ours, theirs = [], []
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
        ours.append(driftless(binary))
        theirs.append(pytorch(inputs))
    print(f"best of {rounds} rounds\n\n| job | Driftless | PyTorch | ratio |\n|---|---|---|---|")
    for key in ours[0]:
        a, b = (min(found[key] for found in contender) for contender in (ours, theirs))
        print(f"| {key} | {a:.4g} | {b:.4g} | {b / a:.1f}x |")


if __name__ == "__main__":
    main()
