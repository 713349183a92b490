"""Records a small drive as a robot would: an MCAP bag with scans, odometry, transforms, images and true poses.

    python checks/make_bag.py [drive.mcap]

Messages are encoded by PyPI's rosbags and packed by PyPI's mcap, for ROS 2, or for ROS 1. The robot drives through a room of
8 by 5 metres with a pillar; its scanner sits 15 cm ahead of its centre and looks backwards; its odometry is 4 % short, and
bends to the left. The page docs/own-robot.md uses the bag, and checks/check_import.py compares what is imported.
"""

import sys

import numpy as np
from mcap.writer import Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

START = 1_700_000_000.0
MOUNT = np.array([0.15, 0.0, np.pi])
BEAMS = np.linspace(-np.pi, np.pi, 240, endpoint=False)
PILLAR, RADIUS, ROOM = np.array([2.2, 3.2]), 0.4, np.array([8.0, 5.0])
TF = "geometry_msgs/TransformStamped[] transforms"


def wrap(angle):
    return (angle + np.pi) % (2 * np.pi) - np.pi


def compose(a, b):
    c, s = np.cos(a[..., 2]), np.sin(a[..., 2])
    x, y = a[..., 0] + c * b[..., 0] - s * b[..., 1], a[..., 1] + s * b[..., 0] + c * b[..., 1]
    return np.stack([x, y, wrap(a[..., 2] + b[..., 2])], -1)


def relative(a, b):
    c, s = np.cos(a[..., 2]), np.sin(a[..., 2])
    dx, dy = b[..., 0] - a[..., 0], b[..., 1] - a[..., 1]
    return np.stack([c * dx + s * dy, c * dy - s * dx, wrap(b[..., 2] - a[..., 2])], -1)


def distances(pose, angles):
    """From a pose to the walls and the pillar."""
    d = np.stack([np.cos(pose[2] + angles), np.sin(pose[2] + angles)], 1)
    with np.errstate(divide="ignore"):
        walls = np.where(d > 0, (ROOM - pose[:2]) / d, -pose[:2] / d).min(1)
    along = d @ (PILLAR - pose[:2])
    inside = RADIUS**2 - (np.sum((PILLAR - pose[:2]) ** 2) - along**2)
    hit = np.where((inside > 0) & (along > 0), along - np.sqrt(np.maximum(inside, 0)), np.inf)
    return np.minimum(walls, hit)


def drive(seconds, rng):
    """True poses and odometry, 20 times a second: round the room, changing sides of the pillar."""
    corners = np.array([[6.8, 1.2], [6.8, 3.8], [4.0, 4.0], [3.6, 2.0], [1.0, 1.0], [1.0, 4.2], [3.8, 4.3], [4.2, 1.2]])
    poses, odometry, goal = [np.array([3.0, 1.0, 0.0])], [np.zeros(3)], 0
    for _ in range(int(20 * seconds)):
        to = corners[goal % len(corners)] - poses[-1][:2]
        goal += np.hypot(*to) < 0.3
        error = wrap(np.arctan2(to[1], to[0]) - poses[-1][2])
        turn = np.clip(1.5 * error, -0.8, 0.8) / 20
        motion = np.array([0.45 / 20 * (abs(error) < 0.9), 0.0, turn + 0.002 * rng.normal()])
        felt = motion * [0.96, 1, 1] + [0, 0, 0.03 * motion[0]] + [0.001, 0, 0.002] * rng.normal(size=3)
        poses.append(compose(poses[-1], motion))
        odometry.append(compose(odometry[-1], felt))
    return np.array(poses), np.array(odometry)


