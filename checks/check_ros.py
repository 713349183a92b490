"""Follows robots with `driftless-ros` as nodes of ROS 2 would: an independent peer (PyPI's cyclonedds) publishes scans, odometry,
images and initial poses, and reads poses, clouds and transforms back.

    python checks/check_ros.py [DRIFTLESS] [DRIFTLESS_ROS]

A drive through a room is recorded by checks/make_bag.py, imported and learned from; another drive is then played to the node.
If DRIFTLESS_DATA names a folder with robots/jarvis*cdr.mcap, the last fifth of a real robot's bag is played, too. All of it is
heard on 127.0.0.1 alone, and ends by itself. Exits with 1 if anything is not as it should be.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

import make_bag
from make_bag import BEAMS, MOUNT, START, compose, distances, relative, wrap
from ros_peer import (Header, Image, LaserScan, Odometry, Peer, Point, Pose, PoseWithCovariance, PoseWithCovarianceStamped,
                      Quaternion, TFMessage, Time, Transform, TransformStamped, Twist, TwistWithCovariance, Vector3, quality, wait)

RELEASE = pathlib.Path(__file__).resolve().parent.parent / "target" / "release"
# Others on this machine may check, too. Ports of domains above 100 are those of clients.
DOMAIN = 10 + os.getpid() % 90
AHEAD = 10**9
failures = 0


def check(name, passed, detail=""):
    global failures
    failures += not passed
    print(f"{'ok  ' if passed else 'FAIL'} {name}{'' if passed else '  ' + str(detail)}", flush=True)


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")


# Messages.


def exact(at):
    """Nanoseconds of seconds."""
    return round(at * 1e9)


def header(at, frame):
    return Header(Time(exact(at) // 10**9, exact(at) % 10**9), frame)


def nanoseconds(head):
    return head.stamp.sec * 10**9 + head.stamp.nanosec


def quaternion(heading):
    return Quaternion(0.0, 0.0, float(np.sin(heading / 2)), float(np.cos(heading / 2)))


def placed(pose):
    return Pose(Point(float(pose[0]), float(pose[1]), 0.0), quaternion(pose[2]))


def flat(position, q):
    """A place on the floor."""
    return np.array([position.x, position.y, np.arctan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y**2 + q.z**2))])


def odometry(at, pose, child):
    zero = TwistWithCovariance(Twist(Vector3(0.0, 0.0, 0.0), Vector3(0.0, 0.0, 0.0)), [0.0] * 36)
    return Odometry(header(at, "odom"), child, PoseWithCovariance(placed(pose), [0.0] * 36), zero)


def laser_scan(at, ranges, angles, most, frame="laser"):
    step = float(angles[1] - angles[0])
    return LaserScan(header(at, frame), float(angles[0]), float(angles[-1]), step, 0.0, 0.0, 0.05, most,
                     np.float32(ranges).tolist(), [])


def initial_pose(at, pose, deviations):
    covariance = np.zeros(36)
    covariance[[0, 7, 35]] = np.square(deviations)
    return PoseWithCovarianceStamped(header(at, "map"), PoseWithCovariance(placed(pose), covariance.tolist()))


def mounted(base, frame, pose):
    place, turn = Vector3(float(pose[0]), float(pose[1]), 0.0), quaternion(pose[2])
    return TFMessage([TransformStamped(header(START, base), frame, Transform(place, turn))])


# The node.


class Node:
    """`driftless-ros`, and what it said in the end."""

    def __init__(self, program, run, *parameters):
        words = [program, run, "--domain", DOMAIN, "--only-here", "--for", 120]
        words += [word for parameter in parameters for word in ("-p", parameter)]
        self.process = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True)

    def end(self, by):
        self.process.send_signal(by)
        begun = time.monotonic()
        try:
            _, said = self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, said = self.process.communicate()
        check(f"{by.name} ends the node with exit code 0", self.process.returncode == 0, self.process.returncode)
        check("within five seconds", time.monotonic() - begun < 5, time.monotonic() - begun)
        return said


class Heard:
    """What the node published, by nanoseconds: stamps must be those of the scans, to the last one."""

    def __init__(self, peer):
        self.peer, self.poses, self.clouds, self.transforms = peer, {}, {}, {}

    def listen(self):
        for message in self.peer.take("amcl_pose"):
            self.poses[nanoseconds(message.header)] = message
        for message in self.peer.take("particle_cloud"):
            self.clouds[nanoseconds(message.header)] = message
        for message in self.peer.take("tf"):
            for one in message.transforms:
                self.transforms[nanoseconds(one.header) - AHEAD] = one

    def answered(self, at, most=2.0):
        """Whether a transform of this time came: one does for each scan."""
        def came():
            self.listen()
            return exact(at) in self.transforms
        return wait(came, most)


def play(peer, heard, times, poses_of_odometry, scan_at, angles, most, child):
    """Odometry at all times, and a scan wherever there is one, each answered before the next: how fast the machine is does
    not matter. How many were answered."""
    answered = []
    for at, pose in zip(times, poses_of_odometry):
        peer.write("odom", odometry(at, pose, child))
        ranges = scan_at(at)
        if ranges is not None:
            peer.write("scan", laser_scan(at, ranges, angles, most))
            answered.append(heard.answered(at))
    return np.array(answered)


def judge(name, heard, times, odometry_poses, truth, most_rmse):
    """The pose follows the truth, map -> odom and odometry make the pose, and the cloud is what the pose is made of."""
    at = sorted(heard.poses)
    estimates = np.array([flat(heard.poses[t].pose.pose.position, heard.poses[t].pose.pose.orientation) for t in at])
    sent = [exact(time) for time in times]
    check(f"{name}: stamps are those of scans, exactly", set(at) <= set(sent), len(set(at) - set(sent)))
    which = np.array([np.abs(np.array(sent) - t).argmin() for t in at])
    off = np.hypot(*(estimates - truth[which])[:, :2].T)
    turned = np.abs(wrap(estimates[:, 2] - truth[which, 2]))
    rmse, drift = np.sqrt(np.mean(off**2)), dead_reckoning(truth[which], odometry_poses[which])
    print(f"     {name}: {len(at)} poses, RMSE {rmse:.3f} m, heading {np.sqrt(np.mean(turned**2)):.3f} rad; odometry {drift:.3f} m")
    check(f"{name}: the pose follows the truth", rmse < most_rmse and turned.max() < 0.3, (rmse, turned.max()))
    check(f"{name}: odometry alone does not", drift > rmse, drift)
    # Times are those of odometry's own samples, and all numbers are doubles of some metres: 1e-15 each, in a few sums.
    joined = []
    for t, k, estimate in zip(at, which, estimates):
        one = heard.transforms.get(t)
        if one is not None:
            made = compose(flat(one.transform.translation, one.transform.rotation), odometry_poses[k])
            joined.append(np.abs(np.append((made - estimate)[:2], wrap(made[2] - estimate[2]))).max())
    check(f"{name}: map -> odom and odometry make the pose ({max(joined, default=1):.0e})",
          len(joined) == len(at) and max(joined) < 1e-9, (len(joined), len(at)))
    frames = {(one.header.frame_id, one.child_frame_id) for one in heard.transforms.values()}
    check(f"{name}: frames of transforms", frames == {("map", "odom")}, frames)
    clouds = [means(heard.clouds[t]) for t in at if t in heard.clouds]
    check(f"{name}: a cloud with nearly every pose", len(clouds) >= 0.9 * len(at), (len(clouds), len(at)))
    for t in at:
        if t in heard.clouds:
            total, mean, covariance = means(heard.clouds[t])
            estimate = heard.poses[t].pose
            told = np.array(estimate.covariance).reshape(6, 6)[np.ix_([0, 1, 5], [0, 1, 5])]
            pose = flat(estimate.pose.position, estimate.pose.orientation)
            # Weights and states have 32 bits: 1e-7 of metres, summed over some hundred particles.
            sound = abs(total - 1) < 1e-4 and np.abs(mean - pose)[:2].max() < 1e-4 and abs(wrap(mean[2] - pose[2])) < 1e-4
            sound &= np.abs(covariance - told).max() < 1e-3 * max(1e-3, np.abs(told).max()) + 1e-5
            if not sound:
                check(f"{name}: pose and covariance are those of the cloud", False, (t, total, mean, pose, covariance, told))
                return
    check(f"{name}: pose and covariance are those of the cloud", True)


def means(cloud):
    """Weight, mean and covariance of particles."""
    weights = np.array([particle.weight for particle in cloud.particles])
    states = np.array([flat(particle.pose.position, particle.pose.orientation) for particle in cloud.particles])
    heading = np.arctan2(weights @ np.sin(states[:, 2]), weights @ np.cos(states[:, 2]))
    mean = np.append(weights @ states[:, :2] / weights.sum(), heading)
    off = states - mean
    off[:, 2] = wrap(off[:, 2])
    return weights.sum(), mean, (weights[:, None] * off).T @ off / weights.sum()


def dead_reckoning(truth, odometry_poses):
    """How far off odometry is that began at the truth."""
    reckoned = compose(np.repeat(truth[:1], len(truth), 0), relative(np.repeat(odometry_poses[:1], len(truth), 0), odometry_poses))
    return np.sqrt(np.mean(np.sum((reckoned - truth)[:, :2] ** 2, 1)))


# Robots.


def room(driftless, program, folder):
    """A drive that nobody has seen, through a room that was learned from another one."""
    make_bag.record(folder / "drive.mcap", seconds=120)
    command(driftless, "import", "mcap", folder / "drive.mcap", "--out", folder / "drive.npz")
    command(driftless, "train", "--train", folder / "drive.npz", "--run", folder / "run", "label_fraction=1")
    rng = np.random.default_rng(7)
    truth, felt = make_bag.drive(40, rng)
    felt = compose(np.array([4.0, -2.0, 1.0]), felt)
    times = START + np.arange(len(truth)) / 20
    peer = Peer(DOMAIN)
    peer.write("tf_static", mounted("base_link", "laser", MOUNT))
    node = Node(program, folder / "run", "base_frame_id:=base_link", "alpha1:=0.1", "cloud_particles:=5000")
    met = peer.meets(["scan", "odom", "initialpose", "tf_static"], 30)
    check("the node and an independent peer find each other", met)
    if not met:
        sys.exit(f"{node.end(signal.SIGINT)}")
    heard = Heard(peer)
    # Before anybody says where the robot is: nothing is published.
    time.sleep(0.5)
    peer.write("odom", odometry(START - 2, felt[0], "base_link"))
    peer.write("scan", laser_scan(START - 2, np.full(240, 1.0), BEAMS, 12.0))
    check("nothing is published before a start", not heard.answered(START - 2, 1.0))
    peer.write("initialpose", initial_pose(0.0, compose(truth[0], np.array([0.15, -0.1, 0.1])), [0.3, 0.3, 0.2]))
    time.sleep(0.5)

    def scan_at(at):
        k = round((at - START) * 20)
        if k % 4:
            return None
        ranges = distances(compose(truth[k], MOUNT), BEAMS) + 0.01 * rng.normal(size=len(BEAMS))
        # What drivers say where nothing came back.
        return np.where(rng.random(len(BEAMS)) < 0.1, rng.choice([np.inf, np.nan, 0.0, 13.0], len(BEAMS)), ranges)

    answered = play(peer, heard, times, felt, scan_at, BEAMS, 12.0, "base_link")
    # A best-effort message may be lost where the machine is busy; each loss waits two seconds for its answer.
    check("all but a few scans are answered", answered.mean() > 0.95, answered.mean())
    judge("room", heard, times, felt, truth, 0.15)
    latched(peer, heard)
    # Twice, late, and senseless.
    poses = len(heard.poses)
    peer.write("scan", laser_scan(times[-1], np.full(240, 1.0), BEAMS, 12.0))
    peer.write("scan", laser_scan(times[-1], np.full(240, 1.0), BEAMS, 12.0))
    peer.write("odom", odometry(times[-1], felt[-1], "base_link"))
    peer.write("odom", odometry(times[-1] - 1, felt[-1], "base_link"))
    peer.write("odom", odometry(times[-1] + 1, np.full(3, np.nan), "base_link"))
    peer.write("initialpose", initial_pose(times[-1], np.zeros(3), [np.nan, 1, 1]))
    time.sleep(1.0)
    heard.listen()
    check("messages that are twice, late or senseless publish nothing", len(heard.poses) == poses, len(heard.poses))
    said = node.end(signal.SIGINT)
    for words in ["the scanner sits 0.15 m ahead of base_link and 0.00 m to its left, turned by 180 degrees",
                  "alpha1 of nav2_amcl changes nothing here", "before a start", "1 late", "2 garbage", "twice"]:
        check(f"it says: {words}", words.replace("180", "-180") in said or words in said, said)


def latched(peer, heard):
    """Who comes late is told the last pose, as by amcl; RustDDS tells some that came before it, too."""
    reader = peer.reader("amcl_pose", PoseWithCovarianceStamped, quality(100, latched=True))
    found = []

    def last_came():
        found.extend(reader.take(100))
        return bool(found) and nanoseconds(found[-1].header) == max(heard.poses)
    check("a late reader is given the last pose", wait(last_came, 5), len(found))


def maze(driftless, program, folder):
    """Images instead of scans, in units of the maze."""
    command(driftless, "simulate", "maze1", "--episodes", 8, "--steps", 12, "--size", 16, "--out", folder / "maze.npz")
    command(driftless, "train", "maze-driftless", "--train", folder / "maze.npz", "--run", folder / "maze",
            "crop=16", "trajectories=4", "batch_size=4", "epochs=1")
    peer = Peer(DOMAIN)
    node = Node(program, folder / "maze", "set_initial_pose:=true", "initial_pose.x:=500", "initial_pose.y:=250",
                "initial_pose.yaw:=0.3", "update_min_d:=5")
    if not peer.meets(["image", "odom"], 30):
        sys.exit(f"{node.end(signal.SIGTERM)}")
    heard, rng = Heard(peer), np.random.default_rng(3)
    time.sleep(0.5)
    for k in range(5):
        pixels = rng.integers(0, 256, 16 * 16 * 3, dtype=np.uint8).tolist()
        peer.write("odom", odometry(START + k, [20.0 * k, 0, 0], "base_footprint"))
        peer.write("image", Image(header(START + k, "camera"), 16, 16, "rgb8", 0, 48, pixels))
        heard.answered(START + k)
    check("maze: a pose, a cloud and a transform for nearly each image",
          min(len(heard.poses), len(heard.clouds), len(heard.transforms)) >= 4, node)
    node.end(signal.SIGTERM)


def real(driftless, program, folder, bag):
    """A real robot: learned from the first four fifths of its bag, and followed over the rest."""
    from real_bag import SCANNER, read
    command(driftless, "import", "mcap", bag, "--scan", SCANNER, "--out", folder / "real.npz", "--test", folder / "rest.npz")
    command(driftless, "train", "--train", folder / "real.npz", "--run", folder / "real", "label_fraction=1")
    begin = np.load(folder / "rest.npz")["times"][0]
    found = read(bag)
    times, felt = found["odometry"]
    kept = times >= begin
    times, felt = times[kept], felt[kept]
    truth_times, truth = found["truth"]
    truth = np.stack([np.interp(times, truth_times, column) for column in
                      (truth[:, 0], truth[:, 1], np.unwrap(truth[:, 2]))], -1)
    scan_times, scans, angles, most = found["scans"]
    peer = Peer(DOMAIN)
    peer.write("tf_static", mounted("base_footprint", "laser", found["mount"]))
    node = Node(program, folder / "real", "cloud_particles:=5000")
    if not peer.meets(["scan", "odom", "initialpose", "tf_static"], 30):
        sys.exit(f"{node.end(signal.SIGTERM)}")
    heard = Heard(peer)
    time.sleep(0.5)
    peer.write("initialpose", initial_pose(0.0, truth[0], [0.1, 0.1, 0.1]))
    time.sleep(0.5)
    waiting = list(zip(scan_times[scan_times >= begin], scans[scan_times >= begin]))
    for at, pose in zip(times, felt):
        peer.write("odom", odometry(at, pose, "base_footprint"))
        while waiting and waiting[0][0] <= at:
            when, ranges = waiting.pop(0)
            peer.write("scan", laser_scan(when, ranges, angles, most))
            heard.answered(when)
    said = node.end(signal.SIGTERM)
    ordered = sorted(heard.poses)
    estimates = np.array([flat(heard.poses[t].pose.pose.position, heard.poses[t].pose.pose.orientation) for t in ordered])
    at = np.array(ordered) * 1e-9
    placed_at = np.stack([np.interp(at, times, column) for column in (truth[:, 0], truth[:, 1], np.unwrap(truth[:, 2]))], -1)
    rmse = np.sqrt(np.mean(np.sum((estimates - placed_at)[:, :2] ** 2, 1)))
    print(f"     {bag.name}: {len(at)} poses, RMSE {rmse:.3f} m\n     {said.strip().splitlines()[-1]}")
    check(f"{bag.name}: within three cells of the map", len(at) > 10 and rmse < 0.15, (len(at), rmse))


def main() -> int:
    driftless = sys.argv[1] if len(sys.argv) > 1 else RELEASE / "driftless"
    program = sys.argv[2] if len(sys.argv) > 2 else RELEASE / "driftless-ros"
    data = os.environ.get("DRIFTLESS_DATA")
    bags = sorted((pathlib.Path(data) / "robots").glob("jarvis*cdr.mcap")) if data else []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        room(driftless, program, folder)
        maze(driftless, program, folder)
        for bag in bags:
            real(driftless, program, folder, bag)
        if not bags:
            print("SKIPPED: set DRIFTLESS_DATA to a folder with robots/jarvis*cdr.mcap for a real robot's bag")
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
