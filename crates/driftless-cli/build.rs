//! Makes a list of the experiments in `experiments/`, which become part of the program.

use std::fs;
use std::path::PathBuf;

fn main() {
    let variable = |name: &str| PathBuf::from(std::env::var_os(name).expect("cargo sets it"));
    let folder = variable("CARGO_MANIFEST_DIR").join("../../experiments");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(&folder).expect("the folder of experiments is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a name").path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "toml"));
    files.sort_by_key(|file| file.file_stem().map(ToOwned::to_owned));
    let line = |file: &PathBuf| {
        let (name, path) = (file.file_stem().expect("a name").to_string_lossy(), file.to_string_lossy());
        format!("    ({name:?}, include_str!({path:?})),\n")
    };
    let list: String = files.iter().map(line).collect();
    fs::write(variable("OUT_DIR").join("experiments.rs"), format!("&[\n{list}]\n"))
        .expect("it can be written");
}
