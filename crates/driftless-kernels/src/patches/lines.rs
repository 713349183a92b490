//! Lines of numbers at regular distances, copied and added.
//!
//! Lines are short: nine numbers under a kernel's row over colours, some dozens over features. Loops that are compiled
//! for these lengths are several times as fast as those for any.

/// Where lines begin.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    /// The first.
    pub(super) at: usize,
    /// From one to the next.
    pub(super) step: usize,
}

impl Lines {
    /// The same, so much farther on.
    pub(super) fn behind(self, by: usize) -> Self {
        Self { at: self.at + by, ..self }
    }
}

/// Copies so many lines of so many numbers.
#[inline(always)]
pub(super) fn copy(from: (&[f32], Lines), to: (&mut [f32], Lines), [count, width]: [usize; 2]) {
    match width {
        9 => copy_all::<9>(from, to, count),
        48 => copy_all::<48>(from, to, count),
        96 => copy_all::<96>(from, to, count),
        _ => each_of(from, to, [count, width], |to, from| *to = *from),
    }
}

/// Adds so many lines of so many numbers to others.
#[inline(always)]
pub(super) fn add(from: (&[f32], Lines), to: (&mut [f32], Lines), size: [usize; 2]) {
    each_of(from, to, size, |sum, x| *sum += *x);
}

#[inline(always)]
fn copy_all<const N: usize>(
    (from, source): (&[f32], Lines),
    (to, target): (&mut [f32], Lines),
    count: usize,
) {
    for k in 0..count {
        let to: &mut [f32; N] = (&mut to[target.at + k * target.step..][..N]).try_into().expect("as many");
        *to = from[source.at + k * source.step..][..N].try_into().expect("as many");
    }
}

#[inline(always)]
fn each_of(
    (from, source): (&[f32], Lines),
    (to, target): (&mut [f32], Lines),
    [count, width]: [usize; 2],
    work: impl Fn(&mut f32, &f32),
) {
    for k in 0..count {
        let from = &from[source.at + k * source.step..][..width];
        let to = &mut to[target.at + k * target.step..][..width];
        to.iter_mut().zip(from).for_each(|(to, from)| work(to, from));
    }
}
