//! Products against three loops in 64 bits, on every kind of CPU that this one is.

use super::*;
use crate::padded;
use crate::testing::numbers;
use proptest::prelude::*;

struct Case {
    shape: [usize; 3],
    turned: bool,
    packed: bool,
    epilogue: usize,
    gap: usize,
}

/// All matrices of a case.
struct Matrices {
    a: Vec<f32>,
    b: Vec<f32>,
    bias: Vec<f32>,
    gate: Vec<f32>,
    before: Vec<f32>,
    stride: usize,
}

impl Case {
    fn matrices(&self) -> Matrices {
        let [m, k, n] = self.shape;
        let (wide, stride) = (padded(n), padded(n) + self.gap);
        let [rows, width] = if self.turned { [k, m] } else { [m, k] };
        Matrices {
            a: numbers(rows * (width + self.gap), 1),
            b: numbers(k * n, 2),
            bias: numbers(wide, 3),
            gate: numbers(m * stride, 4),
            before: numbers(m * stride, 5),
            stride,
        }
    }

    fn result(&self, cpu: Cpu, of: &Matrices) -> Vec<f32> {
        self.result_by(of, |left, right, shape, epilogue, out| {
            product(cpu, left, right, shape, epilogue, out);
        })
    }

    fn result_by(
        &self,
        of: &Matrices,
        product: impl FnOnce(Left, Right, [usize; 3], Epilogue, &mut Out),
    ) -> Vec<f32> {
        let ([m, k, n], wide) = (self.shape, padded(self.shape[2]));
        let mut panels = Panels::default();
        panels.fill(&of.b, [k, n]);
        let mut rows = vec![0.0; k * wide];
        for (row, from) in rows.chunks_mut(wide).zip(of.b.chunks(n)) {
            row[..n].copy_from_slice(from);
        }
        let right = if self.packed { panels.right() } else { Right::rows(&rows, wide) };
        let epilogue = match self.epilogue {
            0 => Epilogue::Store,
            1 => Epilogue::Add,
            2 => Epilogue::Bias(&of.bias),
            3 => Epilogue::BiasRelu(&of.bias),
            _ => Epilogue::Gate(&of.gate),
        };
        let stride = if self.turned { m } else { k } + self.gap;
        let order = if self.turned { Order::Turned } else { Order::Rows };
        let left = Left { numbers: &of.a, stride, order };
        let mut out = of.before.clone();
        product(left, right, [m, k, wide], epilogue, &mut Out { numbers: &mut out, stride: of.stride });
        out
    }

