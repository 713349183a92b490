//! What learns in every method: named parameters, the optimiser that changes them in place, and the network that follows.

use crate::error::Result;
use crate::optimise::{Adam, Optimiser, Report, Rule};
use crate::parameters::{self, Named, Net};
use burn::module::Module;
use burn::tensor::Tensor;

/// Adam's rate in both authors' code; nothing is clipped.
pub(super) const RATE: f64 = 3e-4;

/// What the optimiser's numbers are called among a method's memory.
const PREFIX: &str = "optimiser.";

/// A network with its parameters, which are stored here and nowhere else, and their optimiser.
#[derive(Clone)]
pub(super) struct Learner<N> {
    net: N,
    values: Vec<Named>,
    optimiser: Optimiser,
    /// Before its first update.
    fresh: Optimiser,
}

impl<N: Net> Learner<N> {
    /// A network that has not learned yet, with its first parameters.
    pub(super) fn new(mut net: N, values: Vec<Named>, optimiser: Optimiser) -> Self {
        net.load(&values);
        Self { net, values, fresh: optimiser.clone(), optimiser }
    }

    /// The network as it is now.
    pub(super) fn net(&self) -> &N {
        &self.net
    }

    /// All parameters.
    pub(super) fn values(&self) -> &[Named] {
        &self.values
    }

    /// How many updates were made.
    pub(super) fn updates(&self) -> u64 {
        self.optimiser.updates()
    }

    /// Another learning rate from now on.
    pub(super) fn set_rate(&mut self, rate: f64) {
        self.optimiser.set_rate(rate);
    }

    /// One update by a loss and its gradients.
    pub(super) fn step_by(&mut self, loss: f64, gradients: &[Named]) -> Report {
        let report = self.optimiser.step_on(&mut self.values, loss, gradients);
        if report.skipped.is_none() {
            self.net.load(&self.values);
        }
        report
    }

    /// The optimiser begins anew; the parameters stay.
    pub(super) fn forget(&mut self) {
        self.optimiser = self.fresh.clone();
    }

    /// Takes over parameters by name, all of them.
    pub(super) fn set(&mut self, parameters: &[Named]) -> Result<()> {
        parameters::replace(&mut self.values, parameters)?;
        self.net.load(&self.values);
        Ok(())
    }

    /// The optimiser's state, each name after `optimiser.`.
    pub(super) fn memory(&self) -> Vec<Named> {
        let state = self.optimiser.state().into_iter();
        state.map(|part| Named { name: format!("{PREFIX}{}", part.name), ..part }).collect()
    }

    /// Takes back parameters, all of them, and memory; without it the optimiser begins anew.
    pub(super) fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.set(parameters)?;
        let part = |part: &Named| {
            part.name.strip_prefix(PREFIX).map(|name| Named { name: name.to_owned(), ..part.clone() })
        };
        let state: Vec<Named> = memory.unwrap_or_default().iter().filter_map(part).collect();
        self.optimiser = self.fresh.clone().with_state(&state);
        Ok(())
    }
}

/// A module of Burn's, which follows parameters.
#[derive(Clone)]
pub(super) struct OnTensors<M>(
    /// Always there, but while parameters are exchanged.
    Option<M>,
);

impl<M: Module> Net for OnTensors<M> {
    fn load(&mut self, values: &[Named]) {
        self.0 = self.0.take().map(|model| parameters::with_values(model, values));
    }
}

impl<M: Module> Learner<OnTensors<M>> {
    /// A model that has not learned yet.
    pub(super) fn of(model: M) -> Self {
        Self::taught_by(model, Optimiser::new(Rule::Adam(Adam::default()), RATE))
    }

    /// The same with an optimiser of its own.
    pub(super) fn taught_by(model: M, optimiser: Optimiser) -> Self {
        let values = parameters::values(&model);
        Self::new(OnTensors(Some(model)), values, optimiser)
    }

    /// The model as it is now.
    pub(super) fn model(&self) -> &M {
        self.net.0.as_ref().expect("a model is given back")
    }

    /// One update by a loss that knows its way back.
    pub(super) fn step(&mut self, loss: &Tensor<1>) -> Report {
        let gradients = parameters::gradients(self.model(), &loss.backward());
        let value = loss.try_to_vec_as::<f64>().expect("a loss is a number")[0];
        self.step_by(value, &gradients)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nets::Dense;
    use crate::parameters::Init;
    use burn::tensor::{DType, Device};

    fn learner(seed: u64) -> Learner<OnTensors<Dense>> {
        Learner::of(Dense::new(2, 3, &mut Init::new(seed, &Device::flex().autodiff(), DType::F32)))
    }

    fn trained(learner: &mut Learner<OnTensors<Dense>>, times: usize) {
        for _ in 0..times {
            let loss = (learner.model().weight.val() - 1.0).square().sum();
            assert!(learner.step(&loss).skipped.is_none());
        }
    }

    #[test]
    fn taken_up_exactly() {
        let (mut whole, mut half, mut other) = (learner(1), learner(1), learner(2));
        trained(&mut whole, 5);
        trained(&mut half, 2);
        other.restore(half.values(), Some(&half.memory())).unwrap();
        trained(&mut other, 3);
        assert_eq!(other.values(), whole.values());
        assert_eq!(other.memory(), whole.memory());
        other.restore(half.values(), None).unwrap();
        trained(&mut other, 3);
        assert_ne!(other.values(), whole.values(), "the optimiser began anew");
    }

    /// The model's tensors are the parameters, whatever changed them.
    #[test]
    fn the_network_follows() {
        let (mut learner, other) = (learner(1), learner(2));
        trained(&mut learner, 2);
        assert_eq!(parameters::values(learner.model()), learner.values());
        learner.set(other.values()).unwrap();
        assert_eq!(parameters::values(learner.model()), other.values());
        let before = learner.values().to_vec();
        let report = learner.step_by(f64::NAN, &[]);
        assert!(report.skipped.is_some() && parameters::values(learner.model()) == before);
    }

    #[test]
    fn parameters_must_fit() {
        let mut learner = learner(1);
        let mut given = learner.values().to_vec();
        given[0].shape = vec![3, 2];
        let message = learner.restore(&given, None).unwrap_err().to_string();
        assert_eq!(message, "field weight: has the shape [3, 2], but [2, 3] is wanted");
        let message = learner.restore(&given[..0], None).unwrap_err().to_string();
        assert_eq!(message, "field weight: is missing");
    }
}
