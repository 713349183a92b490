//! The page on which robots are watched as they drive: what stays as it is. A server adds where they are.

use crate::report::{STYLE, ground_data};
use driftless_world::evaluation::Plan;
use serde_json::{Value, json};

/// The page: it asks for `live.css`, `live.js`, and then, again and again, for `live.json` and `robot/NUMBER.json`.
pub const PAGE: &str = include_str!("live/live.html");
/// Its script.
pub const SCRIPT: &str = include_str!("live/live.js");

/// Its style: that of reports, and a few lines more.
pub fn style() -> String {
    STYLE.to_owned() + include_str!("live/live.css")
}

/// What robots are drawn on, as the script reads it from `plan.json`.
pub fn plan_data(plan: &Plan) -> Value {
    json!({
        "low": plan.low,
        "high": plan.high,
        "walls": plan.walls,
        "unit": plan.unit,
        "ground": plan.ground.as_ref().map(ground_data),
        "marks": plan.marks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Robots may have any names: they are written as text, and nothing else is made of them.
    #[test]
    fn names_are_text() {
        for unsafe_way in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://", "https://"]
        {
            assert!(!SCRIPT.contains(unsafe_way) && !PAGE.contains(unsafe_way), "{unsafe_way}");
        }
        assert!(
            !PAGE.contains("style=") && !PAGE.contains("onclick"),
            "nothing that the page's policy forbids"
        );
    }
}
