//! When messages came, by the stamps in them and by the recorder's clock.

/// A step back of a clock beyond this many seconds is a restart, and not a message that came late.
const RESTART: f64 = 1.0;

/// Which clock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The stamps in the messages.
    Stamps,
    /// When the recorder got them.
    Recorder,
}

impl Clock {
    /// A message's time.
    pub fn time(self, stamp: Option<f64>, logged: f64) -> f64 {
        match self {
            Self::Stamps => stamp.unwrap_or(logged),
            Self::Recorder => logged,
        }
    }
}

/// The times of a topic's messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// How many there are.
    pub messages: u64,
    /// Seconds at which the first and the last were recorded.
    pub logged: (f64, f64),
    /// The first and the last stamp.
    stamps: (f64, f64),
    stamped: u64,
    newest: f64,
    /// The largest step back of the stamps.
    pub back: f64,
}

impl Default for Heard {
    fn default() -> Self {
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        Self { messages: 0, logged: nothing, stamps: nothing, stamped: 0, newest: 0.0, back: 0.0 }
    }
}

impl Heard {
    /// One more message.
    pub fn hear(&mut self, stamp: Option<f64>, logged: f64) {
        let wider = |(first, last): (f64, f64), time: f64| (first.min(time), last.max(time));
        self.messages += 1;
        self.logged = wider(self.logged, logged);
        if let Some(stamp) = stamp {
            self.back = self.back.max(if self.stamped > 0 { self.newest - stamp } else { 0.0 });
            self.newest = stamp;
            self.stamped += 1;
            self.stamps = wider(self.stamps, stamp);
        }
    }

    /// Messages a second.
    pub fn rate(&self) -> f64 {
        let seconds = self.logged.1 - self.logged.0;
        if self.messages > 1 && seconds > 0.0 { (self.messages - 1) as f64 / seconds } else { 0.0 }
    }
}

/// Which clock the sources of a drive share; and why it is not the stamps' one, if so.
pub fn clock(sources: &[(&str, &Heard)]) -> (Clock, Option<String>) {
    let used = "; the recorder's times were taken for all";
    for (name, heard) in sources {
        if heard.stamped * 2 < heard.messages {
            return (Clock::Recorder, Some(format!("{name} has no time stamps{used}")));
        }
        if heard.back > RESTART {
            let back = heard.back;
            return (Clock::Recorder, Some(format!("the stamps of {name} run back by {back:.1} s{used}")));
        }
    }
    let apart = |a: (f64, f64), b: (f64, f64)| a.0 > b.1 || b.0 > a.1;
    for (i, (a, one)) in sources.iter().enumerate() {
        for (b, other) in &sources[i + 1..] {
            if apart(one.stamps, other.stamps) && !apart(one.logged, other.logged) {
                let problem = format!("the stamps of {a} and {b} are from different clocks{used}");
                return (Clock::Recorder, Some(problem));
            }
        }
    }
    (Clock::Stamps, None)
}
