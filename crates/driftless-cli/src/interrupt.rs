//! Ctrl-C and friends: work stops at the next opportunity, and what is half-written is removed.
//!
//! A flag that loops look at, rather than an exit in the handler: returning normally runs the
//! destructors that remove temporary files. A second signal ends the process at once, and removes them too.

use crate::output::complain;
use anyhow::{Result, bail};
use driftless_world::files::abandon_all;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// 128 + SIGINT, as shells report it.
pub const EXIT_CODE: u8 = 130;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static ANSWER: OnceLock<&str> = OnceLock::new();

/// From now on, SIGINT, SIGTERM and SIGHUP raise the flag.
pub fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            abandon_all();
            std::process::exit(i32::from(EXIT_CODE));
        }
        if let Some(answer) = ANSWER.get() {
            complain(answer);
        }
    })?;
    Ok(())
}

/// What to say at once when somebody asks to stop: for work that stops late.
pub fn answer(words: &'static str) {
    // The first to set it is the work that goes on now.
    let _ = ANSWER.set(words);
}

/// Asks to stop, as a signal would.
pub fn raise() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// True if somebody asked to stop.
pub fn happened() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// An error if somebody asked to stop.
pub fn check() -> Result<()> {
    if happened() {
        bail!("interrupted; nothing was written");
    }
    Ok(())
}
