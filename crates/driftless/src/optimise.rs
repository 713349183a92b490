//! Optimisers: how gradients change parameters, computed on the host in 64 bits.
//!
//! The few numbers of a filter's model cost nothing there, and what comes out is the same on every
//! run and device. The state is plain numbers, so a run can be stopped and taken up exactly.

mod adam;
mod report;
mod rms_prop;
mod rule;
mod schedule;
mod state;

pub use adam::Adam;
pub use report::{Report, Skipped};
pub use rms_prop::RmsProp;
pub use rule::Rule;
pub use schedule::Schedule;

use crate::parameters::{self, Named};
use burn::module::Module;
use burn::tensor::{DType, Tensor};
use rayon::prelude::*;
use report::{fits, is_finite, norm, unusable};
use state::Slots;
use std::collections::BTreeMap;

/// Numbers that one thread changes at least: fewer are not worth sharing.
const AT_ONCE: usize = 4096;

/// Changes parameters so that a loss becomes small, and remembers what its rule needs.
///
/// ```
/// use burn::module::{Module, Param};
/// use burn::tensor::{DType, Device, Tensor};
/// use driftless::optimise::{Adam, Optimiser, Rule};
/// use driftless::parameters::{Init, values};
///
/// #[derive(Module, Debug)]
/// struct Line {
///     slope: Param<Tensor<1>>,
/// }
///
/// let init = Init::new(1, &Device::flex().autodiff(), DType::F64);
/// let line = Line { slope: init.constant([1], 2.0) };
/// let loss = line.slope.val().square();
/// let mut optimiser = Optimiser::new(Rule::Adam(Adam::default()), 0.1);
/// let (line, report) = optimiser.step(line, &loss);
/// assert_eq!(report.gradient_norm, 4.0);
/// assert!((values(&line)[0].values[0] - 1.9).abs() < 1e-8); // Adam's first step is the rate
/// ```
#[derive(Clone, Debug)]
pub struct Optimiser {
    rule: Rule,
    rate: f64,
    schedule: Schedule,
    /// What kernels of products are pulled towards 0 by, times the rate.
    decay: f64,
    updates: u64,
    state: BTreeMap<String, Slots>,
    under_way: Vec<UnderWay>,
}

/// A parameter during an update: which it is, its new numbers and their state. Kept, so that updates take no memory.
#[derive(Clone, Debug, Default)]
struct UnderWay {
    at: usize,
    numbers: [Vec<f64>; 3],
}

impl Optimiser {
    /// A rule with a constant learning rate.
    ///
    /// # Panics
    /// If the rate is negative or not finite.
    pub fn new(rule: Rule, rate: f64) -> Self {
        assert!(rate.is_finite() && rate >= 0.0, "the learning rate must be finite and not negative: {rate}");
        Self {
            rule,
            rate,
            schedule: Schedule::Constant,
            decay: 0.0,
            updates: 0,
            state: BTreeMap::new(),
            under_way: Vec::new(),
        }
    }

    /// The rate times a schedule's factor.
    pub fn with_schedule(self, schedule: Schedule) -> Self {
        Self { schedule, ..self }
    }

    /// Pulls parameters whose name ends with `.weight` towards 0 by this share of the rate at each update, beside their
    /// gradients (AdamW, Loshchilov & Hutter 2019).
    pub fn with_decay(self, decay: f64) -> Self {
        Self { decay, ..self }
    }

    /// Another learning rate from now on.
    ///
    /// # Panics
    /// If it is negative or not finite.
    pub fn set_rate(&mut self, rate: f64) {
        assert!(rate.is_finite() && rate >= 0.0, "the learning rate must be finite and not negative: {rate}");
        self.rate = rate;
    }

    /// How many updates were applied.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// The learning rate of the next update.
    pub fn learning_rate(&self) -> f64 {
        self.rate * self.schedule.factor(self.updates)
    }

    /// One update by the gradient of `loss`, `[1]`.
    ///
    /// Parameters that are frozen, or that the loss does not reach, stay as they are, and so does
    /// their state. If anything is not finite nothing is changed at all, and the report says why.
    pub fn step<M: Module>(&mut self, model: M, loss: &Tensor<1>) -> (M, Report) {
        let gradients = parameters::gradients(&model, &loss.backward());
        let value = loss.try_to_vec_as::<f64>().expect("a loss is a number")[0];
        self.step_by(model, value, &gradients)
    }

