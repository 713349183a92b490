//! Bags as robots write them, in both of ROS's encodings: written here by the rules, and not by our reader's code.

// Each test program uses a part of it.
#![allow(dead_code, unreachable_pub)]

use mcap::records::MessageHeader;
use mcap::{Compression, WriteOptions, Writer};
use std::collections::{BTreeMap, HashMap};
use std::io::{Cursor, Seek, Write};

/// A message being written.
pub struct Fields {
    cdr: bool,
    bytes: Vec<u8>,
}

impl Fields {
    /// Begins with the stamp and the frame.
    pub fn with_header(cdr: bool, time: f64, frame: &str) -> Self {
        Self::new(cdr).header(time, frame)
    }

    pub fn new(cdr: bool) -> Self {
        Self { cdr, bytes: if cdr { vec![0, 1, 0, 0] } else { Vec::new() } }
    }

    fn number(mut self, bytes: &[u8]) -> Self {
        // CDR aligns a number to its size, counted behind its four first bytes.
        while self.cdr && !(self.bytes.len() - 4).is_multiple_of(bytes.len()) {
            self.bytes.push(0);
        }
        self.bytes.extend(bytes);
        self
    }

    pub fn u8(self, value: u8) -> Self {
        self.number(&[value])
    }

    pub fn u32(self, value: usize) -> Self {
        self.number(&(value as u32).to_le_bytes())
    }

    pub fn floats(self, values: &[f32]) -> Self {
        values.iter().fold(self, |fields, value| fields.number(&value.to_le_bytes()))
    }

    pub fn doubles(self, values: &[f64]) -> Self {
        values.iter().fold(self, |fields, value| fields.number(&value.to_le_bytes()))
    }

    pub fn text(self, text: &str) -> Self {
        let end = usize::from(self.cdr);
        let mut fields = self.u32(text.len() + end);
        fields.bytes.extend(text.bytes());
        fields.bytes.extend(vec![0; end]);
        fields
    }

    pub fn data(self, data: &[u8]) -> Self {
        let mut fields = self.u32(data.len());
        fields.bytes.extend(data);
        fields
    }

    pub fn header(self, time: f64, frame: &str) -> Self {
        let (seconds, nanoseconds) = (time.floor(), ((time - time.floor()) * 1e9).round());
        let fields = if self.cdr { self } else { self.u32(7) };
        fields.u32(seconds as usize).u32(nanoseconds as usize).text(frame)
    }

    pub fn place(self, [x, y, heading]: [f64; 3]) -> Self {
        self.doubles(&[x, y, 0.0, 0.0, 0.0, (heading / 2.0).sin(), (heading / 2.0).cos()])
    }

    pub fn done(self) -> Vec<u8> {
        self.bytes
    }
}

/// A bag being written.
pub struct Bag<W: Write + Seek = Cursor<Vec<u8>>> {
    pub cdr: bool,
    writer: Writer<W>,
    channels: HashMap<String, u16>,
}

impl Bag {
    /// In memory.
    pub fn new(cdr: bool, compression: Option<Compression>) -> Self {
        Self::written_to(Cursor::new(Vec::new()), cdr, compression)
    }

    pub fn finish(self) -> Vec<u8> {
        self.finished().into_inner()
    }
}

impl<W: Write + Seek> Bag<W> {
    pub fn written_to(out: W, cdr: bool, compression: Option<Compression>) -> Self {
        let options = WriteOptions::new().compression(compression).chunk_size(Some(20_000));
        let writer = options.create(out).unwrap();
        Self { cdr, writer, channels: HashMap::new() }
    }

    /// Records a message at a time. The type is written as in ROS 2 and changed for ROS 1.
    pub fn message(&mut self, topic: &str, schema: &str, logged: f64, data: &[u8]) {
        let (cdr, writer) = (self.cdr, &mut self.writer);
        let id = *self.channels.entry(topic.to_owned()).or_insert_with(|| {
            let name = if cdr { schema.to_owned() } else { schema.replace("/msg/", "/") };
            let schema = writer.add_schema(&name, if cdr { "ros2msg" } else { "ros1msg" }, b"").unwrap();
            writer.add_channel(schema, topic, if cdr { "cdr" } else { "ros1" }, &BTreeMap::new()).unwrap()
        });
        let time = (logged * 1e9).round() as u64;
        let header = MessageHeader { channel_id: id, sequence: 0, log_time: time, publish_time: time };
        writer.write_to_known_channel(&header, data).unwrap();
    }

    pub fn scan(&mut self, topic: &str, time: f64, frame: &str, first: f32, step: f32, ranges: &[f32]) {
        let last = first + step * (ranges.len() - 1) as f32;
        let fields = Fields::with_header(self.cdr, time, frame);
        let fields =
            fields.floats(&[first, last, step, 0.0, 0.1, 0.05, 30.0]).u32(ranges.len()).floats(ranges);
        let data = fields.u32(0).done();
        self.message(topic, "sensor_msgs/msg/LaserScan", time, &data);
    }

