"""Checks our npz and csv files against numpy itself.

Run from the repository's root, with numpy installed:

    python3 checks/check_npz.py

It builds and drives `crates/driftless-world/examples/npz_check.rs`. If DRIFTLESS_DATA names a folder
with dmlab/*.npz, those files are compared too. Exits with 1 if anything disagrees.
"""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
EPS = float(np.finfo(np.float32).eps)
failures = 0


def check(name, passed, detail=""):
    global failures
    failures += not passed
    print(f"{'ok  ' if passed else 'FAIL'} {name}{'' if passed else '  ' + str(detail)}")


def same(name, ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    passed = ours.shape == theirs.shape and np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f")
    check(name, passed, f"{ours.dtype}{ours.shape} against {theirs.dtype}{theirs.shape}")


def build():
    command = ["cargo", "build", "--release", "-q", "-p", "driftless-world", "--example", "npz_check"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "npz_check"


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)


def wrap(angle):
    return (angle - np.pi) % (2 * np.pi) - np.pi


def dpf_loader(path, steps):
    """What DPF's loader does, written down afresh from its description: float32 throughout."""
    data = np.load(path)
    pose = data["pose"].astype(np.float32).reshape(-1, steps, 3)
    images = data["rgbd"].reshape(-1, steps, *data["rgbd"].shape[1:])
    x, y = pose[..., 0], pose[..., 1]
    heading = wrap(pose[..., 2] * np.float32(np.pi / 180))
    assert heading.dtype == np.float32
    dx, dy = np.diff(x, axis=1), np.diff(y, axis=1)
    sine, cosine = np.sin(heading[:, :-1]), np.cos(heading[:, :-1])
    actions = np.stack([cosine * dx + sine * dy, sine * dx - cosine * dy, wrap(np.diff(heading, axis=1))], -1)
    states = np.stack([x, y, heading], -1)[:, 1:]
    return images[:, 1:, ..., :3], actions, states


def compare_dpf(program, name, path, steps, folder):
    out = folder / "dumped.npz"
    result = run(program, "dpf", path, steps, out)
    if result.returncode:
        return check(name, False, result.stderr)
    ours = np.load(out)
    images, actions, states = dpf_loader(path, steps)
    rows = states.shape[0] * states.shape[1]
    same(f"{name}: images", ours["observations"], images.reshape(rows, *images.shape[2:]))
    same(f"{name}: lengths", ours["lengths"], np.full(len(states), steps - 1))
    states, actions = states.reshape(rows, 3), actions.reshape(rows, 3)
    same(f"{name}: positions", ours["poses"][:, :2], states[:, :2])
    # Angles need sums, products and remainders only: the same bits.
    same(f"{name}: headings", ours["poses"][:, 2], states[:, 2])
    check(f"{name}: headings in [-pi, pi)", bool((ours["poses"][:, 2] < np.float32(np.pi)).all()))
    # Sines differ by at most 4 units in the last place between libraries; two products and a sum
    # each round once more: (4 + 2) eps times |dx| + |dy|, the largest step in the data.
    start = np.load(path)["pose"].astype(np.float32).reshape(-1, steps, 3)
    step = np.abs(np.diff(start[..., :2], axis=1)).sum(-1).reshape(rows)
    away = np.abs(ours["actions"][:, :2].astype(float) - actions[:, :2]).max(-1)
    check(f"{name}: motions", bool((away <= 6 * EPS * step + 1e-30).all()), (away - 6 * EPS * step).max())
    same(f"{name}: turns", ours["actions"][:, 2], actions[:, 2])


def samples(program, folder):
    result = run(program, "write", folder)
    check("samples are written", result.returncode == 0, result.stderr)
    row = np.arange(18.0)
    for kind in ["plain", "compressed"]:
        path = folder / f"dpf_{kind}.npz"
        check(f"zip test of {kind}", zipfile.ZipFile(path).testzip() is None)
        check(f"comment of {kind}", zipfile.ZipFile(path).comment == b"sample")
        data = np.load(path)
        same(f"{kind} pose", data["pose"], np.stack([row, row / 2, 7 * row - 180], 1))
        same(f"{kind} vel", data["vel"], np.stack([row / 4, 0 * row, -row], 1))
        pixels = (row[:, None] + 3 * np.arange(80)) % 256
        same(f"{kind} rgbd", data["rgbd"], pixels.astype(np.uint8).reshape(18, 4, 5, 4))
        compare_dpf(program, f"sample {kind}", path, 6, folder)
    episode = np.repeat([0, 1, 2], [2, 3, 4]).astype(np.float32)
    t = np.concatenate([np.arange(n) for n in (2, 3, 4)]).astype(np.float32)
    seen = np.stack([episode, t, episode / np.float32(3)], 1)
    poses = np.where((t == 1)[:, None], np.nan, np.stack([episode * t, -t], 1)).astype(np.float32)
    log = np.load(folder / "log.npz")
    same("log observations", log["observations"], seen)
    same("log actions", log["actions"], (t / np.float32(7))[:, None])
    same("log poses", log["poses"], poses)
    same("log lengths", log["lengths"], [2, 3, 4])
    table = list(csv.DictReader(open(folder / "table.csv")))
    column = lambda name: np.array([float(line[name] or "nan") for line in table], np.float32)
    same("csv series", column("series_id"), episode + 1)
    same("csv observations", np.stack([column(f"observation_{i}") for i in (1, 2, 3)], 1), seen)
    same("csv controls", column("control_1"), t / np.float32(7))
    same("csv states", np.stack([column(f"state_{i}") for i in (1, 2)], 1), poses)
    run(program, "csv", folder / "table.csv", folder / "table.npz")
    back = np.load(folder / "table.npz")
    for name in ["observations", "actions", "poses", "lengths"]:
        same(f"csv read back: {name}", back[name], log[name])


def numpys_own(program, folder):
    """Every order, type and compression numpy may write, read by us."""
    random = np.random.default_rng(0)
    for save in [np.savez, np.savez_compressed]:
        for dtype in ["<f8", ">f8", "<f4", ">f4", "<f2", "|u1", "|i1", "<i2", ">i4", "<i8", "<u2", ">u4", "|b1"]:
            for order in "CF":
                name = f"{save.__name__} {dtype} {order}"
                values = random.integers(0, 2 if "b" in dtype else 100, (7, 3, 4, 2)).astype(dtype, order=order)
                poses = random.normal(size=(7, 3)).astype(">f4" if order == "F" else "<f8", order=order)
                actions = values.reshape(7, 24).astype(dtype, order=order)[:, :5]
                save(folder / "in.npz", observations=values, actions=np.asarray(actions, order=order), poses=poses)
                result = run(program, "log", folder / "in.npz", folder / "out.npz")
                if result.returncode:
                    check(name, False, result.stderr)
                    continue
                ours = np.load(folder / "out.npz")
                same(name, ours["observations"], values if dtype == "|u1" else values.astype(np.float32))
                same(f"{name} actions", ours["actions"], actions.astype(np.float32))
                same(f"{name} poses", ours["poses"], poses.astype(np.float32))
    refused = {
        "objects": np.array([[{}]], object),
        "text": np.array([["a"]]),
        "complex": np.ones((2, 2), complex),
        "structured": np.zeros((2, 2), [("a", "f4")]),
    }
    for name, array in refused.items():
        np.savez(folder / "in.npz", observations=array)
        result = run(program, "log", folder / "in.npz", folder / "out.npz")
        check(f"{name} are refused", result.returncode == 1 and "field observations" in result.stderr, result.stderr)
        print(f"       {result.stderr.strip().split(': ', 1)[-1]}")


def main():
    program = build()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        samples(program, folder)
        numpys_own(program, folder)
        real = pathlib.Path(os.environ.get("DRIFTLESS_DATA", "")) / "dmlab"
        if "DRIFTLESS_DATA" in os.environ and real.is_dir():
            for path in sorted(real.glob("*.npz")):
                compare_dpf(program, path.stem, path, 100, folder)
        else:
            print("SKIPPED: real recordings; set DRIFTLESS_DATA to the folder that holds dmlab/")
    print("all agree" if failures == 0 else f"{failures} disagree")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
