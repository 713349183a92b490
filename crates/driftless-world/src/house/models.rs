//! How each kind of furniture is put together, in its own coordinates (see [`super::furniture`]).

use super::furniture::{Finish, ItemKind, Piece};
use super::shape::{Footprint, Rect};
use crate::random::Random;

/// The pieces of a model with random proportions.
pub(super) fn build(kind: ItemKind, random: &mut Random) -> Vec<Piece> {
    let mut parts = Parts(Vec::new());
    match kind {
        ItemKind::Bed => bed(&mut parts, random),
        ItemKind::Sofa => seat(&mut parts, random.range(1.6, 2.3), random),
        ItemKind::Armchair => seat(&mut parts, random.range(0.8, 0.95), random),
        ItemKind::Table => {
            let size = [random.range(0.7, 1.2), random.range(0.5, 0.8)];
            parts.table([0.0, size[1] / 2.0], size, random.range(0.4, 0.5));
        }
        ItemKind::DiningSet => dining_set(&mut parts, random),
        ItemKind::Chair => parts.chair([0.0, 0.22], 2),
        ItemKind::Cupboard => cupboard(&mut parts, random),
        ItemKind::Shelf => shelf(&mut parts, random),
        ItemKind::Desk => desk(&mut parts, random),
        ItemKind::Plant => plant(&mut parts, random),
        ItemKind::Lamp => lamp(&mut parts, random),
        ItemKind::Television => television(&mut parts, random),
        ItemKind::Counter => counter(&mut parts, random),
        ItemKind::Refrigerator => refrigerator(&mut parts, random),
        ItemKind::Bathtub => bathtub(&mut parts),
        ItemKind::Basin => basin(&mut parts),
        ItemKind::Toilet => toilet(&mut parts),
        ItemKind::Crates => crates(&mut parts, random),
        ItemKind::Toys => toys(&mut parts, random),
    }
    parts.0
}

/// Pieces of a model being built.
struct Parts(Vec<Piece>);

impl Parts {
    /// A box from `x.0` to `x.1`, `y.0` to `y.1`, `z.0` to `z.1`.
    fn cuboid(&mut self, x: (f64, f64), y: (f64, f64), z: (f64, f64), finish: Finish) {
        let footprint = Footprint::Box(Rect::new([x.0, y.0], [x.1, y.1]));
        self.0.push(Piece { footprint, bottom: z.0, top: z.1, finish });
    }

    /// A cylinder.
    fn disc(&mut self, centre: [f64; 2], radius: f64, z: (f64, f64), finish: Finish) {
        let footprint = Footprint::Disc { centre, radius };
        self.0.push(Piece { footprint, bottom: z.0, top: z.1, finish });
    }

    /// A board on four legs.
    fn table(&mut self, centre: [f64; 2], size: [f64; 2], height: f64) {
        let [w, d] = [size[0] / 2.0, size[1] / 2.0];
        let [x, y] = centre;
        self.cuboid((x - w, x + w), (y - d, y + d), (height - 0.05, height), Finish::Wood);
        for (sx, sy) in [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)] {
            let (lx, ly) = (x + sx * (w - 0.05), y + sy * (d - 0.05));
            let leg = |at: f64| (at - 0.035, at + 0.035);
            self.cuboid(leg(lx), leg(ly), (0.0, height - 0.05), Finish::Wood);
        }
    }

    /// A chair with its back on side 0..4: -x, +x, -y, +y.
    fn chair(&mut self, [x, y]: [f64; 2], back: usize) {
        self.cuboid((x - 0.21, x + 0.21), (y - 0.21, y + 0.21), (0.4, 0.47), Finish::Fabric);
        for (sx, sy) in [(-0.17, -0.17), (0.17, -0.17), (-0.17, 0.17), (0.17, 0.17)] {
            self.disc([x + sx, y + sy], 0.025, (0.0, 0.4), Finish::Wood);
        }
        let (bx, by) = match back {
            0 => ((x - 0.22, x - 0.17), (y - 0.21, y + 0.21)),
            1 => ((x + 0.17, x + 0.22), (y - 0.21, y + 0.21)),
            2 => ((x - 0.21, x + 0.21), (y - 0.22, y - 0.17)),
            _ => ((x - 0.21, x + 0.21), (y + 0.17, y + 0.22)),
        };
        self.cuboid(bx, by, (0.47, 0.95), Finish::Wood);
    }
}

