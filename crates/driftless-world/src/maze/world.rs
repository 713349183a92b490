//! A maze as a data source: any number of episodes from one seed, made in parallel.

use super::body::Body;
use super::layout::Layout;
use super::view::MazeView;
use super::walk::{Policy, Stroll, Walk};
use crate::error::Result;
use crate::files::dpf::Recording;
use crate::pose::Frame;
use crate::random::Random;
use crate::trajectory::{Images, Labels, Observations, Pixels, Rows, Trajectory};

/// One recorded episode: poses and velocities, and an RGB-D image a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Where the robot was, once a second.
    pub walk: Vec<Walk>,
    /// What it saw there, four channels.
    pub images: Images,
}

impl Recorded {
    /// The episode as DPF's files have it: headings in degrees.
    pub fn into_recording(self) -> Recording {
        let degrees = |[x, y, angle]: [f64; 3]| [x, y, angle.to_degrees()];
        let pose = |moment: &Walk| degrees([moment.pose.x, moment.pose.y, moment.pose.heading]);
        Recording {
            poses: self.walk.iter().map(pose).collect(),
            velocities: self.walk.iter().map(|moment| degrees(moment.velocity)).collect(),
            images: self.images,
        }
    }

    /// The episode with its odometry, every number of which is multiplied by N(1, `noise`²). All
    /// steps are kept: the action into the first is zero, for nobody knows what was before it.
    pub fn into_trajectory(self, noise: f64, random: &mut Random) -> Result<Trajectory> {
        let mut actions = vec![0.0; 3];
        let mut states = Labels::new(3);
        for pair in self.walk.windows(2) {
            let action = pair[0].pose.motion_to(pair[1].pose, Frame::Reflected);
            actions.extend(action.map(|value| (value * (1.0 + noise * random.normal())) as f32));
        }
        for Walk { pose, .. } in &self.walk {
            states.push(Some(&[pose.x as f32, pose.y as f32, pose.heading as f32]));
        }
        Trajectory::new(Observations::Images(self.images), Rows::new(3, actions)?, states)
    }
}

/// Everything needed to make episodes.
#[derive(Clone, Debug)]
pub struct MazeWorld {
    layout: Layout,
    body: Body,
    view: MazeView,
    /// Manner of walking.
    pub stroll: Stroll,
    /// Who steers.
    pub policy: Policy,
}

impl MazeWorld {
    /// A maze with a camera of `width` x `height` pixels and the original's manner of walking.
    pub fn new(layout: Layout, width: usize, height: usize) -> Self {
        let (body, view) = (Body::new(&layout), MazeView::new(&layout, width, height));
        Self { layout, body, view, stroll: Stroll::default(), policy: Policy::Wander }
    }

    /// The plan.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The camera's view.
    pub fn view(&self) -> &MazeView {
        &self.view
    }

    /// Walks episode `number` of the data set named by `seed`, without taking pictures.
    pub fn walk(&self, seed: u64, number: usize, steps: usize) -> Vec<Walk> {
        let policy = match self.policy {
            Policy::Mix if number % 2 == 1 => Policy::Plan,
            Policy::Mix => Policy::Wander,
            policy => policy,
        };
        let mut random = Random::stream(seed, number as u64);
        self.stroll.walk(&self.layout, &self.body, policy, steps, &mut random)
    }

    /// Episode `number` of the data set named by `seed`: the same whoever asks, in whatever order.
    pub fn episode(&self, seed: u64, number: usize, steps: usize) -> Recorded {
        let walk = self.walk(seed, number, steps);
        let camera = self.view.camera();
        let stride = 4 * camera.width * camera.height;
        let mut pixels = vec![0; stride * steps];
        let mut photographer = self.view.photographer();
        for (moment, image) in walk.iter().zip(pixels.chunks_exact_mut(stride)) {
            photographer.take(moment.pose, image);
        }
        let images =
            Images { height: camera.height, width: camera.width, channels: 4, pixels: Pixels::Bytes(pixels) };
        Recorded { walk, images }
    }
}
