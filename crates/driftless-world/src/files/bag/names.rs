//! What the names of topics tell.

use super::listing::Topic;
use crate::files::ros::Kind;

/// Whether a topic holds odometry.
pub fn is_odometry(topic: &Topic) -> bool {
    topic.kind().is_some_and(|(kind, _)| kind == Kind::Odometry)
}

/// Whether a topic's name holds one of some words.
pub fn says(topic: &Topic, words: &[&str]) -> bool {
    let name = topic.name.to_lowercase();
    words.iter().any(|word| name.contains(word))
}

/// The one topic for which something holds.
pub fn only<'a>(topics: &[&'a Topic], holds: impl Fn(&Topic) -> bool) -> Option<&'a Topic> {
    let mut found = topics.iter().filter(|topic| holds(topic));
    found.next().filter(|_| found.next().is_none()).copied()
}

/// The first part of a topic's name, which in bags with several robots is the robot.
pub fn space(name: &str) -> &str {
    name.trim_start_matches('/').split('/').next().unwrap_or_default()
}

/// Names with commas between.
pub fn names(topics: &[&Topic]) -> String {
    topics.iter().map(|topic| topic.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Letters to change, add or remove to get from one name to the other.
pub fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let best = (corner + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            corner = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row.last().copied().unwrap_or(0)
}
