"""What checks/check_ros.py plays of a real robot's bag: odometry from transforms, scans and true poses, read by rosbags."""

import numpy as np
from mcap.reader import make_reader
from rosbags.typesys import Stores, get_typestore

SCANNER = "/driver_laser_navigation/laser_scan"
BASE = "base_footprint"


def read(bag):
    types = get_typestore(Stores.ROS2_HUMBLE)
    stamp = lambda head: head.stamp.sec + head.stamp.nanosec * 1e-9
    yaw = lambda q: np.arctan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y**2 + q.z**2))
    odometry, truth, scans, mounts, laser = [], [], [], {}, None
    with open(bag, "rb") as stream:
        for schema, channel, message in make_reader(stream).iter_messages():
            if channel.topic == "/tf":
                for one in types.deserialize_cdr(message.data, schema.name).transforms:
                    t, q = one.transform.translation, one.transform.rotation
                    if one.child_frame_id == BASE:
                        odometry.append([stamp(one.header), t.x, t.y, yaw(q)])
                    elif one.header.frame_id == BASE:
                        mounts[one.child_frame_id] = [t.x, t.y, yaw(q)]
            elif channel.topic == "/pose_ground_truth":
                pose = types.deserialize_cdr(message.data, schema.name)
                p = pose.pose.position
                truth.append([stamp(pose.header), p.x, p.y, yaw(pose.pose.orientation)])
            elif channel.topic == SCANNER:
                laser = types.deserialize_cdr(message.data, schema.name)
                scans.append((stamp(laser.header), laser.ranges))
    odometry, truth = [np.array(sorted(rows)) for rows in (odometry, truth)]
    angles = laser.angle_min + laser.angle_increment * np.arange(len(laser.ranges))
    times, ranges = np.array([at for at, _ in scans]), np.array([ranges for _, ranges in scans])
    return {
        "odometry": (odometry[:, 0], odometry[:, 1:]),
        "truth": (truth[:, 0], truth[:, 1:]),
        "scans": (times, ranges, angles, float(laser.range_max)),
        "mount": mounts[laser.header.frame_id],
    }
