//! The figures that tables show of records, and which number of each trajectory they are computed from.

use super::Record;
use crate::table::Cell;
use driftless_world::About;
use driftless_world::evaluation::{Figure, quantile};

/// A number that each trajectory has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// RMSE over all steps, in units of length.
    AllSteps,
    /// Position error at the last step, in units of length.
    Last,
    /// Distance at the last step in step sizes, heading included.
    LastScaled,
    /// 1 if the last quarter of steps was never lost.
    Success,
    /// 1 if the last estimate is localised, and so stays localised to the end.
    Localised,
    /// 1 if the last estimate is lost.
    Lost,
}

/// How numbers of trajectories become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Summary {
    RootMeanSquare,
    Mean,
    Median,
}

/// A figure with the name it has in markers of tables.
#[derive(Debug)]
pub struct Metric {
    /// As markers name it.
    pub name: &'static str,
    /// As columns show it, without the unit.
    pub title: &'static str,
    /// What it is a summary of.
    pub quantity: Quantity,
    summary: Summary,
}

const fn metric(name: &'static str, title: &'static str, quantity: Quantity, summary: Summary) -> Metric {
    Metric { name, title, quantity, summary }
}

/// All of them.
pub const METRICS: &[Metric] = &[
    metric("rmse", "RMSE over all steps", Quantity::AllSteps, Summary::RootMeanSquare),
    metric("mean", "mean RMSE of a trajectory", Quantity::AllSteps, Summary::Mean),
    metric("median", "median RMSE of a trajectory", Quantity::AllSteps, Summary::Median),
    metric("last-rmse", "RMSE at the last step", Quantity::Last, Summary::RootMeanSquare),
    metric("last-mean", "mean distance at the last step", Quantity::Last, Summary::Mean),
    metric("last-median", "median distance at the last step", Quantity::Last, Summary::Median),
    metric("steps-rmse", "RMSE at the last step", Quantity::LastScaled, Summary::RootMeanSquare),
    metric("steps-mean", "mean distance at the last step", Quantity::LastScaled, Summary::Mean),
    metric("steps-median", "median distance at the last step", Quantity::LastScaled, Summary::Median),
    metric("success", "success", Quantity::Success, Summary::Mean),
    metric("localised", "localised", Quantity::Localised, Summary::Mean),
    metric("lost", "lost", Quantity::Lost, Summary::Mean),
];

impl Quantity {
    /// Shares of robots, shown as percentages.
    pub fn is_share(self) -> bool {
        matches!(self, Self::Success | Self::Localised | Self::Lost)
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Success | Self::Localised)
    }

    /// In sentences.
    pub fn words(self) -> &'static str {
        match self {
            Self::AllSteps => "RMSE over all steps",
            Self::Last => "distance at the last step",
            Self::LastScaled => "distance at the last step, heading included",
            Self::Success => "success",
            Self::Localised => "localised",
            Self::Lost => "lost",
        }
    }

    /// The unit, where lengths are in `unit`.
    pub fn unit(self, unit: &str) -> String {
        match self {
            Self::AllSteps | Self::Last => unit.to_owned(),
            Self::LastScaled => "step sizes".to_owned(),
            Self::Success | Self::Localised | Self::Lost => "%".to_owned(),
        }
    }

    /// How many decimals tables show.
    pub fn decimals(self, about: &About) -> usize {
        match self {
            Self::AllSteps | Self::Last => about.decimals(),
            Self::LastScaled => 2,
            Self::Success | Self::Localised | Self::Lost => 1,
        }
    }
}

impl Metric {
    /// By the name that markers use.
    pub fn named(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }

    /// A figure as tables show it; of some evaluations that have a unit in common.
    pub fn cell(&self, figure: Option<Figure>, about: &About) -> Cell {
        if self.quantity.is_share() {
            Cell::Percent(figure)
        } else {
            Cell::Figure(figure, self.quantity.decimals(about))
        }
    }

    /// The head of a column where lengths are in `unit`.
    pub fn head(&self, unit: &str) -> String {
        if self.quantity.is_share() {
            return self.title.to_owned();
        }
        format!("{}, {}", self.title, self.quantity.unit(unit))
    }
}

