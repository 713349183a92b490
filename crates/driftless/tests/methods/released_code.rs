//! Where SDPF's paper and the authors' code differ, row by row: each variant does what its source does.

use driftless::learn::{Detail, EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet};
use driftless::methods::build;
use driftless::methods::sdpf::{BLOCK, Choices, PROCESS_NOISE, Variant};
use driftless::objective::{BlockStart, Genealogy, Likelihoods};
use driftless::parameters::Named;
use driftless_world::labels::LabelBudget;
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;

const VARIANTS: [Variant; 2] = [Variant::Paper, Variant::Released];
const STEPS: usize = 4;

fn episodes(count: usize) -> Vec<Trajectory> {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 8, 8);
    let one = |k: usize| {
        let mut random = Random::stream(1, k as u64);
        world.episode(1, k, STEPS).into_trajectory(0.1, &mut random).unwrap()
    };
    (0..count).map(one).collect()
}

fn lessons(count: usize) -> TrainingSet {
    TrainingSet::new(Box::new(episodes(count)), 0..count, LabelBudget::new(0.5, 1).unwrap()).unwrap()
}

fn experiment(variant: Variant) -> Experiment {
    let method = if variant == Variant::Paper { "sdpf" } else { "sdpf-released" };
    let method = method.parse().unwrap();
    Experiment { method, label_fraction: 0.5, particles: 5, ..Experiment::default() }
}

/// What the paper and the code choose.
fn choices() -> [Choices; 2] {
    VARIANTS.map(|variant| Choices::of(variant, &experiment(variant)))
}

fn made(variant: Variant, lessons: &TrainingSet) -> Box<dyn Method> {
    build(&experiment(variant), &Normalisation::measure(lessons).unwrap()).unwrap()
}

/// The method with some of its numbers replaced.
fn changed(mut method: Box<dyn Method>, change: impl Fn(&mut Named)) -> Box<dyn Method> {
    let mut parameters = method.parameters();
    parameters.iter_mut().for_each(change);
    method.restore(&parameters, None).unwrap();
    method
}

fn loss(report: &EpochReport, name: &str) -> Option<f64> {
    report.losses.iter().find(|(found, _)| found == name).map(|(_, loss)| *loss)
}

#[test]
fn rows_1_and_14_resampling() {
    let [paper, released] = choices().map(|choices| format!("{:?}", choices.resampler(None).unwrap()));
    let below = "WhenBelow { fraction: 0.5, inner: Multinomial }";
    assert_eq!(paper, below, "row 1: below N / 2, multinomial; row 14: the gradient goes on");
    assert_eq!(released, "Truncate(Systematic)", "row 1: always, systematic; row 14: the gradient stops");
}

/// One epoch of each: which losses there are, and by which weights they make the whole.
#[test]
fn rows_2_and_3_losses_and_their_weights() {
    let lessons = lessons(6);
    let [paper, released] = VARIANTS.map(|variant| made(variant, &lessons).train(1, &lessons).unwrap());
    let names = |report: &EpochReport| report.losses.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&paper), ["loss", "squared error", "pseudo-likelihood"], "rows 2 and 3, paper");
    let expected = ["loss", "kernel density", "pseudo-likelihood", "reconstruction"];
    assert_eq!(names(&released), expected, "rows 2 and 3, released code");
    let parts = [("squared error", 10.0), ("kernel density", 10.0), ("pseudo-likelihood", 0.01)];
    for (row, report, autoencoder) in [("paper", &paper, 0.0), ("released code", &released, 200.0)] {
        let weights = parts.iter().chain(&[("reconstruction", autoencoder)]).copied().collect::<Vec<_>>();
        let sum: f64 = weights.iter().map(|(name, weight)| weight * loss(report, name).unwrap_or(0.0)).sum();
        let whole = loss(report, "loss").unwrap();
        // Sums of four numbers of 32 bits.
        assert!((whole - sum).abs() < 1e-5 * sum.abs(), "rows 2 and 3, {row}: {whole} is not {sum}");
    }
}

#[test]
fn row_4_motion() {
    let lessons = lessons(2);
    let learned = VARIANTS.map(|variant| {
        let parameters = made(variant, &lessons).parameters();
        parameters.iter().any(|parameter| parameter.name.contains("transition"))
    });
    assert_eq!(learned, [true, false], "row 4: f is a network in the paper, given odometry in the code");
}

