//! What a filter in plain numbers has to say, for a network to be trained through it.

use driftless_world::pose::Pose;
use driftless_world::trajectory::Start;

/// Numbers of the odometry's noise: logarithms of it at rest (position, heading) and of its shares of distance and turn.
pub(in crate::methods) const NOISES: usize = 4;
/// A logarithm of noise is so many times its parameter: it is learned faster than weights by that.
pub(in crate::methods) const NOISE_SPEED: f64 = 10.0;

/// A step as it is met.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::methods) struct Met {
    /// Before it there was nothing to be moved.
    pub(in crate::methods) is_first: bool,
    /// The motion into it, corrected.
    pub(in crate::methods) action: Option<[f64; 3]>,
    /// Whether there was a reading.
    pub(in crate::methods) saw: bool,
    /// The pose, where it is known.
    pub(in crate::methods) label: Option<[f64; 3]>,
}

/// The loss of a window and its gradients.
#[derive(Clone, Debug)]
pub(in crate::methods) struct Gradient {
    /// Sums of -log p over known poses, by the belief and by readings alone.
    pub(in crate::methods) loss: [f64; 2],
    /// By what was said, step after step.
    pub(in crate::methods) said: Vec<f64>,
    pub(in crate::methods) noise: [f64; NOISES],
}

/// A belief in plain numbers, moved by odometry and changed by what a network says.
pub(in crate::methods) trait SensedFilter: Clone + Send + Sync + 'static {
    /// What is believed.
    type Belief: Clone + Send + Sync;
    /// Steps of a window of a log.
    const WINDOW: usize;

    /// How many numbers a network says of a reading.
    fn width(&self) -> usize;

    /// What is believed of a robot's first pose.
    fn first(&self, start: Option<Start>) -> Self::Belief;

    /// Moves and looks; log p of what was read, 0 if nothing was.
    fn go(&self, belief: &mut Self::Belief, said: &[f64], noise: &[f64; NOISES], met: &Met) -> f64;

    /// The loss of a window that begins with this belief, and its gradients.
    fn gradient(&self, start: &Self::Belief, said: &[f64], noise: &[f64; NOISES], met: &[Met]) -> Gradient;

    /// The mean pose and the covariance around it.
    fn mean(&self, belief: &Self::Belief) -> (Pose, [[f64; 3]; 3]);

    /// The log density of a pose, and whether it is in the region that holds nine tenths.
    fn density(&self, belief: &Self::Belief, pose: [f64; 3]) -> (f64, bool);

    /// A belief as plain numbers.
    fn save(&self, belief: &Self::Belief) -> Vec<f64>;

    /// The same back, from finite ones.
    fn load(&self, numbers: &[f64]) -> Option<Self::Belief>;
}
