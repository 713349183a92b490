//! ROS 2 messages as bytes: the common data representation, little-endian, as DDS and rosbags have it.

use crate::pose::Pose;

/// Seconds and nanoseconds.
pub type Stamp = (i32, u32);

/// Definitions of what is written, in ROS's own language, the types they are made of behind them.
pub(super) const POSE_TYPE: &str = "geometry_msgs/msg/PoseWithCovarianceStamped";
pub(super) const CLOUD_TYPE: &str = "nav2_msgs/msg/ParticleCloud";

const LINE: &str = "================================================================================";

/// Types that others are made of: name and fields.
const HEADER: (&str, &str) = ("std_msgs/Header", "builtin_interfaces/Time stamp\nstring frame_id\n");
const TIME: (&str, &str) = ("builtin_interfaces/Time", "int32 sec\nuint32 nanosec\n");
const POSE: (&str, &str) =
    ("geometry_msgs/Pose", "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n");
const POINT: (&str, &str) = ("geometry_msgs/Point", "float64 x\nfloat64 y\nfloat64 z\n");
const QUATERNION: (&str, &str) = ("geometry_msgs/Quaternion", "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n");
const WITH_COVARIANCE: (&str, &str) =
    ("geometry_msgs/PoseWithCovariance", "geometry_msgs/Pose pose\nfloat64[36] covariance\n");
const PARTICLE: (&str, &str) = ("nav2_msgs/Particle", "geometry_msgs/Pose pose\nfloat64 weight\n");

fn definition(fields: &str, parts: &[(&str, &str)]) -> String {
    let part = |(name, fields): &(&str, &str)| format!("{LINE}\nMSG: {name}\n{fields}");
    fields.to_owned() + &parts.iter().map(part).collect::<String>()
}

/// The definition of [`POSE_TYPE`].
pub(super) fn pose_definition() -> String {
    let fields = "std_msgs/Header header\ngeometry_msgs/PoseWithCovariance pose\n";
    definition(fields, &[HEADER, TIME, WITH_COVARIANCE, POSE, POINT, QUATERNION])
}

/// The definition of [`CLOUD_TYPE`].
pub(super) fn cloud_definition() -> String {
    let fields = "std_msgs/Header header\nnav2_msgs/Particle[] particles\n";
    definition(fields, &[HEADER, TIME, PARTICLE, POSE, POINT, QUATERNION])
}

/// A message in the making: every number stands at a multiple of its size behind the first four bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// With a header in front: seconds and nanoseconds, and the frame that poses are in.
    pub(super) fn new(stamp: Stamp, frame: &str) -> Self {
        let mut message = Self { bytes: vec![0, 1, 0, 0] };
        message.header(stamp, frame);
        message
    }

    /// An array of this length, whose elements come next.
    pub(super) fn array(count: u32) -> Self {
        let mut message = Self { bytes: vec![0, 1, 0, 0] };
        message.count(count);
        message
    }

    /// When and in which frame.
    pub(super) fn header(&mut self, (seconds, nanoseconds): Stamp, frame: &str) {
        self.put(&seconds.to_le_bytes());
        self.count(nanoseconds);
        self.text(frame);
    }

    /// A text; its length counts the zero behind it.
    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len() as u32 + 1);
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    fn put(&mut self, number: &[u8]) {
        let behind = (self.bytes.len() - 4).next_multiple_of(number.len());
        self.bytes.resize(4 + behind, 0);
        self.bytes.extend_from_slice(number);
    }

    /// The length of an array.
    pub(super) fn count(&mut self, count: u32) {
        self.put(&count.to_le_bytes());
    }

    pub(super) fn number(&mut self, number: f64) {
        self.put(&number.to_le_bytes());
    }

    /// A pose in the plane: position and quaternion.
    pub(super) fn pose(&mut self, pose: Pose) {
        let (sine, cosine) = (0.5 * pose.heading).sin_cos();
        for number in [pose.x, pose.y, 0.0, 0.0, 0.0, sine, cosine] {
            self.number(number);
        }
    }

    /// Of x, y, z and turns around them, of which x, y and the last are known; zeros where nothing is.
    pub(super) fn covariance(&mut self, covariance: &[[f64; 3]; 3]) {
        const PLANE: [usize; 3] = [0, 1, 5];
        let place = |k: usize| PLANE.iter().position(|&own| own == k);
        for (row, column) in (0..36).map(|i| (place(i / 6), place(i % 6))) {
            let known = row.zip(column).map(|(row, column)| covariance[row][column]);
            self.number(known.filter(|x| x.is_finite()).unwrap_or(0.0));
        }
    }

    /// With the four bytes in front that say how it is written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes by hand: the text of "map" ends within a group of four, and the first f64 stands at the next multiple of 8.
    #[test]
    fn numbers_stand_at_multiples_of_their_size() {
        let mut message = Message::new((7, 9), "map");
        message.number(1.0);
        let expected: [&[u8]; 7] = [
            &[0, 1, 0, 0],
            &[7, 0, 0, 0],
            &[9, 0, 0, 0],
            &[4, 0, 0, 0],
            b"map\0",
            &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
            &[],
        ];
        assert_eq!(message.bytes(), expected.concat());
        let mut message = Message::new((7, 9), "odom");
        message.number(1.0);
        assert_eq!(message.bytes().len(), 4 + 24 + 8, "17 bytes, and 7 to the next multiple of 8");
        assert_eq!(message.bytes()[16..28], *b"odom\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn the_plane_in_space() {
        let mut message = Message::new((0, 0), "map");
        let covariance = [[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]];
        message.covariance(&covariance);
        let numbers: Vec<f64> = message.bytes()[20..]
            .chunks_exact(8)
            .map(|x| f64::from_le_bytes(x.try_into().unwrap()))
            .collect();
        assert_eq!(numbers.len(), 36);
        assert_eq!([0, 1, 5, 7, 11, 35].map(|i| numbers[i]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!([6, 30, 31].map(|i| numbers[i]), [2.0, 3.0, 5.0]);
        assert_eq!(numbers.iter().filter(|x| **x != 0.0).count(), 9);
    }
}
