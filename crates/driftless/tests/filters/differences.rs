//! Networks with small random parameters, and gradients by all of these against central differences.

use crate::common::{f64s, numbers};
use burn::module::Module;
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless::nets::{ConvPlan, ImageEncoder};
use driftless::parameters::{Init, Named, gradients, values, with_values};
use driftless::{Batch, Labels, Phase};
use driftless_world::random::Random;

/// First values of 64 bits, on which gradients can be asked for.
pub fn init(seed: u64) -> Init {
    Init::new(seed, &Device::flex().autodiff(), DType::F64)
}

/// Standard normal numbers.
pub fn noise<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<D> {
    let mut random = Random::new(seed);
    let values: Vec<f64> = (0..shape.iter().product()).map(|_| random.normal()).collect();
    f64s(TensorData::new(values, shape))
}

/// Moves all parameters a little, and biases, which start at 0, up, so that few ReLUs are dead.
pub fn stirred<M: Module>(module: M, seed: u64) -> M {
    let mut random = Random::new(seed);
    let mut parameters = values(&module);
    for parameter in &mut parameters {
        let lift = if parameter.name.ends_with("bias") { 0.3 } else { 0.0 };
        parameter.values.iter_mut().for_each(|value| *value += lift + 0.1 * random.normal());
    }
    with_values(module, &parameters)
}

/// Fails unless the gradient by every parameter agrees with central differences, relative to the
/// largest of them. The truncation error of a step h is h² times a third derivative, rounding is
/// 1e-16 / h: with h = 1e-5 both are near 1e-10. A ReLU whose kink lies within a step would be off by
/// a good part of the gradient, so passing also says that there is none.
pub fn check<M: Module>(name: &str, module: &M, loss: impl Fn(&M) -> Tensor<1>) {
    check_but(name, module, "", loss);
}

/// The same for a module of which one parameter, `idle`, changes nothing.
pub fn check_but<M: Module>(name: &str, module: &M, idle: &str, loss: impl Fn(&M) -> Tensor<1>) {
    let found = gradients(module, &loss(module).backward());
    let parameters = values(module);
    let names = |named: &[Named]| named.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found), names(&parameters), "{name}: a loss reaches all parameters");
    for (parameter, gradient) in parameters.iter().zip(&found) {
        let at = |k: usize, shift: f64| {
            let mut moved = parameter.clone();
            moved.values[k] += shift;
            numbers(&loss(&with_values(module.clone(), &[moved])))[0]
        };
        let expected: Vec<f64> =
            (0..parameter.values.len()).map(|k| (at(k, 1e-5) - at(k, -1e-5)) / 2e-5).collect();
        let largest = expected.iter().fold(0.0_f64, |largest, g| largest.max(g.abs()));
        let active = parameter.name != idle;
        assert_eq!(largest > 1e-3, active, "{name} {}: nothing to compare: {expected:?}", parameter.name);
        for (k, (found, expected)) in gradient.values.iter().zip(&expected).enumerate() {
            let close = (found - expected).abs() < 1e-6 * largest.max(1.0);
            assert!(close, "{name} {} {k}: {found} is not {expected}", parameter.name);
        }
    }
}

/// How many numbers the parameters are.
pub fn count<M: Module>(module: &M) -> usize {
    values(module).iter().map(|value| value.values.len()).sum()
}

/// Odd and even sides, and dropout on.
pub fn plan() -> ConvPlan {
    ConvPlan { image: [2, 5, 6], channels: vec![3, 4], keep: 0.7, features: 5 }
}

/// The encoder so planned.
pub fn frame_encoder() -> ImageEncoder {
    stirred(ImageEncoder::new(plan(), &mut init(1)), 2)
}

/// Some dropout.
pub const TRAINING: Phase = Phase::Training { seed: 3 };

/// Two of six states known; NaN where hidden.
pub fn batch() -> Batch<Tensor<5>> {
    let hidden = [f64::NAN; 3];
    let states = [[[0.5, 1.0, 3.0], hidden, hidden], [hidden, hidden, [-0.3, 0.2, -3.0]]];
    let known = states.map(|row| row.map(|state| !state[0].is_nan()));
    let labels = Labels::new(f64s(states), Tensor::from_data(known, &Device::flex().autodiff()));
    Batch { observations: noise([2, 3, 2, 5, 6], 16), actions: noise([2, 3, 3], 17), labels }
}
