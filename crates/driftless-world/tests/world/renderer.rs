//! The renderer against an independent one: every pixel's line of sight, in space, against every solid.

use driftless_world::random::Random;
use driftless_world::render::{
    Camera, Eye, Footprint, Grid, Material, Renderer, Scene, SceneBuilder, Solid, Texture,
};

const FLOOR: f32 = 0.1;
const CEILING: f32 = 2.6;
const SIDE: f32 = 10.0;

fn random_solids(random: &mut Random) -> Vec<(Footprint, f32, f32)> {
    let mut solids = vec![
        (Footprint::Box { min: [-0.1, -0.1], max: [0.1, SIDE + 0.1] }, 0.0, 3.0),
        (Footprint::Box { min: [SIDE - 0.1, -0.1], max: [SIDE + 0.1, SIDE + 0.1] }, 0.0, 3.0),
        (Footprint::Box { min: [-0.1, -0.1], max: [SIDE + 0.1, 0.1] }, 0.0, 3.0),
        (Footprint::Box { min: [-0.1, SIDE - 0.1], max: [SIDE + 0.1, SIDE + 0.1] }, 0.0, 3.0),
    ];
    for _ in 0..25 {
        let at = [0, 1].map(|_| random.range(0.5, 9.5) as f32);
        let bottom = if random.chance(0.5) { 0.0 } else { random.range(0.3, 2.0) as f32 };
        let top = if random.chance(0.2) { 3.0 } else { bottom + random.range(0.05, 1.2) as f32 };
        let footprint = if random.chance(0.7) {
            Footprint::Box { min: at, max: at.map(|c| c + random.range(0.05, 1.5) as f32) }
        } else {
            Footprint::Disc { centre: at, radius: random.range(0.05, 0.5) as f32 }
        };
        solids.push((footprint, bottom, top));
    }
    solids
}

fn scene(solids: &[(Footprint, f32, f32)]) -> Scene {
    let mut builder = SceneBuilder::new();
    let plain = builder.material(Material::new(Texture::plain([200.0, 100.0, 50.0]), 1.0));
    for &(footprint, bottom, top) in solids {
        builder.solid(Solid { footprint, bottom, top, sides: [plain; 4], cap: plain });
    }
    builder.build([SIDE, SIDE], 1.3, (FLOOR, Grid::uniform(plain)), (CEILING, Grid::uniform(plain)))
}

/// Depth by brute force in f64: no grid, no columns, three slabs a box.
fn depth_by_brute_force(solids: &[(Footprint, f32, f32)], eye: Eye, direction: [f64; 3]) -> f64 {
    let origin = [eye.x, eye.y, eye.z].map(f64::from);
    let level = if direction[2] < 0.0 { FLOOR } else { CEILING };
    let mut best = (f64::from(level) - origin[2]) / direction[2];
    for &(footprint, bottom, top) in solids {
        let height = slab(origin[2], direction[2], f64::from(bottom), f64::from(top));
        let plan = match footprint {
            Footprint::Box { min, max } => {
                let x = slab(origin[0], direction[0], f64::from(min[0]), f64::from(max[0]));
                let y = slab(origin[1], direction[1], f64::from(min[1]), f64::from(max[1]));
                (x.0.max(y.0), x.1.min(y.1))
            }
            Footprint::Disc { centre, radius } => disc(origin, direction, centre, f64::from(radius)),
        };
        // A solid that stands around the eye is not drawn by design.
        let (near, far) = (plan.0.max(height.0), plan.1.min(height.1));
        if plan.0 > 0.0 && near < far && near < best {
            best = near;
        }
    }
    best
}

fn slab(origin: f64, direction: f64, low: f64, high: f64) -> (f64, f64) {
    let (a, b) = ((low - origin) / direction, (high - origin) / direction);
    (a.min(b), a.max(b))
}

