//! All robots of a server: lines come in, and robots are forgotten; workers do the rest.

mod work;

use super::client::Client;
use super::health::{Health, count};
use super::mailbox::{Motions, Waiting};
use super::record::Recorder;
use super::robot::{Believing, Robot};
use crate::output::complain;
use crate::track::{FIELDS, Line, Trackers};
use driftless::learn::MotionKind;
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes of readings and images that wait, of all robots together; beyond it lines keep their odometry alone.
const MOST_WAITING: usize = 256 << 20;
/// Bytes of a robot's name.
const LONGEST_NAME: usize = 200;

/// Bounds of a server.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub robots: usize,
    /// Lines of a robot that wait.
    pub queue: usize,
    pub idle: Duration,
    pub linger: Duration,
}

/// Robots, and what waits for them.
pub struct Fleet {
    pub health: Health,
    /// Who writes down what is believed, if somebody does.
    pub recorder: Option<Recorder>,
    bounds: Bounds,
    trackers: Mutex<Trackers>,
    seed: u64,
    motions: Motions,
    /// How many a state has that are named.
    coordinates: usize,
    robots: Mutex<BTreeMap<Option<String>, Arc<Robot>>>,
    /// Robots with lines, each at most once, in the order in which they are served.
    ready: Mutex<VecDeque<Arc<Robot>>>,
    wake: Condvar,
    /// Whether workers end where nothing waits.
    closes: AtomicBool,
    /// Bytes of what waits.
    waiting: Arc<AtomicUsize>,
    next_number: AtomicU64,
}

/// What a line says that cannot be answered by an estimate.
pub fn refusal(number: u64, robot: Option<&str>, problem: &str) -> String {
    match robot {
        Some(robot) => json!({ "line": number, "robot": robot, "error": problem }).to_string(),
        None => json!({ "line": number, "error": problem }).to_string(),
    }
}

