//! All methods there are, one line each: what experiments call it, what reports show, where it works and what it
//! learns from. Whoever lists, describes or builds methods reads this table. An id may have a line of its own in
//! another world, where it does something else under the same name.

use super::histogram;
use super::kalman;
use super::lstm::LstmMethod;
use super::pf_rnn;
use super::regression::Regression;
use super::robot;
use super::sdpf::{self, Variant};
use super::{
    AnchoredEm, HouseLstm, Jonschkowski, Mcl, PfnetFilter, RangeScan, Supervision, Training, Unlearned,
    UnlearnedMethod,
};
use crate::baseline::CellKind;
use crate::error::Result;
use crate::learn::{Experiment, Method, Normalisation, WorldKind};
use Learns::{FromAllSteps, FromLabels, Nothing};
use WorldKind::{House, Maze, Robot};
use driftless_core::kalman::Linearisation::{SigmaPoints, Slopes};

/// What a method learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learns {
    /// It has nothing to learn.
    Nothing,
    /// Steps whose pose is known.
    FromLabels,
    /// These and all others.
    FromAllSteps,
}

/// Makes a method of its settings, not trained yet.
pub type BuildMethod = fn(&Experiment, &Normalisation) -> Result<Box<dyn Method>>;

/// A method that experiments can name.
#[derive(Debug)]
pub struct Registered {
    /// What experiments call it.
    pub id: &'static str,
    /// What tables and legends call it.
    pub label: &'static str,
    /// What it learns from.
    pub learns: Learns,
    /// The worlds it works in, and how it is built there.
    pub builds: &'static [(WorldKind, BuildMethod)],
}

/// The table; the first is what experiments use that name none.
#[rustfmt::skip]
pub const METHODS: &[Registered] = &[
    Registered { id: "driftless", label: "Driftless (label-anchored EM)", learns: FromAllSteps, builds: &[
        (Maze, |e, s| Ok(Box::new(AnchoredEm::new(e, s, Supervision::BetweenLabels)?))),
        (House, |e, s| Ok(Box::new(RangeScan::new(e, s, Supervision::BetweenLabels)?))),
        (Robot, |e, s| robot::build(e, s, Supervision::BetweenLabels))] },
    Registered { id: "driftless-supervised", label: "Driftless, labels only", learns: FromLabels, builds: &[
        (Maze, |e, s| Ok(Box::new(AnchoredEm::new(e, s, Supervision::LabelsAlone)?))),
        (House, |e, s| Ok(Box::new(RangeScan::new(e, s, Supervision::LabelsAlone)?))),
        (Robot, |e, s| robot::build(e, s, Supervision::LabelsAlone))] },
    Registered { id: "sdpf", label: "SDPF (paper)", learns: FromAllSteps, builds: &[
        (Maze, |e, s| sdpf::build(Variant::Paper, e, s)),
        (House, |e, s| Ok(Box::new(PfnetFilter::new(e, s, Training::Sdpf)?))),
        (Robot, |e, s| sdpf::robot::build(Variant::Paper, e, s))] },
    Registered { id: "sdpf-released", label: "SDPF (authors' code)", learns: FromAllSteps, builds: &[
        (Maze, |e, s| sdpf::build(Variant::Released, e, s))] },
    Registered { id: "sdpf-supervised", label: "SDPF without Q (authors' \"DPF\")", learns: FromLabels, builds: &[
        (Maze, |e, s| sdpf::build(Variant::Supervised, e, s)),
        (Robot, |e, s| sdpf::robot::build(Variant::Supervised, e, s))] },
    Registered { id: "dpf", label: "DPF (Jonschkowski 2018)", learns: FromLabels, builds: &[
        (Maze, |e, s| Ok(Box::new(Jonschkowski::new(e, s)?))),
        (Robot, |e, s| Ok(Box::new(Jonschkowski::of_log(e, s)?)))] },
    Registered { id: "pfnet", label: "PF-net (Karkus 2018), as published", learns: FromLabels, builds: &[
        (House, |e, s| Ok(Box::new(PfnetFilter::new(e, s, Training::Pfnet)?)))] },
    Registered { id: "regression", label: "pose regression, no filter", learns: FromLabels, builds: &[
        (Maze, |e, s| Ok(Box::new(Regression::new(e, s))))] },
    Registered { id: "lstm", label: "LSTM", learns: FromLabels, builds: &[
        (Maze, |e, s| Ok(Box::new(LstmMethod::new(e, s)))),
        (House, |e, s| Ok(Box::new(HouseLstm::new(e, s)))),
        (Robot, |e, s| Ok(Box::new(LstmMethod::of_log(e, s)?)))] },
    Registered { id: "ekf", label: "differentiable EKF (Haarnoja 2016)", learns: FromLabels, builds: &[
        (Maze, |e, s| kalman::build(Slopes, e, s)),
        (Robot, |e, s| kalman::build(Slopes, e, s))] },
    Registered { id: "ukf", label: "differentiable UKF (Kloss 2020)", learns: FromLabels, builds: &[
        (Maze, |e, s| kalman::build(SigmaPoints, e, s)),
        (Robot, |e, s| kalman::build(SigmaPoints, e, s))] },
    Registered { id: "histogram", label: "differentiable histogram filter (Jonschkowski 2016)", learns: FromLabels, builds: &[
        (Maze, histogram::build),
        (Robot, histogram::build)] },
    Registered { id: "pf-lstm", label: "PF-LSTM (Ma 2020)", learns: FromLabels, builds: &[
        (Maze, |e, s| pf_rnn::build(CellKind::Lstm, e, s)),
        (Robot, |e, s| pf_rnn::build(CellKind::Lstm, e, s))] },
    Registered { id: "pf-gru", label: "PF-GRU (Ma 2020)", learns: FromLabels, builds: &[
        (Maze, |e, s| pf_rnn::build(CellKind::Gru, e, s)),
        (Robot, |e, s| pf_rnn::build(CellKind::Gru, e, s))] },
    Registered { id: "odometry", label: "odometry alone", learns: Nothing, builds: &[
        (House, |e, s| Ok(Box::new(UnlearnedMethod::new(Unlearned::Odometry, e, s)))),
        (Robot, |e, _| Ok(robot::build_odometry(e)))] },
    Registered { id: "classical", label: "classical Monte-Carlo localisation", learns: Nothing, builds: &[
        (House, |e, s| Ok(Box::new(UnlearnedMethod::new(Unlearned::Classical, e, s))))] },
    Registered { id: "mcl", label: "Monte-Carlo localisation", learns: FromLabels, builds: &[
        (Robot, |e, s| Ok(Box::new(Mcl::new(e, s)?)))] },
];

