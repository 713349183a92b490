//! Episodes are made by all cores and written in order.

use super::Prepared;
use crate::error::{Error, Result};
use crate::files::DataWriter;
use rayon::prelude::*;

/// Episodes must be small enough to be read again: this many bytes of images.
const LARGEST_EPISODE: usize = 1 << 27;
/// Memory for finished episodes that wait to be written.
const WAITING_BYTES: usize = 256 << 20;

impl Prepared {
    /// Bytes of an episode, unless it could not be read again.
    pub(super) fn episode_bytes(&self) -> Result<usize> {
        let (steps, [width, height]) = (self.steps(), self.image());
        let step = (4 * width * height).max(self.world.step_bytes());
        steps.checked_mul(step).filter(|&bytes| bytes <= LARGEST_EPISODE).ok_or_else(|| {
            let most = LARGEST_EPISODE / step;
            Error::usage(format!(
                "--steps {steps}: an episode of {width}x{height} images may have at most {most} steps"
            ))
        })
    }

    /// Makes episodes on all cores while the previous ones are being written, in order, so that neither the disk nor the
    /// cores wait, and memory holds only two handfuls of them.
    pub(super) fn produce<E: From<Error> + Send>(
        &self,
        writer: &mut dyn DataWriter,
        mut each: impl FnMut(usize) -> std::result::Result<(), E> + Send,
    ) -> std::result::Result<(), E> {
        let (count, steps) = (self.wanted.episodes, self.steps());
        let handful = (WAITING_BYTES / self.episode_bytes()?).clamp(1, 8 * rayon::current_num_threads());
        let make = |first: usize| {
            let numbers = first..first.saturating_add(handful).min(count);
            numbers.into_par_iter().map(|number| self.world.episode(number)).collect::<Vec<_>>()
        };
        let mut ready = make(0);
        let mut next = handful;
        while !ready.is_empty() {
            let (written, made) = rayon::join(
                || {
                    std::mem::take(&mut ready).into_iter().try_for_each(|entry| {
                        writer.push(&entry?)?;
                        each(steps)
                    })
                },
                || if next < count { make(next) } else { Vec::new() },
            );
            written?;
            ready = made;
            next += handful;
        }
        Ok(())
    }
}