fn bed(parts: &mut Parts, random: &mut Random) {
    let (w, d) = (random.range(0.9, 1.8) / 2.0, 2.05);
    parts.cuboid((-w, w), (0.0, d), (0.0, 0.3), Finish::Wood);
    parts.cuboid((-w + 0.03, w - 0.03), (0.06, d - 0.03), (0.3, 0.52), Finish::Fabric);
    parts.cuboid((-w, w), (0.0, 0.06), (0.3, random.range(0.8, 1.2)), Finish::Wood);
    let pillows: &[f64] = if w > 0.65 { &[-0.5, 0.5] } else { &[0.0] };
    for at in pillows {
        let x = at * w;
        parts.cuboid((x - 0.3, x + 0.3), (0.1, 0.5), (0.52, 0.62), Finish::Linen);
    }
}

fn seat(parts: &mut Parts, width: f64, random: &mut Random) {
    let (w, d) = (width / 2.0, random.range(0.8, 0.95));
    parts.cuboid((-w + 0.15, w - 0.15), (0.2, d), (0.08, 0.43), Finish::Fabric);
    parts.cuboid((-w, w), (0.0, 0.2), (0.05, random.range(0.75, 0.95)), Finish::Fabric);
    for x in [(-w, -w + 0.15), (w - 0.15, w)] {
        parts.cuboid(x, (0.2, d), (0.05, 0.6), Finish::Fabric);
    }
}

fn dining_set(parts: &mut Parts, random: &mut Random) {
    let pairs = 1 + random.below(3);
    let size = [0.7 * pairs as f64 + 0.5, random.range(0.8, 1.0)];
    parts.table([0.0, 0.0], size, 0.74);
    for i in 0..pairs {
        let x = 0.7 * (i as f64 - 0.5 * (pairs as f64 - 1.0));
        parts.chair([x, -size[1] / 2.0 - 0.1], 2);
        parts.chair([x, size[1] / 2.0 + 0.1], 3);
    }
    if random.chance(0.5) {
        parts.disc([0.0, 0.0], 0.09, (0.74, 0.92), Finish::Clay);
        parts.disc([0.0, 0.0], 0.16, (0.92, 1.15), Finish::Leaves);
    }
}

fn cupboard(parts: &mut Parts, random: &mut Random) {
    let (w, d) = (random.range(0.8, 2.0) / 2.0, random.range(0.4, 0.6));
    let height = random.range(0.9, 2.1);
    let finish = [Finish::Wood, Finish::Paint, Finish::White][random.below(3)];
    parts.cuboid((-w, w), (0.0, d - 0.03), (0.0, height), finish);
    // Doors stand out a little, with a dark gap between them.
    let doors = (2.0 * w / 0.5).round();
    for i in 0..doors as usize {
        let from = -w + 2.0 * w * i as f64 / doors;
        let to = from + 2.0 * w / doors;
        parts.cuboid((from + 0.02, to - 0.02), (d - 0.03, d), (0.08, height - 0.04), finish);
    }
}

fn shelf(parts: &mut Parts, random: &mut Random) {
    let (w, d) = (random.range(0.7, 1.4) / 2.0, random.range(0.28, 0.38));
    let boards = 3 + random.below(4);
    let height = 0.36 * boards as f64;
    parts.cuboid((-w, w), (0.0, 0.02), (0.0, height), Finish::Wood);
    for x in [(-w, -w + 0.03), (w - 0.03, w)] {
        parts.cuboid(x, (0.02, d), (0.0, height), Finish::Wood);
    }
    for i in 0..=boards {
        let z = (height - 0.03) * i as f64 / boards as f64;
        parts.cuboid((-w + 0.03, w - 0.03), (0.02, d), (z, z + 0.03), Finish::Wood);
        if i < boards && random.chance(0.75) {
            let end = random.range(-0.3, 1.0) * (w - 0.05);
            parts.cuboid((-w + 0.04, end), (0.02, d - 0.07), (z + 0.03, z + 0.28), Finish::Books);
        }
    }
}

fn desk(parts: &mut Parts, random: &mut Random) {
    let (w, d) = (random.range(1.2, 1.7), random.range(0.6, 0.8));
    parts.table([0.0, d / 2.0], [w, d], 0.74);
    parts.cuboid((w / 2.0 - 0.45, w / 2.0 - 0.06), (0.06, d - 0.06), (0.08, 0.69), Finish::Paint);
    parts.cuboid((-0.3, 0.3), (0.12, 0.16), (0.84, 1.2), Finish::Screen);
    parts.cuboid((-0.04, 0.04), (0.12, 0.16), (0.74, 0.84), Finish::Metal);
    parts.chair([-0.15, d + 0.15], 3);
}

fn plant(parts: &mut Parts, random: &mut Random) {
    let (r, height) = (random.range(0.14, 0.22), random.range(0.7, 1.6));
    parts.disc([0.0, 0.3], r, (0.0, 0.32), Finish::Clay);
    parts.disc([0.0, 0.3], 0.03, (0.32, 0.5 * height + 0.2), Finish::Wood);
    parts.disc([0.0, 0.3], 0.28, (0.4 * height + 0.1, 0.8 * height), Finish::Leaves);
    parts.disc([0.0, 0.3], 0.19, (0.8 * height, height), Finish::Leaves);
}

