//! Options of `driftless serve`.

use super::queueing::time;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `serve`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless serve runs/mine
  driftless serve runs/mine --listen 127.0.0.1:7700 --page 127.0.0.1:7780 --state robots
  driftless serve runs/mine --start 1.5,2.0,0.3 --particles 200 --idle 5m
  driftless serve runs/maze --maze maze1 --page 127.0.0.1:0
  driftless serve runs/house --floor there.tfrecords --for 2h

A client sends lines as `driftless track --stream` reads them, over TCP:
  {\"robot\": \"a\", \"step\": 12, \"time\": 12.5, \"odometry\": [0.2, 0, 0.1], \"scan\": [1.5, null, 2.25]}
and reads a line for each: an estimate, or {\"line\": 3, \"error\": …}. docs/live.md says more.
Ctrl-C and SIGTERM finish what has come in, write a last snapshot, and end with exit code 0.
Nobody is asked for a password: listen on other addresses only where everybody may talk to the robots.")]
pub struct Serve {
    /// The folder of a run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,

    /// Where robots connect to; port 0 takes a free one, and says which
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,

    /// Show robots on a web page there; port 0 takes a free one, and says which
    #[arg(long, value_name = "ADDRESS")]
    pub page: Option<SocketAddr>,

    /// Keep all beliefs in this folder, and go on from them
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,

    /// How often they are written there
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time, requires = "state")]
    pub snapshot_every: Duration,

    /// Record poses and particles of all robots as ROS 2 messages in this file (.mcap), which must not be there
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// Megabytes of messages in the recording, at most
    #[arg(long, value_name = "MB", default_value_t = 1000, requires = "record", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub record_most: u32,

    /// Particles of a cloud in the recording, at most; 0 for no clouds
    #[arg(long, value_name = "N", default_value_t = 100, requires = "record", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub record_cloud: u32,

    /// Lines of a robot that wait for the filter; of more, the oldest two become one
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(3..=1000))]
    pub queue: u16,

    /// A robot or a client of which nothing is heard for so long is forgotten
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub idle: Duration,

    /// A robot whose client is gone is forgotten after so long, if nobody else speaks for it
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time)]
    pub linger: Duration,

    /// Robots at once, at most
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub robots: u32,

    /// Clients at once, at most; each may speak for many robots
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub clients: u32,

    /// End after this time, as 2s or 8h
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub duration: Option<Duration>,

    /// In a house: a recording there (tfrecords), whose floor plan is used; that of episode K with --from K
    #[arg(long, value_name = "FILE")]
    pub floor: Option<PathBuf>,

    /// The episode of --floor, counted from 0
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub from: usize,

    /// The maze to draw on the page: maze1, maze2, maze3 or a drawing [default: that of the run, if its name tells]
    #[arg(long, value_name = "MAZE")]
    pub maze: Option<String>,

    /// Where robots start that are not told by their lines: `global` (anywhere), or x,y,heading in radians, and if wanted
    /// standard deviations of position and heading
    #[arg(long, value_name = "START", allow_hyphen_values = true)]
    pub start: Option<String>,

    /// Number of particles [default: as in training]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub particles: Option<u32>,

    /// Names the filter's random numbers
    #[arg(long, short, default_value_t = 1)]
    pub seed: u64,
}
