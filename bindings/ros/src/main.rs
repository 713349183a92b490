//! `driftless-ros RUN`: a trained run as a localisation node of ROS 2.

use driftless_ros::localiser::{Localiser, Outcome};
use driftless_ros::names::Names;
use driftless_ros::parameters::{PARAMETERS, Parameters};
use driftless_ros::peer::{Network, Peer};
use driftless_ros::run::{TrainedRun, Wants};
use driftless_ros::topics::{Heard, Said};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often somebody looks whether to stop.
const PAUSE: Duration = Duration::from_millis(100);
/// Exit code of wrong usage, as that of `driftless`.
const USAGE: u8 = 2;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

const HELP: &str = "\
A trained run of Driftless as a localisation node of ROS 2.

Usage: driftless-ros RUN [OPTIONS]

  -p, --param NAME:=VALUE  a parameter, see below; NAME:=VALUE alone will do
  -r, --remap FROM:=TO     another name of a topic; __ns:=/robot and __node:=name, too
      --domain N           0 to 232 [default: ROS_DOMAIN_ID, or 0]
      --only-here          be heard on this machine alone [default: if ROS_LOCALHOST_ONLY is 1]
      --for SECONDS        end by itself
  -h, --help

Listens to scan or image, odom, initialpose and /tf_static; publishes amcl_pose, particle_cloud and /tf.
SIGINT and SIGTERM end it with exit code 0. docs/ros.md says more.

Parameters:
";

/// What was typed.
struct Asked {
    run: PathBuf,
    parameters: Parameters,
    names: Names,
    network: Network,
    seconds: Option<f64>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "-h" || word == "--help") {
        print!("{HELP}");
        for parameter in PARAMETERS {
            println!("  {:<20} {} [default: {}]", parameter.name, parameter.what, parameter.usual);
        }
        return ExitCode::SUCCESS;
    }
    match asked(&words) {
        Err(problem) => {
            say(&format!("{problem}; --help tells what is possible"));
            ExitCode::from(USAGE)
        }
        Ok(asked) => match drive(asked) {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => {
                say(&problem);
                ExitCode::FAILURE
            }
        },
    }
}

/// Standard error, as nodes of ROS do; nobody who closed it is a reason to end.
fn say(words: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "driftless-ros: {words}");
}

fn asked(words: &[String]) -> Result<Asked, String> {
    let mut parameters = Parameters::default();
    let (mut run, mut seconds, mut changes) = (None, None, Vec::new());
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let mut domain = variable("ROS_DOMAIN_ID");
    let mut only_here = variable("ROS_LOCALHOST_ONLY") == "1";
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word}: a value is missing"));
        match word.as_str() {
            "--ros-args" | "--" => {}
            "-p" | "--param" => parameters.take(value()?)?.iter().for_each(|note| say(note)),
            "-r" | "--remap" => changes.push(value()?.as_str()),
            "--domain" => value()?.clone_into(&mut domain),
            "--only-here" => only_here = true,
            "--for" => seconds = Some(duration(value()?)?),
            word if word.starts_with('-') => return Err(format!("there is no option {word}")),
            word if word.contains(":=") => parameters.take(word)?.iter().for_each(|note| say(note)),
            word if run.is_none() => run = Some(PathBuf::from(word)),
            word => return Err(format!("{word:?}: there is a run already")),
        }
    }
    parameters.check()?;
    let mut names = Names::default();
    // A namespace is that of all names, wherever it stands.
    changes.sort_by_key(|change| !change.starts_with("__ns:="));
    changes.into_iter().try_for_each(|change| names.change(change))?;
    let domain =
        if domain.is_empty() { Some(0) } else { domain.parse().ok().filter(|domain| *domain <= 232) };
    let domain = domain.ok_or("the domain must be a number from 0 to 232")?;
    let run = run.ok_or("the folder of a run is missing")?;
    Ok(Asked { run, parameters, names, network: Network { domain, only_here }, seconds })
}

fn duration(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=1e9).contains(seconds));
    seconds.ok_or_else(|| format!("--for {text}: must be seconds"))
}

/// Topics that the run needs, by the names of the parameters.
fn heard(parameters: &Parameters, wants: &Wants) -> Vec<(Heard, String)> {
    let mut topics = vec![
        (Heard::Odometry, parameters.odom_topic.clone()),
        (Heard::InitialPose, "initialpose".to_owned()),
        (Heard::Fixed, "/tf_static".to_owned()),
    ];
    topics.extend(wants.scanner.is_some().then(|| (Heard::Scan, parameters.scan_topic.clone())));
    topics.extend(wants.sees.then(|| (Heard::Image, parameters.image_topic.clone())));
    topics
}

fn drive(asked: Asked) -> Result<(), String> {
    let Asked { run, parameters, names, network, seconds } = asked;
    let (run, wants) = TrainedRun::open(&run, parameters.max_particles, parameters.seed)?;
    run.unfed().iter().for_each(|note| say(note));
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .map_err(|error| format!("cannot listen to signals: {error}"))?;
    let topics = heard(&parameters, &wants);
    let mut peer = Peer::join(network, &names, &topics, &Said::ALL)?;
    let listed: Vec<String> = topics.iter().map(|(_, topic)| names.of(topic)).collect();
    say(&format!("listening to {} in domain {}", listed.join(", "), network.domain));
    let mut localiser = Localiser::new(parameters, Box::new(run), wants);
    let (begun, mut lost) = (Instant::now(), 0_u64);
    while !INTERRUPTED.load(Ordering::Relaxed)
        && seconds.is_none_or(|most| begun.elapsed().as_secs_f64() < most)
    {
        let mut messages = Vec::new();
        peer.listen(PAUSE, |what, bytes| messages.push((what, bytes.to_vec())))?;
        for (what, bytes) in messages {
            localiser.hear(what, &bytes);
            for outcome in localiser.outcomes() {
                match outcome {
                    Outcome::Tell(words) => say(&words),
                    Outcome::Publish(what, message) => {
                        lost += u64::from(!peer.publish(what, message.bytes()))
                    }
                }
            }
        }
    }
    let unsent = if lost > 0 { format!("; {lost} messages were not sent") } else { String::new() };
    say(&format!("{}{unsent}", localiser.counts()));
    Ok(())
}
