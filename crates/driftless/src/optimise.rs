//! Optimisers: how gradients change parameters, computed on the host in 64 bits.
//!
//! The few numbers of a filter's model cost nothing there, and what comes out is the same on every
//! run and device. The state is plain numbers, so a run can be stopped and taken up exactly.

mod adam;
mod report;
mod rms_prop;
mod schedule;

pub use adam::Adam;
pub use report::{Report, Skipped};
pub use rms_prop::RmsProp;
pub use schedule::Schedule;

use crate::parameters::{self, Named};
use burn::module::Module;
use burn::tensor::{DType, Tensor};
use rayon::prelude::*;
use report::{fits, is_finite, norm, unusable};
use std::collections::BTreeMap;

/// Numbers that one thread changes at least: fewer are not worth sharing.
const AT_ONCE: usize = 4096;

/// How a gradient becomes a change, chosen by configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Moments of the gradient, freed of their bias.
    Adam(Adam),
    /// The gradient divided by its recent size.
    RmsProp(RmsProp),
}

impl Rule {
    /// What the two numbers of state of a parameter are called, and where they start.
    fn slots(&self) -> [(&'static str, f64); 2] {
        match self {
            Self::Adam(_) => [("m", 0.0), ("v", 0.0)],
            Self::RmsProp(rule) => [("ms", rule.start), ("mom", 0.0)],
        }
    }

    /// The rate of an update, which counts from 1.
    fn rate(&self, rate: f64, update: u64) -> f64 {
        match self {
            Self::Adam(rule) => rule.unbiased_rate(rate, update),
            Self::RmsProp(_) => rate,
        }
    }

    /// What is taken from one number, whose state moves on, at the update's [`Rule::rate`].
    fn change(&self, state: [&mut f64; 2], gradient: f64, rate: f64) -> f64 {
        match self {
            Self::Adam(rule) => rule.change(state, gradient, rate),
            Self::RmsProp(rule) => rule.change(state, gradient, rate),
        }
    }
}

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
    updates: u64,
    state: BTreeMap<String, Slots>,
}

/// The two numbers of state of each number of a parameter.
#[derive(Clone, Debug, PartialEq)]
struct Slots {
    shape: Vec<usize>,
    values: [Vec<f64>; 2],
}

impl Optimiser {
    /// A rule with a constant learning rate.
    ///
    /// # Panics
    /// If the rate is negative or not finite.
    pub fn new(rule: Rule, rate: f64) -> Self {
        assert!(rate.is_finite() && rate >= 0.0, "the learning rate must be finite and not negative: {rate}");
        Self { rule, rate, schedule: Schedule::Constant, updates: 0, state: BTreeMap::new() }
    }

    /// The rate times a schedule's factor.
    pub fn with_schedule(self, schedule: Schedule) -> Self {
        Self { schedule, ..self }
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
        self.step_by(model, value, gradients)
    }

    /// One update by the value of a loss and its gradients, computed elsewhere: as [`Optimiser::step`].
    ///
    /// # Panics
    /// If a gradient belongs to no parameter, or has not its shape.
    pub fn step_by<M: Module>(&mut self, model: M, loss: f64, gradients: Vec<Named>) -> (M, Report) {
        let touched: Vec<String> = gradients.iter().map(|gradient| gradient.name.clone()).collect();
        let mut values = parameters::values(&model);
        let report = self.step_on(&mut values, loss, gradients);
        if report.skipped.is_some() {
            return (model, report);
        }
        values.retain(|value| touched.contains(&value.name));
        (parameters::with_values(model, &values), report)
    }

    /// The same for parameters that belong to no model of Burn's: values by name, changed in place.
    ///
    /// # Panics
    /// If a gradient belongs to no value, or has not its shape.
    pub fn step_on(&mut self, values: &mut [Named], loss: f64, gradients: Vec<Named>) -> Report {
        let (learning_rate, norm) = (self.learning_rate(), norm(&gradients));
        let result = match unusable(loss, &gradients, norm) {
            Some(skipped) => Err(skipped),
            None => self.updated(values, gradients, learning_rate),
        };
        let mut report = Report { gradient_norm: norm, learning_rate, skipped: None };
        match result {
            Ok((changed, state)) => {
                self.state.extend(state);
                self.updates += 1;
                for new in changed {
                    let old = values.iter_mut().find(|value| value.name == new.name);
                    *old.expect("every gradient belongs to a value") = new;
                }
            }
            Err(skipped) => report.skipped = Some(skipped),
        }
        report
    }

