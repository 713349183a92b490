//! Reports of whole, partial, damaged and hostile runs.

use driftless_report::{Metrics, Report, Run, TrackingPicture};
use driftless_world::evaluation::{Episodes, Particle, Plan, Seen};
use driftless_world::maze::Layout;
use driftless_world::{About, Episode, Evaluation, Pose, Track};
use std::collections::BTreeSet;
use std::fs;

type Files = Vec<(String, Vec<u8>)>;

fn about(label: &str, label_fraction: f64, seed: u64) -> About {
    let label = label.to_owned();
    About { label, world: "maze1".into(), label_fraction, seed, particles: 3, ..About::default() }
}

fn evaluation(about: About, error: f64) -> Evaluation {
    let truth: Vec<Pose> = (0..6).map(|t| Pose::new(100.0 + 50.0 * f64::from(t), 200.0, 0.0)).collect();
    let track = |k: f64| {
        let off = |pose: &Pose| Pose::new(pose.x + k * error, pose.y, pose.heading);
        Track::new(truth.clone(), truth.iter().map(off).collect())
    };
    Evaluation::of(about, [10.0, 10.0, 0.5], &[track(1.0), track(2.0), track(3.0)]).unwrap()
}

fn episode(about: About) -> Episode {
    let plan = Plan::of_maze(&Layout::built_in("maze1").unwrap());
    let mut episode = Episode::new("trajectory 0", about, plan).unwrap();
    let image = [120; 4 * 4 * 3];
    for t in 0..30 {
        let truth = Pose::new(100.0 + 20.0 * f64::from(t), 250.0, 0.0);
        let estimate = if t == 28 { Pose::new(f64::NAN, 0.0, 0.0) } else { Pose { y: 310.0, ..truth } };
        let particles = [Particle { pose: estimate, weight: 0.7 }, Particle { pose: truth, weight: 0.3 }];
        let camera = (t % 2 == 1).then_some((4, 4, image.as_slice()));
        let log_evidence = Some(-f64::from(t));
        episode
            .push(&Seen { truth, estimate, particles: &particles, camera, log_evidence, ..Seen::default() })
            .unwrap();
    }
    episode
}

fn run(method: &str, labels: f64, seed: u64, error: f64) -> Run {
    let about = about(method, labels, seed);
    let metrics = format!("epoch,seconds,validation_rmse\n0,0,{}\n1,1800,{error}\n", 2.0 * error);
    Run {
        name: format!("{method}-{labels}-{seed}"),
        config: Some(String::new()),
        metrics: Some(Metrics::parse(&metrics).unwrap()),
        evaluation: Some(evaluation(about.clone(), error)),
        episodes: vec![episode(about)],
        ..Run::default()
    }
}

fn runs() -> Vec<Run> {
    vec![
        run("SDPF", 0.1, 1, 10.0),
        run("SDPF", 0.1, 2, 20.0),
        run("SDPF", 0.5, 1, 5.0),
        run("DPF", 0.1, 1, 30.0),
    ]
}

fn text(files: &Files, name: &str) -> String {
    let found = files.iter().find(|(file, _)| file == name);
    String::from_utf8(found.unwrap_or_else(|| panic!("there is no {name}")).1.clone()).unwrap()
}

#[test]
fn every_panel_is_there_and_every_byte_repeats() {
    let files = Report::of(&runs()).unwrap();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    for kind in ["validation", "time", "boxes", "trajectory"] {
        for share in ["10pct", "50pct"] {
            assert!(
                names.contains(&format!("{kind}-maze1-{share}.svg").as_str()),
                "{kind} {share}: {names:?}"
            );
        }
    }
    assert!(
        names.contains(&"labels-maze1.svg") && names.contains(&"tracking-maze1-sdpf-10pct.png"),
        "{names:?}"
    );
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len(), "a file twice");
    let mut turned = runs();
    turned.reverse();
    assert_eq!(Report::of(&turned).unwrap(), files);
}

