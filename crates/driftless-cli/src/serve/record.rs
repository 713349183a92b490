//! A recording of what is believed of all robots, for viewers. Nobody waits for the disk: what it does not keep up with is left
//! out, and counted.

use crate::args;
use crate::output::{complain, grouped, print};
use anyhow::Result;
use driftless_core::Belief;
use driftless_world::files::estimates::Estimated;
use driftless_world::files::estimates::recording::{Moment, Recording, now};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Bytes of messages that wait for the disk, at most.
const MOST_WAITING: usize = 64 << 20;
/// How often somebody looks whether some wait.
const PAUSE: Duration = Duration::from_millis(20);
/// How often what was written is made safe against a kill.
const SAFE: Duration = Duration::from_secs(1);

/// A recording in the making.
pub struct Recorder {
    path: PathBuf,
    cloud: usize,
    /// What waits for the disk, and its bytes.
    waiting: Mutex<(Vec<Moment>, usize)>,
    /// Nothing once it broke.
    recording: Mutex<Option<Recording>>,
    lost: AtomicU64,
    is_full: AtomicBool,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// Begins the file that was asked for, if one was.
    pub fn of(wanted: &args::Serve) -> Result<Option<Self>> {
        let Some(path) = wanted.record.clone() else { return Ok(None) };
        let recording = Recording::create(&path, u64::from(wanted.record_most) * 1_000_000)?;
        Ok(Some(Self {
            path,
            cloud: wanted.record_cloud as usize,
            waiting: Mutex::default(),
            recording: Mutex::new(Some(recording)),
            lost: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
        }))
    }

    /// Takes an estimate; somebody writes it soon.
    pub fn take(&self, row: &Estimated, belief: Option<&Belief>) {
        if self.is_full.load(Ordering::Relaxed) {
            return self.lose(1);
        }
        let moment = now().and_then(|now| Moment::new(row, belief, self.cloud, now));
        let (waiting, bytes) = &mut *held(&self.waiting);
        match moment {
            Ok(moment) if *bytes + moment.size() <= MOST_WAITING => {
                *bytes += moment.size();
                waiting.push(moment);
            }
            // Its time is none that ROS has, or the disk is too slow.
            _ => self.lose(1),
        }
    }

    fn lose(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    /// Writes until somebody asks to stop.
    pub fn keep(&self, stops: &AtomicBool) {
        let mut safe = Instant::now();
        while !stops.load(Ordering::Relaxed) {
            let is_due = safe.elapsed() >= SAFE;
            self.write(is_due);
            if is_due {
                safe = Instant::now();
            }
            sleep(PAUSE);
        }
    }

    /// Writes all that waits. A disk that fails ends the recording, and nothing else.
    fn write(&self, flush: bool) {
        let (waiting, _) = std::mem::take(&mut *held(&self.waiting));
        let mut recording = held(&self.recording);
        let Some(file) = recording.as_mut() else { return self.lose(waiting.len() as u64) };
        let mut append = || {
            for moment in &waiting {
                if !file.push(moment)? && !self.is_full.swap(true, Ordering::Relaxed) {
                    complain(&format!("{}: is full; nothing more is recorded", self.path.display()));
                }
            }
            if flush { file.flush() } else { Ok(()) }
        };
        if let Err(error) = append() {
            complain(&format!("warning: nothing more is recorded: {error}"));
            self.lose(waiting.len() as u64);
            *recording = None;
            self.is_full.store(true, Ordering::Relaxed);
        }
    }

    /// Completes the file, and says what is missing from it.
    pub fn finish(&self) -> Result<()> {
        self.write(false);
        let recording = held(&self.recording).take();
        let left_out = recording.map_or(Ok(0), Recording::finish)?;
        let lost = left_out + self.lost.load(Ordering::Relaxed);
        let missing =
            if lost > 0 { format!(" without {} estimates", grouped(lost as usize)) } else { String::new() };
        print(&format!("recorded in {}{missing}\n", self.path.display()))
    }
}
