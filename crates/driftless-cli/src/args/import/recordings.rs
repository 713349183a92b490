//! Options of `driftless import` for what robots recorded.

use clap::Args;
use driftless_world::files::bag::PoseSource;
use std::path::PathBuf;

/// Options of `import carmen`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import carmen intel.clf --poses intel-corrected.log.gz --out intel.npz

Logs may be plain or gzipped; unpack others first (bunzip2). Without --poses no step is labelled.")]
pub struct Carmen {
    /// The raw log, with FLASER or ROBOTLASER1 lines
    #[arg(value_name = "LOG")]
    pub log: PathBuf,

    /// The same drive with corrected poses, joined by identical ranges, or else by time
    #[arg(long, value_name = "LOG")]
    pub poses: Option<PathBuf>,

    /// At most so many beams of a scan
    #[arg(long, value_name = "N", default_value_t = 180)]
    pub beams: usize,

    /// Metres from a step to the next
    #[arg(long, value_name = "M", default_value_t = 0.18)]
    pub min_move: f64,

    /// Or radians of turning
    #[arg(long, value_name = "RAD", default_value_t = 0.2)]
    pub min_turn: f64,

    /// Readings above become missing (NaN); without it they stay as logged
    #[arg(long, value_name = "M")]
    pub max_range: Option<f32>,

    /// Longest episode
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub episode_steps: usize,

    /// The log to write (npz)
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,

    /// Replace the file if it exists
    #[arg(long, short)]
    pub force: bool,
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
    #[arg(long, value_name = "S", default_value_t = 0.2)]
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

/// Options of `import mcap`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless import mcap drive.mcap --list
  driftless import mcap drive.mcap --odometry /odom --scan /scan --pose /amcl_pose --out drive.npz
  driftless import mcap drive.mcap --odometry 'tf:odom->base_link' --scan /scan --out drive.npz

Without --pose no step is labelled. Readings out of the laser's range become missing (NaN).")]
pub struct Mcap {
    /// The bag
    #[arg(value_name = "BAG")]
    pub bag: PathBuf,

    /// Print the bag's topics and do nothing else
    #[arg(long)]
    pub list: bool,

    /// A topic with odometry or poses, or tf:PARENT->CHILD
    #[arg(long, value_name = "TOPIC", required_unless_present = "list")]
    pub odometry: Option<PoseSource>,

    /// The topic with the laser's scans
    #[arg(long, value_name = "TOPIC", required_unless_present = "list")]
    pub scan: Option<String>,

    /// A topic with true poses, or tf:PARENT->CHILD
    #[arg(long, value_name = "TOPIC")]
    pub pose: Option<PoseSource>,

    /// Steps a second, at most
    #[arg(long, value_name = "HZ", default_value_t = 2.0)]
    pub rate: f64,

    /// At most so many beams of a scan
    #[arg(long, value_name = "N", default_value_t = 180)]
    pub beams: usize,

    /// Seconds between two messages that may be bridged
    #[arg(long, value_name = "S", default_value_t = 0.3)]
    pub max_gap: f64,

    /// Longest episode
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub episode_steps: usize,

    /// The log to write (npz)
    #[arg(long, short, value_name = "FILE", required_unless_present = "list")]
    pub out: Option<PathBuf>,

    /// Replace the file if it exists
    #[arg(long, short)]
    pub force: bool,
}
