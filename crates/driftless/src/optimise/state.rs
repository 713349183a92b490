//! What an optimiser remembers, as plain numbers and back.

use super::Optimiser;
use crate::parameters::Named;
use burn::tensor::DType;
use std::collections::BTreeMap;

/// The two numbers of state of each number of a parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Slots {
    pub shape: Vec<usize>,
    pub values: [Vec<f64>; 2],
}

impl Optimiser {
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
