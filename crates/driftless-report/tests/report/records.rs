//! Records that were kept, in place of the runs they come from.

use driftless_report::{Provenance, Record, Report, Run};
use driftless_world::random::Random;
use driftless_world::{About, Evaluation, Pose, Track};
use std::fs;

/// Robots of unequal difficulty: a method adds `error` to what all are off.
fn run(method: &str, label_fraction: f64, seed: u64, error: f64) -> Run {
    let about = About {
        method: method.into(),
        label: method.to_uppercase(),
        world: "house".into(),
        unit: "cm".into(),
        label_fraction,
        seed,
        ..About::default()
    };
    let mut random = Random::new(seed);
    let track = |i: u32| {
        let off = |t: u32| Pose::new(f64::from(10 * i + t) + error + random.normal(), 0.0, 0.0);
        Track::new(vec![Pose::default(); 8], (0..8).map(off).collect())
    };
    let tracks: Vec<Track> = (0..12).map(track).collect();
    let evaluation = Evaluation::of(about, [10.0, 10.0, 0.5], &tracks).unwrap();
    let record = Some(Record::of(&evaluation, Provenance::default()));
    Run { name: format!("{method}-{seed}"), evaluation: Some(evaluation), record, ..Run::default() }
}

fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    for seed in 1..=3 {
        for label_fraction in [0.1, 0.5] {
            runs.push(run("driftless", label_fraction, seed, 10.0));
            runs.push(run("driftless-supervised", label_fraction, seed, 30.0));
        }
        runs.push(run("lstm", 0.1, seed, 9.0));
    }
    runs
}

fn file(files: &[(String, Vec<u8>)], name: &str) -> String {
    let found = files.iter().find(|(file, _)| file == name);
    String::from_utf8(found.unwrap_or_else(|| panic!("there is no {name}")).1.clone()).unwrap()
}

/// Twenty centimetres apart on every trajectory, on which methods are off by 10 to 130.
#[test]
fn methods_are_compared_pair_by_pair() {
    let files = Report::of(&runs()).unwrap();
    let csv = file(&files, "paired.csv");
    assert_eq!(csv.lines().count(), 1 + 3, "twins at two shares of labels, and the LSTM at one: {csv}");
    let row = csv.lines().nth(1).unwrap();
    assert!(
        row.starts_with("DRIFTLESS,DRIFTLESS-SUPERVISED,house,10 %,3,12,RMSE over all steps (cm),-"),
        "{row}"
    );
    let numbers: Vec<f64> = row.split(',').skip(7).take(3).map(|field| field.parse().unwrap()).collect();
    // Means of eight readings with noise of 1, and twelve trajectories: 0.05 each; the RMSE is above the mean by little.
    assert!(numbers.iter().all(|number| (number + 20.0).abs() < 0.5), "{row}");
    assert!(numbers[1] <= numbers[0] && numbers[0] <= numbers[2], "{row}");
    let page = file(&files, "index.html");
    assert!(
        page.contains("data-figure=\"paired-house\"")
            && page.contains("Differences on the same trajectories")
    );
    let forest = file(&files, "paired-house.svg");
    assert!(forest.contains(">DRIFTLESS minus LSTM</text>"), "{forest}");
    let chosen = driftless_report::paired::Pairs::parse("lstm:driftless").unwrap();
    let files = Report::with(&runs(), &chosen).unwrap();
    assert_eq!(file(&files, "paired.csv").lines().count(), 2);
}

/// A folder of records says what the runs said, but for what was not kept.
#[test]
fn records_take_the_place_of_runs() {
    let folder = std::env::temp_dir().join(format!("driftless-records-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut kept = Vec::new();
    for (index, run) in runs().iter().enumerate() {
        // In the order of the runs: sums over seeds are then the same to the last bit.
        let path = folder.join(format!("{}-{index:02}.json", run.name));
        fs::write(&path, run.record.as_ref().unwrap().to_json()).unwrap();
        kept.push(Run::of_record(&path).unwrap());
    }
    let (from_runs, from_records) = (Report::of(&runs()).unwrap(), Report::of(&kept).unwrap());
    for name in ["paired.csv", "overall.csv", "paired-house.svg"] {
        assert_eq!(file(&from_runs, name), file(&from_records, name), "{name}");
    }
    assert!(
        file(&from_records, "overall.csv").lines().nth(1).unwrap().starts_with("DRIFTLESS,house,10 %,3,36,")
    );
    assert!(file(&from_records, "time-house-10pct.svg").contains("DRIFTLESS"));
    let page = file(&from_records, "index.html");
    assert!(
        page.contains("class=\"big\"") && page.contains("all but its record"),
        "cards and what is missing"
    );
    fs::write(folder.join("0.json"), "{}").unwrap();
    let error = Run::of_record(folder.join("0.json")).unwrap_err().to_string();
    assert!(error.contains("0.json: is not a record of an evaluation: missing field"), "{error}");
    fs::remove_dir_all(&folder).unwrap();
}

/// A record of another evaluation is not shown beside this one.
#[test]
fn a_record_belongs_to_its_evaluation() {
    let folder = std::env::temp_dir().join(format!("driftless-record-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (one, other) = (run("lstm", 0.1, 1, 9.0), run("lstm", 0.1, 1, 8.0));
    fs::write(folder.join("evaluation.json"), one.evaluation.as_ref().unwrap().to_json()).unwrap();
    for (record, problems) in [(&one.record, 0), (&other.record, 1)] {
        fs::write(folder.join("record.json"), record.as_ref().unwrap().to_json()).unwrap();
        let read = Run::open(&folder).unwrap();
        assert_eq!(
            (read.record.is_some(), read.problems.len()),
            (problems == 0, problems),
            "{:?}",
            read.problems
        );
        assert_eq!(read.kept().unwrap().trajectories, one.record.as_ref().unwrap().trajectories);
    }
    fs::remove_dir_all(&folder).unwrap();
}
