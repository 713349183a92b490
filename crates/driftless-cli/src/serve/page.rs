//! The page's server: what robots are believed to be, to look at and nothing else.

use super::fleet::Fleet;
use super::live::Live;
use super::request::{self, Answer};
use super::robot::{Robot, Shown};
use super::server::Counted;
use driftless_core::Belief;
use driftless_report::live::{PAGE, SCRIPT, style};
use driftless_world::Pose;
use driftless_world::evaluation::{Cloud, Particle};
use driftless_world::files::{base64, png_image};
use serde_json::{Value, json};
use std::net::TcpStream;

/// Requests at once, at most.
pub const MOST_READERS: usize = 16;
/// Particles of a robot that are sent, at most.
const MOST_PARTICLES: usize = 3000;
/// Longest side of an image that is sent.
const MOST_SIDE: usize = 256;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

/// Answers one request.
pub fn answer(mut stream: TcpStream, fleet: &Fleet, live: &Live, _counted: Counted) {
    let Some(asked) = request::read(&mut stream) else { return };
    request::write(&mut stream, asked.and_then(|path| found(&path, fleet, live)));
}

fn found(path: &str, fleet: &Fleet, live: &Live) -> Result<Answer, (&'static str, &'static str)> {
    let json = |value: &Value| Answer { kind: JSON, body: value.to_string().into_bytes() };
    let text = |kind, text: &str| Answer { kind, body: text.as_bytes().to_vec() };
    let robot = |path: &str| {
        let number: u64 = path.strip_prefix("/robot/")?.strip_suffix(".json")?.parse().ok()?;
        let robot = fleet.robots().into_iter().find(|robot| robot.number == number)?;
        Some(in_detail(&robot, live))
    };
    match path {
        "/" => Ok(text(HTML, PAGE)),
        "/live.css" => Ok(Answer { kind: "text/css; charset=utf-8", body: style().into_bytes() }),
        "/live.js" => Ok(text("text/javascript; charset=utf-8", SCRIPT)),
        "/plan.json" => Ok(json(&live.shown)),
        "/live.json" => Ok(json(&overview(fleet))),
        _ => robot(path).map(|value| json(&value)).ok_or(("404 Not Found", "there is nothing here")),
    }
}

/// All robots in a line each, and how the server is.
fn overview(fleet: &Fleet) -> Value {
    let robots: Vec<Value> = fleet.robots().iter().map(|robot| in_short(robot)).collect();
    json!({ "health": fleet.health.figures(), "queued": fleet.queued(), "robots": robots })
}

fn in_short(robot: &Robot) -> Value {
    let (waiting, silent) = {
        let post = robot.post();
        (post.mailbox.len(), post.heard.elapsed().as_secs_f64())
    };
    let belief = robot.belief();
    let estimate = belief.shown.as_ref().map(|shown| &shown.estimate);
    let known = |x: f64| x.is_finite().then_some(x);
    json!({
        "number": robot.number,
        "name": robot.name,
        "pose": estimate.map(|e| [e.pose.x, e.pose.y, e.pose.heading]),
        "deviation": estimate.and_then(|e| known((e.covariance[0][0] + e.covariance[1][1]).sqrt())),
        "effective": estimate.and_then(|e| known(e.effective_sample_size)),
        "particles": estimate.map(|e| e.particles),
        "kidnapped": estimate.and_then(|e| e.lost),
        "saw": estimate.map(|e| e.saw),
        "steps": belief.begun.as_ref().map(|begun| begun.steps),
        "waiting": waiting,
        "silent": silent,
    })
}

/// Its particles and what it sees.
fn in_detail(robot: &Robot, live: &Live) -> Value {
    let (particles, image) = {
        let belief = robot.belief();
        let particles = belief.begun.as_ref().and_then(|begun| begun.tracker.belief()).map(some_of);
        (particles, belief.shown.as_ref().and_then(|Shown { image, .. }| image.clone()))
    };
    let cloud = Cloud::pack(&live.plan, &particles.unwrap_or_default());
    json!({
        "number": robot.number,
        "particles": base64::encode(cloud.packed()),
        "camera": image.and_then(|(size, pixels)| picture(size, &pixels)),
    })
}

/// Particles at even distances, if there are too many.
fn some_of(belief: &Belief) -> Vec<Particle> {
    let every = belief.particles.len().div_ceil(MOST_PARTICLES).max(1);
    let particle = |i: usize| {
        let [x, y, heading] = [0, 1, 2].map(|k| f64::from(belief.particles.column(k)[i]));
        Particle { pose: Pose::new(x, y, heading), weight: f64::from(belief.weights.linear()[i]) }
    };
    (0..belief.particles.len()).step_by(every).map(particle).collect()
}

/// An image as PNG in base64, every so many pixels of a large one.
fn picture([height, width, channels]: [usize; 3], pixels: &[u8]) -> Option<String> {
    let every = height.max(width).div_ceil(MOST_SIDE).max(1);
    let (rows, columns) = (height.div_ceil(every), width.div_ceil(every));
    // Grey is shown as grey; of more than three channels the first are colours.
    let colour = |at: usize| if channels < 3 { [pixels[at]; 3] } else { [0, 1, 2].map(|k| pixels[at + k]) };
    let at = |y: usize, x: usize| (y * every * width + x * every) * channels;
    let rgb: Vec<u8> = (0..rows).flat_map(|y| (0..columns).flat_map(move |x| colour(at(y, x)))).collect();
    png_image::encode_rgb8(rows, columns, &rgb).ok().map(|png| base64::encode(&png))
}
