//! A trained pair in other coordinates of its features: the same cosines from fewer products.

use super::Pair;
use crate::dense::Layer;

impl Pair {
    /// The same pair with both kinds of features rotated, so that the last layer of places is lower triangular.
    ///
    /// W = L Q with L lower triangular and Q orthogonal. Features y = x W + b of places become y Qᵀ = x L + b Qᵀ, those of
    /// images likewise, and no length or angle between them changes: half of the last layer's products are enough.
    ///
    /// # Panics
    /// If there is a ReLU behind one of the layers, which a rotation does not pass.
    pub fn rotated(&self) -> Self {
        let mut pair = self.clone();
        let (last, places) = (&mut pair.last, pair.places.layers_mut().last_mut().expect("it has layers"));
        assert!(last.is_linear() && places.is_linear(), "features of any sign");
        let [inputs, width] = places.shape();
        let mut rows = rows(places);
        rows.extend(self::rows(last));
        for k in 0..inputs.min(width) {
            let Some(axis) = axis(&rows[k][k..]) else { continue };
            rows[k..].iter_mut().for_each(|row| reflect(&axis, &mut row[k..]));
        }
        let (of_places, of_images) = rows.split_at(inputs + 1);
        let single = |row: &[f64]| row.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        places.set_lower_by(|i, o| of_places[i][o] as f32, &single(&of_places[inputs]));
        last.set_by(|i, o| of_images[i][o] as f32, &single(&of_images[of_images.len() - 1]));
        pair
    }
}

/// Weights of each input, and the bias behind them, in 64 bits.
fn rows(layer: &Layer) -> Vec<Vec<f64>> {
    let [inputs, outputs] = layer.shape();
    let weights = |input: usize| (0..outputs).map(|output| f64::from(layer.weight(input, output))).collect();
    let bias = layer.bias().iter().map(|&x| f64::from(x)).collect();
    (0..inputs).map(weights).chain([bias]).collect()
}

/// The unit vector whose reflection turns a row into one along the first axis (Householder 1958); none if the row is 0.
fn axis(row: &[f64]) -> Option<Vec<f64>> {
    let length = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut axis = row.to_vec();
    // Away from the first axis, so that nothing cancels.
    axis[0] += length(row).copysign(row[0]);
    let size = length(&axis);
    (size > 0.0).then(|| axis.iter().map(|x| x / size).collect())
}

/// x - 2 v (v · x).
fn reflect(axis: &[f64], row: &mut [f64]) {
    let along: f64 = axis.iter().zip(&*row).map(|(v, x)| v * x).sum();
    row.iter_mut().zip(axis).for_each(|(x, v)| *x -= 2.0 * along * v);
}
