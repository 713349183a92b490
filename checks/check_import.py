"""Compares what `driftless import mcap` makes of bags with numpy, rosbags and Pillow.

    python checks/check_import.py        # after `cargo build --release`

Bags are made by checks/make_bag.py, for ROS 1 and ROS 2; if DRIFTLESS_DATA names a folder with robots/*.mcap, real ones are
read by rosbags and compared, too. Exits with 1 if anything disagrees.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from mcap.reader import make_reader
from PIL import Image
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

import make_bag
from make_bag import BEAMS, MOUNT, TF, distances, relative, wrap

DRIFTLESS = pathlib.Path(__file__).resolve().parent.parent / "target" / "release" / "driftless"
failures = 0


def check(name, passed, detail=""):
    global failures
    failures += not passed
    print(f"{'ok  ' if passed else 'FAIL'} {name}{'' if passed else '  ' + str(detail)}")


def near(name, ours, theirs, tolerance):
    off = np.abs(np.asarray(ours) - np.asarray(theirs)).max()
    check(f"{name} ({off:.1e})", off <= tolerance, f"{off} > {tolerance}")


def imported(folder, bag, *options):
    out = folder / "log.npz"
    command = [DRIFTLESS, "import", "mcap", bag, "--out", out, "--force", *options]
    subprocess.run(command, check=True, capture_output=True)
    return dict(np.load(out))


def at(times, poses, wanted):
    """Poses at other times, by numpy: headings are unrolled first."""
    columns = [poses[:, 0], poses[:, 1], np.unwrap(poses[:, 2])]
    return np.stack([np.interp(wanted, times, column) for column in columns], -1)


def motions(poses, lengths):
    """From step to step; zeros where an episode begins."""
    moved = np.vstack([np.zeros(3), relative(poses[:-1], poses[1:])])
    moved[np.concatenate([[0], np.cumsum(lengths)[:-1]])] = 0
    return moved


def made(folder, ros1):
    bag = folder / "made.mcap"
    found = make_bag.record(bag, seconds=60, ros1=ros1, camera=True)
    log = imported(folder, bag, "--image", "/camera/image_raw", "--rate", "5", "--image-side", "40")
    name, times = f"{'ROS 1' if ros1 else 'ROS 2'}: ", log["times"]
    scan_times, scans = found["scans"]
    check(name + "a step a scan", len(times) == len(scan_times), (len(times), len(scan_times)))
    near(name + "times", times, scan_times, 1e-6)
    near(name + "actions", log["actions"], motions(at(*found["odometry"], times), log["lengths"]), 1e-5)
    known = ~np.isnan(log["poses"][:, 0])
    inside = (times >= found["poses"][0][0]) & (times <= found["poses"][0][-1])
    check(name + "labels where poses are known", np.array_equal(known, inside), (known.sum(), inside.sum()))
    off = log["poses"][known] - at(*found["poses"], times[known])
    near(name + "poses", np.hstack([off[:, :2], wrap(off[:, 2:])]), 0, 1e-6)
    # The scanner's distances, as if measured from the robot's centre: some 1 cm of noise, and corners that are cut.
    truth = np.array([distances(pose, log["beam_angles"]) for pose in log["poses"][known]])
    errors = np.abs(log["observations"][known] - truth)
    check(name + "scans seen from the robot's centre", np.nanpercentile(errors, 95) < 0.03, np.nanpercentile(errors, 95))
    check(name + "few readings are lost", np.isnan(errors).mean() < 0.03, np.isnan(errors).mean())
    image_times, images = found["images"]
    has = log["has_image"]
    nearest = np.abs(image_times[:, None] - times[None]).argmin(1)
    check(name + "images at the steps nearest to them", np.array_equal(np.flatnonzero(has), np.unique(nearest)))
    check(name + "their size", log["images"].shape[1:] == (23, 40, 3), log["images"].shape)
    near(name + "images against numpy", log["images"][nearest], [shrunk(image, 23, 40) for image in images], 0.5 + 1e-6)
    log = imported(folder, bag, "--image", "/camera/image_raw", "--rate", "5", "--image-side", "32")
    small = [np.array(Image.fromarray(image).resize((32, 18), Image.Resampling.BOX)) for image in images]
    # Pillow rounds after each of two passes.
    near(name + "images against Pillow", log["images"][nearest].astype(int), np.array(small).astype(int), 1)


def shrunk(image, height, width):
    """Means over areas, as differences of the integral over the image."""
    for axis, size in ((0, height), (1, width)):
        image = np.moveaxis(image, axis, 0).astype(float)
        integral = np.concatenate([np.zeros((1, *image.shape[1:])), np.cumsum(image, 0)])
        edges = np.linspace(0, len(image), size + 1)
        low = np.minimum(edges.astype(int), len(image) - 1)
        at_edges = integral[low] + (edges - low)[:, None, None] * (integral[low + 1] - integral[low])
        image = np.moveaxis(np.diff(at_edges, axis=0) * size / len(image), 0, axis)
    return image


def centred(folder):
    """Told that the scanner sits at the centre and looks ahead, the importer changes no reading."""
    bag = folder / "made.mcap"
    found = make_bag.record(bag, seconds=10)
    log = imported(folder, bag, "--rate", "5", "--mount", "0,0,0", "--beams", "240")
    check("readings are taken as they are", np.array_equal(log["observations"], found["scans"][1]))
    near("bearings are the scanner's", wrap(log["beam_angles"] - BEAMS), 0, 1e-5)
    log = imported(folder, bag, "--rate", "5", "--beams", "240")
    near("bearings of a scanner that looks backwards", wrap(log["beam_angles"] - BEAMS - MOUNT[2]), 0, 1e-5)


def real(folder, bag, scan):
    """Jarvis: odometry from transforms, truth from a topic."""
    ros1 = "ros1" in bag.name
    types = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    if ros1:
        types.register(get_types_from_msg(TF, "tf2_msgs/msg/TFMessage"))
    decode = types.deserialize_ros1 if ros1 else types.deserialize_cdr
    stamp = lambda header: header.stamp.sec + header.stamp.nanosec * 1e-9
    yaw = lambda q: np.arctan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y**2 + q.z**2))
    odometry, truth, scans = [], [], []
    with open(bag, "rb") as stream:
        for schema, channel, message in make_reader(stream).iter_messages():
            name = schema.name if "/msg/" in schema.name else schema.name.replace("/", "/msg/")
            if channel.topic == "/tf":
                for one in decode(message.data, name).transforms:
                    if one.child_frame_id.strip("/") == "base_footprint":
                        t, q = one.transform.translation, one.transform.rotation
                        odometry.append([stamp(one.header), t.x, t.y, yaw(q)])
            elif channel.topic == "/pose_ground_truth":
                pose = decode(message.data, name)
                p = pose.pose.position
                truth.append([stamp(pose.header), p.x, p.y, yaw(pose.pose.orientation)])
            elif channel.topic == scan:
                read = decode(message.data, name)
                scans.append((stamp(read.header), np.where(read.ranges <= read.range_max, read.ranges, np.nan)))
    odometry, truth = np.array(odometry), np.array(truth)
    log = imported(folder, bag, "--scan", scan, "--mount", "0,0,0", "--beams", "1440")
    times = log["times"]
    near(f"{bag.name}: actions", log["actions"], motions(at(odometry[:, 0], odometry[:, 1:], times), log["lengths"]), 1e-5)
    known = ~np.isnan(log["poses"][:, 0])
    off = log["poses"][known] - at(truth[:, 0], truth[:, 1:], times[known])
    near(f"{bag.name}: poses", np.hstack([off[:, :2], wrap(off[:, 2:])]), 0, 1e-6)
    check(f"{bag.name}: all labelled", known.mean() > 0.98, known.mean())
    stamps = np.array([time for time, _ in scans])
    theirs = np.array([scans[np.abs(stamps - time).argmin()][1] for time in times], np.float32)
    both = np.isfinite(theirs) & np.isfinite(log["observations"])
    check(f"{bag.name}: scans", np.array_equal(theirs[both], log["observations"][both]) and both.mean() > 0.9)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for ros1 in (False, True):
            made(folder, ros1)
        centred(folder)
        robots = pathlib.Path(os.environ.get("DRIFTLESS_DATA", "")) / "robots"
        bags = sorted(robots.glob("jarvis*.mcap")) if os.environ.get("DRIFTLESS_DATA") else []
        for bag in bags:
            real(folder, bag, "/driver_laser_navigation/laser_scan")
        if not bags:
            print("SKIPPED: set DRIFTLESS_DATA to a folder with robots/jarvis*.mcap to compare real bags")
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