impl Registered {
    /// The worlds it works in.
    pub fn worlds(&self) -> impl Iterator<Item = WorldKind> {
        self.builds.iter().map(|(world, _)| *world)
    }

    /// How it is built in a world, if it works there.
    pub fn build_in(&self, world: WorldKind) -> Option<BuildMethod> {
        self.builds.iter().find(|(works, _)| *works == world).map(|(_, build)| *build)
    }
}

/// The methods that work in a world, in the table's order.
pub fn methods_in(world: WorldKind) -> impl Iterator<Item = &'static Registered> {
    METHODS.iter().filter(move |method| method.build_in(world).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The lines between a heading of a page and the next, which are rows of a table.
    fn rows<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
        let lines = page.lines().skip_while(|line| *line != heading).skip(1);
        let table = lines.take_while(|line| !line.starts_with('#')).filter(|line| line.starts_with("| `"));
        table.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
    }

    /// `docs/training.md` has this table, word by word.
    #[test]
    fn the_documentation_has_all_methods() {
        let page = include_str!("../../../../docs/training.md");
        let expected: Vec<[String; 4]> = METHODS
            .iter()
            .map(|method| {
                let worlds: Vec<String> = method.worlds().map(|world| world.to_string()).collect();
                let learns = match method.learns {
                    Learns::Nothing => "nothing",
                    Learns::FromLabels => "labels",
                    Learns::FromAllSteps => "all steps",
                };
                [format!("`{}`", method.id), method.label.to_owned(), worlds.join(", "), learns.to_owned()]
            })
            .collect();
        assert_eq!(rows(page, "## Methods"), expected);
    }

    #[test]
    fn no_two_methods_share_a_name() {
        for world in [Maze, House, Robot] {
            let ids: BTreeSet<&str> = methods_in(world).map(|method| method.id).collect();
            assert_eq!(ids.len(), methods_in(world).count());
        }
        let labels: BTreeSet<&str> = METHODS.iter().map(|method| method.label).collect();
        assert_eq!(labels.len(), METHODS.len());
        assert!(METHODS.iter().all(|method| !method.builds.is_empty()));
    }
}
