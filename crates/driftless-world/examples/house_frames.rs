//! Draws a few frames of a few houses, eight frames a row, as one PNG: `house_frames out.png [seed]`.
use driftless_world::house::{HouseWorld, Split};
use driftless_world::trajectory::Pixels;
use std::time::Instant;

fn main() {
    let path = std::env::args().nth(1).expect("name the picture to write");
    let seed = std::env::args().nth(2).map_or(1, |seed| seed.parse().expect("a seed is a number"));
    let (rows, columns, side) = (14, 8, 56);
    let mut sheet = vec![0_u8; rows * columns * side * side * 3];
    for row in 0..rows {
        let start = Instant::now();
        let world = HouseWorld::new(seed, Split::Train, row as u64 / 2).expect("a small number");
        let built = start.elapsed();
        let episode = world.episode(24, row as u64, HouseWorld::camera(side, side));
        println!("house built in {built:?}, with 24 frames {:?}", start.elapsed());
        let Some(Pixels::Bytes(bytes)) = episode.rgb.map(|images| images.pixels) else {
            unreachable!("cameras give bytes")
        };
        for (i, line) in bytes.chunks_exact(side * 3).enumerate() {
            let (frame, y) = (i / side, i % side);
            if frame % 3 == 0 {
                let at = ((row * side + y) * columns + frame / 3) * side * 3;
                sheet[at..at + side * 3].copy_from_slice(line);
            }
        }
    }
    let file = std::fs::File::create(path).expect("a writable path");
    let mut encoder = png::Encoder::new(file, (columns * side) as u32, (rows * side) as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(&sheet)).expect("disk space");
}
