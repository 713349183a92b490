//! Whether a message of a topic is new, by its stamp.

/// Seconds by which a stamp may be older than the newest one and still be only late; beyond, time began anew: a simulation or
/// a bag was started again.
pub const LATE: f64 = 5.0;

/// The newest stamp of a topic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    newest: Option<f64>,
}

/// What a stamp says of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// It is newer than all before.
    New,
    /// There was one of the same time.
    Twice,
    /// There were newer ones.
    Late,
    /// It is so old that time must have begun anew.
    Restart,
}

impl Clock {
    /// Takes a message's stamp.
    pub fn tick(&mut self, time: f64) -> Tick {
        let tick = match self.newest {
            Some(newest) if time == newest => Tick::Twice,
            Some(newest) if time < newest - LATE => Tick::Restart,
            Some(newest) if time < newest => Tick::Late,
            _ => Tick::New,
        };
        if matches!(tick, Tick::New | Tick::Restart) {
            self.newest = Some(time);
        }
        tick
    }

    /// Forgets all stamps.
    pub fn reset(&mut self) {
        self.newest = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stamps_say() {
        let mut clock = Clock::default();
        let told: Vec<Tick> =
            [10.0, 10.1, 10.1, 9.0, 10.05, 10.2, 5.1, 5.2].map(|time| clock.tick(time)).into();
        use Tick::{Late, New, Restart, Twice};
        assert_eq!(told, [New, New, Twice, Late, Late, New, Restart, New]);
    }

    /// One stamp from the far future is followed by a restart, and not by silence for ever.
    #[test]
    fn a_stamp_from_the_future_does_no_lasting_harm() {
        let mut clock = Clock::default();
        let told = [1.0, 4e9, 1.1, 1.2].map(|time| clock.tick(time));
        assert_eq!(told, [Tick::New, Tick::New, Tick::Restart, Tick::New]);
    }
}
