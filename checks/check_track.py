#!/usr/bin/env python3
"""`driftless track` against independent readers: TUM files through evo, MCAP through mcap-ros2-support, JSON lines and csv
through Python itself; a stream against the log it was made of. Usage: check_track.py [DRIFTLESS]"""

import atexit
import csv
import json
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from evo.tools import file_interface
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

driftless = Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/driftless").resolve()
folder = Path(tempfile.mkdtemp(prefix="driftless-track-"))
atexit.register(shutil.rmtree, folder)
rng = np.random.default_rng(7)
beams = np.deg2rad(np.arange(0, 360, 10))
START = 1_700_000_000.25


def scan(x, y, heading):
    """Distances to the walls of a room, 6 m by 4 m."""
    d = np.stack([np.cos(heading + beams), np.sin(heading + beams)], 1)
    with np.errstate(divide="ignore"):
        walls = np.where(d > 0, ([6.0, 4.0] - np.array([x, y])) / d, -np.array([x, y]) / d).min(1)
    return walls + 0.02 * rng.normal(size=len(beams))


def drive(name, episodes, steps, labelled):
    """A log of robots that drive in circles, with seconds; `labelled` is the share of known poses."""
    seen, moved, poses, times = [], [], [], []
    for episode in range(episodes):
        x, y, heading = rng.uniform([2, 1.2, -3], [4, 2.2, 3])
        for t in range(steps):
            action = [0.15, 0.0, 0.25 + 0.05 * rng.normal()] if t else [0.0, 0.0, 0.0]
            x, y = x + action[0] * math.cos(heading), y + action[0] * math.sin(heading)
            heading = (heading + action[2] + math.pi) % (2 * math.pi) - math.pi
            seen.append(scan(x, y, heading))
            moved.append(action + np.array([0.005, 0, 0.01]) * rng.normal(size=3) * (t > 0))
            poses.append([x, y, heading] if rng.random() < labelled else [np.nan] * 3)
            times.append(START + 100 * episode + 0.1 * t)
    seen, moved = np.float32(seen), np.float32(moved)
    seen[rng.random(seen.shape) < 0.02] = np.inf
    seen[5] = np.nan
    moved[7] = np.nan
    np.savez(folder / name, observations=seen, actions=moved, poses=np.array(poses), times=np.array(times),
             lengths=np.full(episodes, steps), beam_angles=beams)
    return seen, moved, np.array(poses), np.array(times)


def run(*arguments, code=0, stdin=None):
    """Runs a command in the folder, and returns what it prints."""
    result = subprocess.run([driftless, *arguments], cwd=folder, input=stdin, capture_output=True, text=True)
    assert result.returncode == code, (arguments, result.returncode, result.stdout, result.stderr)
    return result.stdout


def close(name, found, expected, tolerance=1e-9):
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape, (name, found.shape, expected.shape)
    worst = np.abs(found - expected).max()
    assert worst <= tolerance, (name, worst)


drive("train.npz", 8, 40, 0.5)
STEPS = 30
seen, moved, poses, times = drive("unseen.npz", 3, STEPS, 1.0)
run("train", "--train", "train.npz", "--run", "run", "label_fraction=1", "epochs=2")
for name in ["e.csv", "e.jsonl", "e.tum", "e.mcap"]:
    said = run("track", "run", "--data", "unseen.npz", "--out", name, "--cloud", "100")
    assert "position error, m" in said, said

with open(folder / "e.csv", newline="") as file:
    rows = list(csv.DictReader(file))
assert len(rows) == 3 * STEPS and [int(row["step"]) for row in rows] == list(range(STEPS)) * 3
column = {key: np.array([float(row[key] or "nan") for row in rows]) for key in rows[0]}
close("times", column["time"], times)
errors = np.hypot(column["x"] - poses[:, 0], column["y"] - poses[:, 1])
assert np.median(errors) < 0.1, "the filter follows the robots"
# Infinite and missing readings say nothing, and a missing motion moves nobody.
assert column["saw"].sum() == 3 * STEPS - 1 and column["saw"][5] == 0
assert column["moved"].sum() == 3 * STEPS - 1 and column["moved"][7] == 0
assert column["cov_xx"][7] > column["cov_xx"][6], "without odometry less is known"