    /// New values and state of the parameters that have gradients; nothing is kept yet.
    fn updated(&self, values: &[Named], gradients: Vec<Named>, rate: f64) -> Result<Updated, Skipped> {
        let rate = self.rule.rate(rate, self.updates + 1);
        let mut state = BTreeMap::new();
        let mut changed = Vec::with_capacity(gradients.len());
        for gradient in gradients {
            let old = values.iter().find(|value| value.name == gradient.name);
            let mut new = old.expect("every gradient belongs to a parameter").clone();
            let mut slots = self.slots(&new);
            let [first, second] = &mut slots.values;
            let slots_of_each = first.par_iter_mut().zip(second).with_min_len(AT_ONCE);
            let numbers = new.values.par_iter_mut().zip(&gradient.values).zip(slots_of_each);
            numbers.for_each(|((value, gradient), (first, second))| {
                *value -= self.rule.change([first, second], *gradient, rate);
            });
            let fits = new.values.iter().all(|&value| fits(value, new.precision));
            // As it will be stored: a run that is taken up must not know more digits than one that was not.
            if new.precision == DType::F32 {
                new.values.iter_mut().for_each(|value| *value = f64::from(*value as f32));
            }
            if !fits || !slots.values.iter().all(|values| is_finite(values)) {
                return Err(Skipped::Update(new.name));
            }
            state.insert(new.name.clone(), slots);
            changed.push(new);
        }
        Ok((changed, state))
    }

    fn slots(&self, of: &Named) -> Slots {
        let fresh = || {
            let values = self.rule.slots().map(|(_, start)| vec![start; of.values.len()]);
            Slots { shape: of.shape.clone(), values }
        };
        self.state.get(&of.name).filter(|slots| slots.shape == of.shape).cloned().unwrap_or_else(fresh)
    }

    /// All that is remembered: `updates`, and two tensors a parameter, `m.NAME` and `v.NAME` for
    /// Adam, `ms.NAME` and `mom.NAME` for RMSProp.
    pub fn state(&self) -> Vec<Named> {
        let named = |name: String, shape: Vec<usize>, values: Vec<f64>| Named {
            name,
            shape,
            precision: DType::F64,
            values,
        };
        let mut all = vec![named("updates".to_owned(), vec![1], vec![self.updates as f64])];
        for (name, slots) in &self.state {
            for ((prefix, _), values) in self.rule.slots().iter().zip(&slots.values) {
                all.push(named(format!("{prefix}.{name}"), slots.shape.clone(), values.clone()));
            }
        }
        all
    }

    /// The optimiser with what [`Optimiser::state`] gave: the next step is bit for bit the one that
    /// would have followed. What belongs to no parameter, or to another rule, is ignored.
    pub fn with_state(self, state: &[Named]) -> Self {
        let find = |name: &str| state.iter().find(|part| part.name == name);
        let updates = find("updates").and_then(|part| part.values.first()).map_or(0, |&count| count as u64);
        let [(first, _), (second, _)] = self.rule.slots();
        let mut slots = BTreeMap::new();
        for part in state {
            let Some(name) = part.name.strip_prefix(first).and_then(|rest| rest.strip_prefix('.')) else {
                continue;
            };
            if let Some(other) = find(&format!("{second}.{name}")).filter(|other| other.shape == part.shape) {
                let values = [part.values.clone(), other.values.clone()];
                slots.insert(name.to_owned(), Slots { shape: part.shape.clone(), values });
            }
        }
        Self { updates, state: slots, ..self }
    }
}

type Updated = (Vec<Named>, BTreeMap<String, Slots>);

#[cfg(test)]
mod tests;
