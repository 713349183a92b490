//! A house as the renderer wants it: solids with materials, floor and ceiling, baked light.

use super::fixtures::{Fixture, hang};
use super::furniture::{Finish, Item};
use super::materials::{Decor, RoomDecor, colour, surface};
use super::patterns::{Pattern, Surface};
use super::plan::{Door, HousePlan};
use super::shape::{Footprint, Rect};
use crate::random::Random;
use crate::render::{self, Grid, Light, Material, MaterialId, Scene, SceneBuilder, Solid};
use std::collections::BTreeMap;

/// Side of the squares in which the renderer looks up solids.
const LOOKUP: f32 = 1.0;
/// Side of the squares of floor and ceiling; walls are at least as thick, and hide their borders.
const TILE: f64 = 0.1;
/// Texels of large surfaces and of furniture.
const TEXELS: (usize, usize) = (128, 64);
/// Pictures that differ within a house.
const PICTURES: usize = 4;

/// Builds the scene of the house named by `seed`.
pub fn build(plan: &HousePlan, items: &[Item], decor: &Decor, seed: u64) -> Scene {
    let mut stage = Stage { builder: SceneBuilder::new(), plan, decor, random: Random::stream(seed, 4) };
    let rooms: Vec<RoomMaterials> = decor.rooms.iter().map(|room| stage.room_materials(room)).collect();
    let frame = stage.material(&decor.frame, TEXELS.1);
    stage.walls(&rooms, frame);
    for door in &plan.doors {
        stage.door(door, &rooms, frame);
    }
    stage.fixtures(&hang(plan, seed), frame);
    stage.furniture(items);
    stage.lamps();
    let floor = squares(plan, |room, at| match (&decor.rooms[room].rug, rooms[room].rug) {
        (Some((rect, _)), Some(rug)) if rect.contains(at) => rug,
        _ => rooms[room].floor,
    });
    let ceiling = squares(plan, |room, _| rooms[room].ceiling);
    let height = decor.ceiling_height as f32;
    let extent = plan.extent.map(|side| side as f32);
    lit(stage.builder.build(extent, LOOKUP, (0.0, floor), (height, ceiling)), plan, decor)
}

/// Darker corners, brighter under the lamps, and every room with its own brightness.
fn lit(scene: Scene, plan: &HousePlan, decor: &Decor) -> Scene {
    let baked = Light::bake(&scene, 0.25, 1.5, 0.5);
    let light = baked.scaled(|x, y| {
        let at = [f64::from(x), f64::from(y)];
        let room = nearest_room(plan, at);
        let lamp = plan.rooms[room].floor.centre();
        let distance = (at[0] - lamp[0]).hypot(at[1] - lamp[1]) as f32;
        decor.rooms[room].brightness * (0.85 + 0.4 / (1.0 + (distance / 2.5).powi(2)))
    });
    scene.with_light(light.with_foot_shadow(0.3, 0.35).with_faces(decor.faces))
}

fn nearest_room(plan: &HousePlan, at: [f64; 2]) -> usize {
    let distance = |room: &usize| plan.rooms[*room].floor.distance(at);
    (0..plan.rooms.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
}

/// A material for each square of the plan, chosen by the nearest room and the square's centre.
fn squares(plan: &HousePlan, choose: impl Fn(usize, [f64; 2]) -> MaterialId) -> Grid<MaterialId> {
    let [columns, rows] = plan.extent.map(|side| (side / TILE).ceil() as usize);
    let centre = |square: usize| [square % columns, square / columns].map(|k| (k as f64 + 0.5) * TILE);
    let values = (0..columns * rows).map(centre).map(|at| choose(nearest_room(plan, at), at)).collect();
    Grid::new(TILE as f32, columns, rows, values)
}

/// The materials of one room.
struct RoomMaterials {
    walls: [MaterialId; 4],
    floor: MaterialId,
    ceiling: MaterialId,
    rug: Option<MaterialId>,
}

/// The scene while it is being put together.
struct Stage<'a> {
    builder: SceneBuilder,
    plan: &'a HousePlan,
    decor: &'a Decor,
    random: Random,
}