fn disc(origin: [f64; 3], direction: [f64; 3], centre: [f32; 2], radius: f64) -> (f64, f64) {
    let [ox, oy] = [origin[0] - f64::from(centre[0]), origin[1] - f64::from(centre[1])];
    let a = direction[0].powi(2) + direction[1].powi(2);
    let b = 2.0 * (ox * direction[0] + oy * direction[1]);
    let root = (b * b - 4.0 * a * (ox * ox + oy * oy - radius * radius)).sqrt();
    if root.is_nan() {
        (f64::INFINITY, f64::NEG_INFINITY)
    } else {
        ((-b - root) / (2.0 * a), (-b + root) / (2.0 * a))
    }
}

#[test]
fn depth_agrees_with_brute_force_in_space() {
    let mut random = Random::new(3);
    let camera = Camera::new(31, 24, 75.0);
    let (mut wrong, mut total) = (0, 0);
    for _ in 0..60 {
        let solids = random_solids(&mut random);
        let scene = scene(&solids);
        let eye = Eye {
            x: random.range(0.5, 9.5) as f32,
            y: random.range(0.5, 9.5) as f32,
            z: random.range(0.3, 2.4) as f32,
            heading: random.range(-4.0, 4.0) as f32,
        };
        let (mut rgb, mut depth) = (vec![0; 31 * 24 * 3], vec![0.0; 31 * 24]);
        Renderer::new(&scene, camera).render(eye, &mut rgb, &mut depth);
        for (at, &depth) in depth.iter().enumerate() {
            let tangent = f64::from(camera.tan_half_view);
            let side = tangent * (31.0 / 24.0) * (2.0 * ((at % 31) as f64 + 0.5) / 31.0 - 1.0);
            let slope = tangent * (1.0 - 2.0 * ((at / 31) as f64 + 0.5) / 24.0);
            let (sin, cos) = f64::from(eye.heading).sin_cos();
            let truth = depth_by_brute_force(&solids, eye, [cos + side * sin, sin - side * cos, slope]);
            total += 1;
            // f32 against f64: a ray that grazes an edge may pass on the other side of it.
            wrong += usize::from((f64::from(depth) - truth).abs() > 1e-3 * truth);
        }
    }
    assert!(wrong * 2000 < total, "{wrong} of {total} pixels differ");
}

#[test]
fn colours_are_close_to_a_finely_sampled_image() {
    let mut random = Random::new(5);
    let mut builder = SceneBuilder::new();
    let checks =
        |u: f32, v: f32| [if ((u * 8.0) as i32 + (v * 8.0) as i32) % 2 == 0 { 220.0 } else { 40.0 }; 3];
    let board = builder.material(Material::new(Texture::paint(128, checks), 1.0));
    for (footprint, bottom, top) in random_solids(&mut random) {
        builder.solid(Solid { footprint, bottom, top, sides: [board; 4], cap: board });
    }
    let scene =
        builder.build([SIDE, SIDE], 1.0, (FLOOR, Grid::uniform(board)), (CEILING, Grid::uniform(board)));
    let eye = Eye { x: 5.0, y: 5.0, z: 1.0, heading: 0.4 };
    let draw = |samples| {
        let (mut rgb, mut depth) = (vec![0; 32 * 32 * 3], vec![0.0; 32 * 32]);
        Renderer::new(&scene, Camera { samples, ..Camera::new(32, 32, 90.0) })
            .render(eye, &mut rgb, &mut depth);
        rgb
    };
    let fine = draw(16);
    let error = |samples| {
        let squares = draw(samples)
            .iter()
            .zip(&fine)
            .map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2))
            .sum::<f64>();
        (squares / fine.len() as f64).sqrt()
    };
    // A checkerboard of ±90 grey levels, mostly finer than a pixel: the hardest texture there is.
    assert!(error(2) < 27.0, "{}", error(2));
    assert!(error(1) > 1.2 * error(2), "{} {}", error(1), error(2));
}
