//! Tables of a report as people read them on a terminal.

use crate::output::aligned;

/// Columns of the differences that fit on a terminal.
const SHOWN: [&str; 7] =
    ["method", "compared with", "world", "labels", "figure", "mean difference [95 % interval]", "better on"];

/// The cells of a table in Markdown, its head first.
pub fn cells(markdown: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| {
        let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
        inner.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let lines = markdown.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    lines.map(cells).collect()
}

/// On its side, for a table that has more columns than rows.
pub fn on_its_side(rows: &[Vec<String>]) -> String {
    let width = rows.first().map_or(0, Vec::len);
    let column = |k: usize| rows.iter().map(|row| row.get(k).cloned().unwrap_or_default()).collect();
    aligned(&(0..width).map(column).collect::<Vec<Vec<String>>>())
}

/// Differences between methods, one a line; nothing if there is none.
pub fn differences(rows: &[Vec<String>]) -> String {
    let [head, _, ..] = rows else { return String::new() };
    let shown: Vec<usize> =
        SHOWN.iter().filter_map(|name| head.iter().position(|known| known == name)).collect();
    let pick = |row: &Vec<String>| shown.iter().filter_map(|&k| row.get(k).cloned()).collect::<Vec<_>>();
    format!("\nOn the same trajectories:\n{}", aligned(&rows.iter().map(pick).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_for_a_terminal() {
        let rows = cells("| method | RMSE |\n|---|---|\n| SDPF | 1.2 ± 0.1 |\n| DPF | 3 |\n");
        assert_eq!(on_its_side(&rows), "method  SDPF       DPF\nRMSE    1.2 ± 0.1  3\n");
        let rows = cells("| method | seeds | better on |\n|---|---|---|\n| SDPF | 3 | 80 % |\n");
        assert_eq!(differences(&rows), "\nOn the same trajectories:\nmethod  better on\nSDPF    80 %\n");
        assert_eq!(differences(&rows[..1]), "");
    }
}
