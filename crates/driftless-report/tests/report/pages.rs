//! Tables in pages, made from records on disk.

use driftless_report::pages::renew;
use driftless_report::{Provenance, Record};
use driftless_world::{About, Evaluation, Pose, Track};
use std::fs;
use std::path::PathBuf;

/// A folder of its own with records, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("driftless-pages-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("records")).unwrap();
        Self(path)
    }

    /// Two trajectories of one step, off by `error` and `error + 2`.
    fn keep(&self, name: &str, error: f64, change: impl Fn(&mut Record)) {
        let track = |x: f64| Track::new(vec![Pose::default()], vec![Pose::new(x, 0.0, 0.0)]);
        let about = About { world: "house".into(), unit: "cm".into(), data: "t".into(), ..About::default() };
        let evaluation = Evaluation::of(about, [1.0; 3], &[track(error), track(error + 2.0)]).unwrap();
        let mut record = Record::of(&evaluation, Provenance::default());
        change(&mut record);
        fs::write(self.0.join("records").join(name), record.to_json()).unwrap();
    }

    /// Two methods, two seeds, two shares of labels; errors are told by all of them.
    fn filled(name: &str) -> Self {
        let folder = Self::new(name);
        for (m, method) in ["lstm", "driftless"].into_iter().enumerate() {
            for (l, labels) in [0.5, 0.05].into_iter().enumerate() {
                for seed in 1..=2_u32 {
                    let error = 100.0 - 40.0 * m as f64 + 20.0 * l as f64 + f64::from(seed);
                    folder.keep(&format!("{method}-{l}-{seed}.json"), error, |record| {
                        (record.about.method, record.about.label) = (method.into(), method.to_uppercase());
                        (record.about.label_fraction, record.about.seed) = (labels, u64::from(seed));
                        record.provenance.settings.insert("house.images".into(), "depth".into());
                    });
                }
            }
        }
        folder
    }

    fn table(&self, marker: &str) -> Result<String, String> {
        let page = format!("Words.\n\n<!-- table: records/*.json {marker} -->\n<!-- end -->\nMore.\n");
        let renewed = renew(&page, &self.0, &["driftless", "lstm"]).map_err(|error| error.to_string())?;
        let again = renew(&renewed.text, &self.0, &["driftless", "lstm"]).unwrap();
        assert_eq!(
            (again.text.as_str(), again.changes.len()),
            (renewed.text.as_str(), 0),
            "it stays as it is"
        );
        let inner = renewed.text.strip_prefix("Words.\n\n<!-- table: records/*.json ").unwrap();
        Ok(inner.split_once("-->\n").unwrap().1.strip_suffix("<!-- end -->\nMore.\n").unwrap().to_owned())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Means of trajectories are one above their first error. Seeds differ by 1: ± is a half.
#[test]
fn methods_by_shares_of_labels() {
    let folder = Folder::filled("shares");
    assert_eq!(
        folder.table("columns=label_fraction figures=mean").unwrap(),
        "| method | 5 % | 50 % |\n|---|---|---|\n\
         | DRIFTLESS | 82.5 ± 0.5 | 62.5 ± 0.5 |\n| LSTM | 122.5 ± 0.5 | 102.5 ± 0.5 |\n"
    );
    assert_eq!(
        folder
            .table("rows=label_fraction,method columns=seeds,trajectories,median,success method=lstm")
            .unwrap(),
        "| labels | method | seeds | trajectories | median RMSE of a trajectory, cm | success |\n|---|---|---|---|---|---|\n\
         | 5 % | LSTM | 2 | 2 | 122.5 ± 0.5 | 100.0 ± 0.0 % |\n| 50 % | LSTM | 2 | 2 | 102.5 ± 0.5 | 100.0 ± 0.0 % |\n"
    );
    // One seed: ± is over its two trajectories, which are 2 apart.
    let one = folder.table("columns=mean seed=1 label_fraction=0.05 house.images=depth").unwrap();
    assert!(one.ends_with("| DRIFTLESS | 82.0 ± 1.0 |\n| LSTM | 122.0 ± 1.0 |\n"), "{one}");
}

#[test]
fn differences_pair_by_pair() {
    let folder = Folder::filled("pairs");
    assert_eq!(
        folder.table("pairs=usual figures=rmse,success").unwrap(),
        "| method | compared with | labels | seeds | trajectories \
         | difference of RMSE over all steps, cm [95 % interval] | better on \
         | difference of success, points [95 % interval] | better on |\n|---|---|---|---|---|---|---|---|---|\n\
         | DRIFTLESS | LSTM | 5 % | 2 | 2 | -40.0 [-40.0, -40.0] | 100.0 % | 0.0 [0.0, 0.0] | 0.0 % |\n\
         | DRIFTLESS | LSTM | 50 % | 2 | 2 | -40.0 [-40.0, -40.0] | 100.0 % | 0.0 [0.0, 0.0] | 0.0 % |\n"
    );
    let error = folder.table("pairs=sdpf:lstm").unwrap_err();
    assert_eq!(error, "line 3: no two methods of these pairs have records that can be compared");
}

/// Makes a record another.
type Alter = fn(&mut Record);

/// What would be averaged or compared without a reader knowing is refused.
#[test]
fn unlike_records_are_not_mixed() {
    let folder = Folder::filled("unlike");
    let error = folder.table("columns=mean").unwrap_err();
    assert!(
        error.starts_with("line 3: driftless-0-1 has label_fraction 0.5, driftless-1-1 has 0.05: choose"),
        "{error}"
    );
    let with = |change: Alter| {
        folder.keep("other.json", 7.0, |record| {
            (record.about.method, record.about.label) = ("dpf".into(), "DPF".into());
            (record.about.label_fraction, record.about.seed) = (0.5, 1);
            record.provenance.settings.insert("house.images".into(), "depth".into());
            change(record);
        });
        folder.table("columns=label_fraction figures=mean")
    };
    assert!(with(|_| {}).unwrap().ends_with("| DPF | – | 8.0 ± 1.0 |\n"));
    assert!(
        with(|record| record.about.data_fingerprint = "1-2".into()).is_ok(),
        "contents unknown, the same name"
    );
    let refused: [(Alter, &str); 4] = [
        (rgb, "has house.images depth, other has rgb: choose with house.images=VALUE"),
        (|record| record.about.data = "u".into(), "has data t, other has u"),
        (|record| record.provenance.filter_seed = 9, "has filter_seed 0, other has 9"),
        (|record| record.about.label = "LSTM".into(), "has method lstm, other has dpf"),
    ];
    for (change, words) in refused {
        let error = with(change).unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
}

fn rgb(record: &mut Record) {
    record.provenance.settings.insert("house.images".into(), "rgb".into());
}

#[test]
fn a_seed_counts_once() {
    let folder = Folder::filled("twice");
    fs::copy(folder.0.join("records/lstm-0-1.json"), folder.0.join("records/other.json")).unwrap();
    let error = folder.table("columns=label_fraction figures=mean").unwrap_err();
    assert_eq!(error, "line 3: lstm-0-1 and other are of the same seed and settings");
}

#[test]
fn mistakes_in_markers_are_said_with_what_there_is() {
    let folder = Folder::filled("mistakes");
    let error = |marker: &str| folder.table(marker).unwrap_err();
    assert!(error("house.image=depth").contains("no record has \"house.image\"; there is data, experiment"));
    assert!(error("house.image=depth").contains("house.images"));
    assert_eq!(error("house.images=rgb"), "line 3: no record fits, of 8 in these files");
    assert!(error("rows=colour").contains("no record has \"colour\""));
    fs::write(folder.0.join("records/a.json"), "{}").unwrap();
    assert!(error("").contains("records/a.json: is not a record of an evaluation"));
    let none = renew("<!-- table: elsewhere/*.json -->\n<!-- end -->\n", &folder.0, &[]).unwrap_err();
    assert!(none.to_string().contains("elsewhere: cannot read"), "{none}");
}

/// Records of real runs, and a page that was made from them: both stay as they are, to the last byte.
#[test]
fn kept_records_give_the_tables_that_stand_beside_them() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/kept");
    let page = fs::read_to_string(folder.join("page.md")).unwrap();
    let renewed =
        renew(&page, &folder, &["driftless", "driftless-supervised", "lstm", "odometry", "classical"])
            .unwrap();
    let diffs: Vec<String> = renewed.changes.iter().map(driftless_report::pages::Change::diff).collect();
    assert_eq!((renewed.tables, diffs.concat().as_str()), (6, ""));
    for world in ["maze", "house"] {
        for entry in fs::read_dir(folder.join("records").join(world)).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            assert_eq!(Record::from_json(&text).unwrap().to_json(), text);
        }
    }
}
