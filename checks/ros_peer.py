"""A peer of checks/check_ros.py that speaks DDS by PyPI's cyclonedds: types of ROS 2 messages, written out, and topics as
ROS names them. It is heard on 127.0.0.1 alone.
"""

import os
import time
from dataclasses import dataclass

# Before cyclonedds is loaded: no network but the loopback, no multicast, and whom to ask there.
os.environ["CYCLONEDDS_URI"] = """<CycloneDDS><Domain>
  <General><Interfaces><NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces>
    <AllowMulticast>false</AllowMulticast></General>
  <Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer address="127.0.0.1"/></Peers></Discovery>
</Domain></CycloneDDS>"""

from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, float32, float64, int32, sequence, uint8, uint32
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration


def named(package, name):
    """As ROS 2 names the type of package/msg/name in DDS."""
    return f"{package}::msg::dds_::{name}_"


@dataclass
class Time(IdlStruct, typename=named("builtin_interfaces", "Time")):
    sec: int32
    nanosec: uint32


@dataclass
class Header(IdlStruct, typename=named("std_msgs", "Header")):
    stamp: Time
    frame_id: str


@dataclass
class Vector3(IdlStruct, typename=named("geometry_msgs", "Vector3")):
    x: float64
    y: float64
    z: float64


@dataclass
class Point(IdlStruct, typename=named("geometry_msgs", "Point")):
    x: float64
    y: float64
    z: float64


@dataclass
class Quaternion(IdlStruct, typename=named("geometry_msgs", "Quaternion")):
    x: float64
    y: float64
    z: float64
    w: float64


@dataclass
class Pose(IdlStruct, typename=named("geometry_msgs", "Pose")):
    position: Point
    orientation: Quaternion


@dataclass
class PoseWithCovariance(IdlStruct, typename=named("geometry_msgs", "PoseWithCovariance")):
    pose: Pose
    covariance: array[float64, 36]


@dataclass
class PoseWithCovarianceStamped(IdlStruct, typename=named("geometry_msgs", "PoseWithCovarianceStamped")):
    header: Header
    pose: PoseWithCovariance


@dataclass
class Twist(IdlStruct, typename=named("geometry_msgs", "Twist")):
    linear: Vector3
    angular: Vector3


@dataclass
class TwistWithCovariance(IdlStruct, typename=named("geometry_msgs", "TwistWithCovariance")):
    twist: Twist
    covariance: array[float64, 36]


@dataclass
class Odometry(IdlStruct, typename=named("nav_msgs", "Odometry")):
    header: Header
    child_frame_id: str
    pose: PoseWithCovariance
    twist: TwistWithCovariance


@dataclass
class LaserScan(IdlStruct, typename=named("sensor_msgs", "LaserScan")):
    header: Header
    angle_min: float32
    angle_max: float32
    angle_increment: float32
    time_increment: float32
    scan_time: float32
    range_min: float32
    range_max: float32
    ranges: sequence[float32]
    intensities: sequence[float32]


@dataclass
class Image(IdlStruct, typename=named("sensor_msgs", "Image")):
    header: Header
    height: uint32
    width: uint32
    encoding: str
    is_bigendian: uint8
    step: uint32
    data: sequence[uint8]


@dataclass
class Transform(IdlStruct, typename=named("geometry_msgs", "Transform")):
    translation: Vector3
    rotation: Quaternion


@dataclass
class TransformStamped(IdlStruct, typename=named("geometry_msgs", "TransformStamped")):
    header: Header
    child_frame_id: str
    transform: Transform


@dataclass
class TFMessage(IdlStruct, typename=named("tf2_msgs", "TFMessage")):
    transforms: sequence[TransformStamped]


@dataclass
class Particle(IdlStruct, typename=named("nav2_msgs", "Particle")):
    pose: Pose
    weight: float64


@dataclass
class ParticleCloud(IdlStruct, typename=named("nav2_msgs", "ParticleCloud")):
    header: Header
    particles: sequence[Particle]


def quality(depth, reliable=True, latched=False):
    return Qos(
        Policy.Reliability.Reliable(duration(seconds=1)) if reliable else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if latched else Policy.Durability.Volatile,
        Policy.History.KeepLast(depth),
    )


class Peer:
    """What a robot, RViz and a planner would be to the node."""

    def __init__(self, domain):
        self.participant = DomainParticipant(domain)
        self.writers = {
            "scan": self.writer("scan", LaserScan, quality(10, reliable=False)),
            "image": self.writer("image", Image, quality(10, reliable=False)),
            "odom": self.writer("odom", Odometry, quality(10)),
            "initialpose": self.writer("initialpose", PoseWithCovarianceStamped, quality(10)),
            "tf_static": self.writer("tf_static", TFMessage, quality(1, latched=True)),
        }
        self.readers = {
            "amcl_pose": self.reader("amcl_pose", PoseWithCovarianceStamped, quality(1000)),
            "particle_cloud": self.reader("particle_cloud", ParticleCloud, quality(1000, reliable=False)),
            "tf": self.reader("tf", TFMessage, quality(1000)),
        }

    def writer(self, topic, kind, how):
        return DataWriter(self.participant, Topic(self.participant, f"rt/{topic}", kind), qos=how)

    def reader(self, topic, kind, how):
        return DataReader(self.participant, Topic(self.participant, f"rt/{topic}", kind), qos=how)

    def meets(self, topics, seconds):
        """Waits until the node reads these topics, and writes all its own."""
        def met():
            readers = all(self.writers[topic].get_matched_subscriptions() for topic in topics)
            return readers and all(reader.get_matched_publications() for reader in self.readers.values())
        return wait(met, seconds)

    def write(self, topic, message):
        self.writers[topic].write(message)

    def take(self, topic):
        return [sample for sample in self.readers[topic].take(1000) if hasattr(sample, "__dataclass_fields__")]


def wait(happened, seconds):
    """Until it happened, or so long."""
    until = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True
