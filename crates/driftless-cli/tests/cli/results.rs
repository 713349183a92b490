//! From runs to records, and from records to tables in pages.

use crate::terminal::{Folder, SMALL, read, run};
use driftless_report::Record;

fn text(path: &str) -> String {
    String::from_utf8(read(path)).unwrap()
}

/// Two methods with two seeds each, trained for a moment and evaluated.
fn runs(folder: &Folder) -> String {
    let (data, unseen) = (folder.recordings("a.npz", "1"), folder.recordings("b.npz", "2"));
    for method in ["driftless", "driftless-supervised"] {
        for seed in ["1", "2"] {
            let place = folder.path(&format!("runs/{method}-{seed}"));
            let (experiment, seed) = (format!("maze-{method}"), format!("seed={seed}"));
            let arguments = ["train", &experiment, "--train", &data, "--run", &place, "epochs=1", &seed];
            run(0, &[&arguments[..], &SMALL[..], &["label_fraction=0.25"]].concat());
            run(0, &["evaluate", &place, "--data", &unseen, "--play", "0"]);
        }
    }
    folder.path("runs")
}

const PAGE: &str = "# Results

<!-- table: records/*.json columns=seeds,rmse,median,success -->
<!-- end -->

<!-- table: records/*.json pairs=usual figures=steps-mean -->
<!-- end -->
";

#[test]
fn tables_of_pages_come_from_records() {
    let folder = Folder::new("results");
    let runs = runs(&folder);
    let records = folder.path("pages/records");
    let (told, _) = run(0, &["report", &runs, "--records", &records]);
    assert!(told.starts_with("4 records in "), "{told}");
    let path = format!("{records}/driftless-2-b.json");
    let record = Record::from_json(&text(&path)).unwrap();
    assert_eq!((record.len(), record.about.seed, record.provenance.filter_seed), (8, 2, 1));
    let expected = "driftless train maze-driftless --train a.npz batch_size=4 crop=16 epochs=1 label_fraction=0.25 \
                    particles=10 seed=2 trajectories=4";
    assert_eq!(record.provenance.commands[0], expected);
    assert!(text(&path).len() < 4096, "a few kilobytes");
    let (pages, page) = (folder.path("pages"), folder.path("pages/page.md"));
    std::fs::write(&page, PAGE).unwrap();
    let (_, error) = run(1, &["report", "--tables", &pages, "--check"]);
    assert!(
        error.contains("page.md: line 3: the table is not what its records say:\n+| method | seeds"),
        "{error}"
    );
    assert_eq!(text(&page), PAGE, "a check changes nothing");
    assert_eq!(run(0, &["report", "--tables", &pages]).0, "2 tables, 2 of them changed\n");
    let made = text(&page);
    assert!(made.contains("| Driftless, labels only | 2 | ") && made.contains("| 25 % | 2 | 8 | "), "{made}");
    assert_eq!(run(0, &["report", "--tables", &pages, "--check"]).0, "2 tables are what their records say\n");
    std::fs::write(
        &page,
        made.replacen("| Driftless, labels only | 2 |", "| Driftless, labels only | 3 |", 1),
    )
    .unwrap();
    let (_, error) = run(1, &["report", "--tables", &page, "--check"]);
    assert!(
        error.contains("\n-| Driftless, labels only | 3 |")
            && error.contains("\n+| Driftless, labels only | 2 |")
    );
    assert!(error.contains("1 of 2 tables"), "{error}");
    // A line above counts: what is wrong is named by page and line.
    std::fs::write(&page, format!("\n{PAGE}").replacen("rmse", "rsme", 1)).unwrap();
    let (_, error) = run(1, &["report", "--tables", &pages]);
    assert!(error.contains("page.md: line 4: \"rsme\" is no figure"), "{error}");
    let (_, error) = run(1, &["report", "--tables", &records]);
    assert!(error.contains("holds no page"), "{error}");
}

#[test]
fn a_report_of_records_says_what_that_of_runs_says() {
    let folder = Folder::new("records");
    let runs = runs(&folder);
    let (records, one, other) = (folder.path("records"), folder.path("one"), folder.path("other"));
    let (told, _) = run(0, &["report", &runs, "--out", &one, "--records", &records]);
    assert!(told.contains("On the same trajectories:") && told.contains("better on"), "{told}");
    run(0, &["report", &records, "--out", &other]);
    for name in ["paired.csv", "overall.csv", "paired-maze1.svg"] {
        assert_eq!(text(&format!("{one}/{name}")), text(&format!("{other}/{name}")), "{name}");
    }
    let single = format!("{records}/driftless-1-b.json");
    run(0, &["report", &single, "--out", &other]);
    assert!(text(&format!("{other}/index.html")).contains("Report on one run"));
    run(2, &["report", &runs, "--out", &other, "--pairs", "driftless"]);
    run(2, &["report", &runs]);
    run(2, &["report", &runs, "--out", &other, "--tables", &folder.path("")]);
    run(2, &["report", &runs, "--out", &other, "--check"]);
    let (_, error) = run(1, &["report", &runs, &format!("{runs}/driftless-1"), "--records", &records]);
    assert!(error.contains("another run of that name"), "{error}");
    std::fs::remove_file(format!("{runs}/driftless-1/record.json")).unwrap();
    let (_, error) = run(1, &["report", &runs, "--records", &records]);
    assert!(error.contains("driftless-1: has no record.json; `driftless evaluate` writes one"), "{error}");
    run(0, &["report", &runs, "--out", &one]);
}
