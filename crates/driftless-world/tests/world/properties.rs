//! Laws that hold for all inputs: what is written is read back, motions compose, budgets are exact.

use driftless_world::files::dpf::{DpfFile, DpfOptions, DpfWriter, Recording};
use driftless_world::files::log::{LogFile, LogWriter};
use driftless_world::files::zip::Method;
use driftless_world::files::{Format, Overwrite};
use driftless_world::pose::{Frame, wrap};
use driftless_world::{Dataset, Images, LabelBudget, Labels, Observations, Pixels, Pose, Rows, Trajectory};
use proptest::prelude::*;
use std::f64::consts::PI;
use std::path::PathBuf;

fn scratch(name: &str) -> PathBuf {
    let thread = format!("{:?}", std::thread::current().id());
    std::env::temp_dir().join(format!("driftless-property-{name}-{}-{thread}.npz", std::process::id()))
}

fn method() -> impl Strategy<Value = Method> {
    prop_oneof![Just(Method::Stored), Just(Method::Deflated)]
}

prop_compose! {
    /// A trajectory of `steps` steps with vectors, or with images of bytes or floats.
    fn trajectory(widths: (usize, usize), kind: u8)(
        steps in 1_usize..9,
    )(
        numbers in prop::collection::vec(-1e6_f32..1e6, steps * 12),
        bytes in prop::collection::vec(any::<u8>(), steps * 12),
        actions in prop::collection::vec(-1e3_f32..1e3, steps * widths.0),
        states in prop::collection::vec(prop::option::of(prop::collection::vec(-1e3_f32..1e3, widths.1)), steps),
    ) -> Trajectory {
        let image = |pixels| Observations::Images(Images { height: 2, width: 2, channels: 3, pixels });
        let observations = match kind {
            0 => Observations::Vectors(Rows::new(12, numbers).unwrap()),
            1 => image(Pixels::Bytes(bytes)),
            _ => image(Pixels::Floats(numbers)),
        };
        let mut labels = Labels::new(widths.1);
        for state in &states {
            labels.push(state.as_deref());
        }
        Trajectory::new(observations, Rows::new(widths.0, actions).unwrap(), labels).unwrap()
    }
}

fn trajectories() -> impl Strategy<Value = Vec<Trajectory>> {
    ((0_usize..4, 1_usize..4), 0_u8..3)
        .prop_flat_map(|(widths, kind)| prop::collection::vec(trajectory(widths, kind), 1..5))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plain_logs_are_read_back_exactly(episodes in trajectories(), method in method()) {
        let path = scratch("log");
        let mut writer = LogWriter::create(&path, Overwrite::Replace, method, "").unwrap();
        for episode in &episodes {
            writer.push(episode).unwrap();
        }
        writer.finish().unwrap();
        prop_assert_eq!(Format::of(&path).unwrap().id, "log");
        let file = LogFile::open(&path).unwrap();
        let back: Vec<Trajectory> = (0..file.len()).map(|i| file.get(i).unwrap()).collect();
        std::fs::remove_file(&path).unwrap();
        prop_assert_eq!(back, episodes);
    }

    #[test]
    fn recordings_are_read_back_exactly(
        steps in 2_usize..7,
        episodes in 1_usize..4,
        side in 1_usize..5,
        seed in any::<u8>(),
        method in method(),
    ) {
        let path = scratch("dpf");
        let recording = |number: usize| Recording {
            poses: (0..steps).map(|t| [t as f64 * 3.7 - f64::from(seed), number as f64 / 3.0, 170.0 * t as f64]).collect(),
            velocities: (0..steps).map(|t| [0.1 * t as f64, -1.0, 9.0]).collect(),
            images: Images {
                height: side,
                width: side + 1,
                channels: 4,
                pixels: Pixels::Bytes((0..steps * side * (side + 1) * 4).map(|i| (i * 31 + usize::from(seed) + number) as u8).collect()),
            },
        };
        let mut writer = DpfWriter::create(&path, Overwrite::Replace, method, "").unwrap();
        for number in 0..episodes {
            writer.push(&recording(number)).unwrap();
        }
        writer.finish().unwrap();
        let file = DpfFile::open(&path, DpfOptions { steps_per_episode: Some(steps), ..DpfOptions::default() }).unwrap();
        let same = (0..episodes).all(|number| file.recording(number).unwrap() == recording(number));
        let lengths: Vec<usize> = (0..file.len()).map(|i| file.get(i).unwrap().len()).collect();
        std::fs::remove_file(&path).unwrap();
        prop_assert!(same);
        prop_assert_eq!(lengths, vec![steps - 1; episodes]);
    }

    #[test]
    fn wrapping_changes_an_angle_by_whole_turns(angle in -1e4_f64..1e4) {
        let wrapped = wrap(angle);
        prop_assert!((-PI..PI).contains(&wrapped));
        let turns = (angle - wrapped) / (2.0 * PI);
        // Rounding of the angle itself, 1e4 * 2^-53, is far below this.
        prop_assert!((turns - turns.round()).abs() < 1e-9);
    }

    #[test]
    fn a_motion_leads_where_it_was_measured(
        (x, y, heading) in (-1e3_f64..1e3, -1e3_f64..1e3, -10.0_f64..10.0),
        (to_x, to_y, to_heading) in (-1e3_f64..1e3, -1e3_f64..1e3, -10.0_f64..10.0),
        reflected in any::<bool>(),
    ) {
        let frame = if reflected { Frame::Reflected } else { Frame::Robot };
        let (from, to) = (Pose::new(x, y, heading), Pose::new(to_x, to_y, to_heading));
        let reached = from.moved(from.motion_to(to, frame), frame);
        // A few roundings of numbers up to 3e3.
        prop_assert!(reached.distance(to) < 1e-9);
        prop_assert!(wrap(reached.heading - to.heading).abs() < 1e-12);
    }

    #[test]
    fn label_budgets_are_exact(
        known in prop::collection::vec(prop::collection::vec(any::<bool>(), 1..40), 1..8),
        share in 0.0_f64..=1.0,
        seed in any::<u64>(),
    ) {
        let total = known.iter().flatten().filter(|&&known| known).count();
        let plan = LabelBudget::new(share, seed).unwrap().plan(known);
        prop_assert_eq!(plan.known(), total);
        prop_assert_eq!(plan.kept(), (share * total as f64).round() as usize);
    }
}
