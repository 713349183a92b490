//! Writes and dumps PF-net records for `checks/check_tfrecord.py`, which knows none of our code.
//!
//! `tfrecord_check sample FILE` writes made-up episodes to FILE. `tfrecord_check dump FILE FOLDER SIZE`
//! reads FILE and leaves every array as a raw little-endian file `FOLDER/<episode>.<name>.<type>`; SIZE is
//! the images' side in pixels, or `raw` for the size they have.

#[path = "../tests/sample/mod.rs"]
mod sample;

use driftless_world::files::Overwrite;
use driftless_world::files::pfnet::{
    HouseEpisode, HouseObservation, PfnetFile, PfnetOptions, PfnetWriter, network,
};
use driftless_world::{Dataset, Images, Observations, Pixels};
use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["sample", file] => write_sample(Path::new(file)),
        ["dump", file, folder, size] => dump_file(file, Path::new(folder), size),
        _ => Err("say `sample FILE` or `dump FILE FOLDER SIZE`".into()),
    }
}

fn write_sample(file: &Path) -> Result<(), Box<dyn Error>> {
    let mut writer = PfnetWriter::create(file, Overwrite::Replace)?;
    writer.push(&sample::house_episode(1, (31, 17), 5, (12, 16)))?;
    // Large room numbers and deep depths need 16 bits.
    let mut deep = sample::house_episode(2, (8, 40), 3, (56, 56));
    deep.maps.room_id[5] = 4000;
    if let Some(depth) = &mut deep.depth {
        depth.pixels = Pixels::Floats((0..depth.pixels.len()).map(|i| (i * 7 % 65_536) as f32).collect());
    }
    writer.push(&deep)?;
    let mut colours_only = sample::house_episode(3, (1, 1), 1, (1, 1));
    colours_only.depth = None;
    writer.push(&colours_only)?;
    Ok(writer.commit()?)
}

fn dump_file(file: &str, folder: &Path, size: &str) -> Result<(), Box<dyn Error>> {
    let side = if size == "raw" { None } else { Some(size.parse::<usize>()?) };
    let options = PfnetOptions { image_size: side.map(|side| (side, side)), ..Default::default() };
    let file = PfnetFile::open(file, options)?;
    for index in 0..file.len() {
        Dump { folder: folder.to_path_buf(), index }.episode(&file.get(index)?)?;
    }
    println!("{} episodes", file.len());
    Ok(())
}

struct Dump {
    folder: PathBuf,
    index: usize,
}

impl Dump {
    fn episode(&self, episode: &HouseEpisode) -> Result<(), Box<dyn Error>> {
        let maps = &episode.maps;
        self.raw("map_wall.u1", &maps.wall)?;
        self.raw("map_door.u1", &maps.door)?;
        self.raw("map_roomtype.u2", &words(&maps.room_type))?;
        self.raw("map_roomid.u2", &words(&maps.room_id))?;
        self.raw("states.f4", &floats(episode.states.as_flattened()))?;
        self.raw("odometry.f4", &floats(episode.odometry.as_flattened()))?;
        for (name, images) in [("rgb", &episode.rgb), ("depth", &episode.depth)] {
            if let Some(images) = images {
                self.images(name, images)?;
            }
        }
        self.images("network_map", &network::map(maps, network::MapMode::WallDoorRoomType))?;
        if episode.rgb.is_some() && episode.depth.is_some() {
            let trajectory = episode.to_trajectory(HouseObservation::RgbDepth)?;
            self.raw("actions.f4", &floats(trajectory.actions.values()))?;
            if let Observations::Images(images) = &trajectory.observations {
                self.images("network_observation", &network::observations(images)?)?;
            }
        }
        Ok(())
    }

    fn images(&self, name: &str, images: &Images) -> Result<(), Box<dyn Error>> {
        match &images.pixels {
            Pixels::Bytes(bytes) => self.raw(&format!("{name}.u1"), bytes),
            Pixels::Floats(values) => self.raw(&format!("{name}.f4"), &floats(values)),
        }
    }

    fn raw(&self, name: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
        Ok(std::fs::write(self.folder.join(format!("{}.{name}", self.index)), bytes)?)
    }
}

fn words(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
