//! PF-net's network (Karkus, Hsu & Lee): how well an image fits the floor map as a particle sees it.
//!
//! One number a particle, an unnormalised log-likelihood, from an image and a view of the map; forward and backward,
//! for all particles of some steps of one trajectory. Batches are many trajectories, one a thread.
//!
//! ```text
//! image 56x56 ─ observation ─ 14x14x16 ┐
//!                                       ├─ joint ─ one number
//! map, pose ─ FloorMap::view ─ map ─ 14x14x8 ┘
//! ```

mod described;
mod joint;
mod local;
mod many_scales;
mod map;
mod norm;
mod observation;
mod pooling;
mod second;
mod transformer;
mod weights;

pub use described::DESCRIPTION;
pub use map::LOCAL_SIDE;
pub use observation::IMAGE_SIDE;
pub use transformer::{FloorMap, Geometry};
pub use weights::{PfnetGradient, PfnetPlan, TensorPlan};

use crate::{Cpu, padded};
use joint::{Joined, Joint};
use map::{Map, MapWorkspace, View};
use observation::{EncodedFrame, FEATURES, Observation, ObservationWorkspace};
use second::MAP_FEATURES;

/// The network, its weights arranged for products.
#[derive(Clone, Debug)]
pub struct PfnetNet {
    plan: PfnetPlan,
    map: Map,
    observation: Observation,
    joint: Joint,
}

/// What a backward pass needs of the steps of one trajectory; and room to work. Nothing is allocated for images and
/// views once it has seen as many.
#[derive(Clone, Debug, Default)]
pub struct PfnetMemory {
    steps: usize,
    particles: usize,
    /// Whether views are remembered: if not, one after the other takes the same place.
    remembers: bool,
    encoded_frames: Vec<EncodedFrame>,
    views: Vec<View>,
    joined: Joined,
    observation: ObservationWorkspace,
    map: MapWorkspace,
    features: Vec<f32>,
}

impl PfnetNet {
    /// Numbers in an image.
    pub fn pixels(&self) -> usize {
        IMAGE_SIDE * IMAGE_SIDE * self.plan.image_channels
    }

    /// Numbers in a view of the map.
    pub fn view(&self) -> usize {
        LOCAL_SIDE * LOCAL_SIDE * self.plan.map_channels
    }

    /// Looks at the images of some steps (pixel after pixel, from -1 to 1), before particles are weighed by them. With
    /// `remembers`, a way back is possible.
    ///
    /// # Panics
    /// If there are not whole images.
    pub fn see(&self, cpu: Cpu, images: &[f32], particles: usize, remembers: bool, memory: &mut PfnetMemory) {
        let steps = images.len() / self.pixels();
        assert_eq!(images.len(), steps * self.pixels(), "whole images");
        (memory.steps, memory.particles, memory.remembers) = (steps, particles, remembers);
        memory.encoded_frames.resize(if remembers { steps } else { 1 }, EncodedFrame::default());
        memory.views.resize(if remembers { steps * particles } else { 1 }, View::default());
        memory.joined.reset(steps, particles);
        let PfnetMemory { encoded_frames, joined, observation, features, .. } = memory;
        features.resize(joined::pixels(FEATURES), 0.0);
        for (step, image) in images.chunks_exact(self.pixels()).enumerate() {
            let encoded_frame = &mut encoded_frames[if remembers { step } else { 0 }];
            self.observation.forward(cpu, image, encoded_frame, observation, features);
            joined.images.each(FEATURES, step, |k, number| *number = features[k]);
        }
        self.joint.see(cpu, joined);
    }

    /// Looks at the one image that another memory has seen, for other particles, of which nothing is remembered.
    pub fn see_again(&self, particles: usize, other: &PfnetMemory, memory: &mut PfnetMemory) {
        assert_eq!(other.steps, 1, "one image is shared");
        (memory.steps, memory.particles, memory.remembers) = (1, particles, false);
        memory.views.resize(1, View::default());
        memory.joined.reset(1, particles);
        memory.joined.share_image(&other.joined);
    }

    /// The log-likelihoods of a step's particles, given their views of the map.
    ///
    /// # Panics
    /// If there are not as many steps and particles as were announced.
    pub fn weigh(&self, cpu: Cpu, step: usize, views: &[f32], memory: &mut PfnetMemory, out: &mut [f32]) {
        let PfnetMemory { steps, particles, remembers, views: remembered, joined, map, features, .. } =
            memory;
        assert!(step < *steps && out.len() == *particles, "a step that was seen, for all of its particles");
        assert_eq!(views.len(), *particles * self.view(), "one view a particle");
        features.resize(joined::pixels(FEATURES).max(joined::pixels(MAP_FEATURES)), 0.0);
        for (particle, local) in views.chunks_exact(self.view()).enumerate() {
            let view = &mut remembered[if *remembers { step * *particles + particle } else { 0 }];
            let features = &mut features[..joined::pixels(MAP_FEATURES)];
            self.map.forward(cpu, local, view, map, features);
            let lane = step * padded(*particles) + particle;
            joined.map.each(MAP_FEATURES, lane, |k, number| *number = features[k]);
        }
        self.joint.forward(cpu, step, joined, out);
    }

    /// Adds the derivatives by all weights, given those by all log-likelihoods, step after step.
    ///
    /// # Panics
    /// If nothing was remembered, or there is not one derivative a log-likelihood.
    pub fn backward(
        &self,
        cpu: Cpu,
        by_log_likelihoods: &[f32],
        memory: &mut PfnetMemory,
        sum: &mut PfnetGradient,
    ) {
        let PfnetMemory {
            steps,
            particles,
            remembers,
            encoded_frames,
            views,
            joined,
            observation,
            map,
            features,
        } = memory;
        assert!(*remembers && by_log_likelihoods.len() == *steps * *particles, "all that was remembered");
        let width = padded(*particles);
        let mut by = vec![0.0; *steps * width];
        for (to, from) in by.chunks_exact_mut(width).zip(by_log_likelihoods.chunks_exact(*particles)) {
            to[..*particles].copy_from_slice(from);
        }
        self.joint.backward(cpu, &by, joined, &mut sum.joint);
        for (number, view) in views.iter().enumerate() {
            let lane = number / *particles * width + number % *particles;
            let features = &mut features[..joined::pixels(MAP_FEATURES)];
            joined.by_map.each(MAP_FEATURES, lane, |k, number| features[k] = *number);
            self.map.backward(cpu, view, features, map, &mut sum.map);
        }
        features.resize(joined::pixels(FEATURES), 0.0);
        for (step, encoded_frame) in encoded_frames.iter().enumerate() {
            let features = &mut features[..joined::pixels(FEATURES)];
            joined.by_images.each(FEATURES, step, |k, number| features[k] = *number);
            self.observation.backward(cpu, encoded_frame, features, observation, &mut sum.observation);
        }
    }
}

/// Sizes of what is joined.
mod joined {
    /// Numbers of 14x14 pixels of so many features.
    pub(super) const fn pixels(features: usize) -> usize {
        super::map::PIXELS * features
    }
}

#[cfg(test)]
mod tests;
