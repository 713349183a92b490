//! An online filter allocates nothing after its first step, and an LSTM that learns nothing after its first batch.

mod counting;

use driftless_kernels::Cpu;
use driftless_kernels::images::{ImageNet, ImagePlan, Padding};
use driftless_kernels::mlp::Mlp;
use driftless_kernels::online::Online;
use driftless_kernels::recurrent::{Estimator, EstimatorGradient, EstimatorMemory, Lstm, SequenceFrames};
use driftless_kernels::scan::{Motion, PoseNet};

fn places() -> PoseNet {
    PoseNet { layers: Mlp::new(4, &[16, 32], true), centre: [0.0; 2], extent: [1.0; 2], epsilon: 1e-2 }
}

fn allocations(count: usize) -> usize {
    let plan = ImagePlan { image: [3, 8, 8], channels: vec![16, 16], features: 32, padding: Padding::Same };
    let motion = Motion { side: 1.0, noise: [1.0, 1.0, 0.1] };
    let mut online =
        Online::new((ImageNet::new(plan), places()), motion, [1.0; 2], &vec![[0.0; 3]; count], 1);
    let image = vec![0.5; 3 * 8 * 8];
    online.step(&image, Some([1.0, 0.0, 0.1]));
    let before = counting::allocations();
    for _ in 0..100 {
        online.step(&image, Some([1.0, 0.0, 0.1]));
    }
    counting::allocations() - before
}

fn lstm(inputs: usize, units: usize) -> Lstm {
    Lstm::new([inputs, units], &vec![0.1; (inputs + units) * 4 * units], &vec![0.0; 4 * units])
}

/// Of some batches after the first: no step of them allocates.
fn allocations_of_learning() -> usize {
    let plan = ImagePlan { image: [3, 8, 8], channels: vec![16, 16], features: 32, padding: Padding::Same };
    let (frame_encoder, cells) = (ImageNet::new(plan), vec![lstm(34, 100), lstm(100, 40)]);
    let net = Estimator { frame_encoder, cells, head: Mlp::new(40, &[16, 3], false) };
    let [steps, sequences] = [9, 33];
    let (images, masks) = (vec![0.5; 297 * 3 * 8 * 8], vec![1.0; 297 * net.frame_encoder.mask()]);
    let seen = SequenceFrames {
        images: &images,
        masks: Some(&masks),
        beside: &[0.3; 594],
        sizes: [steps, sequences],
    };
    let (mut memory, mut gradient) = <(EstimatorMemory, EstimatorGradient)>::default();
    let by_said = vec![0.1; 297 * net.head.width()];
    let mut learn = || {
        net.forward(Cpu::best(), &seen, &mut memory);
        net.backward(Cpu::best(), &seen, &by_said, &mut memory, &mut gradient);
        counting::allocations()
    };
    // Two buffers change places once a batch: after two, both have met their largest use.
    learn();
    let before = learn();
    (0..3).map(|_| learn()).max().expect("three batches") - before
}

/// One test alone in its process, so that nobody else allocates meanwhile. Many particles go the way of many threads,
/// but with one thread: where threads take work from each other, rayon's own queues may take a block of memory now and
/// then.
#[test]
fn what_is_online_allocates_nothing() {
    assert_eq!(allocations(100), 0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| {
        assert_eq!(allocations(5000), 0);
        assert_eq!(allocations_of_learning(), 0);
    });
}