class Recorder:
    """Writes messages by their type's name."""

    def __init__(self, stream, ros1=False):
        self.ros1, self.writer, self.channels = ros1, Writer(stream), {}
        self.types = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
        if "tf2_msgs/msg/TFMessage" not in self.types.fielddefs:
            self.types.register(get_types_from_msg(TF, "tf2_msgs/msg/TFMessage"))
        self.writer.start(profile="ros1" if ros1 else "ros2", library="")

    def make(self, name, **fields):
        return self.types.types[name](**fields)

    def header(self, time, frame):
        stamp = self.make("builtin_interfaces/msg/Time", sec=int(time), nanosec=int(round((time - int(time)) * 1e9)))
        more = {"seq": 0} if self.ros1 else {}
        return self.make("std_msgs/msg/Header", stamp=stamp, frame_id=frame, **more)

    def place(self, pose, kind="Pose"):
        turn = self.make("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=np.sin(pose[2] / 2), w=np.cos(pose[2] / 2))
        names = ("position", "orientation", "Point") if kind == "Pose" else ("translation", "rotation", "Vector3")
        at = self.make(f"geometry_msgs/msg/{names[2]}", x=pose[0], y=pose[1], z=0.0)
        return self.make(f"geometry_msgs/msg/{kind}", **{names[0]: at, names[1]: turn})

    def write(self, topic, name, time, message):
        if topic not in self.channels:
            schema = name.replace("/msg/", "/") if self.ros1 else name
            schema = self.writer.register_schema(schema, "ros1msg" if self.ros1 else "ros2msg", b"")
            self.channels[topic] = self.writer.register_channel(topic, "ros1" if self.ros1 else "cdr", schema)
        encode = self.types.serialize_ros1 if self.ros1 else self.types.serialize_cdr
        nanoseconds = int(round(time * 1e9))
        self.writer.add_message(self.channels[topic], nanoseconds, bytes(encode(message, name)), nanoseconds)

    def transform(self, topic, time, parent, child, pose):
        name = "geometry_msgs/msg/TransformStamped"
        one = self.make(name, header=self.header(time, parent), child_frame_id=child, transform=self.place(pose, "Transform"))
        self.write(topic, "tf2_msgs/msg/TFMessage", time, self.make("tf2_msgs/msg/TFMessage", transforms=[one]))

    def odometry(self, topic, time, pose):
        zero = self.make("geometry_msgs/msg/Vector3", x=0.0, y=0.0, z=0.0)
        still = self.make("geometry_msgs/msg/Twist", linear=zero, angular=zero)
        twist = self.make("geometry_msgs/msg/TwistWithCovariance", twist=still, covariance=np.zeros(36))
        where = self.make("geometry_msgs/msg/PoseWithCovariance", pose=self.place(pose), covariance=np.zeros(36))
        name = "nav_msgs/msg/Odometry"
        fields = {"header": self.header(time, "odom"), "child_frame_id": "base_link", "pose": where, "twist": twist}
        self.write(topic, name, time, self.make(name, **fields))

    def pose(self, topic, time, pose):
        name = "geometry_msgs/msg/PoseStamped"
        self.write(topic, name, time, self.make(name, header=self.header(time, "map"), pose=self.place(pose)))

    def scan(self, topic, time, ranges):
        name, step = "sensor_msgs/msg/LaserScan", BEAMS[1] - BEAMS[0]
        fields = {"angle_min": BEAMS[0], "angle_max": BEAMS[-1], "angle_increment": step, "time_increment": 0.0,
                  "scan_time": 0.2, "range_min": 0.1, "range_max": 12.0, "ranges": np.float32(ranges)}
        fields["intensities"] = np.zeros(0, np.float32)
        self.write(topic, name, time, self.make(name, header=self.header(time, "laser"), **fields))

    def image(self, topic, time, pixels):
        name = "sensor_msgs/msg/Image"
        fields = {"height": pixels.shape[0], "width": pixels.shape[1], "encoding": "bgr8", "is_bigendian": 0}
        fields |= {"step": 3 * pixels.shape[1], "data": np.ascontiguousarray(pixels[..., ::-1]).reshape(-1)}
        self.write(topic, name, time, self.make(name, header=self.header(time, "camera"), **fields))


def record(path, seconds=240, ros1=False, camera=False, seed=1):
    """Writes a bag, and returns what is in it: times with poses, odometry, scans and images."""
    rng = np.random.default_rng(seed)
    poses, odometry = drive(seconds, rng)
    found = {"odometry": ([], []), "poses": ([], []), "scans": ([], []), "images": ([], [])}
    with open(path, "wb") as stream:
        bag = Recorder(stream, ros1)
        bag.transform("/tf_static", START, "base_link", "laser", MOUNT)
        for k in range(len(poses)):
            time = START + k / 20
            kept = []
            bag.odometry("/odom", time, odometry[k])
            kept.append(("odometry", odometry[k]))
            if k % 4 == 1:
                bag.pose("/pose_ground_truth", time, poses[k])
                kept.append(("poses", poses[k]))
            if k % 4 == 2:
                ranges = distances(compose(poses[k], MOUNT), BEAMS) + 0.01 * rng.normal(size=len(BEAMS))
                bag.scan("/scan", time, ranges)
                kept.append(("scans", np.float32(ranges)))
            if camera and k % 10 == 3:
                pixels = rng.integers(0, 256, (90, 160, 3), dtype=np.uint8)
                bag.image("/camera/image_raw", time, pixels)
                kept.append(("images", pixels))
            for name, value in kept:
                found[name][0].append(time)
                found[name][1].append(value)
        bag.writer.finish()
    return {name: (np.array(times), np.array(values)) for name, (times, values) in found.items()}


if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else "drive.mcap")
