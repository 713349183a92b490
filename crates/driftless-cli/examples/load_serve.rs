//! Drives many robots against a `driftless serve` of a maze, and says how long answers take.
//!
//! ```text
//! driftless simulate maze1 --episodes 40 --seed 9 --out drives.npz
//! driftless serve runs/maze --listen 127.0.0.1:7700 --particles 100 &
//! cargo run --release -p driftless-cli --example load_serve -- 127.0.0.1:7700 drives.npz 300 10 20 $!
//! ```
//!
//! Arguments: address, recordings, robots, lines a second of each, seconds, and if wanted the server's process, whose
//! processor time is told then. Each robot has a connection of its own and is told where it starts; where its drive ends
//! it begins anew.

use anyhow::{Context, Result};
use driftless_world::Dataset;
use driftless_world::files::base64;
use driftless_world::files::dpf::{DpfFile, DpfOptions};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Lines of a robot until all of them drive.
const SETTLED: u64 = 10;

/// A step of a drive: the rest of its line, and what tells where it is.
struct Recorded {
    line: String,
    told: String,
}

type Drive = Vec<Recorded>;

/// One robot: where its lines go, and when each was sent.
struct Robot {
    stream: TcpStream,
    sent: Mutex<Vec<Instant>>,
}

/// What came back: times of the first answers, before which filters are made for all at once, and of the others.
#[derive(Default)]
struct Heard {
    first: Vec<f64>,
    milliseconds: Vec<f64>,
    merged: u64,
    errors: u64,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, data, robots, hertz, seconds, rest @ ..] = &arguments[..] else {
        anyhow::bail!("give ADDRESS DRIVES.npz ROBOTS HERTZ SECONDS [PROCESS]")
    };
    let (robots, hertz, seconds): (usize, f64, f64) = (robots.parse()?, hertz.parse()?, seconds.parse()?);
    let drives = drives(data)?;
    let connect = |_| -> Result<Robot> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Robot { stream, sent: Mutex::default() })
    };
    let all = (0..robots).map(connect).collect::<Result<Vec<_>>>()?;
    let before = rest.first().and_then(|process| processor_seconds(process));
    let lines = (seconds * hertz) as usize;
    let heard = std::thread::scope(|scope| {
        let ears: Vec<_> = all.iter().map(|robot| scope.spawn(|| hear(robot))).collect();
        send(&all, &drives, (lines, hertz))?;
        std::thread::sleep(Duration::from_secs(1));
        for robot in &all {
            let _ = robot.stream.shutdown(Shutdown::Both);
        }
        Ok::<_, anyhow::Error>(ears.into_iter().map(|ear| ear.join().expect("an ear")).collect::<Vec<_>>())
    })?;
    let after = rest.first().and_then(|process| processor_seconds(process));
    tell(heard, (robots * lines) as u64, before.zip(after).map(|(before, after)| after - before));
    Ok(())
}

/// Recorded drives as lines.
fn drives(data: &str) -> Result<Vec<Drive>> {
    let file = DpfFile::open(data, DpfOptions::default())?;
    let one = |number: usize| -> Result<Drive> {
        let (episode, images) = (file.get(number)?, file.recording(number)?.images);
        let line = |t: usize| {
            // The first recorded step only serves the first action.
            let all = ((t + 1) * images.stride()..(t + 2) * images.stride()).step_by(images.channels);
            let pixels: Vec<u8> =
                all.flat_map(|i| [0, 1, 2].map(|k| images.pixels.get(i + k) as u8)).collect();
            let image = json!({ "size": [images.height, images.width, 3], "data": base64::encode(&pixels) });
            let line = json!({ "odometry": episode.actions.row(t), "image": image });
            let pose = episode.states.get(t).unwrap_or_default();
            let told = json!({ "pose": pose, "spread": [10.0, 10.0, 0.1] });
            // Without the braces, which others put around them.
            let [line, told] = [line, told].map(|object| object.to_string()[1..].to_owned());
            Recorded { line, told: told[..told.len() - 1].to_owned() + "," }
        };
        Ok((0..episode.len()).map(line).collect())
    };
    (0..file.len()).map(one).collect()
}

/// Sends all lines at their times, robots one after the other.
fn send(all: &[Robot], drives: &[Drive], (lines, hertz): (usize, f64)) -> Result<()> {
    let began = Instant::now();
    for step in 0..lines {
        for (number, robot) in all.iter().enumerate() {
            let due = (step as f64 + number as f64 / all.len() as f64) / hertz;
            if let Some(early) = Duration::from_secs_f64(due).checked_sub(began.elapsed()) {
                std::thread::sleep(early);
            }
            // Drives end at different times.
            let drive = &drives[number % drives.len()];
            let t = (step + 7 * number) % drive.len();
            let Recorded { line, told } = &drive[t];
            let told = if step == 0 || t == 0 { told } else { "" };
            let line = format!("{{\"robot\":{number},\"step\":{step},{told}{line}\n");
            robot.sent.lock().expect("times").push(Instant::now());
            (&robot.stream).write_all(line.as_bytes()).context("the server has hung up")?;
        }
    }
    let behind = began.elapsed().as_secs_f64() - lines as f64 / hertz;
    println!("the last line was sent {:.0} ms after its time", 1e3 * behind.max(0.0));
    Ok(())
}

/// Hears answers to the end.
fn hear(robot: &Robot) -> Heard {
    let mut heard = Heard::default();
    for line in BufReader::new(&robot.stream).lines().map_while(Result::ok) {
        let now = Instant::now();
        let answer: Value = serde_json::from_str(&line).unwrap_or_default();
        match answer["step"].as_u64().filter(|_| answer.get("error").is_none()) {
            Some(step) => {
                let sent = robot.sent.lock().expect("times")[step as usize];
                let all = if step < SETTLED { &mut heard.first } else { &mut heard.milliseconds };
                all.push(1e3 * (now - sent).as_secs_f64());
                heard.merged += answer["merged"].as_u64().unwrap_or(0);
            }
            None => heard.errors += 1,
        }
    }
    heard
}

fn tell(heard: Vec<Heard>, sent: u64, processor: Option<f64>) {
    let (merged, errors) = heard.iter().fold((0, 0), |sum, one| (sum.0 + one.merged, sum.1 + one.errors));
    let (first, others): (Vec<_>, Vec<_>) =
        heard.into_iter().map(|one| (one.first, one.milliseconds)).unzip();
    let (first, others) = (first.concat(), others.concat());
    let answered = first.len() + others.len();
    println!("{sent} lines sent, {answered} answered, {merged} merged into them, {errors} errors");
    println!("first ten lines of each: {}", latency(first));
    println!("later lines: {}", latency(others));
    if let Some(seconds) = processor {
        println!("processor time of the server: {:.0} microseconds a line", 1e6 * seconds / sent as f64);
    }
}

fn latency(mut milliseconds: Vec<f64>) -> String {
    milliseconds.sort_by(f64::total_cmp);
    let last = milliseconds.len().saturating_sub(1) as f64;
    let at = |share: f64| milliseconds.get((share * last) as usize).copied().unwrap_or(f64::NAN);
    format!("p50 {:.2} ms, p99 {:.2} ms, longest {:.2} ms", at(0.5), at(0.99), at(1.0))
}

/// Seconds that a process has computed so far.
fn processor_seconds(process: &str) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11).map(|field| field.parse::<f64>().unwrap_or(0.0));
    // In hundredths, as Linux has it everywhere.
    Some(0.01 * (fields.next()? + fields.next()?))
}