    /// One number of the result, and the sum of magnitudes that its rounding is proportional to; NaN for what pads.
    fn by_hand(&self, of: &Matrices, at: usize) -> [f64; 2] {
        let ([m, k, n], i, j) = (self.shape, at / of.stride, at % of.stride);
        if j >= n {
            return [if j < padded(n) { f64::NAN } else { f64::from(of.before[at]) }, 0.0];
        }
        let place = |l: usize| if self.turned { l * (m + self.gap) + i } else { i * (k + self.gap) + l };
        let terms = (0..k).map(|l| f64::from(of.a[place(l)]) * f64::from(of.b[l * n + j]));
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + f64::abs(x)));
        let [bias, gate, before] = [of.bias[j], of.gate[at], of.before[at]].map(f64::from);
        match self.epilogue {
            0 => [sum, size],
            1 => [sum + before, size + before.abs()],
            2 => [sum + bias, size + bias.abs()],
            3 => [(sum + bias).max(0.0), size + bias.abs()],
            _ => [if gate > 0.0 { sum } else { 0.0 }, size],
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A sum of K products in 32 bits is exact within K + 1 roundings of the sum of their magnitudes.
    #[test]
    fn products_of_any_shape(
        m in 1_usize..40, k in 0_usize..70, n in 1_usize..50,
        turned: bool, packed: bool, epilogue in 0_usize..5, gap in 0_usize..3,
    ) {
        let case = Case { shape: [m, k, n], turned, packed, epilogue, gap };
        for cpu in Cpu::all() {
            let matrices = case.matrices();
            for (at, found) in case.result(cpu, &matrices).into_iter().enumerate() {
                let [expected, size] = case.by_hand(&matrices, at);
                let tolerance = (k + 2) as f64 * f64::from(f32::EPSILON) * size;
                let close = (f64::from(found) - expected).abs() <= tolerance;
                prop_assert!(expected.is_nan() || close, "{cpu:?}: {found}, not {expected}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Blocks are products of the same numbers; they round as the whole does, and once more for each that is added.
    #[test]
    fn large_products_of_any_shape(
        m in 1_usize..120, k in 0_usize..600, n in 1_usize..50,
        turned: bool, packed: bool, epilogue in 0_usize..3, gap in 0_usize..3,
    ) {
        let case = Case { shape: [m, k, n], turned, packed, epilogue, gap };
        let (matrices, cpu) = (case.matrices(), Cpu::best());
        let found = case.result_by(&matrices, |left, right, shape, epilogue, out| {
            // Room that was used for something else.
            let mut blocks = Blocks { left: vec![9.0; 7], right: vec![9.0; 100_000] };
            large_product(cpu, left, right, shape, epilogue, out, &mut blocks);
        });
        for (at, found) in found.into_iter().enumerate() {
            let [expected, size] = case.by_hand(&matrices, at);
            let tolerance = (k + 5) as f64 * f64::from(f32::EPSILON) * size;
            let close = (f64::from(found) - expected).abs() <= tolerance;
            prop_assert!(expected.is_nan() || close, "{found}, not {expected}");
        }
    }
}

/// The sum of no products is 0, whatever lay in the rooms.
#[test]
fn large_products_of_nothing() {
    let bias = [3.0; 2 * LANES];
    for left in [Left::rows(&[], 0), Left::transposed(&[], 5)] {
        for (epilogue, expected) in
            [(Epilogue::Store, 0.0), (Epilogue::Add, 7.0), (Epilogue::Bias(&bias), 3.0)]
        {
            let (mut numbers, right) = ([7.0; 5 * 2 * LANES], Right::rows(&[], 2 * LANES));
            let mut out = Out { numbers: &mut numbers, stride: 2 * LANES };
            let shape = [5, 0, 2 * LANES];
            large_product(Cpu::best(), left, right, shape, epilogue, &mut out, &mut Blocks::default());
            assert_eq!(numbers, [expected; 5 * 2 * LANES]);
        }
    }
}

#[test]
fn what_is_not_a_number_stays_so() {
    for cpu in Cpu::all() {
        let (a, b, mut out) = ([f32::NAN, 1.0], [1.0; LANES], [0.0; 2 * LANES]);
        let epilogue = Epilogue::BiasRelu(&[-2.0; LANES]);
        let mut result = Out { numbers: &mut out, stride: LANES };
        product(cpu, Left::rows(&a, 1), Right::rows(&b, LANES), [2, 1, LANES], epilogue, &mut result);
        assert!(out[..LANES].iter().all(|x| x.is_nan()) && out[LANES..] == [0.0; LANES], "{cpu:?}");
    }
}

#[test]
fn too_small_a_matrix_is_refused() {
    let wrong = |a: usize, b: usize, c: usize| {
        let (a, b, mut c) = (vec![0.0; a], vec![0.0; b], vec![0.0; c]);
        std::panic::catch_unwind(move || {
            let mut out = Out { numbers: &mut c, stride: 16 };
            product(
                Cpu::best(),
                Left::rows(&a, 3),
                Right::rows(&b, 16),
                [2, 3, 16],
                Epilogue::Store,
                &mut out,
            );
        })
        .is_err()
    };
    assert!(!wrong(6, 48, 32));
    assert!(wrong(5, 48, 32) && wrong(6, 47, 32) && wrong(6, 48, 31));
}

/// The four ways to look at an image through the taps of a kernel, against a matrix of what they see.
#[test]
fn taps_see_what_a_matrix_says() {
    let (image, offsets, places, step) = (numbers(200, 1), [0, 3, 17, 18, 40], 7, 2);
    let seen = |tap: usize, place: usize| image[offsets[tap] + step * place];
    let taken: Vec<f32> = (0..places).flat_map(|place| (0..5).map(move |tap| seen(tap, place))).collect();
    let (b, moved) = (numbers(7 * LANES, 2), [60, 2, 33, 7, 8]);
    let rows: Vec<f32> = moved.iter().flat_map(|&from| image[from..from + 2 * LANES].to_vec()).collect();
    for cpu in Cpu::all() {
        let run = |left, right, shape: [usize; 3]| {
            let mut out = vec![0.0; shape[0] * shape[2]];
            let mut to = Out { numbers: &mut out, stride: shape[2] };
            product(cpu, left, right, shape, Epilogue::Store, &mut to);
            out
        };
        let right = Right::rows(&b, LANES);
        let [ahead, back] = [[places, 5, LANES], [5, places, LANES]];
        let tapped = run(Left::taps(&image, step, &offsets), right, ahead);
        assert_eq!(tapped, run(Left::rows(&taken, 5), right, ahead), "{cpu:?}");
        let tapped = run(Left::tap_rows(&image, step, &offsets), right, back);
        assert_eq!(tapped, run(Left::transposed(&taken, 5), right, back), "{cpu:?}");
        let (left, shape) = (Left::rows(&taken, 5), [places, 5, 2 * LANES]);
        let expected = run(left, Right::rows(&rows, 2 * LANES), shape);
        assert_eq!(run(left, Right::moved(&image, &moved), shape), expected, "{cpu:?}");
    }
}

/// One number too few is refused, by any tap.
#[test]
fn taps_beyond_the_image_are_refused() {
    let (image, b, mut out) = (vec![1.0; 50], vec![1.0; 3 * LANES], vec![0.0; 8 * LANES]);
    let mut fails = |left: Left, right: Right, shape: [usize; 3]| {
        let mut to = Out { numbers: &mut out, stride: LANES };
        let run = std::panic::AssertUnwindSafe(|| {
            product(Cpu::best(), left, right, shape, Epilogue::Store, &mut to);
        });
        std::panic::catch_unwind(run).is_err()
    };
    let right = Right::rows(&b, LANES);
    for (last, wrong) in [(43, false), (44, true), (usize::MAX, true)] {
        let offsets = [0, last, 2];
        assert_eq!(fails(Left::taps(&image, 3, &offsets), right, [3, 3, LANES]), wrong);
        assert_eq!(fails(Left::tap_rows(&image, 3, &offsets), right, [3, 3, LANES]), wrong);
    }
    assert!(fails(Left::taps(&image, 1, &[0, 1]), right, [1, 3, LANES]), "a tap without an offset");
    for (last, wrong) in [(34, false), (35, true), (usize::MAX, true)] {
        let offsets = [0, last];
        assert_eq!(fails(Left::rows(&b, 2), Right::moved(&image, &offsets), [1, 2, LANES]), wrong);
    }
}