/// As in the paper: in mazes errors in step sizes and the last 20 steps of an episode, in houses lengths and all steps.
#[test]
fn figures_have_the_units_of_the_paper() {
    let in_unit = |unit: &str| {
        let mut run = run("SDPF", 0.1, 1, 10.0);
        run.evaluation.as_mut().unwrap().about.unit = unit.into();
        Report::of(&[run]).unwrap()
    };
    for (unit, shown, steps) in
        [("", "step sizes", "last 20 of 30 steps"), ("cm", "position error (cm)", "all 30 steps")]
    {
        let files = in_unit(unit);
        for kind in ["boxes", "trajectory"] {
            let chart = text(&files, &format!("{kind}-maze1-10pct.svg"));
            assert!(chart.contains(shown), "{unit} {kind}: {chart}");
        }
        assert!(text(&files, "index.html").contains(steps), "{unit}: {steps}");
    }
    // Errors of 10, 20 and 30 units are 1, 2 and 3 steps of 10: the median is 2.
    let chart = text(&in_unit(""), "trajectory-maze1-10pct.svg");
    assert!(chart.contains("error, heading included (step sizes)"), "{chart}");
}

#[test]
fn the_page_is_complete_in_itself() {
    let files = Report::of(&runs()).unwrap();
    let page = text(&files, "index.html");
    let addresses = page.matches("://").count();
    assert_eq!(addresses, page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count(), "foreign addresses");
    for attribute in ["src=\"", "href=\""] {
        for rest in page.split(attribute).skip(1) {
            assert!(rest.starts_with("data:") || rest.starts_with('#'), "{}", &rest[..40]);
        }
    }
    assert!(!page.contains("@import") && !page.contains("url("));
    // On the page, pictures in base64 could hold these letters.
    for (name, bytes) in files.iter().filter(|(name, _)| !name.contains(".png") && name != "index.html") {
        let words = String::from_utf8_lossy(bytes);
        assert!(!words.contains("NaN") && !words.contains("inf"), "{name}");
    }
}

/// Seeds 1 and 2 of SDPF have last validation errors 10 and 20, and scaled RMSE √(14/3) and 2 √(14/3).
#[test]
fn seeds_are_pooled_in_curves_and_tables() {
    let files = Report::of(&runs()).unwrap();
    let csv = text(&files, "accuracy.csv");
    let row = csv.lines().find(|line| line.starts_with("SDPF,maze1,10 %,2,6,")).expect("a row of two seeds");
    let fields: Vec<f64> = row.split(',').skip(5).take(2).map(|field| field.parse().unwrap()).collect();
    let one = (14.0_f64 / 3.0).sqrt();
    assert!((fields[0] - 1.5 * one).abs() < 1e-12, "{row}");
    // Two seeds: |a - b| / 2.
    assert!((fields[1] - 0.5 * one).abs() < 1e-12, "{row}");
    let curve = text(&files, "validation-maze1-10pct.svg");
    // DPF from 60 to 30, SDPF from 30 to 15 with standard deviations √2 · 10 and √2 · 5.
    // The axis ends at 60: 5 pixels a unit above the bottom at 374.
    assert!(curve.contains("d=\"M70,74L618,224\"") && curve.contains("d=\"M70,224L618,299\""), "{curve}");
    let band = "d=\"M70,153.29L618,263.64L618,334.36L70,294.71z\"";
    assert!(curve.contains(band), "{curve}");
}

#[test]
fn runs_that_lack_something_still_give_a_report() {
    for runs in [vec![], vec![Run::default()], vec![Run { name: "only".into(), ..run("SDPF", 0.1, 1, 10.0) }]]
    {
        let files = Report::of(&runs).unwrap();
        assert!(text(&files, "index.html").contains("What is missing"));
    }
    let young = Run { evaluation: None, episodes: vec![], ..run("SDPF", 0.1, 1, 10.0) };
    let page = text(&Report::of(&[young]).unwrap(), "index.html");
    assert!(page.contains("data-figure=\"validation-runs-without-an-evaluation\""));
    assert!(page.contains("no evaluation.json: no figures") && page.contains("nothing to play"));
}

