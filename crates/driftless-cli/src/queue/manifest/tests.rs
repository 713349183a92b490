use super::*;
use crate::queue::testing::{Folder, planned};
use crate::train::{experiment, experiments};

/// Every setting of every experiment comes back as it was.
#[test]
fn all_experiments_survive() {
    let folder = Folder::new();
    let with =
        |name: &str| Planned { experiment: experiment(name, &[]).unwrap(), ..planned(name, 0.1 + 0.2) };
    let runs: Vec<Planned> = experiments().map(with).collect();
    assert_eq!(plan(&folder.0, &runs).unwrap(), runs);
    assert_eq!(read(&folder.0).unwrap(), runs);
    assert_eq!(read_line(&folder.0, 2).unwrap(), runs[1]);
    let beyond = read_line(&folder.0, runs.len() + 1).unwrap_err().to_string();
    assert!(beyond.contains("no line") && read_line(&folder.0, 0).is_err(), "{beyond}");
}

/// Jobs that wait name runs by their lines.
#[test]
fn runs_keep_their_lines() {
    let folder = Folder::new();
    let ids = |runs: Vec<Planned>| runs.into_iter().map(|run| (run.id, run.seconds)).collect::<Vec<_>>();
    plan(&folder.0, &[planned("a", 1.0), planned("b", 2.0)]).unwrap();
    let all = plan(&folder.0, &[planned("c", 3.0), planned("a", 4.0)]).unwrap();
    let expected = [("a", 4.0), ("b", 2.0), ("c", 3.0)].map(|(id, seconds)| (id.to_owned(), seconds));
    assert_eq!(ids(all), expected);
    assert_eq!(ids(read(&folder.0).unwrap()), expected);
}

#[test]
fn changes_by_hand_are_noticed() {
    let folder = Folder::new();
    plan(&folder.0, &[planned("a", 1.0), planned("b", 2.0)]).unwrap();
    let path = folder.0.join(MANIFEST);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let wrong = |text: String| {
        fs::write(&path, text).unwrap();
        let error = read(&folder.0).unwrap_err().to_string();
        assert!(error.contains("manifest.jsonl") && error.contains("what is done"), "{error}");
        error
    };
    assert!(wrong(text.replacen("\"seed\":1", "\"seed\":7", 1)).contains("line 1: field check"));
    assert!(wrong(lines[1].to_owned()).contains("line 1: field line: is 2"));
    assert!(wrong(text[..text.len() - 9].to_owned()).contains("line 2: is no run: EOF"));
    assert!(
        wrong(text.replacen("\"experiment\"", "\"experimnt\"", 1))
            .contains("line 1: is no run: unknown field")
    );
    fs::write(&path, text).unwrap();
    assert!(read(&folder.0).is_ok());
}
