//! Options of `driftless import` for what robots recorded.

use clap::Args;
use driftless_world::files::bag::PoseSource;
use driftless_world::files::columns::Assignment;
use driftless_world::files::track::Pose;
use std::path::PathBuf;

/// What all of them write.
#[derive(Args, Debug)]
pub struct Written {
    /// The log to write (npz)
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// A second log, which gets the last part of the drive: to evaluate by what was not learned from
    #[arg(long, value_name = "FILE")]
    pub test: Option<PathBuf>,

    /// How much of the drive the second log gets
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    pub test_share: f64,

    /// Longest episode; longer drives are cut into several
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub episode_steps: usize,

    /// Replace the files if they exist
    #[arg(long, short)]
    pub force: bool,
}

/// Options of `import carmen`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import carmen intel.clf.bz2 --poses intel-corrected.log.gz --out intel.npz

Logs may be plain, gzipped or packed by bzip2. Without --poses no step is labelled.
Where an odometer counts backward driving as forward, the logged speed gives the sign.")]
pub struct Carmen {
    /// The raw log, with FLASER or ROBOTLASER1 lines
    #[arg(value_name = "LOG")]
    pub log: PathBuf,

    /// The same drive with corrected poses, joined by identical ranges, or else by time
    #[arg(long, value_name = "LOG")]
    pub poses: Option<PathBuf>,

    /// At most so many beams of a scan, evenly spaced
    #[arg(long, value_name = "N", default_value_t = 181)]
    pub beams: usize,

    /// A step whenever the robot has moved so many metres
    #[arg(long, value_name = "M", default_value_t = 0.18)]
    pub every_metres: f64,

    /// Or turned so many radians
    #[arg(long, value_name = "RAD", default_value_t = 0.2)]
    pub every_turn: f64,

    /// Readings above become missing (NaN); without it they stay as logged
    #[arg(long, value_name = "M")]
    pub max_range: Option<f32>,

    /// Seconds without a scan after which a new episode starts
    #[arg(long, value_name = "S", default_value_t = 30.0)]
    pub max_pause: f64,

    #[command(flatten)]
    pub written: Written,
}

/// Options of `import tum`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import tum truth.txt --log drive.npz --out with_truth.npz

Lines are `time x y z qx qy qz qw`. The log needs `times`; its own poses are replaced.")]
pub struct Tum {
    /// The trajectory
    #[arg(value_name = "TRAJECTORY")]
    pub trajectory: PathBuf,

    /// The plain log that gets the poses
    #[arg(long, value_name = "FILE")]
    pub log: PathBuf,

    /// Seconds between two poses that may be bridged
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub max_gap: f64,

    /// Seconds added to the trajectory's times
    #[arg(long, value_name = "S", default_value_t = 0.0, allow_hyphen_values = true)]
    pub offset: f64,

    /// The log to write (npz)
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,

    /// Replace the file if it exists
    #[arg(long, short)]
    pub force: bool,
}

/// Options of `import csv`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import csv drive.csv --column time=t --column x=pose_x --column y=pose_y --column heading=yaw \\
    --column odom_x=ox --column odom_y=oy --column odom_heading=oth --column 'scan=range_*' \\
    --beams-from=-90 --beams-to=90 --out drive.npz

WHAT is one of time, episode; x, y, heading (the true pose); forward, left, turn (motion into the row), or odom_x,
odom_y, odom_heading (where odometry says the robot is); scan (distances of beams), reading (anything else).
Empty cells and nan are missing. Columns that are not named are left out.")]
pub struct Csv {
    /// The table, with a header
    #[arg(value_name = "FILE")]
    pub table: PathBuf,

    /// What a column is; a star in its name stands for anything, in the header's order
    #[arg(long = "column", short, value_name = "WHAT=COLUMN", required = true)]
    pub columns: Vec<Assignment>,

    /// Headings and turns are in degrees
    #[arg(long)]
    pub degrees: bool,

    /// Lengths are in millimetres
    #[arg(long)]
    pub millimetres: bool,

    /// Bearing of the scan's first beam in degrees, left of the heading
    #[arg(long, value_name = "DEG", allow_hyphen_values = true, requires = "beams_to")]
    pub beams_from: Option<f64>,

    /// Bearing of the scan's last beam
    #[arg(long, value_name = "DEG", allow_hyphen_values = true, requires = "beams_from")]
    pub beams_to: Option<f64>,

    /// Seconds without a row after which a new episode starts
    #[arg(long, value_name = "S", default_value_t = 30.0)]
    pub max_pause: f64,

    #[command(flatten)]
    pub written: Written,
}

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
    pub bag: PathBuf,

    /// Print the bag's topics and frames and do nothing else
    #[arg(long)]
    pub list: bool,

    /// A topic with odometry or poses, or tf:PARENT->CHILD
    #[arg(long, value_name = "TOPIC")]
    pub odometry: Option<PoseSource>,

    /// The topic with the laser's scans
    #[arg(long, value_name = "TOPIC")]
    pub scan: Option<String>,

    /// The topic with the camera's images
    #[arg(long, value_name = "TOPIC")]
    pub image: Option<String>,

    /// A topic with true poses, or tf:PARENT->CHILD
    #[arg(long, value_name = "TOPIC")]
    pub pose: Option<PoseSource>,

    /// Steps a second, at most; without it, a step whenever the robot has moved
    #[arg(long, value_name = "HZ")]
    pub rate: Option<f64>,

    /// A step whenever the robot has moved so many metres
    #[arg(long, value_name = "M", default_value_t = 0.1, conflicts_with = "rate")]
    pub every_metres: f64,

    /// Or turned so many radians
    #[arg(long, value_name = "RAD", default_value_t = 0.1, conflicts_with = "rate")]
    pub every_turn: f64,

    /// At most so many beams of a scan, evenly spaced
    #[arg(long, value_name = "N", default_value_t = 181)]
    pub beams: usize,

    /// Where the scanner sits on the robot: metres ahead, metres left, degrees turned to the left
    #[arg(long, value_name = "X,Y,DEG", allow_hyphen_values = true, value_parser = mount)]
    pub mount: Option<Pose>,

    /// Images are shrunk until no side has more pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 64)]
    pub image_side: usize,

    /// Seconds between two poses that may be bridged
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub max_gap: f64,

    /// Seconds between a scan and the image of its step, at most
    #[arg(long, value_name = "S", default_value_t = 0.15)]
    pub max_delay: f64,

    /// Seconds without a message after which a new episode starts
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub max_pause: f64,

    #[command(flatten)]
    pub written: Written,
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
