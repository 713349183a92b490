//! Damaged drawings of mazes: always a maze or a message, never a panic.

use crate::survive::turn;
use driftless_world::maze::{Body, Layout};
use driftless_world::random::Random;

const DRAWINGS: [&str; 3] = [
    "name a\ncell 50\nsky 1 2 3\nsurface . wall blocks 1 2 3 floor mottled 4 5 6\n\n+---+---+\n|       |\n+---+---+\n",
    include_str!("../../src/maze/drawings/maze1.maze"),
    include_str!("../../src/maze/drawings/maze2.maze"),
];

/// Opens or closes a wall: still a drawing, perhaps with a gap or a letter too few.
fn rebuilt(drawing: &str, random: &mut Random) -> Vec<u8> {
    let at = random.below(drawing.len());
    let (old, new) = [("---", "   "), ("+   +", "+---+"), ("|", " "), ("   ", " A ")][random.below(4)];
    let rest = drawing[at..].replacen(old, new, 1);
    format!("{}{rest}", &drawing[..at]).into_bytes()
}

/// Flips, inserts, removes, repeats and moves bytes; half of the time with characters that mean
/// something in a drawing.
fn damaged(drawing: &str, random: &mut Random) -> Vec<u8> {
    const TELLING: &[u8] = b"+-| .A#\n\t0129\xc3\xa9";
    let mut bytes = drawing.as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len().max(1));
        let byte =
            if random.chance(0.5) { TELLING[random.below(TELLING.len())] } else { random.bits() as u8 };
        match random.below(5) {
            _ if bytes.is_empty() => bytes.push(byte),
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => drop(bytes.remove(at)),
            3 => bytes.truncate(at),
            _ => {
                let end = (at + random.below(60)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, part);
            }
        }
    }
    bytes
}

#[test]
fn thirty_thousand_damaged_drawings() {
    let _turn = turn();
    let mut random = Random::new(11);
    let (mut accepted, mut refused) = (0, 0);
    for number in 0..30_000 {
        let drawing = DRAWINGS[number % DRAWINGS.len()];
        let bytes =
            if number % 2 == 0 { damaged(drawing, &mut random) } else { rebuilt(drawing, &mut random) };
        match String::from_utf8_lossy(&bytes).parse::<Layout>() {
            Ok(layout) => {
                accepted += 1;
                assert_eq!(layout.to_string().parse::<Layout>().unwrap(), layout, "{layout}");
                // What is accepted must be closed: no ray may leave, no body may stand outside.
                let [width, height] = layout.extent();
                let far = layout.free_distance(width / 2.0, height / 2.0, random.range(-4.0, 4.0));
                assert!(far <= width.hypot(height));
                assert!(!Body::new(&layout).fits(0.0, 0.0));
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    // Both must happen often, or the damage is too small or too large to test anything.
    assert!(accepted > 3000 && refused > 3000, "{accepted} accepted, {refused} refused");
}
