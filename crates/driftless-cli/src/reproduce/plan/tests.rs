//! What the plans hold, and how long they take.

use super::*;
use crate::output::duration;

/// Forty minutes, with exact odometry and with noise.
#[test]
fn the_short_one_in_houses() {
    let scope = Scope { paper: Paper::House, quick: true, ..Scope::default() };
    let quick = scope.cells(&["house".to_owned(), NOISY_HOUSES.to_owned()]).unwrap();
    let seconds: f64 = quick.iter().map(Cell::seconds).sum();
    assert!(seconds < 40.0 * 60.0, "{}", duration(seconds));
    let names: Vec<&str> = quick.iter().map(|cell| cell.recipe.name).collect();
    assert_eq!(names[..5], QUICK_HOUSE_METHODS);
    assert_eq!(names[5..], ["driftless", "driftless-supervised", "odometry", "classical"]);
    let is_noisy = |cell: &Cell| cell.experiment.house.odometry_degrees > 0.0;
    assert!(quick.iter().enumerate().all(|(number, cell)| is_noisy(cell) == (number >= 5)));
    let learns = |cell: &Cell| cell.experiment.method.learns != Learns::Nothing;
    assert!(quick[..5].iter().map(learns).eq([true, true, true, false, false]));
    assert_eq!(quick[0].experiment.validation_episodes, 0, "what needs no validation has none");
}

/// Four methods, tracked and found; odometry alone finds nobody, and nothing is trained twice.
#[test]
fn robots_are_tracked_and_found() {
    let worlds = ["a".to_owned(), "a-global".to_owned()];
    let scope = Scope { paper: Paper::Robots, quick: true, ..Scope::default() };
    let quick = scope.cells(&worlds).unwrap();
    let names: Vec<String> = quick.iter().map(Cell::name).collect();
    assert_eq!(names[..4].len() + 3, names.len(), "{names:?}");
    assert_eq!(names[4], "a-global-driftless-10pct-seed1");
    assert_eq!(quick[4].origin().unwrap(), names[0]);
    assert!(quick[0].origin().is_none() && quick[4].seconds() == EVALUATION[3]);
    assert_eq!(quick[4].experiment.robot.start, driftless::learn::RobotStart::Global);
    let full = Scope { quick: false, ..scope }.cells(&worlds).unwrap();
    let trained = methods_in(WorldKind::Robot).filter(|method| method.learns != Learns::Nothing).count();
    assert_eq!(full.len(), 3 * (2 * 2 * trained + 1));
}

fn cells(scope: &Scope) -> Vec<Cell> {
    scope.cells(&["maze1".to_owned()]).unwrap()
}

/// 45 minutes, and some for data and report.
#[test]
fn the_short_one_is_short() {
    let quick = cells(&Scope { quick: true, ..Scope::default() });
    let seconds: f64 = quick.iter().map(Cell::seconds).sum();
    assert!(seconds < 43.0 * 60.0, "{}", duration(seconds));
    assert_eq!(quick.len(), 3 * (3 * 3) + 1);
    let mut names: Vec<String> = quick.iter().map(Cell::name).collect();
    assert_eq!(names[0], "maze1-driftless-5pct-seed1");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), quick.len());
}

#[test]
fn a_scope_narrows_the_plan() {
    let scope = Scope {
        methods: Some(vec!["lstm".into()]),
        labels: Some(vec![0.125]),
        seeds: Some(1),
        epochs: Some(3),
        settings: vec!["particles=7".into()],
        ..Scope::default()
    };
    let [cell] = &cells(&scope)[..] else { panic!("one cell") };
    let Experiment { label_fraction: labels, seed, epochs, particles, .. } = cell.experiment;
    assert_eq!((labels, seed, epochs, particles), (0.125, 1, 3, 7));
    assert_eq!(cell.name(), "maze1-lstm-12.5pct-seed1");
    assert!(Scope { settings: vec!["particels=7".into()], ..scope }.cells(&["a".into()]).is_err());
}

#[test]
fn the_long_one_has_all_methods_and_shares() {
    let full = cells(&Scope::default());
    assert_eq!(full.len(), 3 * 13 * 5);
    assert!(full.iter().all(|cell| cell.experiment.epochs >= 10));
    let scope = Scope { paper: Paper::House, ..Scope::default() };
    let houses = scope.cells(&["house".to_owned()]).unwrap();
    assert_eq!(houses.len(), 3 * (2 + 5 * 6), "what is not trained has no share of labels");
}
