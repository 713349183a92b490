//! A model and its optimiser, as one thing that learns and can be stopped and taken up.

use crate::error::Result;
use crate::optimise::{Adam, Optimiser, Report, Rule};
use crate::parameters::{self, Named};
use burn::module::Module;
use burn::tensor::Tensor;

/// Adam's rate in both authors' code; nothing is clipped.
pub(super) const RATE: f64 = 3e-4;

/// What the optimiser's numbers are called among a method's memory.
const PREFIX: &str = "optimiser.";

/// A model and its optimiser.
pub(super) struct Learner<M: Module> {
    /// Always there, but while a step takes it.
    model: Option<M>,
    /// Its parameters: optimisers change these, and the model's tensors follow.
    values: Vec<Named>,
    optimiser: Optimiser,
    rate: f64,
}

impl<M: Module> Learner<M> {
    /// A model that has not learned yet.
    pub(super) fn new(model: M) -> Self {
        Self::with_rate(model, RATE)
    }

    /// The same with a learning rate of its own.
    pub(super) fn with_rate(model: M, rate: f64) -> Self {
        Self { values: parameters::values(&model), model: Some(model), optimiser: fresh(rate), rate }
    }

    /// The model as it is now.
    pub(super) fn model(&self) -> &M {
        self.model.as_ref().expect("a step gives back the model it takes")
    }

    /// One update.
    pub(super) fn step(&mut self, loss: &Tensor<1>) -> Report {
        let gradients = parameters::gradients(self.model(), &loss.backward());
        let value = loss.try_to_vec_as::<f64>().expect("a loss is a number")[0];
        self.step_by(value, &gradients)
    }

    /// One update by a loss and gradients from elsewhere.
    pub(super) fn step_by(&mut self, loss: f64, gradients: &[Named]) -> Report {
        let report = self.optimiser.step_on(&mut self.values, loss, gradients);
        if report.skipped.is_none() {
            self.model = self.model.take().map(|model| parameters::with_values(model, &self.values));
        }
        report
    }

    /// The optimiser begins anew; the model stays.
    pub(super) fn forget(&mut self) {
        self.optimiser = fresh(self.rate);
    }

    /// All parameters.
    pub(super) fn parameters(&self) -> Vec<Named> {
        self.values.clone()
    }

    /// The optimiser's state, each name after `optimiser.`.
    pub(super) fn memory(&self) -> Vec<Named> {
        let state = self.optimiser.state().into_iter();
        state.map(|part| Named { name: format!("{PREFIX}{}", part.name), ..part }).collect()
    }

    /// Takes back parameters, all of them, and memory; without it the optimiser begins anew.
    pub(super) fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        parameters::replace(&mut self.values, parameters)?;
        self.model = self.model.take().map(|model| parameters::with_values(model, &self.values));
        // Rounded as the model has them.
        self.values = parameters::values(self.model());
        let part = |part: &Named| {
            part.name.strip_prefix(PREFIX).map(|name| Named { name: name.to_owned(), ..part.clone() })
        };
        let state: Vec<Named> = memory.unwrap_or_default().iter().filter_map(part).collect();
        self.optimiser = fresh(self.rate).with_state(&state);
        Ok(())
    }
}

fn fresh(rate: f64) -> Optimiser {
    Optimiser::new(Rule::Adam(Adam::default()), rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nets::Dense;
    use crate::parameters::Init;
    use burn::tensor::{DType, Device};

    fn learner(seed: u64) -> Learner<Dense> {
        Learner::new(Dense::new(2, 3, &mut Init::new(seed, &Device::flex().autodiff(), DType::F32)))
    }

    fn trained(learner: &mut Learner<Dense>, times: usize) {
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
        other.restore(&half.parameters(), Some(&half.memory())).unwrap();
        trained(&mut other, 3);
        assert_eq!(other.parameters(), whole.parameters());
        assert_eq!(other.memory(), whole.memory());
        other.restore(&half.parameters(), None).unwrap();
        trained(&mut other, 3);
        assert_ne!(other.parameters(), whole.parameters(), "the optimiser began anew");
    }

    #[test]
    fn parameters_must_fit() {
        let mut learner = learner(1);
        let mut given = learner.parameters();
        given[0].shape = vec![3, 2];
        let message = learner.restore(&given, None).unwrap_err().to_string();
        assert_eq!(message, "field weight: has the shape [3, 2], but [2, 3] is wanted");
        let message = learner.restore(&given[..0], None).unwrap_err().to_string();
        assert_eq!(message, "field weight: is missing");
    }
}
