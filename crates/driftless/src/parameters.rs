//! The parameters of a model: how they are drawn at first, and all of them by name.
//!
//! A name is the path of fields that leads to a parameter, joined by dots:
//! `measurement.state.layers.0.weight`. Weight files, optimisers and tests all speak of these.

use crate::error::{Error, Result};
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{DType, Device, Gradients, Tensor, TensorData};
use driftless_world::random::Random;

/// Draws first values of parameters, from one seed, in the order in which they are asked for.
#[derive(Clone, Debug)]
pub struct Init {
    random: Random,
    device: Device,
    precision: DType,
}

impl Init {
    /// The parameters named by `seed`, as trainable tensors of `precision` on `device`.
    pub fn new(seed: u64, device: &Device, precision: DType) -> Self {
        Self { random: Random::new(seed), device: device.clone(), precision }
    }

    /// Normal, redrawn beyond two standard deviations, as Sonnet 1 does for all its weights with
    /// std = 1 / √(inputs of a unit).
    pub fn truncated_normal<const D: usize>(&mut self, shape: [usize; D], std: f64) -> Param<Tensor<D>> {
        let count = shape.iter().product();
        let mut draw = || loop {
            let z = self.random.normal();
            if z.abs() <= 2.0 {
                break z * std;
            }
        };
        let values = (0..count).map(|_| draw()).collect();
        self.values(shape, values)
    }

    /// All the same.
    pub fn constant<const D: usize>(&self, shape: [usize; D], value: f64) -> Param<Tensor<D>> {
        self.values(shape, vec![value; shape.iter().product()])
    }

    /// Given values.
    pub fn values<const D: usize>(&self, shape: [usize; D], values: Vec<f64>) -> Param<Tensor<D>> {
        let data = TensorData::new(values, shape);
        Param::from_tensor(Tensor::from_data(data, (&self.device, self.precision)))
    }
}

/// What computes with parameters that others change: kernels, or a module on tensors.
pub(crate) trait Net {
    /// Takes over all parameters, by name.
    ///
    /// # Panics
    /// If one is missing.
    fn load(&mut self, values: &[Named]);
}

/// One parameter, or its gradient, as plain numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Path of fields, joined by dots.
    pub name: String,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Whether 32 or 64 bits hold each number in the model.
    pub precision: DType,
    /// Row after row. 32 bits become 64 without loss.
    pub values: Vec<f64>,
}

/// Takes the values of others by name: all of them, or none if one is missing or has another shape.
pub(crate) fn replace(own: &mut [Named], given: &[Named]) -> Result<()> {
    let find = |own: &Named| given.iter().find(|given| given.name == own.name);
    for own in own.iter() {
        let problem = match find(own) {
            Some(given) if given.shape == own.shape => continue,
            Some(given) => format!("has the shape {:?}, but {:?} is wanted", given.shape, own.shape),
            None => "is missing".to_owned(),
        };
        return Err(Error::File(driftless_world::Error::new(problem).in_field(own.name.clone())));
    }
    for own in own {
        if let Some(given) = find(own) {
            own.values.clone_from(&given.values);
            own.round();
        }
    }
    Ok(())
}

impl Named {
    /// To numbers that the precision can hold.
    pub(crate) fn round(&mut self) {
        if self.precision == DType::F32 {
            self.values.iter_mut().for_each(|number| *number = f64::from(*number as f32));
        }
    }

    /// Numbers of 32 bits.
    ///
    /// # Panics
    /// If there are not as many as the shape says.
    pub fn singles(name: String, shape: &[usize], values: impl IntoIterator<Item = f32>) -> Self {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        assert_eq!(values.len(), shape.iter().product::<usize>(), "numbers of {name}");
        Self { name, shape: shape.to_vec(), precision: DType::F32, values }
    }
}

/// All parameters of a module, in the order of its fields.
pub fn values<M: Module>(module: &M) -> Vec<Named> {
    collect(module, Read::Values)
}

/// The gradients of those parameters that a loss reaches, in the order of the fields.
pub fn gradients<M: Module>(module: &M, gradients: &Gradients) -> Vec<Named> {
    collect(module, Read::Gradients(gradients))
}

/// The module with other values for the parameters named; the others stay.
///
/// # Panics
/// If a shape differs.
pub fn with_values<M: Module>(module: M, values: &[Named]) -> M {
    module.map(&mut Write { path: Vec::new(), values })
}

