"""The four commands of docs/own-robot.md on real robots' bags, where those lie: from a bag to a filter and a picture.

    python checks/check_own_robot.py     # after `cargo build --release`

DRIFTLESS_DATA names the folder that holds robots/jarvis*.mcap. Exits with 1 if a command fails, or the filter is worse than
three cells of its map (0.15 m) from one pose in ten; odometry from the same start drifts beyond that.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

DRIFTLESS = pathlib.Path(__file__).resolve().parent.parent / "target" / "release" / "driftless"
SCANNER = "/driver_laser_navigation/laser_scan"


def driftless(folder, *words):
    done = subprocess.run([DRIFTLESS, *words], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"driftless {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def rmse(folder, run):
    """Over all steps of the one test episode."""
    errors = json.loads(driftless(folder, "evaluate", run, "--data", "unseen.npz", "--json"))["position_errors"][0]
    return (sum(error**2 for error in errors) / len(errors)) ** 0.5


def main() -> int:
    data = os.environ.get("DRIFTLESS_DATA")
    bags = sorted((pathlib.Path(data) / "robots").glob("jarvis*.mcap")) if data else []
    if not bags:
        print("SKIPPED: set DRIFTLESS_DATA to a folder with robots/jarvis*.mcap for a real robot's bag")
    for bag in bags:
        with tempfile.TemporaryDirectory() as folder:
            driftless(folder, "import", "mcap", bag, "--scan", SCANNER, "--out", "drive.npz", "--test", "unseen.npz")
            driftless(folder, "train", "--train", "drive.npz", "--run", "runs/drive")
            driftless(folder, "train", "robot-odometry", "--train", "drive.npz", "--run", "runs/odometry")
            ours, odometry = rmse(folder, "runs/drive"), rmse(folder, "runs/odometry")
            driftless(folder, "report", "runs", "--out", "report")
            pictures = list(pathlib.Path(folder, "report").glob("tracking-*.png"))
            print(f"{bag.name}: {ours:.3f} m, odometry {odometry:.3f} m, {len(pictures)} pictures")
            if not (ours < 0.15 < odometry and pictures):
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
