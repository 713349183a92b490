//! `driftless import mcap`: a bag of ROS 1 or ROS 2, or the list of its topics.

use super::written::Written;
use super::{Importing, listing};
use crate::output::print;
use crate::usage::misused;
use anyhow::Result;
use clap::Args;
use driftless_world::files::Source;
use driftless_world::files::bag::{self, BagOptions, PoseSource, Stepping};
use driftless_world::files::track::Pose;
use std::path::PathBuf;

/// Options of `import mcap`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import mcap drive.mcap --list
  driftless import mcap drive.mcap --out drive.npz --test unseen.npz
  driftless import mcap drive.mcap --odometry /odom --scan /scan --pose /amcl_pose --rate 2 --out drive.npz
  driftless import mcap drive.mcap --odometry 'tf:odom->base_link' --image /camera/image_raw --out drive.npz

What is not named is looked for: the only topic with scans (or else images), the only one with odometry (or else the
transforms from odom), and poses whose topic's name says that they are true, the only ones, or the transforms from map.
`none` leaves something out. Steps are at the times of scans, or else of images; poses and odometry are interpolated.
Where no pose is known, a step is not labelled. Readings out of the laser's range become missing (NaN).
Types that are read, of ROS 1 and ROS 2: LaserScan, PointCloud2 (as a planar scan), Image (rgb8, bgr8, rgba8, bgra8,
mono8), CompressedImage (PNG, JPEG), Odometry, PoseStamped, PoseWithCovarianceStamped, TransformStamped, TFMessage.")]
pub struct Mcap {
    /// The bag
    #[arg(value_name = "BAG")]
    bag: PathBuf,

    /// Print the bag's topics and frames and do nothing else
    #[arg(long)]
    list: bool,

    /// A topic with odometry or poses, or tf:PARENT->CHILD
    #[arg(long, value_name = "TOPIC")]
    odometry: Option<PoseSource>,

    /// The topic with the laser's scans
    #[arg(long, value_name = "TOPIC")]
    scan: Option<String>,

    /// The topic with the camera's images
    #[arg(long, value_name = "TOPIC")]
    image: Option<String>,

    /// A topic with true poses, or tf:PARENT->CHILD
    #[arg(long, value_name = "TOPIC")]
    pose: Option<PoseSource>,

    /// Steps a second, at most; without it, a step whenever the robot has moved
    #[arg(long, value_name = "HZ")]
    rate: Option<f64>,

    /// A step whenever the robot has moved so many metres
    #[arg(long, value_name = "M", default_value_t = 0.1, conflicts_with = "rate")]
    every_metres: f64,

    /// Or turned so many radians
    #[arg(long, value_name = "RAD", default_value_t = 0.1, conflicts_with = "rate")]
    every_turn: f64,

    /// At most so many beams of a scan, evenly spaced
    #[arg(long, value_name = "N", default_value_t = 181)]
    beams: usize,

    /// Where the scanner sits on the robot: metres ahead, metres left, degrees turned to the left
    #[arg(long, value_name = "X,Y,DEG", allow_hyphen_values = true, value_parser = mount)]
    mount: Option<Pose>,

    /// Images are shrunk until no side has more pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 64)]
    image_side: usize,

    /// Seconds between two poses that may be bridged
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    max_gap: f64,

    /// Seconds between a scan and the image of its step, at most
    #[arg(long, value_name = "S", default_value_t = 0.15)]
    max_delay: f64,

    /// Seconds without a message after which a new episode starts
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    max_pause: f64,

    #[command(flatten)]
    written: Written,
}

impl Importing for Mcap {
    fn run(&self) -> Result<()> {
        let source = Source::open(&self.bag)?;
        if self.list {
            let listing = bag::list(&source).map_err(|error| error.in_file(&self.bag))?;
            return print(&listing::text(&listing));
        }
        let out = self.written.out()?;
        let positive = |value: f64| value > 0.0 && value.is_finite();
        if !self.rate.is_none_or(positive) || ![self.max_gap, self.max_pause].into_iter().all(positive) {
            misused!("--rate, --max-gap and --max-pause must be above 0");
        }
        if !(self.every_metres >= 0.0 && self.every_turn >= 0.0 && self.max_delay >= 0.0) {
            misused!("--every-metres, --every-turn and --max-delay cannot be negative");
        }
        let options = BagOptions {
            odometry: self.odometry.clone(),
            scan: self.scan.clone(),
            image: self.image.clone(),
            pose: self.pose.clone(),
            mount: self.mount,
            stepping: self.rate.map_or(Stepping::Motion(self.every_metres, self.every_turn), Stepping::Rate),
            beams: self.beams,
            image_side: self.image_side,
            max_gap: self.max_gap,
            max_delay: self.max_delay,
            max_pause: self.max_pause,
            episode_steps: self.written.episode_steps,
        };
        let recording = bag::import(&source, &options).map_err(|error| error.in_file(&self.bag))?;
        self.written.write(recording, &self.bag, out)
    }
}

/// Three numbers with commas between.
fn mount(text: &str) -> Result<Pose, String> {
    let numbers: Option<Vec<f64>> =
        text.split(',').map(|part| part.trim().parse().ok().filter(|x: &f64| x.is_finite())).collect();
    match numbers.as_deref() {
        Some(&[x, y, degrees]) => Ok([x, y, degrees.to_radians()]),
        _ => Err("three numbers are expected, such as 0.2,0,180".to_owned()),
    }
}
