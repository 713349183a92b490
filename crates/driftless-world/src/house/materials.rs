//! What a house's surfaces look like and how brightly its rooms are lit.

use super::furniture::Finish;
use super::patterns::{Pattern, Surface, blend};
use super::plan::{HousePlan, Room, RoomKind};
use super::shape::Rect;
use crate::random::Random;

/// A room's surfaces and light.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomDecor {
    /// Walls on the sides of low x, high x, low y and high y.
    pub walls: [Surface; 4],
    /// Floor.
    pub floor: Surface,
    /// Ceiling.
    pub ceiling: Surface,
    /// A carpet lying on the floor.
    pub rug: Option<(Rect, Surface)>,
    /// Brightness of the room's light, about 1.
    pub brightness: f32,
}

/// The looks of a whole house.
#[derive(Clone, Debug, PartialEq)]
pub struct Decor {
    /// One entry a room, in the plan's order.
    pub rooms: Vec<RoomDecor>,
    /// Door frames and window frames.
    pub frame: Surface,
    /// Height of the rooms in metres.
    pub ceiling_height: f64,
    /// Height of door openings in metres.
    pub door_height: f64,
    /// Brightness of faces looking to -x, +x, -y and +y.
    pub faces: [f32; 4],
    /// Factor a colour channel: evening light is warm, northern light cold.
    pub light_colour: [f32; 3],
    furniture_seed: u64,
}

impl Decor {
    /// The looks of the house named by `seed`.
    pub fn draw(plan: &HousePlan, seed: u64) -> Self {
        let mut random = Random::stream(seed, 2);
        let warmth = random.range(-0.1, 0.14) as f32;
        let light_colour = [1.0 + warmth, 1.0 + 0.2 * warmth, 1.0 - warmth];
        let frame = [Pattern::Plain, Pattern::Grain][random.below(2)];
        let frame = if frame == Pattern::Plain {
            surface(frame, [225.0; 3], 1.0, &mut random)
        } else {
            wood(frame, 1.0, &mut random)
        };
        Self {
            rooms: plan.rooms.iter().map(|room| decorate(room, &mut random)).collect(),
            frame,
            ceiling_height: random.range(2.4, 2.9),
            door_height: random.range(1.98, 2.12),
            faces: std::array::from_fn(|_| random.range(0.82, 1.06) as f32),
            light_colour,
            furniture_seed: random.bits(),
        }
    }

    /// How furniture with this finish and tint looks in this house.
    pub fn finish(&self, finish: Finish, tint: u8) -> Surface {
        let mut random = Random::stream(self.furniture_seed, finish as u64 * 4 + u64::from(tint));
        let random = &mut random;
        match finish {
            Finish::Wood => wood(Pattern::Grain, 0.6, random),
            Finish::Paint => {
                let colour = colour(random, 0.3..0.85, 0.35..0.85);
                surface(Pattern::Plaster, colour, 0.8, random)
            }
            Finish::White => surface(Pattern::Plain, [228.0, 228.0, 224.0], 1.0, random),
            Finish::Fabric => {
                let colour = colour(random, 0.1..0.7, 0.25..0.8);
                surface(Pattern::Carpet, colour, 0.7, random)
            }
            Finish::Linen => surface(Pattern::Plaster, [222.0, 220.0, 212.0], 0.5, random),
            Finish::Metal => surface(Pattern::Plaster, [140.0, 144.0, 150.0], 0.5, random),
            Finish::Leaves => {
                let green = [random.range(30.0, 80.0) as f32, 120.0, random.range(30.0, 60.0) as f32];
                surface(Pattern::Foliage, green, 0.5, random)
            }
            Finish::Clay => surface(Pattern::Plaster, [168.0, 98.0, 66.0], 0.4, random),
            Finish::Lampshade => surface(Pattern::Plain, [250.0, 232.0, 190.0], 1.0, random),
            Finish::Books => surface(Pattern::Books, colour(random, 0.2..0.6, 0.3..0.7), 0.9, random),
            Finish::Screen => surface(Pattern::Plain, [26.0, 28.0, 34.0], 1.0, random),
            Finish::Stone => surface(Pattern::Marble, colour(random, 0.0..0.12, 0.3..0.85), 0.8, random),
        }
    }
}

