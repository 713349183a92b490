//! What every reader must survive, and the damage that is done.

use driftless_world::random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

const INPUTS: u64 = 24_000;
const THREADS: u64 = 4;
const MEMORY_LIMIT: u64 = 1 << 30;

static TURN: Mutex<()> = Mutex::new(());

/// One test at a time: memory is measured for the whole process, and every thread reserves some.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `reads` on numbered randomness, so that a failure can be repeated; it says whether the input was accepted. Both
/// outcomes must occur, or the damage is too small or too large to test anything.
pub fn survive(seed: u64, reads: impl Fn(&mut Random) -> bool + Sync) {
    let _turn = turn();
    let before = peak_address_space();
    let attempt = |input: &u64| {
        let read = AssertUnwindSafe(|| reads(&mut Random::stream(seed, *input)));
        catch_unwind(read).unwrap_or_else(|_| panic!("input {input} of seed {seed} panics"))
    };
    let share = |first| move || (first..INPUTS).step_by(THREADS as usize).filter(attempt).count() as u64;
    let accepted: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|first| scope.spawn(share(first))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no input panics")).sum()
    });
    eprintln!("{INPUTS} inputs, {accepted} accepted");
    assert!(accepted > INPUTS / 1000 && accepted < INPUTS * 9 / 10, "{accepted} of {INPUTS} accepted");
    if let (Some(before), Some(after)) = (before, peak_address_space()) {
        assert!(after - before < MEMORY_LIMIT, "{} bytes were taken", after - before);
    } else {
        eprintln!("SKIPPED: this system does not tell how much memory a process took");
    }
}

/// The largest address space so far: unlike resident memory it counts what was taken but not touched.
fn peak_address_space() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Damages `bytes` in one to four places.
pub fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    const TELLING: [u8; 8] = [0x00, 0x01, 0x0a, 0x12, 0x7f, 0x80, 0xfe, 0xff];
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        let length = random.below(16).min(bytes.len() - at);
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.below(256) as u8,
            2 => bytes[at] = TELLING[random.below(TELLING.len())],
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..at + length)),
            5 => bytes.extend_from_within(at..at + length),
            6 => {
                let filler = vec![TELLING[random.below(TELLING.len())]; length];
                bytes.splice(at..at, filler);
            }
            _ => bytes[at..at + length].fill(TELLING[random.below(TELLING.len())]),
        }
    }
}
