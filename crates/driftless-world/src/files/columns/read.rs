//! A table's rows as steps.

use super::assign::{Assignment, Role};
use super::row::{Places, Row};
use crate::error::{Error, Result};
use crate::files::csv::cells;
use crate::files::lines::Lines;
use crate::files::recorded::{Recording, Step};
use crate::files::source::Source;
use crate::files::track::{Pose, relative};

/// Numbers that are kept, at most: a table of text belongs into memory no further.
const MOST_NUMBERS: usize = 1 << 27;

/// How a table is read.
#[derive(Clone, Debug)]
pub struct ColumnOptions {
    /// Which columns are what.
    pub columns: Vec<Assignment>,
    /// Headings and turns are degrees.
    pub degrees: bool,
    /// Lengths are millimetres.
    pub millimetres: bool,
    /// Bearings of the first and the last beam, in radians.
    pub beams: Option<(f64, f64)>,
    /// Seconds without a row after which a new episode starts.
    pub max_pause: f64,
    /// Longest episode.
    pub episode_steps: usize,
}

/// The rows of an episode so far.
#[derive(Default)]
struct Episode {
    steps: Vec<Step>,
    odometry: Option<Pose>,
    name: String,
}

/// Reads a table with a header.
pub fn import(source: Source, options: &ColumnOptions) -> Result<Recording> {
    let mut lines = Lines::new(source)?;
    let mut header = None;
    while let Some((number, line, _)) = lines.next_line()? {
        if !line.trim().is_empty() {
            header = Some((number, line));
            break;
        }
    }
    let Some((number, line)) = header else { return Err(Error::new("is empty; there is no header line")) };
    let line = line.trim_start_matches('\u{feff}');
    // Whatever the first line has most of stands between its cells.
    let separator = if line.contains(',') {
        ','
    } else if line.contains(';') {
        ';'
    } else {
        '\t'
    };
    let split = |line: &str| cells(line.replace(separator, ",").as_bytes());
    let named = |error: Error, number: usize| error.in_record(format!("line {number}"));
    let places = split(line).and_then(|names| Places::new(names, options)).map_err(|e| named(e, number))?;
    let mut table = Reader { places, options, episodes: Vec::new(), numbers: 0, late: 0, rows: 0 };
    let mut cut = false;
    while let Some((number, line, whole)) = lines.next_line()? {
        if line.trim().is_empty() {
            continue;
        }
        match split(&line).and_then(|cells| table.row(&cells)) {
            // What ends within a row was cut off.
            Err(_) if !whole => cut = true,
            result => result.map_err(|error| named(error, number))?,
        }
    }
    table.finish(cut || lines.cut())
}

struct Reader<'a> {
    places: Places,
    options: &'a ColumnOptions,
    episodes: Vec<Episode>,
    numbers: usize,
    late: usize,
    rows: usize,
}

impl Reader<'_> {
    fn row(&mut self, cells: &[String]) -> Result<()> {
        let names = &self.places.names;
        if cells.len() != names.len() {
            return Err(Error::new(format!("has {} cells; the header has {}", cells.len(), names.len())));
        }
        self.numbers += self.places.readings.len() + 8;
        if self.numbers > MOST_NUMBERS {
            return Err(Error::new("is too large for a table of text; save such recordings as npz"));
        }
        let row = Row { places: &self.places, cells, options: self.options };
        let time = row.of(Role::Time)?.unwrap_or(self.rows as f64);
        if !time.is_finite() {
            return Err(Error::new("is missing or not finite").in_field("time"));
        }
        let pose = row.pose([Role::X, Role::Y, Role::Heading])?;
        let odometry = row.pose([Role::OdomX, Role::OdomY, Role::OdomHeading])?;
        let (readings, motion) = (row.readings()?, row.motion()?);
        let action = motion.filter(|_| self.places.of(Role::OdomX).is_none());
        let name = self.places.of(Role::Episode).map_or(String::new(), |place| cells[place].clone());
        self.rows += 1;
        self.push(name, Step { time, readings, image: None, action, pose }, odometry);
        Ok(())
    }

    fn push(&mut self, name: String, mut step: Step, odometry: Option<Pose>) {
        let options = self.options;
        let timed = self.places.of(Role::Time).is_some();
        let goes_on = self.episodes.last().is_some_and(|episode| {
            let last = episode.steps.last().map_or(step.time, |last| last.time);
            let pause = step.time - last;
            self.late += usize::from(timed && pause < 0.0);
            let near = !timed || (0.0..=options.max_pause).contains(&pause);
            episode.name == name && episode.steps.len() < options.episode_steps.max(1) && near
        });
        if !goes_on {
            self.episodes.push(Episode { name, ..Episode::default() });
        }
        let episode = self.episodes.last_mut().expect("one was begun");
        if let (Some(a), Some(b)) = (episode.odometry, odometry) {
            step.action = Some(relative(a, b));
        }
        episode.odometry = odometry;
        episode.steps.push(step);
    }

    fn finish(self, cut: bool) -> Result<Recording> {
        if self.rows == 0 {
            return Err(Error::new("holds no row below the header"));
        }
        let mut notes = Vec::new();
        if self.late > 0 {
            notes.push(format!("time goes backwards at {} rows; an episode ends at each", self.late));
        }
        if self.rows > 3 && self.episodes.len() * 2 > self.rows {
            let problem = "most episodes are one row long: is the time in seconds, and the table in order?";
            notes.push(problem.to_owned());
        }
        if cut {
            notes.push("the table ends within a row; what is whole was taken".to_owned());
        }
        if self.places.of(Role::Time).is_none() {
            notes.push("no column is the time: steps are a second apart in the log".to_owned());
        }
        let width = self.places.readings.len();
        let scans = self.places.by_role.get(&Role::Scan).map_or(0, Vec::len);
        let beam_angles = match self.options.beams {
            Some((first, last)) if scans == width && width > 1 => {
                let step = (last - first) / (width - 1) as f64;
                Some((0..width).map(|beam| first + step * beam as f64).collect())
            }
            _ => None,
        };
        if scans > 0 && beam_angles.is_none() {
            notes.push(
                "the bearings of the beams are not known; --beams-from and --beams-to tell them".to_owned(),
            );
        }
        let odometry = self.places.moves();
        let episodes = self.episodes.into_iter().map(|episode| episode.steps).collect();
        Ok(Recording { beam_angles, odometry, episodes, notes, ..Recording::default() })
    }
}
