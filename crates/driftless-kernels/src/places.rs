//! Poses as the numbers that networks are given, and the way back to the poses.

/// What positions are normalised by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Box2 {
    /// What is subtracted.
    pub(crate) centre: [f32; 2],
    /// What it is then divided by.
    pub(crate) extent: [f32; 2],
}

/// Normalised positions, cosines and sines of headings, at the beginning of rows that are `width` apart.
pub(crate) fn place_rows(place: Box2, columns: [&[f32]; 4], width: usize, rows: &mut Vec<f32>) {
    let [x, y, cosines, sines] = columns;
    rows.resize(x.len() * width, 0.0);
    for (i, row) in rows.chunks_exact_mut(width).enumerate() {
        row[0] = (x[i] - place.centre[0]) / place.extent[0];
        row[1] = (y[i] - place.centre[1]) / place.extent[1];
        (row[2], row[3]) = (cosines[i], sines[i]);
    }
}

/// Adds the derivatives by positions and headings, given those by such rows, each times a factor.
pub(crate) fn add_by_poses(
    place: Box2,
    (rows, by_rows): (&[f32], &[f32]),
    width: usize,
    factors: &[f32],
    by_poses: &mut [Vec<f32>; 3],
) {
    let both = rows.chunks_exact(width).zip(by_rows.chunks_exact(width));
    for (i, ((row, by), factor)) in both.zip(factors).enumerate() {
        by_poses[0][i] += factor * by[0] / place.extent[0];
        by_poses[1][i] += factor * by[1] / place.extent[1];
        by_poses[2][i] += factor * (row[2] * by[3] - row[3] * by[2]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: places by their extents, d cos = -sin, d sin = cos, and half of all.
    #[test]
    fn there_and_back() {
        let (place, mut rows) = (Box2 { centre: [1.0, 2.0], extent: [4.0, 0.5] }, Vec::new());
        place_rows(place, [&[3.0], &[3.0], &[0.8], &[0.6]], 16, &mut rows);
        assert_eq!(rows[..5], [0.5, 2.0, 0.8, 0.6, 0.0]);
        let (mut by_poses, mut by) = ([vec![1.0], vec![1.0], vec![1.0]], vec![9.0; 16]);
        by[..4].copy_from_slice(&[8.0, 3.0, 10.0, 20.0]);
        add_by_poses(place, (&rows, &by), 16, &[0.5], &mut by_poses);
        assert_eq!(by_poses, [vec![2.0], vec![4.0], vec![1.0 + 0.5 * (0.8 * 20.0 - 0.6 * 10.0)]]);
    }
}
