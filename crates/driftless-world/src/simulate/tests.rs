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
            "use maze1, maze2, maze3, house, lgss, lgss25, volatility, or a file",
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

/// Second moments of many walks against the stationary ones, which solve P = A P Aᵀ + q I: found by iteration.
#[test]
fn linear_walks_have_their_moments() {
    for (model, steps) in [(LinearGaussian::plane(0.5), 400), (LinearGaussian::chain(5), 400)] {
        let size = model.states;
        let mut covariance: Vec<f64> =
            (0..size * size).map(|k| f64::from(u8::from(k % (size + 1) == 0))).collect();
        for _ in 0..200 {
            let half: Vec<Vec<f64>> = covariance.chunks(size).map(|row| model.moved(row)).collect();
            let column = |k: usize| half.iter().map(|row| row[k]).collect::<Vec<_>>();
            covariance = (0..size).flat_map(|k| model.moved(&column(k))).collect();
            (0..size).for_each(|k| covariance[k * (size + 1)] += model.motion);
        }
        let (mut squares, mut products, mut reading, mut count) = (0.0, 0.0, 0.0, 0.0);
        for number in 0..200 {
            for [state, read] in &model.walk(steps, &mut Random::stream(4, number))[20..] {
                squares += state[0] * state[0];
                products += state[0] * state[1];
                reading += (read[0] - state[0]).powi(2);
                count += 1.0;
            }
        }
        // 76,000 correlated steps, worth a third at least: four standard errors of a square are 4 √(2 / 25,000).
        let close = |found: f64, expected: f64, scale: f64| {
            assert!((found / count - expected).abs() < 0.036 * scale, "{} is not {expected}", found / count);
        };
        close(squares, covariance[0], covariance[0]);
        close(products, covariance[1], covariance[0]);
        close(reading, model.noise, model.noise);
    }
}

/// E x² = σ² / (1 - α²) = 5.817, and E log y² = log β² + E log ε² = -1.386 - 1.270, as E x = 0.
#[test]
fn volatility_has_its_moments() {
    let model = StochasticVolatility::USUAL;
    let walks = (0..2000).map(|number| model.walk(50, &mut Random::stream(9, number)));
    let (mut square, mut log) = (0.0, 0.0);
    for [state, read] in walks.flatten() {
        square += state[0] * state[0] / 1e5;
        log += (read[0] * read[0]).ln() / 1e5;
    }
    // A walk of 50 steps is worth about 5 of x² and 2.5 of x: four standard errors of 10,000 and 5,000 draws.
    assert!((square - 5.817).abs() < 4.0 * 5.817 * (2.0_f64 / 1e4).sqrt(), "{square}");
    assert!((log + 2.656).abs() < 4.0 * 2.41 / (5e3_f64).sqrt() + 4.0 * 2.22 / (1e5_f64).sqrt(), "{log}");
}

/// Any of these is written and read again, and the same seed names the same numbers.
#[test]
fn vector_worlds_are_stored_as_logs() {
    let folder = std::env::temp_dir().join(format!("driftless-vectors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (world, states, readings) in [("lgss", 2, 2), ("lgss25", 25, 1), ("volatility", 1, 1)] {
        let path = folder.join(format!("{world}.npz"));
        let wanted = Simulation { world: world.into(), episodes: 2, steps: Some(7), ..Simulation::default() };
        wanted.prepare().unwrap().write(&path, Overwrite::Replace, |_| Ok::<(), Error>(())).unwrap();
        let data = Format::of(&path).unwrap().open(&path, &crate::files::ReadOptions::default()).unwrap();
        let Entry::Plain(made) = wanted.prepare().unwrap().world.episode(1).unwrap() else { panic!("a log") };
        let read = data.get(1).unwrap();
        assert_eq!((&read.observations, &read.states), (&made.observations, &made.states));
        let Observations::Vectors(rows) = &read.observations else { panic!("vectors") };
        assert_eq!((read.len(), rows.width(), read.states.width()), (7, readings, states));
    }
    std::fs::remove_dir_all(folder).unwrap();
}
