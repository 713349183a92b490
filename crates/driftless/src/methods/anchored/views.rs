//! As how much of a reading an image counts: images from almost the same place err alike.
//!
//! In the large maze of DeepMind Lab the log-likelihood of the true pose is correlated from step to step by 0.6, and a fifth
//! of the steps nearly stand still. Counted in full, a view that fits elsewhere loses the robot.

/// A view is as good as new after so many mean steps and turns together.
const NEW: f32 = 3.0;
/// An image from the very same place counts so much: its noise is new.
const LEAST: f32 = 0.02;

/// How far the robot has moved since it last saw something.
#[derive(Clone, Copy, Debug)]
pub struct Views {
    /// A mean step, and a mean turn.
    scale: [f32; 2],
    /// In mean steps and turns; nothing where it cannot be told, or nothing was seen yet.
    moved: Option<f32>,
}

impl Views {
    /// For a robot with these mean steps and turns.
    pub fn new(step_size: [f64; 3]) -> Self {
        Self { scale: [step_size[0], step_size[2]].map(|size| size.max(1e-12) as f32), moved: None }
    }

    /// As how much of a reading the next image counts, after this action. One that is missing may have been any.
    pub fn share(&mut self, action: Option<[f32; 3]>) -> f32 {
        let moved = |[forward, side, turn]: [f32; 3]| {
            forward.hypot(side) / self.scale[0] + turn.abs() / self.scale[1]
        };
        self.moved = self.moved.zip(action.map(moved)).map(|(before, now)| before + now);
        self.moved.filter(|moved| moved.is_finite()).map_or(1.0, |moved| (moved / NEW).clamp(LEAST, 1.0))
    }

    /// How far it has moved, as [`Views::go_on`] takes it.
    pub fn moved(&self) -> Option<f32> {
        self.moved
    }

    /// Goes on from having moved so far.
    pub fn go_on(&mut self, moved: Option<f32>) {
        self.moved = moved;
    }

    /// Something was seen.
    pub fn look(&mut self) {
        self.moved = Some(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_by_hand() {
        let mut views = Views::new([20.0, 20.0, 0.5]);
        assert_eq!(views.share(Some([1.0, 0.0, 0.0])), 1.0, "the first view is new");
        views.look();
        // One step and one turn of three.
        assert_eq!(views.share(Some([12.0, 16.0, -0.5])), 2.0 / 3.0);
        // Nothing was seen: what comes next is added to it.
        assert_eq!(views.share(Some([10.0, 0.0, 0.0])), 2.5 / 3.0);
        assert_eq!(views.share(Some([90.0, 0.0, 0.0])), 1.0);
        views.look();
        assert_eq!(views.share(Some([0.0; 3])), LEAST);
        views.look();
        // Nobody knows how far it went.
        assert_eq!(views.share(None), 1.0);
        assert_eq!(views.share(Some([0.0; 3])), 1.0);
        views.look();
        assert_eq!(views.share(Some([f32::NAN, 0.0, 0.0])), 1.0);
    }
}
