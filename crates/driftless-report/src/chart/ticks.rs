//! Round numbers along an axis, and how they are written.

/// How numbers are laid out along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    #[default]
    Linear,
    /// Equal ratios are equally long; numbers that are not positive have no place.
    Log,
}

/// The range of an axis and its labelled numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Ticks {
    /// Where the axis begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// Labelled numbers in ascending order.
    pub at: Vec<f64>,
    /// The distance of neighbours; tells how many decimals labels need.
    step: f64,
}

/// The first of 1, 2, 5, 10, … times a power of ten that is at least `least`.
fn round_up(least: f64) -> f64 {
    let power = 10_f64.powi(least.log10().floor() as i32);
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

impl Ticks {
    /// About `count` round numbers that enclose `low..=high`.
    ///
    /// ```
    /// use driftless_report::chart::Ticks;
    /// assert_eq!(Ticks::enclosing(0.0, 93.0, 5).at, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    /// ```
    pub fn enclosing(low: f64, high: f64, count: usize) -> Self {
        let (low, high) = sane(low, high);
        let step = round_up((high - low) / count.max(1) as f64);
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        // A count times a step, so that 3 × 0.1 is written 0.3 and errors do not add up.
        let at: Vec<f64> = (0..=(last - first) as usize).map(|i| (first + i as f64) * step).collect();
        Self { low: first * step, high: last * step, at, step }
    }

    /// Round numbers within `low..=high`, which stays the range of the axis.
    pub fn within(low: f64, high: f64, count: usize) -> Self {
        let (low, high) = sane(low, high);
        let mut ticks = Self::enclosing(low, high, count);
        let slack = 1e-9 * ticks.step;
        ticks.at.retain(|at| (low - slack..=high + slack).contains(at));
        Self { low, high, ..ticks }
    }

    /// The label of a number: as many decimals as the step needs.
    pub fn label(&self, value: f64) -> String {
        let decimals = (-(self.step.log10() + 1e-9).floor()).clamp(0.0, 12.0) as usize;
        if self.high.abs().max(self.low.abs()) >= 1e7 || self.step < 1e-6 {
            return format!("{value:.1e}");
        }
        let text = format!("{value:.decimals$}");
        if text.trim_start_matches(['-', '0', '.']).is_empty() { "0".into() } else { text }
    }
}

/// A range that has a length; anything else becomes one around its middle.
fn sane(low: f64, high: f64) -> (f64, f64) {
    let held = |value: f64| if value.is_nan() { 0.0 } else { value.clamp(-1e15, 1e15) };
    let (low, high) = (held(low.min(high)), held(high.max(low)));
    let least = 1e-9 * low.abs().max(high.abs()).max(1e-3);
    if high - low > least {
        (low, high)
    } else {
        (low - low.abs().max(1.0) / 2.0, high + high.abs().max(1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_enclose_and_are_few() {
        for (low, high) in
            [(0.0, 1.0), (0.0, 0.07), (-3.0, 977.0), (0.013, 0.0131), (0.0, 3.3e8), (-9e14, 9e14)]
        {
            let ticks = Ticks::enclosing(low, high, 5);
            assert!(ticks.low <= low + 1e-9 * high.abs() && ticks.high >= high * (1.0 - 1e-9), "{ticks:?}");
            assert!((3..=8).contains(&ticks.at.len()), "{low} {high}: {ticks:?}");
            let within = Ticks::within(low, high, 5);
            assert!(within.at.iter().all(|at| *at >= low - 1e-9 && *at <= high * (1.0 + 1e-9)), "{within:?}");
        }
    }

    #[test]
    fn labels_have_the_decimals_they_need() {
        let labels = |low, high| {
            let ticks = Ticks::enclosing(low, high, 5);
            ticks.at.iter().map(|at| ticks.label(*at)).collect::<Vec<_>>()
        };
        assert_eq!(labels(0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(-10.0, 10.0), ["-10", "-5", "0", "5", "10"]);
        assert_eq!(labels(0.0, 0.004), ["0", "0.001", "0.002", "0.003", "0.004"]);
    }

    #[test]
    fn no_range_is_impossible() {
        for (low, high) in
            [(f64::NAN, 1.0), (5.0, 5.0), (0.0, 0.0), (7.0, -7.0), (f64::NEG_INFINITY, f64::INFINITY)]
        {
            let ticks = Ticks::enclosing(low, high, 5);
            assert!(ticks.high > ticks.low && ticks.at.len() >= 2, "{low} {high}: {ticks:?}");
        }
    }
}
