//! A filter under way allocates nothing after its first step.

#![allow(unsafe_code, reason = "an allocator that counts")]

use driftless_kernels::images::{ImageNet, ImagePlan, Padding};
use driftless_kernels::mlp::Mlp;
use driftless_kernels::online::{Online, Places, PoseTable};
use driftless_kernels::scan::{Motion, PoseNet};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn places() -> PoseNet {
    PoseNet { layers: Mlp::new(4, &[16, 32], true), centre: [0.0; 2], extent: [1.0; 2], epsilon: 1e-2 }
}

fn allocations(places: Places, count: usize) -> usize {
    let plan = ImagePlan { image: [3, 8, 8], channels: vec![16, 16], features: 32, padding: Padding::Same };
    let motion = Motion { side: 1.0, noise: [1.0, 1.0, 0.1] };
    let mut online = Online::new(ImageNet::new(plan), places, motion, &vec![[0.0; 3]; count], 1);
    let image = vec![0.5; 3 * 8 * 8];
    online.step(&image, [1.0, 0.0, 0.1]);
    let before = COUNT.load(Ordering::Relaxed);
    for _ in 0..100 {
        online.step(&image, [1.0, 0.0, 0.1]);
    }
    COUNT.load(Ordering::Relaxed) - before
}

/// One test alone in its process, so that nobody else allocates meanwhile. Many particles go the way of many threads,
/// but with one thread: where threads take work from each other, rayon's own queues may take a block of memory now and
/// then.
#[test]
fn steps_allocate_nothing() {
    assert_eq!(allocations(Places::Exact(places()), 100), 0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| {
        assert_eq!(allocations(Places::Exact(places()), 5000), 0);
        let table = PoseTable::new(places(), [[-1.0; 2], [1.0; 2]], [10, 10, 8]);
        assert_eq!(allocations(Places::Tabulated(table), 5000), 0);
    });
}