/// A random colour with saturation and value in the given ranges.
pub(super) fn colour(
    random: &mut Random,
    saturation: std::ops::Range<f64>,
    value: std::ops::Range<f64>,
) -> [f32; 3] {
    let hue = random.range(0.0, 6.0);
    let saturation = random.range(saturation.start, saturation.end);
    let value = random.range(value.start, value.end) * 255.0;
    // Distance around the colour circle from red, green and blue.
    [0.0, 2.0, 4.0].map(|pure| {
        let apart = (hue - pure + 9.0_f64).rem_euclid(6.0) - 3.0;
        let share = (2.0 - apart.abs()).clamp(0.0, 1.0);
        (value * (1.0 - saturation * (1.0 - share))) as f32
    })
}

/// A surface of the given main colour; its second colour is darker or lighter.
pub(super) fn surface(pattern: Pattern, base: [f32; 3], tile: f32, random: &mut Random) -> Surface {
    let accent = if random.chance(0.7) {
        base.map(|c| c * random.range(0.5, 0.75) as f32)
    } else {
        blend(base, [245.0; 3], random.range(0.35, 0.7) as f32)
    };
    Surface { pattern, base, accent, tile, seed: random.bits() as u32 }
}

fn wood(pattern: Pattern, tile: f32, random: &mut Random) -> Surface {
    const WOODS: [[f32; 3]; 6] = [
        [196.0, 150.0, 98.0],
        [160.0, 108.0, 64.0],
        [110.0, 70.0, 44.0],
        [214.0, 180.0, 136.0],
        [140.0, 92.0, 70.0],
        [178.0, 160.0, 140.0],
    ];
    let base = WOODS[random.below(WOODS.len())];
    let accent = base.map(|c| c * 0.62);
    Surface { pattern, base, accent, tile, seed: random.bits() as u32 }
}

fn decorate(room: &Room, random: &mut Random) -> RoomDecor {
    let wall = wall(room.kind, random);
    let mut walls = [wall.clone(), wall.clone(), wall.clone(), wall];
    if random.chance(0.25) {
        let base = colour(random, 0.25..0.6, 0.45..0.85);
        walls[random.below(4)] = surface(Pattern::Plaster, base, 2.0, random);
    }
    let pale = colour(random, 0.0..0.05, 0.82..0.96);
    RoomDecor {
        walls,
        floor: floor(room.kind, random),
        ceiling: surface(Pattern::Plaster, pale, 3.0, random),
        rug: rug(room, random),
        brightness: random.range(0.72, 1.12) as f32,
    }
}

fn wall(kind: RoomKind, random: &mut Random) -> Surface {
    use Pattern as P;
    let choices: &[P] = match kind {
        RoomKind::Bathroom | RoomKind::Kitchen => &[P::Tiles, P::Plaster, P::Tiles, P::Marble],
        RoomKind::Storage => &[P::Bricks, P::Blocks, P::Plaster],
        RoomKind::Corridor => &[P::Plaster, P::Stripes, P::Panels, P::Bricks],
        _ => &[P::Plaster, P::Stripes, P::Dots, P::Panels, P::Bricks, P::Plaster, P::Marble, P::Plaster],
    };
    match choices[random.below(choices.len())] {
        P::Panels => wood(P::Panels, random.range(0.6, 1.0) as f32, random),
        P::Bricks => {
            let red = [random.range(120.0, 185.0) as f32, random.range(70.0, 110.0) as f32, 70.0];
            let base = if random.chance(0.6) { red } else { [172.0, 166.0, 156.0] };
            Surface { accent: [186.0, 180.0, 170.0], ..surface(P::Bricks, base, 1.0, random) }
        }
        P::Blocks => surface(P::Blocks, colour(random, 0.0..0.08, 0.4..0.65), 1.2, random),
        P::Tiles => surface(P::Tiles, colour(random, 0.05..0.35, 0.6..0.95), 0.8, random),
        P::Marble => surface(P::Marble, colour(random, 0.02..0.2, 0.6..0.85), 1.6, random),
        P::Stripes => surface(P::Stripes, colour(random, 0.1..0.4, 0.55..0.9), 0.8, random),
        P::Dots => surface(P::Dots, colour(random, 0.1..0.4, 0.55..0.9), 1.2, random),
        other => surface(other, colour(random, 0.03..0.32, 0.55..0.95), 2.0, random),
    }
}