impl Fleet {
    /// No robots yet.
    pub fn new(trackers: Trackers, seed: u64, bounds: Bounds, recorder: Option<Recorder>) -> Self {
        let experiment = &trackers.trained.config.experiment;
        let motions = match experiment.motion.kind {
            MotionKind::Velocity => Motions::Unknown,
            MotionKind::Odometry | MotionKind::None => Motions::Compose(experiment.frame()),
        };
        Self {
            health: Health::default(),
            recorder,
            bounds,
            coordinates: trackers.names.len(),
            trackers: Mutex::new(trackers),
            seed,
            motions,
            robots: Mutex::default(),
            ready: Mutex::default(),
            wake: Condvar::new(),
            closes: AtomicBool::new(false),
            waiting: Arc::default(),
            next_number: AtomicU64::new(0),
        }
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<Option<String>, Arc<Robot>>> {
        self.robots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All robots, by their names.
    pub fn robots(&self) -> Vec<Arc<Robot>> {
        self.names().values().cloned().collect()
    }

    /// Robots go on from where they were.
    pub fn restore(
        &self,
        make: impl FnOnce(&Trackers) -> anyhow::Result<Vec<(Option<String>, Believing)>>,
    ) -> anyhow::Result<usize> {
        let found = make(&self.trackers.lock().unwrap_or_else(PoisonError::into_inner))?;
        let count = found.len();
        for (name, belief) in found {
            let robot = Robot::with(self.number(), name.clone(), belief);
            self.names().insert(name, Arc::new(robot));
        }
        Ok(count)
    }

    fn number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes a line of a client in. What is wrong with it is answered, and it changes nothing.
    pub fn take(&self, client: &Arc<Client>, number: u64, text: &[u8]) {
        let parsed = std::str::from_utf8(text)
            .map_err(|_| "is not UTF-8".to_owned())
            .and_then(|text| Line::parse(text, self.coordinates));
        let line = match parsed {
            Ok(line) => line,
            Err(problem) => return self.refuse(client, number, None, &problem),
        };
        let name = line.robot.clone();
        if let Err(problem) = self.deliver(client, number, line) {
            self.refuse(client, number, name.as_deref(), &problem);
        }
    }

    /// Says that a line was skipped, and why.
    pub fn refuse(&self, client: &Client, number: u64, robot: Option<&str>, problem: &str) {
        count(&self.health.broken, 1);
        self.say(client, refusal(number, robot, problem));
    }

    fn say(&self, client: &Client, text: String) {
        if !client.say(text) {
            count(&self.health.hung_up, 1);
            complain(&format!("{}: does not read its answers; hung up", client.address()));
        }
    }

    fn deliver(&self, client: &Arc<Client>, number: u64, mut line: Line) -> Result<(), String> {
        for field in &line.unknown {
            if client.is_news(field) {
                let problem = format!("field {field:?} is not known and not looked at; there are {FIELDS}");
                self.say(client, json!({ "line": number, "warning": problem }).to_string());
            }
        }
        if self.waiting.load(Ordering::Relaxed) > MOST_WAITING {
            count(&self.health.stripped, 1);
            (line.readings, line.image) = (None, None);
        }
        let robot = self.robot(line.robot.as_deref())?;
        let mut post = robot.post();
        if post.is_forgotten {
            return Err("the robot was just forgotten; say it again".to_owned());
        }
        post.claim(client)?;
        let waiting = Waiting::new(line, number, Arc::clone(client), &self.waiting);
        match post.mailbox.push(waiting, self.bounds.queue, self.motions) {
            Ok(shed) => {
                count(&self.health.merged, shed.merged);
                count(&self.health.dropped, shed.dropped);
            }
            Err(problem) => {
                drop(post);
                count(&self.health.late, 1);
                self.say(client, refusal(number, robot.name.as_deref(), &format!("{problem}; skipped")));
                return Ok(());
            }
        }
        if !std::mem::replace(&mut post.is_scheduled, true) {
            drop(post);
            self.schedule(robot);
        }
        Ok(())
    }

    /// The robot of that name; a new one if there is none.
    fn robot(&self, name: Option<&str>) -> Result<Arc<Robot>, String> {
        let name = name.map(str::to_owned);
        let mut robots = self.names();
        if let Some(robot) = robots.get(&name) {
            return Ok(Arc::clone(robot));
        }
        if name.as_ref().is_some_and(|name| name.len() > LONGEST_NAME) {
            return Err(format!("robot: has a name of more than {LONGEST_NAME} bytes"));
        }
        if robots.len() >= self.bounds.robots {
            return Err(format!("there are {} robots already", self.bounds.robots));
        }
        let robot = Arc::new(Robot::new(self.number(), name.clone()));
        robots.insert(name, Arc::clone(&robot));
        Ok(robot)
    }

    fn forget(&self, robot: &Arc<Robot>) {
        // Its name may be another robot's by now, if it was forgotten before.
        if !std::mem::replace(&mut robot.post().is_forgotten, true) {
            self.names().remove(&robot.name);
            count(&self.health.forgotten, 1);
        }
    }

    /// A client is gone: its robots are forgotten soon, if nobody else speaks for them.
    pub fn leave(&self, client: &Client) {
        for robot in self.robots() {
            let mut post = robot.post();
            if post.owner == Some(client.id) {
                post.abandon();
            }
        }
    }

    /// Forgets robots that nobody speaks for. Nothing of theirs waits: an answer takes less than that.
    pub fn tidy(&self) {
        self.health.tick();
        for robot in self.robots() {
            let post = robot.post();
            let patience = if post.is_abandoned() { self.bounds.linger } else { self.bounds.idle };
            let is_over = post.heard.elapsed() > patience && !post.is_scheduled;
            drop(post);
            if is_over {
                self.forget(&robot);
            }
        }
    }

    /// Lines that wait now.
    pub fn queued(&self) -> usize {
        self.robots().iter().map(|robot| robot.post().mailbox.len()).sum()
    }
}