fn lamp(parts: &mut Parts, random: &mut Random) {
    let height = random.range(1.3, 1.7);
    parts.disc([0.0, 0.22], 0.16, (0.0, 0.03), Finish::Metal);
    parts.disc([0.0, 0.22], 0.02, (0.03, height - 0.25), Finish::Metal);
    parts.disc([0.0, 0.22], 0.2, (height - 0.28, height), Finish::Lampshade);
}

fn television(parts: &mut Parts, random: &mut Random) {
    let w = random.range(1.2, 1.8) / 2.0;
    parts.cuboid((-w, w), (0.0, 0.42), (0.0, 0.45), Finish::Wood);
    parts.cuboid((-0.15, 0.15), (0.15, 0.25), (0.45, 0.52), Finish::Metal);
    parts.cuboid((-w + 0.1, w - 0.1), (0.17, 0.22), (0.52, 0.52 + 1.1 * w), Finish::Screen);
}

fn counter(parts: &mut Parts, random: &mut Random) {
    let w = random.range(1.6, 3.0) / 2.0;
    parts.cuboid((-w, w), (0.0, 0.58), (0.1, 0.86), Finish::Paint);
    parts.cuboid((-w, w), (0.0, 0.53), (0.0, 0.1), Finish::Metal);
    parts.cuboid((-w, w), (0.0, 0.62), (0.86, 0.9), Finish::Stone);
    parts.cuboid((-w, w), (0.0, 0.35), (1.4, 2.05), Finish::Paint);
}

fn refrigerator(parts: &mut Parts, random: &mut Random) {
    let finish = [Finish::White, Finish::Metal][random.below(2)];
    parts.cuboid((-0.32, 0.32), (0.0, 0.62), (0.0, 0.6), finish);
    parts.cuboid((-0.32, 0.32), (0.0, 0.6), (0.6, 0.62), Finish::Screen);
    parts.cuboid((-0.32, 0.32), (0.0, 0.62), (0.62, 1.8), finish);
}

fn bathtub(parts: &mut Parts) {
    parts.cuboid((-0.85, 0.85), (0.0, 0.08), (0.0, 0.56), Finish::White);
    parts.cuboid((-0.85, 0.85), (0.68, 0.76), (0.0, 0.56), Finish::White);
    parts.cuboid((-0.85, -0.77), (0.08, 0.68), (0.0, 0.56), Finish::White);
    parts.cuboid((0.77, 0.85), (0.08, 0.68), (0.0, 0.56), Finish::White);
    parts.cuboid((-0.77, 0.77), (0.08, 0.68), (0.0, 0.2), Finish::Stone);
    parts.disc([-0.7, 0.04], 0.03, (0.56, 0.75), Finish::Metal);
}

fn basin(parts: &mut Parts) {
    parts.disc([0.0, 0.22], 0.09, (0.0, 0.7), Finish::White);
    parts.cuboid((-0.28, 0.28), (0.0, 0.45), (0.7, 0.85), Finish::White);
    parts.cuboid((-0.3, 0.3), (0.0, 0.02), (1.15, 1.85), Finish::Metal);
}

fn toilet(parts: &mut Parts) {
    parts.cuboid((-0.2, 0.2), (0.0, 0.18), (0.35, 0.8), Finish::White);
    parts.disc([0.0, 0.4], 0.14, (0.0, 0.35), Finish::White);
    parts.disc([0.0, 0.4], 0.21, (0.35, 0.43), Finish::White);
}

fn crates(parts: &mut Parts, random: &mut Random) {
    let mut x = -0.6;
    while x < 0.4 {
        let side = random.range(0.35, 0.6);
        let height = random.range(0.3, 0.55);
        let finish = [Finish::Wood, Finish::Paint, Finish::Clay][random.below(3)];
        parts.cuboid((x, x + side), (0.0, side), (0.0, height), finish);
        if random.chance(0.5) {
            let top = height + random.range(0.2, 0.4);
            parts.cuboid((x + 0.03, x + side - 0.05), (0.02, side - 0.06), (height, top), Finish::Paint);
        }
        x += side + 0.02;
    }
}

fn toys(parts: &mut Parts, random: &mut Random) {
    parts.table([0.0, 0.3], [0.8, 0.6], 0.45);
    parts.disc([0.75, 0.3], 0.16, (0.0, 0.3), Finish::Paint);
    parts.disc([-0.7, 0.35], 0.14, (0.0, 0.28), Finish::Fabric);
    parts.cuboid((-0.2, 0.0), (0.2, 0.4), (0.45, 0.45 + random.range(0.1, 0.3)), Finish::Paint);
}
