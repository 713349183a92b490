//! What unit tests share: tensors of 64 bits from numbers, and back.

use burn::tensor::{DType, Device, Tensor, TensorData};

/// A tensor of 64 bits, on which gradients can be asked for.
pub fn f64s<const D: usize>(data: impl Into<TensorData>) -> Tensor<D> {
    Tensor::from_data(data.into(), (&Device::flex().autodiff(), DType::F64))
}

/// The numbers of a tensor, row after row.
pub fn numbers<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    tensor.try_to_vec_as::<f64>().unwrap()
}

/// Fails unless all numbers agree within `tolerance`.
#[track_caller]
pub fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?} is not {expected:?}");
    let close = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() <= tolerance);
    assert!(close, "{found:?} is not {expected:?}");
}