#[test]
fn folders_are_read_and_damage_is_told() {
    let folder = std::env::temp_dir().join(format!("driftless-report-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    assert!(Run::open(&folder).unwrap_err().to_string().contains("cannot read the run"));
    fs::create_dir_all(&folder).unwrap();
    let whole = run("SDPF", 0.1, 1, 10.0);
    fs::write(folder.join("evaluation.json"), whole.evaluation.as_ref().unwrap().to_json()).unwrap();
    let mut episodes = Episodes { episodes: whole.episodes.clone(), ..Episodes::default() };
    episodes.record_with(&whole.evaluation.as_ref().unwrap().to_json());
    fs::write(folder.join("episodes.json"), episodes.to_json()).unwrap();
    fs::write(folder.join("metrics.csv"), "epoch,validation_rmse\n0,oh\n").unwrap();
    let read = Run::open(&folder).unwrap();
    assert_eq!((&read.evaluation, &read.episodes), (&whole.evaluation, &whole.episodes));
    let expected = ["no config.toml", "metrics.csv: line 2: field validation_rmse: \"oh\" is not a number"];
    assert_eq!(read.missing(), expected);
    // The evaluation of another: its figures count, but the episodes are not of it.
    let other = run("SDPF", 0.1, 1, 11.0).evaluation.unwrap();
    fs::write(folder.join("evaluation.json"), other.to_json()).unwrap();
    let read = Run::open(&folder).unwrap();
    assert!(read.evaluation.is_some() && read.episodes.is_empty(), "{read:?}");
    assert!(read.problems[1].starts_with("episodes.json: was not recorded with"), "{:?}", read.problems);
    fs::write(folder.join("episodes.json"), "{\"episodes\":[{}]}").unwrap();
    fs::write(folder.join("evaluation.json"), [0xff, 0xfe]).unwrap();
    let read = Run::open(&folder).unwrap();
    assert!(read.problems.len() == 3 && read.evaluation.is_none() && read.episodes.is_empty(), "{read:?}");
    assert!(Report::of(&[read]).is_ok());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn words_cannot_leave_their_place() {
    let evil = "</script><script>alert('1')</script>\"><img src=x>";
    let mut bad = run(evil, 0.1, 1, 10.0);
    bad.name = evil.into();
    bad.problems = vec![evil.into()];
    bad.config = Some(format!("name = {evil}\nseed = 1"));
    bad.episodes[0].title = evil.into();
    let mut other = run("</script> <script>alert('1')</script>\"><img src=x>", 0.1, 1, 1.0);
    let mut unsure = run("SDPF", 0.1, 1, 1.0);
    unsure.evaluation.as_mut().unwrap().about.label_fraction = f64::NAN;
    for run in [&mut bad, &mut other, &mut unsure] {
        run.evaluation.as_mut().unwrap().about.odometry_noise = f64::NAN;
    }
    let files = Report::of(&[bad, other, unsure]).unwrap();
    let page = text(&files, "index.html");
    assert!(page.contains("&gt;\nseed = 1</pre>"), "settings keep their lines");
    assert_eq!(page.matches("<script").count(), 2, "only the data and the player");
    assert!(!page.contains("<img src=x") && !page.contains("alert('1')<"));
    assert!(files.iter().all(|(name, _)| !name.contains(['/', '<', ' ', '"'])));
    let names: BTreeSet<&String> = files.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), files.len(), "a name twice: {names:?}");
    assert!(names.iter().any(|name| name.ends_with("-2.png")), "{names:?}");
}

#[test]
fn tracking_pictures_show_both_paths_and_repeat() {
    let episode = episode(about("SDPF", 0.1, 1));
    let picture =
        TrackingPicture { episode: &episode, title: "T".into(), subtitle: String::new(), steps: 20 };
    let canvas = picture.draw().unwrap();
    assert_eq!(canvas, picture.draw().unwrap());
    let count = |colour: [u8; 3]| canvas.pixels().chunks(3).filter(|pixel| **pixel == colour).count();
    // Twenty steps, each with an arrow of more than 25 whole pixels; one estimate is missing.
    let (truth, estimate) = (count([34, 38, 46]), count([213, 94, 0]));
    assert!(truth > 500 && estimate > 475, "{truth} {estimate}");
    let whole = TrackingPicture { steps: 999, ..picture.clone() };
    assert_ne!(whole.draw().unwrap(), canvas);
    let empty = Episode { steps: vec![], ..episode.clone() };
    let error = TrackingPicture { episode: &empty, ..picture.clone() }.draw().unwrap_err();
    assert_eq!(error.to_string(), "field steps: has no steps to draw");
    let mut damaged = episode.clone();
    damaged.steps[29].camera = vec![1, 2, 3];
    assert!(
        TrackingPicture { episode: &damaged, ..picture }
            .draw()
            .unwrap_err()
            .to_string()
            .contains("field camera")
    );
}
