//! A table's rows as steps.

use super::assign::{Assignment, Role, assigned};
use crate::error::{Error, Result};
use crate::files::csv::cells;
use crate::files::lines::Lines;
use crate::files::recorded::{Recording, Step};
use crate::files::source::Source;
use crate::files::track::{Pose, relative};
use driftless_core::pose::wrap;
use std::collections::HashMap;

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

/// Where the columns of each role are.
struct Places {
    names: Vec<String>,
    by_role: HashMap<Role, Vec<usize>>,
    readings: Vec<usize>,
}

impl Places {
    fn new(names: Vec<String>, options: &ColumnOptions) -> Result<Self> {
        let roles = assigned(&names, &options.columns)?;
        let mut by_role: HashMap<Role, Vec<usize>> = HashMap::new();
        for (place, role) in roles.iter().enumerate() {
            if let Some(role) = role {
                by_role.entry(*role).or_default().push(place);
            }
        }
        let of = |role| by_role.get(&role).cloned().unwrap_or_default();
        let readings = [of(Role::Scan), of(Role::Reading)].concat();
        let places = Self { names, by_role, readings };
        for group in [[Role::X, Role::Y, Role::Heading], [Role::OdomX, Role::OdomY, Role::OdomHeading]] {
            let found = group.iter().filter(|role| places.of(**role).is_some()).count();
            if let (1 | 2, Some(missing)) = (found, group.iter().find(|role| places.of(**role).is_none())) {
                let problem = format!("no column has it; a pose has {}", group.map(Role::name).join(", "));
                return Err(Error::new(problem).in_field(missing.name()));
            }
        }
        if places.readings.is_empty() {
            let advice = "no column was given; name some, as scan=range_* or reading=temperature";
            return Err(Error::new(advice).in_field("scan"));
        }
        Ok(places)
    }

    fn of(&self, role: Role) -> Option<usize> {
        self.by_role.get(&role).and_then(|places| places.first().copied())
    }

    fn moves(&self) -> bool {
        [Role::Forward, Role::Left, Role::Turn, Role::OdomX].iter().any(|role| self.of(*role).is_some())
    }
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
        let number = |place: usize| number(&cells[place]).map_err(|error| error.in_field(&names[place]));
        let of = |role: Role| self.places.of(role).map(number).transpose();
        let scale = if self.options.millimetres { 1e-3 } else { 1.0 };
        let angle = if self.options.degrees { 1_f64.to_radians() } else { 1.0 };
        let pose = |x: Role, y: Role, heading: Role| -> Result<Option<Pose>> {
            let (Some(x), Some(y), Some(heading)) = (of(x)?, of(y)?, of(heading)?) else { return Ok(None) };
            let pose = [x * scale, y * scale, heading * angle];
            Ok(pose.iter().all(|part| part.is_finite()).then_some(pose))
        };
        let truth = pose(Role::X, Role::Y, Role::Heading)?;
        let odometry = pose(Role::OdomX, Role::OdomY, Role::OdomHeading)?;
        let parts = [(Role::Forward, scale), (Role::Left, scale), (Role::Turn, angle)];
        let mut motion = [0.0; 3];
        for (slot, (role, unit)) in motion.iter_mut().zip(parts) {
            *slot = of(role)?.unwrap_or(0.0) * unit;
        }
        let known = motion.iter().all(|part| part.is_finite()).then_some(motion);
        let readings: Result<Vec<f32>> = self
            .places
            .readings
            .iter()
            .map(|&place| Ok((number(place)? * scale) as f32))
            .map(|value| value.map(|value| if value.is_finite() { value } else { f32::NAN }))
            .collect();
        let readings = readings?;
        let time = of(Role::Time)?.unwrap_or(self.rows as f64);
        if !time.is_finite() {
            return Err(Error::new("is missing or not finite").in_field("time"));
        }
        self.rows += 1;
        let name = self.places.of(Role::Episode).map_or(String::new(), |place| cells[place].clone());
        let action = if self.places.of(Role::OdomX).is_some() { None } else { known };
        let truth =
            truth.map(|[x, y, heading]| [x, y, if self.options.degrees { wrap(heading) } else { heading }]);
        self.push(name, Step { time, readings, image: None, action, pose: truth }, odometry);
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

/// A number; an empty cell, `nan` and `none` are missing.
fn number(cell: &str) -> Result<f64> {
    if cell.is_empty() || cell.eq_ignore_ascii_case("none") || cell.eq_ignore_ascii_case("null") {
        return Ok(f64::NAN);
    }
    cell.parse().map_err(|_| {
        let start: String = cell.chars().take(40).collect();
        Error::new(format!("{start:?} is not a number"))
    })
}
