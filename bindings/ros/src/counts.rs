//! What came in and what became of it, and who is told.

use std::fmt;

/// What can happen to a message besides being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// It cannot be decoded.
    Garbage,
    /// It has no stamp.
    WithoutTime,
    /// One of the same time was there.
    Twice,
    /// Newer ones were there.
    Late,
    /// Its time began anew.
    Restart,
    /// Odometry jumped.
    Jump,
    /// Of a scan or an image: odometry says nothing of its time.
    WithoutOdometry,
    /// Of a scan or an image: nobody said where the robot is.
    WithoutStart,
    /// Of an initial pose: it is of another frame, or no pose.
    WrongPose,
    /// The filter refused it.
    Refused,
    /// Scans have other beams than the first.
    OtherBeams,
}

impl Trouble {
    const ALL: [Self; 11] = [
        Self::Garbage,
        Self::WithoutTime,
        Self::Twice,
        Self::Late,
        Self::Restart,
        Self::Jump,
        Self::WithoutOdometry,
        Self::WithoutStart,
        Self::WrongPose,
        Self::Refused,
        Self::OtherBeams,
    ];

    /// In the summary.
    fn name(self) -> &'static str {
        match self {
            Self::Garbage => "garbage",
            Self::WithoutTime => "without a stamp",
            Self::Twice => "twice",
            Self::Late => "late",
            Self::Restart => "time began anew",
            Self::Jump => "odometry jumped",
            Self::WithoutOdometry => "without odometry",
            Self::WithoutStart => "before a start",
            Self::WrongPose => "initial poses refused",
            Self::Refused => "refused by the filter",
            Self::OtherBeams => "with other beams",
        }
    }
}

/// Messages by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Scans that were understood.
    pub scans: u64,
    /// Images that were understood.
    pub images: u64,
    /// Poses of odometry that were understood.
    pub odometry: u64,
    /// Steps of the filter.
    pub updates: u64,
    /// Starts.
    pub starts: u64,
    troubles: [u64; Trouble::ALL.len()],
}

impl Counts {
    /// Counts one, and says whether it should be told of: the first, the tenth, the hundredth, …
    pub fn note(&mut self, trouble: Trouble) -> bool {
        let count = &mut self.troubles[trouble as usize];
        *count += 1;
        10_u64.checked_pow(count.ilog10()) == Some(*count)
    }

    /// How many there were.
    pub fn of(&self, trouble: Trouble) -> u64 {
        self.troubles[trouble as usize]
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { scans, images, odometry, updates, starts, .. } = self;
        write!(f, "{scans} scans, {images} images, {odometry} odometry, {starts} starts, {updates} updates")?;
        for trouble in Trouble::ALL.into_iter().filter(|trouble| self.of(*trouble) > 0) {
            write!(f, "; {} {}", self.of(trouble), trouble.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_of_powers_of_ten() {
        let mut counts = Counts::default();
        let told: Vec<u64> = (1..=1500).filter(|_| counts.note(Trouble::Late)).collect();
        assert_eq!(told, [1, 10, 100, 1000]);
        assert_eq!(counts.to_string(), "0 scans, 0 images, 0 odometry, 0 starts, 0 updates; 1500 late");
    }
}
