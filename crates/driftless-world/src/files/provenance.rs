//! How a data set was made, kept in the comment of its archive, where other programs do not look.
//!
//! DPF's own loader reshapes every array it finds in an npz file, so an extra array would break it;
//! the zip format's comment is read by nobody. It holds lines of `key value`, then, after an empty
//! line, the drawing of the maze, so that the map is always at hand.

use crate::maze::Layout;
use std::fmt;

/// What is known of a data set's origin. All of it may be missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// The program and its version.
    pub made_by: String,
    /// Name of the world.
    pub world: Option<String>,
    /// Seed of the data set.
    pub seed: Option<u64>,
    /// Who steered.
    pub policy: Option<String>,
    /// Recorded steps of an episode.
    pub steps: Option<usize>,
    /// Share of the odometry noise.
    pub odometry_noise: Option<f64>,
    /// What was taken over from where.
    pub taken: Vec<String>,
    /// The maze.
    pub maze: Option<Layout>,
}

/// A longer line is no note.
const LONGEST_LINE: usize = 4096;
/// A zip archive's comment cannot be longer.
const LONGEST_COMMENT: usize = 65_535;

impl Provenance {
    /// Reads a comment; `None` if it is not one of ours. What cannot be understood is left out: a
    /// comment must never be the reason that data cannot be read.
    pub fn parse(comment: &str) -> Option<Self> {
        let (head, drawing) = comment.split_once("\n\n").unwrap_or((comment, ""));
        let mut provenance = Self { maze: drawing.parse().ok(), ..Self::default() };
        for line in head.lines() {
            let (key, value) = line.split_once(' ')?;
            match key {
                "made-by" => value.clone_into(&mut provenance.made_by),
                "world" => provenance.world = Some(value.to_owned()),
                "seed" => provenance.seed = value.parse().ok(),
                "policy" => provenance.policy = Some(value.to_owned()),
                "steps" => provenance.steps = value.parse().ok(),
                "odometry-noise" => provenance.odometry_noise = value.parse().ok(),
                "taken" => provenance.taken.push(value.to_owned()),
                _ => {}
            }
        }
        (!provenance.made_by.is_empty()).then_some(provenance)
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = [
            ("made-by", Some(self.made_by.clone())),
            ("world", self.world.clone()),
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("policy", self.policy.clone()),
            ("steps", self.steps.map(|steps| steps.to_string())),
            ("odometry-noise", self.odometry_noise.map(|noise| noise.to_string())),
        ];
        let lines = lines.into_iter().filter_map(|(key, value)| value.map(|value| format!("{key} {value}")));
        let taken = self.taken.iter().map(|line| format!("taken {}", line.replace(char::is_control, " ")));
        let mut head = String::new();
        for line in lines.chain(taken).filter(|line| line.len() < LONGEST_LINE) {
            if head.len() + line.len() < LONGEST_COMMENT {
                head = if head.is_empty() { line } else { head + "\n" + &line };
            }
        }
        let drawing = self.maze.as_ref().map(ToString::to_string).unwrap_or_default();
        f.write_str(&head)?;
        // A huge maze's drawing does not fit; the data are worth more than their picture.
        if !drawing.is_empty() && head.len() + 2 + drawing.len() <= LONGEST_COMMENT {
            write!(f, "\n\n{drawing}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_a_round_trip() {
        let provenance = Provenance {
            made_by: "driftless 0.1.0".into(),
            world: Some("maze2".into()),
            seed: Some(u64::MAX),
            policy: Some("wander".into()),
            steps: Some(50),
            odometry_noise: Some(0.1),
            taken: vec!["scans from /scan".into(), "poses from /truth".into()],
            maze: Layout::built_in("maze2"),
        };
        assert_eq!(Provenance::parse(&provenance.to_string()), Some(provenance));
    }

    #[test]
    fn foreign_comments_are_left_alone() {
        for comment in ["", "hello", "made in a hurry\nby someone", "\n\n", "seed 3"] {
            assert_eq!(Provenance::parse(comment), None, "{comment:?}");
        }
        let damaged = Provenance::parse("made-by driftless 9\nseed many\n\n+---").unwrap();
        assert_eq!((damaged.seed, damaged.maze), (None, None));
    }
}
