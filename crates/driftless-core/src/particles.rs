//! N states as one column for each coordinate.

use crate::Space;

/// States in 32 bits, as a structure of arrays: loops over a coordinate read memory in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Particles {
    space: Space,
    columns: Vec<Vec<f32>>,
}

impl Particles {
    /// None yet.
    pub fn new(space: Space) -> Self {
        Self { space, columns: vec![Vec::new(); space.dimension()] }
    }

    /// The given states.
    ///
    /// # Panics
    /// If a state has not as many coordinates as the space.
    pub fn from_states<S: AsRef<[f32]>>(space: Space, states: impl IntoIterator<Item = S>) -> Self {
        let mut particles = Self::new(space);
        states.into_iter().for_each(|state| particles.push(state.as_ref()));
        particles
    }

    /// The space they are in.
    pub fn space(&self) -> Space {
        self.space
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Coordinate k of all of them.
    pub fn column(&self, k: usize) -> &[f32] {
        &self.columns[k]
    }

    /// All coordinates.
    pub fn columns(&self) -> &[Vec<f32>] {
        &self.columns
    }

    /// All coordinates, to be changed in place; columns must stay of one length.
    pub fn columns_mut(&mut self) -> &mut [Vec<f32>] {
        &mut self.columns
    }

    /// Particle i.
    pub fn state(&self, i: usize) -> impl Iterator<Item = f32> {
        self.columns.iter().map(move |column| column[i])
    }

    /// One more.
    ///
    /// # Panics
    /// If it has not as many coordinates as the space.
    pub fn push(&mut self, state: &[f32]) {
        assert_eq!(state.len(), self.columns.len(), "coordinates of a state");
        self.columns.iter_mut().zip(state).for_each(|(column, &x)| column.push(x));
    }

    /// None again; the memory is kept.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vec::clear);
    }

    /// Memory for so many.
    pub fn reserve(&mut self, count: usize) {
        self.columns.iter_mut().for_each(|column| column.reserve(count.saturating_sub(column.len())));
    }

    /// The particles `ancestors` of `from`, in place of those there were.
    pub fn gather(&mut self, from: &Self, ancestors: &[u32]) {
        for (to, from) in self.columns.iter_mut().zip(&from.columns) {
            to.clear();
            to.extend(ancestors.iter().map(|&i| from[i as usize]));
        }
    }
}
