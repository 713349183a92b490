//! What a bag holds, as tables.

use crate::output::aligned;
use driftless_world::files::bag::{Heard, Listing, Topic};

/// Topics, frames, and what was strange.
pub fn text(listing: &Listing) -> String {
    let notes = noted(&listing.notes);
    let messages: u64 = listing.topics.iter().map(|topic| topic.heard.messages).sum();
    let head =
        format!("{} topics, {messages} messages, {:.1} s\n\n", listing.topics.len(), listing.seconds());
    format!("{head}{}{}{notes}", topics(listing), frames(listing))
}

/// A line for each note.
pub fn noted(notes: &[String]) -> String {
    notes.iter().fold(String::new(), |text, note| text + "note: " + note + "\n")
}

/// Rate and duration.
fn times(heard: &Heard) -> [String; 3] {
    let seconds = (heard.logged.1 - heard.logged.0).max(0.0);
    [heard.messages.to_string(), format!("{:.1} Hz", heard.rate()), format!("{seconds:.1} s")]
}

fn topics(listing: &Listing) -> String {
    let mut rows = vec![
        ["topic", "type", "encoding", "messages", "rate", "duration", "frame"].map(str::to_owned).to_vec(),
    ];
    let row = |topic: &Topic| {
        let frames = [topic.frames.join(", "), topic.children.join(", ")];
        let frames = frames.into_iter().filter(|names| !names.is_empty()).collect::<Vec<_>>().join("->");
        let named = [topic.name.clone(), topic.schema.clone(), topic.encoding.clone()];
        named.into_iter().chain(times(&topic.heard)).chain([frames]).collect()
    };
    rows.extend(listing.topics.iter().map(row));
    aligned(&rows)
}

fn frames(listing: &Listing) -> String {
    let mut rows = vec![["transform", "", "messages", "rate", "duration"].map(str::to_owned).to_vec()];
    for (parent, child, heard, moves) in listing.pairs() {
        let kind = if moves { "moves" } else { "fixed" };
        rows.push(
            [format!("tf:{parent}->{child}"), kind.to_owned()].into_iter().chain(times(heard)).collect(),
        );
    }
    if rows.len() > 1 { format!("\n{}", aligned(&rows)) } else { String::new() }
}
