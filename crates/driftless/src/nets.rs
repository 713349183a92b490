//! Networks of the experiments: layers, and encoders and a decoder built of them.
//!
//! First weights are those of Sonnet 1, with which the authors' code was written: normal with
//! standard deviation 1 / √(inputs of a unit), redrawn beyond two of them; biases 0. A layer's
//! numbers come from [`Init`](crate::parameters::Init), in the order in which layers are made.

pub mod beams;
pub mod conv;
pub mod decoder;
pub mod dense;
pub mod image;
pub mod place;
pub mod projected;
pub mod readings;
pub mod state;
pub mod vector;

pub use beams::{BeamConv, BeamEncoder, BeamPlan};
pub use conv::{Conv, Deconv};
pub use decoder::ImageDecoder;
pub use dense::{Activation, Dense, Mlp};
pub use image::{ConvPlan, ImageEncoder};
pub(crate) use place::Turned;
pub use place::{PlaceEncoder, Waves};
pub use projected::Projected;
pub use readings::{ReadingEncoder, ReadingPlan, WithStart};
pub use state::{PoseEncoder, StateFeatures};
pub use vector::VectorEncoder;
