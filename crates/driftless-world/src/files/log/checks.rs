//! What arrays of a log must look like, and their numbers once they are checked.

use crate::error::{Error, Result};
use crate::files::array::Array;
use crate::files::npy::Dtype;
use std::ops::Range;

pub(super) fn check_observations(array: &Array) -> Result<()> {
    let shape = array.shape();
    let problem = if !(2..=4).contains(&shape.len()) {
        "(steps, numbers), (steps, height, width) or (steps, height, width, channels) is expected"
    } else if shape[0] == 0 {
        "there is no step"
    } else if shape.contains(&0) {
        "an observation holds nothing"
    } else {
        return Ok(());
    };
    Err(Error::new(format!("has shape {shape:?}; {problem}")).in_field("observations"))
}

/// Images beside vectors: bytes, one of the same size for every step.
pub(super) fn check_images(images: &Array, observations: &Array) -> Result<()> {
    let (shape, rows) = (images.shape(), observations.rows());
    let problem = if observations.shape().len() != 2 {
        "observations are images already; an array `images` goes beside vectors".to_owned()
    } else if !(3..=4).contains(&shape.len()) || shape[0] != rows || shape[1..].contains(&0) {
        format!(
            "has shape {shape:?}, but ({rows}, height, width) or ({rows}, height, width, channels) is expected"
        )
    } else if images.dtype() != Dtype::U8 {
        "holds other numbers than uint8".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::new(problem).in_field("images"))
}

/// Motions of an episode: a row is a motion, or missing and wholly NaN.
pub(super) fn motions(array: &Array, rows: Range<usize>) -> Result<Vec<f32>> {
    let values = array.read_f32(rows)?;
    for (step, row) in values.chunks_exact(array.row_len()).enumerate() {
        let column = row.iter().position(|value| !value.is_finite());
        if let Some(column) = column.filter(|_| !row.iter().all(|value| value.is_nan())) {
            let problem = format!(
                "holds {} at step {step}, column {column}; a missing action is a row of NaN",
                row[column]
            );
            return Err(Error::new(problem).in_field("actions"));
        }
    }
    Ok(values)
}

/// Readings of an episode: one that is not finite is missing, and NaN.
pub(super) fn readings(array: &Array, rows: Range<usize>) -> Result<Vec<f32>> {
    let mut values = array.read_f32(rows)?;
    values.iter_mut().filter(|value| !value.is_finite()).for_each(|value| *value = f32::NAN);
    Ok(values)
}

/// Bearings of all beams: finite, one for each number of an observation.
pub(super) fn angles(array: &Array, observations: &Array) -> Result<Vec<f64>> {
    let wrong = |problem: String| Err(Error::new(problem).in_field("beam_angles"));
    if array.shape() != [observations.row_len()] {
        let beams = observations.row_len();
        return wrong(format!("has shape {:?}, but ({beams},) is expected", array.shape()));
    }
    let angles = array.read_f64(0..array.rows())?;
    match angles.iter().position(|angle| !angle.is_finite()) {
        Some(at) => wrong(format!("holds {} at beam {at}", angles[at])),
        None => Ok(angles),
    }
}

/// Numbers of the rows of an episode, none of them NaN or infinite.
pub(super) fn finite(array: &Array, rows: Range<usize>) -> Result<Vec<f32>> {
    let values = array.read_f32(rows)?;
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        let (step, column) = (at / array.row_len(), at % array.row_len());
        let advice = "leave out steps with missing observations, or fill them in";
        let problem = format!("holds {} at step {step}, column {column}; {advice}", values[at]);
        return Err(Error::new(problem).in_field(array.name()));
    }
    Ok(values)
}

pub(super) fn starts(lengths: &Array, rows: usize) -> Result<Vec<usize>> {
    let wrong = |problem: String| Err(Error::new(problem).in_field("lengths"));
    if lengths.shape().len() != 1 || lengths.rows() == 0 {
        return wrong(format!("has shape {:?}; (episodes,) is expected", lengths.shape()));
    }
    if lengths.rows() > rows {
        return wrong(format!("names {} episodes for {rows} steps", lengths.rows()));
    }
    let mut starts = vec![0_usize];
    for (episode, length) in lengths.read_i64(0..lengths.rows())?.into_iter().enumerate() {
        let start = starts[episode];
        match usize::try_from(length).ok().filter(|&length| length > 0) {
            Some(length) if length <= rows - start => starts.push(start + length),
            Some(_) => return wrong(format!("add up to more than the {rows} steps (episode {episode})")),
            None => return wrong(format!("episode {episode} has length {length}; at least 1 is needed")),
        }
    }
    match starts.last() {
        Some(&sum) if sum == rows => Ok(starts),
        sum => wrong(format!("add up to {} steps, but there are {rows}", sum.unwrap_or(&0))),
    }
}