impl Record {
    /// A number of each trajectory; none where estimates are unusable, which counts as lost.
    pub fn values(&self, quantity: Quantity) -> Vec<Option<f64>> {
        let seen = &self.trajectories;
        let share = |is: &dyn Fn(f64) -> bool, unusable: bool| {
            let one = |last: &Option<f64>| Some(f64::from(u8::from(last.map_or(unusable, is))));
            seen.last.iter().map(one).collect()
        };
        match quantity {
            Quantity::AllSteps => seen.rmse.clone(),
            Quantity::Last => seen.last.clone(),
            Quantity::LastScaled => seen.last_scaled.clone(),
            Quantity::Success => seen.success.iter().map(|&value| Some(f64::from(value))).collect(),
            Quantity::Localised => share(&|last| last < self.thresholds.localised, false),
            Quantity::Lost => share(&|last| last > self.thresholds.lost, true),
        }
    }

    /// A figure over all trajectories with its standard error; medians have none.
    pub fn figure(&self, metric: &Metric) -> Option<Figure> {
        let mut values: Vec<f64> = self.values(metric.quantity).into_iter().flatten().collect();
        match metric.summary {
            Summary::RootMeanSquare => Figure::root_mean(values.iter().map(|value| value * value)),
            Summary::Mean => Figure::mean(values),
            Summary::Median => {
                values.sort_by(f64::total_cmp);
                let value = quantile(&values, 0.5)?;
                Some(Figure { value, standard_error: None, count: values.len() })
            }
        }
    }
}

/// A figure of several seeds: their mean with the standard error over seeds, or the only one.
pub(crate) fn pooled(figures: &[Figure]) -> Option<Figure> {
    if let [only] = figures {
        return Some(*only);
    }
    let mean = Figure::mean(figures.iter().map(|figure| figure.value))?;
    Some(Figure { count: figures.iter().map(|figure| figure.count).sum(), ..mean })
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::*;

    /// Trajectories with errors of 3 and 4, 1 and 200, and one that is nowhere.
    #[test]
    fn figures_by_hand() {
        let record = record(&[&[3.0, 4.0], &[1.0, 200.0], &[f64::NAN, f64::NAN]]);
        let value = |name: &str| record.figure(Metric::named(name).unwrap()).unwrap().value;
        let near = |name: &str, expected: f64| {
            let seen = value(name);
            // Five digits are kept of each trajectory.
            assert!((seen - expected).abs() <= 1e-4 * expected, "{name}: {seen}, not {expected}");
        };
        near("rmse", f64::midpoint(12.5, 20_000.5).sqrt());
        near("mean", f64::midpoint(12.5_f64.sqrt(), 20_000.5_f64.sqrt()));
        near("median", f64::midpoint(12.5_f64.sqrt(), 20_000.5_f64.sqrt()));
        near("last-rmse", f64::midpoint(16.0, 40_000.0).sqrt());
        near("last-median", 102.0);
        near("steps-mean", 51.0);
        for (name, thirds) in [("success", 1.0), ("localised", 1.0), ("lost", 2.0)] {
            near(name, thirds / 3.0);
        }
    }

    /// The figures of a record are those of the evaluation that it was made from.
    #[test]
    fn the_evaluation_says_the_same() {
        use driftless_world::{About, Evaluation, Pose, Track};
        let place = |k: usize| Pose::new(17.0 * (k * k % 23) as f64, 9.0 * (k % 7) as f64, 0.1 * k as f64);
        let track = |i: usize| Track::new((0..9).map(place).collect(), (i..i + 9).map(place).collect());
        let tracks: Vec<Track> = (0..12).map(track).collect();
        let evaluation = Evaluation::of(About::default(), [5.0, 5.0, 0.2], &tracks).unwrap();
        let record = Record::of(&evaluation, super::super::Provenance::default());
        let last = &evaluation.last;
        for (name, expected) in [
            ("rmse", evaluation.overall_rmse()),
            ("last-rmse", last.position_rmse),
            ("steps-rmse", last.scaled_rmse),
            ("steps-mean", last.scaled_distance),
            ("success", evaluation.success()),
            ("lost", last.lost),
        ] {
            let (seen, expected) = (record.figure(Metric::named(name).unwrap()).unwrap(), expected.unwrap());
            assert!(
                (seen.value - expected.value).abs() <= 1e-4 * expected.value,
                "{name}: {seen:?} {expected:?}"
            );
            let (seen, expected) = (seen.standard_error.unwrap(), expected.standard_error.unwrap());
            assert!((seen - expected).abs() <= 1e-3 * expected, "{name}: {seen} {expected}");
        }
        let localised = record.figure(Metric::named("localised").unwrap()).unwrap().value;
        assert!((localised - (1.0 - evaluation.localisation.never.value)).abs() < 1e-12);
    }
}