for row, line in zip(rows, open(folder / "e.jsonl"), strict=True):
    found = json.loads(line)
    assert found["pose"] == [float(row[key]) for key in ["x", "y", "heading"]], (row, found)
    assert found["covariance"][0][1] == float(row["cov_xy"]) and found["kidnapped"] is None

for episode in range(3):
    path = file_interface.read_tum_trajectory_file(str(folder / f"e-{episode}.tum"))
    own = slice(episode * STEPS, (episode + 1) * STEPS)
    valid, details = path.check()
    assert valid, details
    close("tum times", path.timestamps, column["time"][own])
    close("tum places", path.positions_xyz[:, :2], np.stack([column["x"][own], column["y"][own]], 1))
    headings = path.get_orientations_euler("sxyz")[:, 2]
    close("tum headings", np.angle(np.exp(1j * (headings - column["heading"][own]))), np.zeros(STEPS))

messages = {"/pose": [], "/particle_cloud": []}
with open(folder / "e.mcap", "rb") as file:
    reader = make_reader(file, decoder_factories=[DecoderFactory()])
    notes = {note.metadata["episode"]: note.metadata for note in reader.iter_metadata()}
    for schema, channel, message, decoded in reader.iter_decoded_messages():
        messages[channel.topic].append((schema.name, message.log_time, decoded))
assert sorted(notes) == ["0", "1", "2"], notes
assert len(messages["/pose"]) == len(messages["/particle_cloud"]) == 3 * STEPS
for i, (name, log_time, message) in enumerate(messages["/pose"]):
    assert name == "geometry_msgs/msg/PoseWithCovarianceStamped" and message.header.frame_id == "map"
    stamp = message.header.stamp
    assert stamp.sec * 10**9 + stamp.nanosec == log_time and abs(log_time - times[i] * 1e9) < 1e3
    place, turn = message.pose.pose.position, message.pose.pose.orientation
    assert (place.x, place.y, place.z) == (column["x"][i], column["y"][i], 0.0)
    close("yaw", math.remainder(2 * math.atan2(turn.z, turn.w) - column["heading"][i], 2 * math.pi), 0.0)
    covariance = np.array(message.pose.covariance).reshape(6, 6)
    close("covariance", covariance, covariance.T)
    keys = ["cov_xx", "cov_xy", "cov_xh", "cov_yy", "cov_yh", "cov_hh"]
    places = [(0, 0), (0, 1), (0, 5), (1, 1), (1, 5), (5, 5)]
    assert [covariance[at] for at in places] == [column[key][i] for key in keys]
    assert np.count_nonzero(covariance) == 9
for i, (name, _, message) in enumerate(messages["/particle_cloud"]):
    assert name == "nav2_msgs/msg/ParticleCloud" and len(message.particles) == 100
    weights = np.array([particle.weight for particle in message.particles])
    close("weights", weights.sum(), 1.0, 1e-6)
    mean = sum(p.weight * p.pose.position.x for p in message.particles)
    # A systematic draw of 100 is nearer to the mean than independent ones, whose deviation is σ / 10.
    assert abs(mean - column["x"][i]) < 0.5 * math.sqrt(column["cov_xx"][i]) + 1e-6, (i, mean, column["x"][i])

# The first episode as a stream, told where it starts as the log tells it, says what the log says.
pose = [float(x) for x in np.float32(poses[0])]
lines = []
for t in range(STEPS):
    line = {"time": times[t], "scan": [float(x) for x in seen[t]], "odometry": [float(x) for x in moved[t]]}
    lines.append(json.dumps(line | ({"pose": pose} if t == 0 else {})))
lines.insert(3, "{broken")
found = [json.loads(line) for line in run("track", "run", "--stream", stdin="\n".join(lines), code=3).splitlines()]
assert [line["step"] for line in found] == list(range(STEPS))
for i, line in enumerate(found):
    assert line["pose"] == [column[key][i] for key in ["x", "y", "heading"]], (i, line)
print(f"track: {3 * STEPS} estimates agree in csv, JSON lines, TUM (evo) and MCAP; a stream says the same")
