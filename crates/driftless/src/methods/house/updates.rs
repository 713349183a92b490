//! How PF-net's filter is trained: which blocks make an update, and what counts in them.

use super::network::{gradients, half_square};
use super::objective::{Sums, Terms};
use super::training::{self, Carried, Excerpt, Pool};
use super::walk::Walk;
use super::{Figures, PfnetFilter, Tally, Training};
use crate::error::Result;
use crate::learn::{HouseSettings, Ranks};
use crate::objective::Genealogy;
use crate::optimise::Report;
use driftless_kernels::pfnet::PfnetGradient;

impl PfnetFilter {
    /// What counts how much in blocks of a batch: the labelled loss is a mean over the poses that are known in them,
    /// |T₁|; λ₂ is 0 for all but SDPF.
    fn terms(&self, excerpts: &[Excerpt], steps: usize) -> Terms {
        let settings = self.settings();
        let sdpf = self.training == Training::Sdpf;
        let known: f64 = excerpts.iter().map(Excerpt::known).sum();
        Terms {
            known: if known > 0.0 { settings.known_weight / known } else { 0.0 },
            pseudo: if sdpf { settings.pseudo_weight / excerpts.len() as f64 } else { 0.0 },
            switches: settings.pseudo_likelihood,
            softness: settings.resampling.unwrap_or(if sdpf { 1.0 } else { 0.0 }),
            threshold: settings.resampling_threshold,
            steps,
        }
    }

    /// All blocks of a batch one after the other, an update each, beliefs carried on: PF-net's way and the paper's.
    pub(super) fn train_along(&mut self, walks: &[Walk], seed: u64, tally: &mut Tally) -> Result<()> {
        let particles = self.experiment.particles;
        let one = |(number, walk): (usize, &Walk)| Carried::new(walk, particles, (seed, number as u64));
        let mut carried = walks.iter().enumerate().map(one).collect::<Result<Vec<_>>>()?;
        let blocks = self.blocks_along(walks);
        if self.settings().pseudo_likelihood.genealogy == Genealogy::Final {
            return self.update_once(blocks, &mut carried, tally);
        }
        for (excerpts, terms) in blocks {
            let (sums, gradient) = self.block(&excerpts, &mut carried, terms)?;
            let (figures, report) = self.update(sums, gradient, terms, excerpts.len());
            tally.add(&figures, &report);
        }
        Ok(())
    }

