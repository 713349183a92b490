"""Runs the three contenders in turns and prints what each reached, with ratios: compare.py DRIFTLESS FOLDER ROUNDS."""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
STEPS = 8
# Sums in other orders in 32 bits move the loss by so much: ties in resampling.
AGREE = 0.003
GRADIENTS_AGREE = 0.02


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def driftless(binary, folder):
    found = run(binary, "bench", "--json", "--rounds", STEPS, "--single-steps", 20000, "--peer-data", folder)
    online = {o["particles"]: o for o in found["online"]}
    return {
        "loss": found["peers"]["loss"],
        "gradient norm": found["peers"]["gradient_norm"],
        "training step, s": found["training"]["seconds"]["min"],
        "memory, MiB": found["training"]["peak_memory_mib"],
        "online N=100, us": online[100]["microseconds"]["min"],
        "online N=10000, us": online[10000]["microseconds"]["min"],
        "training step, GFLOP/s": found["training"]["gflops"],
        "GEMM peak, GFLOP/s": found["gemm_gflops"],
    }


def python(program, folder):
    found = run(sys.executable, HERE / program, folder, STEPS)
    return {
        "loss": found["loss"],
        "gradient norm": found["gradient_norm"],
        "training step, s": min(found["training_s"]),
        "memory, MiB": found["memory_mib"],
        "online N=100, us": min(found["online_us"]["100"]),
        "online N=10000, us": min(found["online_us"]["10000"]),
        "version": found["version"],
    }


def best(rounds):
    """The least time of all rounds; rates are largest at best."""
    largest = {"training step, GFLOP/s", "GEMM peak, GFLOP/s"}
    pick = lambda key, values: values[0] if key == "version" else (max if key in largest else min)(values)
    return {key: pick(key, [found[key] for found in rounds]) for key in rounds[0]}


def main():
    binary, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    contenders = {
        "Driftless": lambda: driftless(binary, folder),
        "PyTorch": lambda: python("with_torch.py", folder),
        "JAX": lambda: python("with_jax.py", folder),
    }
    found = {name: [] for name in contenders}
    for number in range(rounds):
        for name, contender in contenders.items():
            print(f"round {number + 1} of {rounds}: {name}", file=sys.stderr)
            found[name].append(contender())
    found = {name: best(rounds) for name, rounds in found.items()}
    ours = found["Driftless"]
    ours["share of GEMM peak"] = ours["training step, GFLOP/s"] / ours["GEMM peak, GFLOP/s"]
    print(f"PyTorch {found['PyTorch']['version']}, JAX {found['JAX']['version']}, best of {rounds} rounds\n")
    print("| job | Driftless | PyTorch | JAX | against PyTorch | against JAX |")
    print("|---|---|---|---|---|---|")
    for key in ours:
        cells = [found[name].get(key) for name in contenders]
        shown = ["" if cell is None else f"{cell:.4g}" for cell in cells]
        comparable = key.endswith((" s", "us", "MiB")) and cells[1] is not None
        ratios = [f"{cell / cells[0]:.1f}x" for cell in cells[1:]] if comparable else ["", ""]
        print(f"| {key} | " + " | ".join(shown + ratios) + " |")
    for name in ("PyTorch", "JAX"):
        if abs(found[name]["loss"] / ours["loss"] - 1) > AGREE:
            sys.exit(f"the loss of {name} is {found[name]['loss']}, ours {ours['loss']}: not the same job")
        if abs(found[name]["gradient norm"] / ours["gradient norm"] - 1) > GRADIENTS_AGREE:
            sys.exit(f"the gradient of {name} is not ours: not the same job")


if __name__ == "__main__":
    main()