#[test]
fn rows_5_to_8_and_15_pseudo_likelihood() {
    let normalisation = Normalisation::measure(&lessons(6)).unwrap();
    let [paper, released] = choices().map(|choices| choices.pseudo_likelihood(&normalisation));
    let likelihoods = (paper.likelihoods, released.likelihoods);
    assert_eq!(likelihoods, (Likelihoods::Literal, Likelihoods::Released), "row 5: log l, or weights");
    let genealogy = (paper.genealogy, released.genealogy);
    assert_eq!(genealogy, (Genealogy::BlockEnd, Genealogy::Final), "row 6: whose paths");
    // The density of a box, as both sources have it.
    let sides = (0..3).map(|k| (normalisation.high[k] - normalisation.low[k]).ln());
    let density = -sides.sum::<f64>();
    assert_eq!(paper.start, BlockStart::Flat(density), "row 7: μ at the start of each block");
    assert_eq!(released.start, BlockStart::Carried(density), "row 7: μ at the first block alone");
    assert_eq!((paper.first_likelihood, released.first_likelihood), (true, false), "row 8: l(o_1 | s_1)");
    assert_eq!((paper.hold_weights, released.hold_weights), (true, false), "row 15: weights of θ_b");
    assert_eq!((paper.hold_positions, released.hold_positions), (true, false), "3.1: positions in log g");
    assert_eq!((paper.block, released.block, BLOCK), (20, 20, 20), "L");
}

/// Both encoders made to say the same single feature: the cosine is exactly 1, and l its greatest, 1 / ε.
#[test]
fn row_9_epsilon() {
    let (lessons, unseen) = (lessons(2), episodes(1));
    for variant in VARIANTS {
        let alike = changed(made(variant, &lessons), |part| {
            if ["observation.dense.", "state.mlp.layers.3."].iter().any(|name| part.name.contains(name)) {
                part.values.fill(0.0);
                part.values[0] = if part.name.ends_with("bias") { 1.0 } else { 0.0 };
            }
        });
        let how = Tracking { particles: 5, seed: 1, detail: Detail::Densities };
        let evidence = alike.track(&unseen, how).unwrap().remove(0).log_evidence.unwrap();
        let greatest = 1e8_f64.ln();
        // A logarithm of 32 bits near 18: rounding of a part in 10^7.
        let is_greatest = evidence[1..].iter().all(|log| (log - greatest).abs() < 1e-5);
        assert!(is_greatest, "row 9, {variant:?}: {evidence:?}");
    }
}

#[test]
fn rows_10_13_16_and_17_constants() {
    let usual = Experiment::default();
    assert_eq!((usual.crop, usual.pixel_noise), (24, 20.0), "row 10: crops of 24, noise of 20");
    assert_eq!(PROCESS_NOISE, [20.0, 20.0, 0.5], "row 13: the process noise");
    assert_eq!(choices().map(|choices| choices.keep), [1.0, 0.3], "row 16: dropout in the code only");
    assert_eq!(
        (usual.batch_size, usual.trajectories),
        (32, 100),
        "row 17: batches of 32 of 100 trajectories"
    );
}

/// 100 trajectories hold three batches of 32, in each of four passes.
#[test]
fn row_17_updates_of_an_epoch() {
    let lessons = lessons(100);
    for variant in VARIANTS {
        let report = made(variant, &lessons).train(1, &lessons).unwrap();
        assert_eq!((report.updates, report.skipped), (12, 0), "row 17, {variant:?}");
    }
}

/// A decoder whose last layer says -1 everywhere: its ReLU makes 0 of it, and the mean of (o - 0)² is 1, because
/// images are divided by their spread. A linear end would say -1, and the mean of (o + 1)² is 2. Nothing in
/// the last layer moves, as no gradient comes through the ReLU.
#[test]
fn row_18_the_decoder_ends_with_a_relu() {
    let lessons = lessons(4); // Fewer than a batch: all images are in each update.
    let mut dark = changed(made(Variant::Released, &lessons), |part| {
        if part.name.starts_with("decoder.deconvs.2.") {
            part.values.fill(if part.name.ends_with("bias") { -1.0 } else { 0.0 });
        }
    });
    let found = loss(&dark.train(1, &lessons).unwrap(), "reconstruction").unwrap();
    // 3072 numbers of 32 bits, each rounded by a part in 10^7.
    assert!((found - 1.0).abs() < 1e-4, "row 18: {found}");
}
