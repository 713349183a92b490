//! Optimisers against published formulas in plain loops, and what they refuse.

use super::*;
use crate::parameters::{Init, values};
use burn::module::Param;
use burn::tensor::{Device, TensorData};

#[derive(Module, Debug)]
struct Two {
    a: Param<Tensor<1>>,
    b: Param<Tensor<1>>,
}

fn two(precision: DType) -> Two {
    let init = Init::new(1, &Device::flex().autodiff(), precision);
    Two { a: init.values([2], vec![1.0, -2.0]), b: init.values([1], vec![3.0]) }
}

/// Σ_k c_k x_k², whose gradient is 2 c x.
fn bowl(model: &Two) -> Tensor<1> {
    let a = model.a.val();
    let steep = Tensor::from_data(TensorData::new(vec![1.0, 10.0], [2]), (&a.device(), a.dtype()));
    (a.square() * steep).sum() + (model.b.val().square() * 0.5).sum()
}

fn all(model: &Two) -> Vec<f64> {
    values(model).into_iter().flat_map(|value| value.values).collect()
}

fn adam() -> Optimiser {
    Optimiser::new(Rule::Adam(Adam::default()), 0.1)
}

fn trained(mut model: Two, optimiser: &mut Optimiser, steps: usize) -> Two {
    for _ in 0..steps {
        let loss = bowl(&model);
        let (next, report) = optimiser.step(model, &loss);
        assert_eq!(report.skipped, None);
        model = next;
    }
    model
}

/// Kingma & Ba's Algorithm 1 in plain loops, with ε̂ = ε √(1 - β₂ᵗ) so that it is the same update.
/// A handful of roundings a step, 20 steps: 1e-13 relative is generous.
#[test]
fn adam_is_the_published_algorithm() {
    let (beta1, beta2, epsilon) = (0.8, 0.95, 1e-3);
    let rule = Rule::Adam(Adam { beta1, beta2, epsilon });
    let model = trained(two(DType::F64), &mut Optimiser::new(rule, 0.05), 20);
    let curvature = [2.0, 20.0, 1.0];
    for (k, mut x) in [1.0, -2.0, 3.0_f64].into_iter().enumerate() {
        let (mut m, mut v) = (0.0, 0.0);
        for t in 1..=20 {
            let g = curvature[k] * x;
            m = beta1 * m + (1.0 - beta1) * g;
            v = beta2 * v + (1.0 - beta2) * g * g;
            let (m_hat, v_hat) = (m / (1.0 - beta1.powi(t)), v / (1.0 - beta2.powi(t)));
            x -= 0.05 * m_hat / (v_hat.sqrt() + epsilon / (1.0 - beta2.powi(t)).sqrt());
        }
        assert!((all(&model)[k] - x).abs() < 1e-13 * x.abs(), "{k}: {} is not {x}", all(&model)[k]);
    }
}

/// By hand: g = (2, -40, 3), so m / (√v + ε) · √(1 - β₂) / (1 - β₁) is ±1 up to ε / (√(1 - β₂) |g|).
#[test]
fn adams_first_step_is_the_rate() {
    let (model, mut optimiser) = (two(DType::F64), adam());
    let loss = bowl(&model);
    let (model, report) = optimiser.step(model, &loss);
    assert_eq!(report.gradient_norm, (4.0 + 1600.0 + 9.0_f64).sqrt());
    assert_eq!((report.learning_rate, report.skipped), (0.1, None));
    for (found, expected) in all(&model).iter().zip([0.9, -1.9, 2.9]) {
        assert!((found - expected).abs() < 0.1 * 1e-8 / (0.001_f64.sqrt() * 2.0), "{found} {expected}");
    }
}

/// By hand, x = 3, g = 3: ms = 0.9 + 0.9 = 1.8, then x' = 3 - 0.3 / √1.8; and with momentum 0.5
/// once more. ε = 0.7 shows that it is inside of the root.
#[test]
fn rms_prop_by_hand() {
    let rule = RmsProp { momentum: 0.5, epsilon: 0.7, ..RmsProp::default() };
    let mut optimiser = Optimiser::new(Rule::RmsProp(rule), 0.1);
    let model = trained(two(DType::F64), &mut optimiser, 1);
    let first = 0.3 / (1.8 + 0.7_f64).sqrt();
    assert!((all(&model)[2] - (3.0 - first)).abs() < 1e-14);
    let model = trained(model, &mut optimiser, 1);
    let g = 3.0 - first;
    let second = 0.5 * first + 0.1 * g / (0.9 * 1.8 + 0.1 * g * g + 0.7_f64).sqrt();
    assert!((all(&model)[2] - (g - second)).abs() < 1e-14);
    let zero = Rule::RmsProp(RmsProp { start: 0.0, ..RmsProp::default() });
    let model = trained(two(DType::F64), &mut Optimiser::new(zero, 0.1), 1);
    // From 0, ms = 0.1 g²: the first step is η / √0.1, up to ε.
    assert!((all(&model)[2] - (3.0 - 0.1 / 0.1_f64.sqrt())).abs() < 1e-9);
}