    /// All blocks of a batch.
    fn blocks_along<'a>(&self, walks: &'a [Walk]) -> Vec<(Vec<Excerpt<'a>>, Terms)> {
        let (block, steps) = (self.settings().block, self.steps(walks));
        let one = |from: usize| {
            let excerpts: Vec<_> = walks.iter().map(|walk| Excerpt::new(walk, from, block)).collect();
            let terms = self.terms(&excerpts, steps);
            (excerpts, terms)
        };
        (0..steps).step_by(block).map(one).collect()
    }

    /// One update of all blocks, where the particles at the end of a sequence decide whose paths count: it is followed
    /// once to know them, and once more for the gradient.
    fn update_once(
        &mut self,
        mut blocks: Vec<(Vec<Excerpt>, Terms)>,
        carried: &mut [Carried],
        tally: &mut Tally,
    ) -> Result<()> {
        let settings = &self.experiment.house;
        let heirs = training::heirs(self.learner.net(), &self.in_training, &blocks, carried, self.room());
        let known: f64 = blocks.iter().flat_map(|(excerpts, _)| excerpts).map(Excerpt::known).sum();
        let (count, number) = (carried.len(), blocks.len());
        let mut all: Option<(Sums, PfnetGradient, Terms)> = None;
        for (b, (excerpts, terms)) in blocks.iter_mut().enumerate() {
            for (excerpt, heirs) in excerpts.iter_mut().zip(&heirs) {
                excerpt.heirs = Some(heirs[b].clone());
            }
            terms.known = if known > 0.0 { settings.known_weight / known } else { 0.0 };
            terms.pseudo /= number as f64;
            let (sums, gradient) = training::block(
                self.learner.net(),
                &self.in_training,
                *terms,
                (excerpts, carried),
                self.room(),
            )?;
            match &mut all {
                Some((total, whole, _)) => {
                    total.add(sums);
                    whole.add(&gradient);
                    self.pool.give_back(gradient);
                }
                None => all = Some((sums, gradient, *terms)),
            }
        }
        if let Some((sums, gradient, terms)) = all {
            let (figures, report) = self.update(sums, gradient, terms, count * number);
            tally.add(&figures, &report);
        }
        Ok(())
    }

    /// Steps to learn from, whole blocks of them.
    fn steps(&self, walks: &[Walk]) -> usize {
        let HouseSettings { steps, block, .. } = *self.settings();
        walks.iter().map(Walk::len).min().unwrap_or(0).min(steps) / block * block
    }

    fn block(
        &self,
        excerpts: &[Excerpt],
        carried: &mut [Carried],
        terms: Terms,
    ) -> Result<(Sums, PfnetGradient)> {
        training::block(self.learner.net(), &self.in_training, terms, (excerpts, carried), self.room())
    }

    /// Where parts of a batch are worked on, and by whom.
    fn room(&self) -> (&Pool, &dyn Ranks) {
        (&self.pool, &*self.ranks)
    }

    /// One update by what `count` blocks came to.
    fn update(
        &mut self,
        sums: Sums,
        gradient: PfnetGradient,
        terms: Terms,
        count: usize,
    ) -> (Figures, Report) {
        let (settings, values) = (&self.experiment.house, self.learner.values());
        let Sums { error, known, pseudo, effective } = sums;
        let loss = terms.known * error - terms.pseudo * pseudo + settings.l2 * half_square(values);
        let named = gradients(values, self.learner.net(), &gradient, settings.l2);
        self.pool.give_back(gradient);
        let report = self.learner.step_by(loss, &named);
        let count = count as f64;
        let losses = vec![
            ("loss", loss),
            ("squared error", error / known.max(1.0)),
            ("pseudo-likelihood", pseudo / count),
        ];
        (Figures { losses, effective_sample_size: Some(effective / count) }, report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::PixelScale;
    use crate::learn::{Experiment, HouseSettings, Normalisation, WorldKind};
    use driftless_world::trajectory::{Images, Pixels};

    fn filter(experiment: &Experiment, training: Training) -> PfnetFilter {
        let images =
            Images { height: 1, width: 2, channels: 3, pixels: Pixels::Bytes(vec![0, 9, 8, 1, 5, 2]) };
        let normalisation = Normalisation {
            pixels: PixelScale::measure([&images]).unwrap(),
            readings: crate::batch::ReadingScale::default(),
            state_mean: [0.0; 3],
            state_std: [1.0; 3],
            action_std: [1.0; 3],
            step_size: [1.0; 3],
            low: [0.0; 3],
            high: [1.0; 3],
            coordinates: Vec::new(),
        };
        PfnetFilter::new(experiment, &normalisation, training).unwrap()
    }

    fn house() -> Experiment {
        Experiment { world: WorldKind::House, ..Experiment::default() }
    }

    /// Three labels in eight steps of two walks: λ₁ / 3, whatever share of labels was asked for; and none at all.
    #[test]
    fn the_labelled_loss_is_a_mean_over_labels() {
        let walk = |labelled: &[usize]| {
            let labels = (0..4).map(|t| labelled.contains(&t).then_some([0.0; 3])).collect();
            Walk::bare(vec![[0.0; 3]; 4], labels)
        };
        let filter = filter(&house(), Training::Sdpf);
        let known = |walks: &[Walk]| {
            let excerpts: Vec<_> = walks.iter().map(|walk| Excerpt::new(walk, 0, 4)).collect();
            filter.terms(&excerpts, 4).known
        };
        assert_eq!(known(&[walk(&[0, 3]), walk(&[1])]), 1.0 / 3.0);
        assert_eq!(known(&[walk(&[]), walk(&[])]), 0.0);
    }

    /// Algorithm 1: multinomial where N_eff < N_thres, which is half of the particles unless said otherwise.
    #[test]
    fn the_paper_resamples_in_training() {
        let walks = [Walk::bare(vec![[0.0; 3]; 8], vec![None; 8])];
        let filter = filter(&house(), Training::Sdpf);
        let blocks = filter.blocks_along(&walks);
        assert_eq!(blocks.iter().map(|(_, terms)| terms.steps).collect::<Vec<_>>(), [8, 8]);
        let Terms { softness, threshold, .. } = blocks[0].1;
        assert_eq!((softness, threshold), (1.0, 0.5));
        let softness = |experiment: &Experiment, training| {
            self::filter(experiment, training).blocks_along(&walks)[0].1.softness
        };
        assert_eq!(softness(&house(), Training::Pfnet), 0.0, "others do not");
        let settings = HouseSettings { resampling: Some(0.5), ..HouseSettings::default() };
        assert_eq!(
            softness(&Experiment { house: settings, ..house() }, Training::Sdpf),
            0.5,
            "unless asked to"
        );
    }
}
