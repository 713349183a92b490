//! The program `driftless`.

use std::process::ExitCode;

fn main() -> ExitCode {
    driftless_cli::command(std::env::args_os())
}