/// Both find the bottom. RMSProp moves by about η near it, so its rate must fall.
#[test]
fn a_thousand_steps_into_a_bowl() {
    for precision in [DType::F32, DType::F64] {
        let model = trained(two(precision), &mut adam(), 1000);
        assert!(all(&model).iter().all(|x| x.abs() < 1e-4), "{:?}", all(&model));
        let falling = Schedule::Cosine { updates: 1000, least: 1e-5 };
        let mut rms = Optimiser::new(Rule::RmsProp(RmsProp::default()), 0.1).with_schedule(falling);
        let model = trained(two(precision), &mut rms, 1000);
        assert!((rms.learning_rate() - 1e-6).abs() < 1e-15, "{}", rms.learning_rate());
        assert!(all(&model).iter().all(|x| x.abs() < 1e-4), "{:?}", all(&model));
    }
}

/// Stopped after 7 steps and taken up with nothing but the state and the values: the same bits.
#[test]
fn a_run_can_be_taken_up_exactly() {
    for rule in [Rule::Adam(Adam::default()), Rule::RmsProp(RmsProp { momentum: 0.9, ..RmsProp::default() })]
    {
        for precision in [DType::F32, DType::F64] {
            let schedule = Schedule::Cosine { updates: 15, least: 0.1 };
            let fresh = || Optimiser::new(rule, 0.03).with_schedule(schedule.clone());
            let whole = trained(two(precision), &mut fresh(), 12);
            let mut first = fresh();
            let half = trained(two(precision), &mut first, 7);
            let mut second = fresh().with_state(&first.state());
            assert_eq!(second.state(), first.state());
            assert_eq!(second.updates(), 7);
            let copy = parameters::with_values(two(precision), &values(&half));
            assert_eq!(values(&trained(copy, &mut second, 5)), values(&whole));
            // Without the state it is another run.
            assert_ne!(values(&trained(half, &mut fresh(), 5)), values(&whole));
        }
    }
}

#[test]
fn what_is_not_finite_is_never_applied() {
    let mut optimiser = adam();
    let model = trained(two(DType::F64), &mut optimiser, 3);
    let (before, state) = (values(&model), optimiser.state());
    // √x at 0 has an infinite gradient and a finite value; 0 · ∞ has NaN.
    let infinite = bowl(&model) + (model.b.val() - model.b.val().detach()).sqrt();
    let (model, report) = optimiser.step(model, &infinite);
    assert_eq!(report.skipped, Some(Skipped::Gradient("b".to_owned())));
    assert_eq!(report.gradient_norm, f64::INFINITY);
    let nan = (model.a.val() - model.a.val().detach()).sqrt().square().sum() + bowl(&model);
    let (model, report) = optimiser.step(model, &nan);
    assert_eq!(report.skipped, Some(Skipped::Gradient("a".to_owned())));
    assert!(report.gradient_norm.is_nan());
    // Even where no number is left whose size could be taken.
    let nothing = (model.b.val() - model.b.val().detach()).sqrt().square();
    let (model, report) = optimiser.step(model, &nothing);
    assert_eq!(report.skipped, Some(Skipped::Gradient("b".to_owned())));
    assert!(report.gradient_norm.is_nan());
    let lost = bowl(&model) * f64::NAN;
    let (model, report) = optimiser.step(model, &lost);
    assert_eq!(report.skipped, Some(Skipped::Loss));
    // Squares of 1e200 overflow, their norm does not; Adam's v would.
    let huge = bowl(&model) * 1e200;
    let (model, report) = optimiser.step(model, &huge);
    assert!(report.gradient_norm.is_finite() && matches!(report.skipped, Some(Skipped::Update(_))));
    assert_eq!((values(&model), optimiser.state()), (before, state));
    trained(model, &mut optimiser, 1);
    assert_eq!(optimiser.updates(), 4);
}

/// 1e39 is finite in 64 bits but not in the 32 of the parameter.
#[test]
fn a_value_must_fit_its_precision() {
    let model = two(DType::F32);
    let loss = bowl(&model);
    let (model, report) = Optimiser::new(Rule::Adam(Adam::default()), 1e39).step(model, &loss);
    assert_eq!(report.skipped, Some(Skipped::Update("a".to_owned())));
    assert_eq!(all(&model), [1.0, -2.0, 3.0]);
}

#[test]
fn frozen_and_unreached_parameters_stay() {
    let model = two(DType::F64);
    let model = Two { b: model.b.set_require_grad(false), ..model };
    let mut optimiser = adam();
    let model = trained(model, &mut optimiser, 2);
    assert_eq!(all(&model)[2], 3.0);
    let loss = model.a.val().sum() * 0.0 + 1.0;
    let (model, _) = optimiser.step(model, &loss);
    assert_eq!(all(&model)[2], 3.0);
    let names: Vec<String> = optimiser.state().into_iter().map(|part| part.name).collect();
    assert_eq!(names, ["updates", "m.a", "v.a"]);
}

#[test]
#[should_panic(expected = "must be finite")]
fn a_rate_is_a_number() {
    Optimiser::new(Rule::Adam(Adam::default()), f64::NAN);
}