fn floor(kind: RoomKind, random: &mut Random) -> Surface {
    use Pattern as P;
    let choices: &[P] = match kind {
        RoomKind::Bathroom | RoomKind::Kitchen => &[P::Tiles, P::Checks, P::Marble],
        RoomKind::Storage => &[P::Plaster, P::Tiles],
        RoomKind::Bedroom | RoomKind::Playroom => &[P::Carpet, P::Boards],
        _ => &[P::Boards, P::Boards, P::Tiles, P::Carpet, P::Marble],
    };
    match choices[random.below(choices.len())] {
        P::Boards => wood(P::Boards, random.range(1.0, 1.6) as f32, random),
        P::Carpet => surface(P::Carpet, colour(random, 0.1..0.5, 0.3..0.75), 1.2, random),
        P::Checks => {
            let dark = colour(random, 0.0..0.5, 0.1..0.45);
            Surface { accent: dark, ..surface(P::Checks, [222.0, 220.0, 212.0], 1.4, random) }
        }
        other => surface(other, colour(random, 0.03..0.25, 0.45..0.85), 1.6, random),
    }
}

/// A rug on whole decimetres, the floor grid of a scene.
fn rug(room: &Room, random: &mut Random) -> Option<(Rect, Surface)> {
    let roomy = room.floor.grown(-0.6);
    let wanted = !matches!(room.kind, RoomKind::Bathroom | RoomKind::Storage | RoomKind::Kitchen);
    if !wanted || roomy.size().iter().any(|&side| side < 1.6) || random.chance(0.45) {
        return None;
    }
    let half = roomy.size().map(|side| (0.5 * side * random.range(0.4, 0.8)).min(1.6));
    let centre = roomy.centre();
    let decimetres = |metres: f64| (metres * 10.0).round() / 10.0;
    let corner = |sign: f64| [0, 1].map(|k| decimetres(centre[k] + sign * half[k]));
    let pattern = [Pattern::Carpet, Pattern::Stripes, Pattern::Dots][random.below(3)];
    let base = colour(random, 0.3..0.75, 0.3..0.75);
    Some((Rect::new(corner(-1.0), corner(1.0)), surface(pattern, base, 0.8, random)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn colours_are_in_range_and_varied() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            let [r, g, b] = colour(&mut random, 0.2..0.5, 0.4..0.8);
            let (high, low) = (r.max(g).max(b), r.min(g).min(b));
            assert!((0.4..0.8001).contains(&(high / 255.0)), "{high}");
            assert!((0.1999..0.5001).contains(&(1.0 - low / high)), "{low} {high}");
        }
    }

    #[test]
    fn houses_and_rooms_look_different() {
        let looks: HashSet<String> = (0..40)
            .flat_map(|seed| Decor::draw(&HousePlan::generate(seed), seed).rooms)
            .map(|room| format!("{:?}{:?}", room.walls[0].pattern, room.floor.pattern))
            .collect();
        assert!(looks.len() >= 20, "only {} combinations", looks.len());
        let plan = HousePlan::generate(1);
        assert_eq!(Decor::draw(&plan, 1), Decor::draw(&plan, 1));
        assert_ne!(Decor::draw(&plan, 1), Decor::draw(&plan, 2));
    }
}