    /// One update by the value of a loss and its gradients, computed elsewhere: as [`Optimiser::step`].
    ///
    /// # Panics
    /// If a gradient belongs to no parameter, or has not its shape.
    pub fn step_by<M: Module>(&mut self, model: M, loss: f64, gradients: &[Named]) -> (M, Report) {
        let mut values = parameters::values(&model);
        let report = self.step_on(&mut values, loss, gradients);
        if report.skipped.is_some() {
            return (model, report);
        }
        values.retain(|value| gradients.iter().any(|gradient| gradient.name == value.name));
        (parameters::with_values(model, &values), report)
    }

    /// The same for parameters that belong to no model of Burn's: values by name, changed in place.
    ///
    /// # Panics
    /// If a gradient belongs to no value, or has not its shape.
    pub fn step_on(&mut self, values: &mut [Named], loss: f64, gradients: &[Named]) -> Report {
        let (learning_rate, norm) = (self.learning_rate(), norm(gradients));
        let mut report = Report { gradient_norm: norm, learning_rate, skipped: None };
        let mut under_way = std::mem::take(&mut self.under_way);
        let result = match unusable(loss, gradients, norm) {
            Some(skipped) => Err(skipped),
            None => self.prepare(values, gradients, &mut under_way),
        };
        match result {
            Ok(()) => self.apply(values, &mut under_way[..gradients.len()]),
            Err(skipped) => report.skipped = Some(skipped),
        }
        self.under_way = under_way;
        report
    }

    /// Computes new values and state of the parameters that have gradients; nothing is changed yet.
    fn prepare(
        &self,
        values: &[Named],
        gradients: &[Named],
        under_way: &mut Vec<UnderWay>,
    ) -> Result<(), Skipped> {
        let rate = self.rule.rate(self.learning_rate(), self.updates + 1);
        under_way.resize_with(gradients.len().max(under_way.len()), UnderWay::default);
        for (gradient, new) in gradients.iter().zip(under_way) {
            let at = values.iter().position(|value| value.name == gradient.name);
            new.at = at.expect("every gradient belongs to a parameter");
            self.begin(&values[new.at], &mut new.numbers);
            let [value, first, second] = &mut new.numbers;
            if self.decay > 0.0 && gradient.name.ends_with(".weight") {
                let kept = 1.0 - self.learning_rate() * self.decay;
                for value in value.iter_mut() {
                    *value *= kept;
                }
            }
            assert_eq!(value.len(), gradient.values.len(), "numbers of {}", gradient.name);
            let slots_of_each = first.par_iter_mut().zip(&mut *second).with_min_len(AT_ONCE);
            let numbers = value.par_iter_mut().zip(&gradient.values).zip(slots_of_each);
            numbers.for_each(|((value, gradient), (first, second))| {
                *value -= self.rule.change([first, second], *gradient, rate);
            });
            let precision = values[new.at].precision;
            if !value.iter().all(|&value| fits(value, precision)) || !is_finite(first) || !is_finite(second) {
                return Err(Skipped::Update(gradient.name.clone()));
            }
            // As it will be stored: a run that is taken up must not know more digits than one that was not.
            if precision == DType::F32 {
                for number in value.iter_mut() {
                    *number = f64::from(*number as f32);
                }
            }
        }
        Ok(())
    }

    /// A parameter's numbers and their state before an update.
    fn begin(&self, parameter: &Named, [value, states @ ..]: &mut [Vec<f64>; 3]) {
        value.clone_from(&parameter.values);
        let known = self.state.get(&parameter.name).filter(|slots| slots.shape == parameter.shape);
        for (k, (state, (_, start))) in states.iter_mut().zip(self.rule.slots()).enumerate() {
            if let Some(slots) = known {
                state.clone_from(&slots.values[k]);
            } else {
                state.clear();
                state.resize(parameter.values.len(), start);
            }
        }
    }

    /// Old and new numbers change places; the memory of the old ones serves the next update.
    fn apply(&mut self, values: &mut [Named], under_way: &mut [UnderWay]) {
        for UnderWay { at, numbers: [value, states @ ..] } in under_way {
            let parameter = &mut values[*at];
            std::mem::swap(&mut parameter.values, value);
            if !self.state.contains_key(&parameter.name) {
                self.state.insert(parameter.name.clone(), Slots::default());
            }
            let slots = self.state.get_mut(&parameter.name).expect("it was put there");
            slots.shape.clone_from(&parameter.shape);
            std::mem::swap(&mut slots.values, states);
        }
        self.updates += 1;
    }
}

#[cfg(test)]
mod tests;
