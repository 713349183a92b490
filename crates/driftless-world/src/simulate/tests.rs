//! The table of worlds is documented, whole, and refuses what makes no sense.

use super::*;

/// `docs/worlds.md` begins with this table, word by word.
#[test]
fn the_documentation_has_all_worlds() {
    let page = include_str!("../../../../docs/worlds.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).take(WORLDS.len()).collect();
    let quoted = |ids: &[&str]| ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
    let row = |world: &RegisteredWorld| {
        let (names, formats, options) = (quoted(world.names), quoted(world.formats), quoted(world.options));
        format!("| {names} | {} | {formats} | {options} |", world.what)
    };
    assert_eq!(rows, WORLDS.iter().map(row).collect::<Vec<_>>());
}

#[test]
fn no_two_worlds_share_a_name_and_all_can_be_stored() {
    let names: std::collections::BTreeSet<&str> = WORLDS.iter().flat_map(|w| w.names).copied().collect();
    assert_eq!(names.len(), WORLDS.iter().map(|world| world.names.len()).sum::<usize>());
    for id in WORLDS.iter().flat_map(|world| world.formats) {
        assert!(Format::named(id).is_some_and(|format| format.create.is_some()), "{id}");
    }
}

#[test]
fn what_makes_no_sense_is_the_request() {
    let maze = Simulation::default();
    let house = Simulation { world: "house".to_owned(), ..maze.clone() };
    for (wanted, expected) in [
        (Simulation { episodes: 0, ..maze.clone() }, "at least one episode"),
        (
            Simulation { world: "maze9".to_owned(), ..maze.clone() },
            "use maze1, maze2, maze3, house, or a file",
        ),
        (
            Simulation { split: Some(Split::Test), ..maze.clone() },
            "--split: maze1 has no such option; it is for house",
        ),
        (Simulation { format: Format::named("csv"), ..maze.clone() }, "maze1 is stored as dpf or log"),
        (Simulation { odometry_noise: 0.1, ..maze.clone() }, "--format log to store noisy odometry"),
        (Simulation { steps: Some(1), ..maze.clone() }, "at least two steps"),
        (Simulation { steps: Some(usize::MAX), ..maze }, "at most 32768 steps"),
        (Simulation { policy: Policy::Plan, ..house.clone() }, "--policy: house has no such option"),
        (Simulation { houses: Some(0), ..house }, "must be at least 1"),
    ] {
        let error = wanted.prepare().err().expect("refused");
        assert!(error.is_usage() && error.to_string().contains(expected), "{error}");
    }
}
