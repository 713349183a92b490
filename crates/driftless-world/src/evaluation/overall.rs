//! Figures over whole trajectories, as PF-net's authors report them.

use super::{Evaluation, Figure};

impl Evaluation {
    /// √ of the mean over trajectories of their mean squared position errors, all steps included: PF-net's "overall
    /// RMSE". Estimates that are nowhere are left out; nothing without others.
    pub fn overall_rmse(&self) -> Option<Figure> {
        Figure::root_mean(self.mean_squares().into_iter().flatten())
    }

    /// The RMSE over all steps of each trajectory; nothing where all estimates are nowhere.
    pub fn rmse_of_each(&self) -> Vec<Option<f64>> {
        self.mean_squares().into_iter().map(|mean| mean.map(f64::sqrt)).collect()
    }

    fn mean_squares(&self) -> Vec<Option<f64>> {
        let square = |error: f32| f64::from(error) * f64::from(error);
        let of_one = |errors: &Vec<Option<f32>>| {
            Figure::mean(errors.iter().flatten().map(|&error| square(error))).map(|mean| mean.value)
        };
        self.position_errors.iter().map(of_one).collect()
    }

    /// The share of trajectories of which each step of the last quarter is nearer to the truth than what counts as
    /// lost: PF-net's success, with 1 m. A quarter is rounded up, as in its code.
    pub fn success(&self) -> Option<Figure> {
        Figure::share(self.success_of_each())
    }

    /// Of each trajectory, whether it is such a success.
    pub fn success_of_each(&self) -> Vec<bool> {
        let near = |error: &Option<f32>| error.is_some_and(|error| f64::from(error) < self.thresholds.lost);
        let reached = |errors: &Vec<Option<f32>>| {
            let quarter = errors.len().div_ceil(4);
            errors[errors.len() - quarter..].iter().all(near)
        };
        self.position_errors.iter().map(reached).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{About, Evaluation, Pose, Track};

    fn evaluation(errors: &[&[f64]]) -> Evaluation {
        let at = |x: &f64| Pose::new(*x, 0.0, 0.0);
        let track =
            |errors: &&[f64]| Track::new(vec![at(&0.0); errors.len()], errors.iter().map(at).collect());
        let tracks: Vec<Track> = errors.iter().map(track).collect();
        Evaluation::of(About::default(), [1.0; 3], &tracks).unwrap()
    }

    /// Means of squares are 25 / 2 and 100: their mean is 56.25, and its root 7.5.
    #[test]
    fn trajectories_count_alike() {
        let seen = evaluation(&[&[3.0, 4.0], &[10.0, 10.0, 10.0]]);
        assert_eq!(seen.overall_rmse().unwrap().value, 7.5);
        let seen = evaluation(&[&[5.0, f64::NAN]]);
        assert_eq!(seen.overall_rmse().unwrap().value, 5.0);
    }

    /// Of five steps the last two count, of four the last.
    #[test]
    fn success_is_the_last_quarter() {
        let seen = evaluation(&[
            &[999.0, 999.0, 999.0, 149.0, 149.0],
            &[0.0, 0.0, 0.0, 150.0, 0.0],
            &[0.0, 0.0, 150.0, 0.0],
            &[0.0, 0.0, 0.0, f64::NAN],
        ]);
        assert_eq!(seen.success().unwrap().value, 0.5);
    }
}
