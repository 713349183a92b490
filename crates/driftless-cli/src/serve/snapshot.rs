//! All beliefs in one file, written whole or not at all: what a server goes on from.
//!
//! `DRIFTLESS SERVE`, a version, which run it is, the beliefs, and a fingerprint of all that. What is damaged is set aside;
//! what belongs to another run or version is refused, since somebody may still want it.

use super::fleet::Fleet;
use super::mailbox::Clock;
use super::robot::{Begun, Believing};
use crate::output::complain;
use crate::track::Trackers;
use anyhow::{Context, Result, bail};
use driftless::learn::Lock;
use driftless::online::Place;
use driftless_core::Snapshot;
use driftless_world::files::{Fingerprint, NewFile, Overwrite};
use driftless_world::trajectory::Coordinates;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 16] = b"DRIFTLESS SERVE\n";
const VERSION: u32 = 1;
const FILE: &str = "beliefs.snapshot";
/// Damaged snapshots that are kept.
const MOST_ASIDE: u32 = 1000;

/// A folder of snapshots, which is one server's at a time.
pub struct Folder {
    file: PathBuf,
    /// Tells runs apart.
    run: String,
    _lock: Lock,
}

type Saved = Vec<(Option<String>, Believing)>;

impl Folder {
    /// Takes a folder, which is made if it is not there.
    pub fn open(folder: &Path, run: &Path, trackers: &Trackers) -> Result<Self> {
        if trackers.begin(trackers.somewhere()?, Default::default())?.snapshot().is_none() {
            bail!("--state: the method of the run cannot be kept; leave it out, and robots begin anew");
        }
        fs::create_dir_all(folder).with_context(|| format!("{}: cannot create", folder.display()))?;
        let weights = Fingerprint::of_file(run.join("best.safetensors"))?;
        Ok(Self { _lock: Lock::take(folder)?, file: folder.join(FILE), run: weights })
    }

    /// Writes all beliefs.
    pub fn write(&self, fleet: &Fleet) -> Result<usize> {
        let mut bytes = MAGIC.to_vec();
        VERSION.save(&mut bytes);
        self.run.save(&mut bytes);
        let mut robots: Vec<Vec<u8>> = Vec::new();
        for robot in fleet.robots() {
            let belief = robot.belief();
            robots.extend(saved(robot.name.as_ref(), &belief));
        }
        robots.save(&mut bytes);
        fingerprint(&bytes).save(&mut bytes);
        let mut file = NewFile::create(&self.file, Overwrite::Replace)?;
        file.write_all(&bytes).with_context(|| format!("{}: cannot write", self.file.display()))?;
        file.commit()?;
        Ok(robots.len())
    }

    /// The beliefs of the last snapshot; none where there is none, or it is damaged.
    pub fn read(&self, trackers: &Trackers) -> Result<Saved> {
        let shown = self.file.display();
        if !self.file.exists() {
            return Ok(Saved::new());
        }
        let bytes = fs::read(&self.file).with_context(|| format!("{shown}: cannot read"))?;
        if let Some(saved) = self.understood(&bytes, trackers)? {
            return Ok(saved);
        }
        let aside = self.aside()?;
        fs::rename(&self.file, &aside).with_context(|| format!("{shown}: cannot be set aside"))?;
        complain(&format!("{shown}: is damaged; set aside as {}, robots begin anew", aside.display()));
        Ok(Saved::new())
    }

    /// A name that nothing has yet.
    fn aside(&self) -> Result<PathBuf> {
        let name = |number: u32| self.file.with_file_name(format!("damaged-{number}.snapshot"));
        let free = (1..=MOST_ASIDE).map(name).find(|name| !name.exists());
        free.with_context(|| {
            format!("{}: is damaged, as {MOST_ASIDE} others: remove some", self.file.display())
        })
    }

    /// Beliefs; nothing if it is damaged, an error if it is somebody else's.
    fn understood(&self, bytes: &[u8], trackers: &Trackers) -> Result<Option<Saved>> {
        let shown = self.file.display();
        let Some((version, run, robots)) = parts(bytes) else { return Ok(None) };
        if version != VERSION {
            bail!(
                "{shown}: is of form {version}, this version knows {VERSION}; use that of then, or another --state"
            );
        }
        if run != self.run {
            bail!("{shown}: is of another run; use that, or another --state");
        }
        Ok(robots.iter().map(|robot| restored(&mut &robot[..], trackers)).collect())
    }
}

fn fingerprint(bytes: &[u8]) -> String {
    let mut seen = Fingerprint::default();
    seen.add(bytes);
    seen.to_string()
}

/// Version, run, and robots.
fn parts(bytes: &[u8]) -> Option<(u32, String, Vec<Vec<u8>>)> {
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let version = u32::load(&mut rest)?;
    // Others may be of any form.
    if version != VERSION {
        return Some((version, String::new(), Vec::new()));
    }
    let (run, robots) = (String::load(&mut rest)?, Vec::load(&mut rest)?);
    let written = &bytes[..bytes.len() - rest.len()];
    let is_whole = String::load(&mut rest)? == fingerprint(written) && rest.is_empty();
    is_whole.then_some((version, run, robots))
}

/// A robot; nothing of one that has not begun.
fn saved(name: Option<&String>, belief: &Believing) -> Option<Vec<u8>> {
    let Begun { tracker, place, steps, clock } = belief.begun.as_ref()?;
    let mut to = Vec::new();
    name.cloned().save(&mut to);
    belief.starts.save(&mut to);
    match *place {
        Place::Anywhere => 0_u8.save(&mut to),
        Place::Room(room) => {
            1_u8.save(&mut to);
            u32::from(room).save(&mut to);
        }
        Place::About { pose, spread } => {
            2_u8.save(&mut to);
            [pose, spread].as_flattened().iter().for_each(|x| x.save(&mut to));
        }
        Place::State { mean, spread } => {
            3_u8.save(&mut to);
            for numbers in [mean, spread] {
                numbers.to_vec().save(&mut to);
            }
        }
    }
    steps.save(&mut to);
    clock.step.save(&mut to);
    clock.time.save(&mut to);
    tracker.snapshot()?.save(&mut to);
    Some(to)
}

/// The same, taken back; nothing if it is not that.
fn restored(from: &mut &[u8], trackers: &Trackers) -> Option<(Option<String>, Believing)> {
    let (name, starts, (place, steps, clock), saved) = read(from)?;
    let mut tracker = trackers.begin(place, Default::default()).ok()?;
    tracker.restore(&saved).ok()?;
    let begun = Some(Begun { tracker, place, steps, clock });
    Some((name, Believing { begun, starts, shown: None }))
}

type Read = (Option<String>, u64, (Place, u64, Clock), Vec<u8>);

fn read(from: &mut &[u8]) -> Option<Read> {
    let (name, starts) = (Option::load(from)?, u64::load(from)?);
    let place = match u8::load(from)? {
        0 => Place::Anywhere,
        1 => Place::Room(u16::try_from(u32::load(from)?).ok()?),
        2 => Place::About { pose: Snapshot::load(from)?, spread: Snapshot::load(from)? },
        3 => {
            let mut numbers = || Coordinates::new(&Vec::load(from)?);
            Place::State { mean: numbers()?, spread: numbers()? }
        }
        _ => return None,
    };
    let steps = u64::load(from)?;
    let clock = Clock { step: Option::load(from)?, time: Option::load(from)? };
    let tracker = Vec::load(from)?;
    // It has begun at least once.
    (from.is_empty() && starts > 0).then_some((name, starts, (place, steps, clock), tracker))
}