    pub fn odometry(&mut self, topic: &str, time: f64, child: &str, pose: [f64; 3]) {
        let fields = Fields::with_header(self.cdr, time, "odom").text(child).place(pose);
        let data = fields.doubles(&[0.0; 36]).doubles(&[0.0; 6]).doubles(&[0.0; 36]).done();
        self.message(topic, "nav_msgs/msg/Odometry", time, &data);
    }

    pub fn pose(&mut self, topic: &str, time: f64, pose: [f64; 3]) {
        let data = Fields::with_header(self.cdr, time, "map").place(pose).done();
        self.message(topic, "geometry_msgs/msg/PoseStamped", time, &data);
    }

    pub fn transforms(&mut self, topic: &str, time: f64, all: &[(&str, &str, [f64; 3])]) {
        let fields = Fields::new(self.cdr).u32(all.len());
        let data = all.iter().fold(fields, |fields, (parent, child, pose)| {
            fields.header(time, parent).text(child).place(*pose)
        });
        self.message(topic, "tf2_msgs/msg/TFMessage", time, &data.done());
    }

    pub fn image(
        &mut self,
        topic: &str,
        time: f64,
        encoding: &str,
        (height, width): (usize, usize),
        data: &[u8],
    ) {
        let fields = Fields::with_header(self.cdr, time, "camera").u32(height).u32(width).text(encoding);
        let data = fields.u8(0).u32(data.len() / height).data(data).done();
        self.message(topic, "sensor_msgs/msg/Image", time, &data);
    }

    pub fn packed_image(&mut self, topic: &str, time: f64, format: &str, data: &[u8]) {
        let data = Fields::with_header(self.cdr, time, "camera").text(format).data(data).done();
        self.message(topic, "sensor_msgs/msg/CompressedImage", time, &data);
    }

    pub fn cloud(&mut self, topic: &str, time: f64, frame: &str, points: &[[f32; 3]]) {
        let mut fields = Fields::with_header(self.cdr, time, frame).u32(1).u32(points.len()).u32(4);
        for (name, at) in [("x", 0), ("y", 4), ("z", 8), ("intensity", 16)] {
            fields = fields.text(name).u32(at).u8(7).u32(1);
        }
        let data: Vec<u8> = points
            .iter()
            .flat_map(|p| [p[0], p[1], p[2], 0.0, 5.0].map(f32::to_le_bytes))
            .flatten()
            .collect();
        let data = fields.u8(0).u32(20).u32(20 * points.len()).data(&data).u8(1).done();
        self.message(topic, "sensor_msgs/msg/PointCloud2", time, &data);
    }

    pub fn finished(mut self) -> W {
        self.writer.finish().unwrap();
        self.writer.into_inner()
    }
}

/// Where the robot of [`circle`] is: on a circle of 2 m, half a metre a second.
pub fn on_circle(time: f64) -> [f64; 3] {
    let angle = 0.25 * (time - START);
    let heading = angle + std::f64::consts::FRAC_PI_2;
    let turns = (heading / std::f64::consts::TAU).round() * std::f64::consts::TAU;
    [2.0 * angle.cos(), 2.0 * angle.sin(), heading - turns]
}

/// When [`circle`] begins.
pub const START: f64 = 1_600_000_000.0;

/// Readings of the scan number `k` of [`circle`].
pub fn scan_of_circle(k: usize) -> Vec<f32> {
    (0..36).map(|beam| 1.0 + beam as f32 * 0.1 + k as f32 * 0.01).collect()
}

/// A drive of `seconds` on a circle: /odom at 50 Hz, /scan at 10 Hz and /truth at 20 Hz; the scanner looks backwards.
pub fn circle(cdr: bool, compression: Option<Compression>, seconds: usize) -> Bag {
    let mut bag = Bag::new(cdr, compression);
    let back = std::f64::consts::PI;
    bag.transforms("/tf_static", START, &[("base_link", "laser", [0.0, 0.0, back])]);
    for tick in 0..=100 * seconds {
        let time = START + tick as f64 * 0.01;
        if tick % 2 == 0 {
            // Odometry is in a frame of its own.
            let [x, y, heading] = on_circle(time);
            bag.odometry("/odom", time, "base_link", [y + 5.0, -x, heading - std::f64::consts::FRAC_PI_2]);
        }
        if tick % 5 == 0 {
            bag.pose("/truth", time, on_circle(time));
        }
        if tick % 10 == 3 {
            let k = tick / 10;
            bag.scan("/scan", time, "laser", -3.0, 0.17, &scan_of_circle(k));
        }
    }
    bag
}