fn collect<M: Module>(module: &M, read: Read) -> Vec<Named> {
    let mut reader = Reader { path: Vec::new(), read, found: Vec::new() };
    module.visit(&mut reader);
    reader.found
}

enum Read<'a> {
    Values,
    Gradients(&'a Gradients),
}

struct Reader<'a> {
    path: Vec<String>,
    read: Read<'a>,
    found: Vec<Named>,
}

impl ModuleVisitor for Reader<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let value = param.val();
        let tensor = match self.read {
            Read::Values => Some(value.clone()),
            Read::Gradients(gradients) => value.grad(gradients),
        };
        self.found.extend(tensor.map(|tensor| Named {
            name: self.path.join("."),
            shape: value.dims().to_vec(),
            precision: value.dtype(),
            values: tensor.try_to_vec_as::<f64>().expect("parameters are numbers"),
        }));
    }
}

struct Write<'a> {
    path: Vec<String>,
    values: &'a [Named],
}

impl ModuleMapper for Write<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.path.join(".");
        let Some(new) = self.values.iter().find(|value| value.name == name) else { return param };
        assert_eq!(new.shape, param.dims(), "shape of {name}");
        let trained = param.is_require_grad();
        param.map(|old| {
            let data = TensorData::new(new.values.clone(), old.dims());
            let fresh = Tensor::from_data(data, (&old.device(), old.dtype()));
            if trained { fresh.require_grad() } else { fresh }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{f64s, numbers};

    #[derive(Module, Debug)]
    struct Inner {
        weight: Param<Tensor<2>>,
        unused: Param<Tensor<1>>,
    }

    #[derive(Module, Debug)]
    struct Outer {
        layers: Vec<Inner>,
        scale: Param<Tensor<1>>,
    }

    fn outer(seed: u64) -> Outer {
        let mut init = Init::new(seed, &Device::flex().autodiff(), DType::F64);
        let mut inner =
            || Inner { weight: init.truncated_normal([2, 3], 0.5), unused: init.constant([1], 7.0) };
        Outer { layers: vec![inner(), inner()], scale: init.values([1], vec![2.0]) }
    }

    #[test]
    fn names_values_and_gradients() {
        let module = outer(1);
        let names: Vec<String> = values(&module).into_iter().map(|value| value.name).collect();
        let expected = ["layers.0.weight", "layers.0.unused", "layers.1.weight", "layers.1.unused", "scale"];
        assert_eq!(names, expected);
        let x = f64s::<2>([[1.0, 2.0]]);
        let loss = (x.matmul(module.layers[1].weight.val()) * module.scale.val().unsqueeze()).sum();
        let found = gradients(&module, &loss.backward());
        assert_eq!(found[0].name, "layers.1.weight");
        assert_eq!(found[0].values, [2.0, 2.0, 2.0, 4.0, 4.0, 4.0]);
        assert_eq!(found.iter().map(|g| g.name.as_str()).collect::<Vec<_>>(), [names[2].as_str(), "scale"]);
    }

    #[test]
    fn values_can_be_put_back_and_still_train() {
        let (from, to) = (outer(1), outer(2));
        assert_ne!(values(&from), values(&to));
        let frozen = Outer { scale: to.scale.clone().set_require_grad(false), ..to };
        let copy = with_values(frozen, &values(&from));
        assert_eq!(values(&copy), values(&from));
        let loss = (copy.layers[0].weight.val().sum() * copy.scale.val()).sum();
        let found = gradients(&copy, &loss.backward());
        assert_eq!(found.len(), 1, "a frozen parameter stays frozen: {found:?}");
        assert_eq!(numbers(&copy.scale.val()), [2.0]);
    }

    /// Var of a normal cut at two standard deviations is 0.7737 σ².
    #[test]
    fn first_weights_are_cut() {
        let mut init = Init::new(3, &Device::flex(), DType::F32);
        let values = numbers(&init.truncated_normal([200, 200], 0.1).val());
        let variance = values.iter().map(|v| v * v).sum::<f64>() / 4e4;
        assert!(values.iter().all(|v| v.abs() <= 0.200_001));
        // Five standard errors of 40 000 squares, whose variance is below that of a normal's, 2 σ⁴.
        assert!((variance - 0.007_737).abs() < 5.0 * 0.01 * (2.0_f64 / 4e4).sqrt(), "{variance}");
    }
}