impl Stage<'_> {
    fn material(&mut self, surface: &Surface, texels: usize) -> MaterialId {
        let light = self.decor.light_colour;
        let tint = |c: [f32; 3]| std::array::from_fn(|k| c[k] * light[k]);
        let tinted = Surface { base: tint(surface.base), accent: tint(surface.accent), ..surface.clone() };
        self.builder.material(Material::new(tinted.texture(texels), surface.tile))
    }

    fn glowing(&mut self, colour: [f32; 3]) -> MaterialId {
        self.builder.material(Material::glowing(render::Texture::plain(colour), 1.0))
    }

    fn room_materials(&mut self, room: &RoomDecor) -> RoomMaterials {
        let common = self.material(&room.walls[0], TEXELS.0);
        let walls = [0, 1, 2, 3].map(|side| {
            let same = room.walls[side] == room.walls[0];
            if same { common } else { self.material(&room.walls[side], TEXELS.0) }
        });
        RoomMaterials {
            walls,
            floor: self.material(&room.floor, TEXELS.0),
            ceiling: self.material(&room.ceiling, TEXELS.1),
            rug: room.rug.as_ref().map(|(_, surface)| self.material(surface, TEXELS.1)),
        }
    }

    fn cuboid(&mut self, rect: &Rect, (bottom, top): (f64, f64), sides: [MaterialId; 4], cap: MaterialId) {
        let footprint =
            render::Footprint::Box { min: rect.min.map(|v| v as f32), max: rect.max.map(|v| v as f32) };
        self.builder.solid(Solid { footprint, bottom: bottom as f32, top: top as f32, sides, cap });
    }

    /// What the four faces of a part of a wall show: the paper of the room they look into.
    fn papers(&self, rect: &Rect, rooms: &[RoomMaterials], elsewhere: MaterialId) -> [MaterialId; 4] {
        let centre = rect.centre();
        [0, 1, 2, 3].map(|face: usize| {
            let (axis, high) = (face / 2, face % 2 == 1);
            let mut ahead = centre;
            ahead[axis] = if high { rect.max[axis] + 0.01 } else { rect.min[axis] - 0.01 };
            // A face that looks to +x is its room's wall at low x.
            let room = self.plan.room_at(ahead).map(|room| &rooms[usize::from(room.id) - 1]);
            room.map_or(elsewhere, |room| room.walls[2 * axis + usize::from(!high)])
        })
    }

    fn walls(&mut self, rooms: &[RoomMaterials], frame: MaterialId) {
        // Above the ceiling, so that rounding leaves no slit.
        let top = self.decor.ceiling_height + 0.1;
        for wall in &self.plan.walls {
            for part in parts(self.plan, wall) {
                let papers = self.papers(&part, rooms, frame);
                self.cuboid(&part, (-0.1, top), papers, frame);
            }
        }
    }

    /// The wall above an opening, and a frame around it on both sides.
    fn door(&mut self, door: &Door, rooms: &[RoomMaterials], frame: MaterialId) {
        const WIDTH: f64 = 0.07;
        let height = self.decor.door_height;
        let papers = self.papers(&door.gap, rooms, frame);
        self.cuboid(&door.gap, (height, self.decor.ceiling_height + 0.1), papers, frame);
        let across = usize::from(door.gap.size()[1] < door.gap.size()[0]);
        let along = 1 - across;
        let mut band = door.gap;
        band.min[across] -= super::fixtures::DEPTH;
        band.max[across] += super::fixtures::DEPTH;
        let (mut left, mut right) = (band, band);
        left.max[along] = band.min[along];
        left.min[along] -= WIDTH;
        right.min[along] = band.max[along];
        right.max[along] += WIDTH;
        for post in [left, right] {
            self.cuboid(&post, (0.0, height + WIDTH), [frame; 4], frame);
        }
        self.cuboid(&band, (height, height + WIDTH), [frame; 4], frame);
    }

    fn fixtures(&mut self, fixtures: &[Fixture], frame: MaterialId) {
        let cold = self.random.range(0.85, 1.0) as f32;
        let sky = self.glowing([205.0 * cold, 225.0, 245.0]);
        let pictures: Vec<MaterialId> = (0..PICTURES)
            .map(|_| {
                let base = colour(&mut self.random, 0.3..0.8, 0.4..0.9);
                let mut picture = surface(Pattern::Painting, base, 0.9, &mut self.random);
                picture.accent = colour(&mut self.random, 0.3..0.8, 0.2..0.7);
                self.material(&picture, TEXELS.1)
            })
            .collect();
        for fixture in fixtures {
            let (bottom, top) = (fixture.bottom, fixture.top);
            let inner = if fixture.is_window { sky } else { pictures[self.random.below(PICTURES)] };
            self.cuboid(&fixture.strip, (bottom, top), [frame; 4], frame);
            // The inside stands a millimetre proud of its frame; windows have two panes.
            let along = usize::from(fixture.strip.size()[1] > fixture.strip.size()[0]);
            let [low, high] = [fixture.strip.min[along] + 0.05, fixture.strip.max[along] - 0.05];
            let middle = 0.5 * (low + high);
            let panes = [(low, middle - 0.02), (middle + 0.02, high)];
            let panes = if fixture.is_window { panes } else { [(low, middle), (middle, high)] };
            for (from, to) in panes {
                let mut pane = fixture.strip.grown(0.001);
                pane.min[along] = from;
                pane.max[along] = to;
                self.cuboid(&pane, (bottom + 0.05, top - 0.05), [inner; 4], inner);
            }
        }
    }

    fn furniture(&mut self, items: &[Item]) {
        let mut known: BTreeMap<(Finish, u8), MaterialId> = BTreeMap::new();
        for item in items {
            for piece in &item.pieces {
                let material = *known.entry((piece.finish, item.tint)).or_insert_with(|| {
                    let surface = self.decor.finish(piece.finish, item.tint);
                    if piece.finish == Finish::Lampshade {
                        self.glowing(surface.base)
                    } else {
                        self.material(&surface, TEXELS.1)
                    }
                });
                let footprint = match piece.footprint {
                    Footprint::Box(rect) => render::Footprint::Box {
                        min: rect.min.map(|v| v as f32),
                        max: rect.max.map(|v| v as f32),
                    },
                    Footprint::Disc { centre, radius } => {
                        render::Footprint::Disc { centre: centre.map(|v| v as f32), radius: radius as f32 }
                    }
                };
                let (bottom, top) = (piece.bottom as f32, piece.top as f32);
                self.builder.solid(Solid { footprint, bottom, top, sides: [material; 4], cap: material });
            }
        }
    }

    /// A lamp under the ceiling in the middle of every room.
    fn lamps(&mut self) {
        let glow = self.glowing([252.0, 246.0, 226.0]);
        let height = self.decor.ceiling_height as f32;
        for room in &self.plan.rooms {
            let centre = room.floor.centre().map(|v| v as f32);
            let radius = self.random.range(0.15, 0.28) as f32;
            let footprint = render::Footprint::Disc { centre, radius };
            let bottom = height - self.random.range(0.06, 0.16) as f32;
            self.builder.solid(Solid { footprint, bottom, top: height, sides: [glow; 4], cap: glow });
        }
    }
}

/// A wall cut where rooms begin and end, so that each face looks into one room only.
fn parts(plan: &HousePlan, wall: &Rect) -> Vec<Rect> {
    let [xs, ys] = [0, 1].map(|axis| {
        let edges = plan.rooms.iter().flat_map(|room| [room.floor.min[axis], room.floor.max[axis]]);
        let inside = edges.filter(|&at| at > wall.min[axis] + 1e-6 && at < wall.max[axis] - 1e-6);
        let mut cuts: Vec<f64> = inside.chain([wall.min[axis], wall.max[axis]]).collect();
        cuts.sort_by(f64::total_cmp);
        cuts.dedup_by(|a, b| (*a - *b).abs() < 1e-6);
        cuts
    });
    let cells = xs.windows(2).flat_map(|x| ys.windows(2).map(move |y| (x, y)));
    cells.map(|(x, y)| Rect::new([x[0], y[0]], [x[1], y[1]])).collect()
}
