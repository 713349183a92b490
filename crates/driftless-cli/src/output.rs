//! Printing results: a closed pipe (`driftless inspect ... | head`) is no error.

use anyhow::Result;
use driftless_world::files::Overwrite;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether another process prints all there is to say.
static SILENT: AtomicBool = AtomicBool::new(false);

/// From now on nothing is printed, or everything is.
pub fn silence(wanted: bool) {
    SILENT.store(wanted, Ordering::Relaxed);
}

/// Whether nothing is printed.
pub fn is_silent() -> bool {
    SILENT.load(Ordering::Relaxed)
}

/// Prints text to standard output.
pub fn print(text: &str) -> Result<()> {
    if is_silent() {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    match out.write_all(printable(text).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("cannot write to standard output"))
        }
        _ => Ok(()),
    }
}

/// What `--force` means.
pub fn overwrite(force: bool) -> Overwrite {
    if force { Overwrite::Replace } else { Overwrite::Refuse }
}

/// Prints a line to standard error. Nobody listening there is no reason to stop.
pub fn complain(line: &str) {
    if is_silent() {
        return;
    }
    let _ = writeln!(std::io::stderr(), "{}", printable(line));
}

/// Names and comments from files may hold escape sequences, which a terminal would obey.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// A path as a shell takes it: in quotes, if it holds anything that a shell would understand otherwise.
pub fn typed(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "_./-,=:@%+".contains(c);
    let dots = if text.starts_with('-') { "./" } else { "" };
    if !text.is_empty() && text.chars().all(plain) {
        return format!("{dots}{text}");
    }
    format!("'{dots}{}'", text.replace('\'', r"'\''"))
}

/// 12345678 as "12,345,678".
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size in bytes as people write it.
pub fn bytes(count: u64) -> String {
    let count = count as f64;
    match count {
        ..1e3 => format!("{count:.0} bytes"),
        ..1e6 => format!("{:.1} kB", count / 1e3),
        ..1e9 => format!("{:.1} MB", count / 1e6),
        ..1e12 => format!("{:.2} GB", count / 1e9),
        _ => format!("{:.2} TB", count / 1e12),
    }
}

/// Rows of cells in columns that stand below each other.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |k: usize| rows.iter().filter_map(|row| row.get(k)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|k| width(k).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// Seconds as people say them.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..100.0 => format!("{seconds:.0} s"),
        ..6000.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_defused() {
        assert_eq!(printable("a\u{1b}[31mb\n"), "a\u{fffd}[31mb\n");
    }

    #[test]
    fn a_shell_takes_what_is_typed() {
        let cases =
            [("runs/a-1", "runs/a-1"), ("my run", "'my run'"), ("it's", r"'it'\''s'"), ("-n", "./-n")];
        for (path, expected) in cases.into_iter().chain([("a;b", "'a;b'"), ("größe", "größe"), ("", "''")])
        {
            assert_eq!(typed(Path::new(path)), expected);
        }
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!([5.0, 150.0, 9000.0].map(duration), ["5 s", "2 min", "2.5 h"]);
        assert_eq!([0, 999, 1000, 12_345_678].map(grouped), ["0", "999", "1,000", "12,345,678"]);
        assert_eq!([7, 1500, 2_000_000].map(bytes), ["7 bytes", "1.5 kB", "2.0 MB"]);
    }
}
