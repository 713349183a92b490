//! `driftless show`: one episode as a picture.

use crate::args::Show;
use crate::output::{overwrite, print, typed};
use crate::usage::misused;
use anyhow::{Context, Error, Result, bail};
use driftless::learn::guess_maze;
use driftless_report::path_picture::{Region, spread_steps};
use driftless_report::{Background, Bounds, FramePick, Image, PathPicture};
use driftless_world::files::pfnet::{HouseEpisode, HouseMaps, METRES_PER_PIXEL};
use driftless_world::files::ros_map::RosMap;
use driftless_world::files::{Format, Holds, NewFile};
use driftless_world::maze::Layout;
use driftless_world::occupancy::{Cell, OccupancyGrid};
use driftless_world::{Images, Observations, Pixels, Pose, Trajectory};
use std::io::Write;
use std::path::Path;

/// Draws and writes the picture.
pub fn run(wanted: &Show) -> Result<()> {
    if wanted.out.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("png")) {
        misused!(
            "--out {}: pictures are written as png; choose a name that ends in .png",
            wanted.out.display()
        );
    }
    // Created before the work, so that a bad name is found out at once.
    let mut file = NewFile::create(&wanted.out, overwrite(wanted.force))?;
    let format = Format::of(&wanted.file)?;
    let picture = if format.holds == Holds::Drawing {
        bail!(
            "{}: is the drawing of a maze, without an episode; make some with `driftless simulate {} --out walk.npz`",
            wanted.file.display(),
            typed(&wanted.file)
        )
    } else {
        picture(wanted, format)?
    };
    let png = picture.draw()?.to_png()?;
    file.write_all(&png).with_context(|| format!("{}: cannot write", wanted.out.display()))?;
    file.commit()?;
    print(&format!("{}: {}\n", wanted.out.display(), picture.title))
}

fn picture(wanted: &Show, format: &Format) -> Result<PathPicture> {
    let data = format.open(&wanted.file, &wanted.reading.options())?;
    if wanted.episode >= data.len() {
        misused!(
            "--episode {}: {} has {} episodes, numbered from 0",
            wanted.episode,
            wanted.file.display(),
            data.len()
        );
    }
    let name = wanted.file.file_name().unwrap_or_default().to_string_lossy();
    let title = format!("{name}, episode {}", wanted.episode);
    if let Some(episode) = data.in_house(wanted.episode)? {
        if wanted.maze.is_some() {
            misused!("--maze is for mazes; house records hold their own map");
        }
        return house_picture(title, &episode, usize::from(wanted.frames));
    }
    let episode = data.get(wanted.episode)?;
    let path = poses(&episode)?;
    let layout = match &wanted.maze {
        Some(name) => Some(Layout::open(name)?),
        None => data
            .provenance()
            .and_then(|provenance| provenance.maze)
            .or_else(|| guessed(&wanted.file, format, &path)),
    };
    let map_name = wanted.map.as_ref().map(|map| map.display().to_string());
    let subtitle = map_name.or(layout.as_ref().map(|layout| layout.name().to_owned()));
    let subtitle = subtitle.unwrap_or_else(|| "no map known; name one with --maze or --map".into());
    let map = wanted.map.as_ref().map(|map| Ok::<_, Error>(map_background(&RosMap::read(map)?.grid())?));
    let background = match (map.transpose()?, &layout) {
        (Some(map), _) => map,
        (None, Some(layout)) => maze_background(layout),
        (None, None) => Background::Empty { bounds: Bounds::around(&path) },
    };
    let frames = frames(&episode, usize::from(wanted.frames))?;
    Ok(PathPicture { title, subtitle, background, path, frames, unit: data.unit().into() })
}

/// The path, if states have at least x and y.
fn poses(episode: &Trajectory) -> Result<Vec<Option<Pose>>> {
    if episode.states.width() < 2 {
        bail!("states have {} numbers; a path needs at least x and y", episode.states.width());
    }
    let pose = |state: &[f32]| {
        let number = |k: usize| state.get(k).copied().map_or(0.0, f64::from);
        Pose::new(number(0), number(1), number(2))
    };
    Ok(episode.states.iter().map(|state| state.map(pose)).collect())
}

fn frames(episode: &Trajectory, count: usize) -> Result<Vec<FramePick>> {
    let Observations::Images(images) = &episode.observations else { return Ok(Vec::new()) };
    if !matches!(images.channels, 1 | 3 | 4) {
        return Ok(Vec::new());
    }
    Ok(spread_steps(images.len(), count)
        .into_iter()
        .map(|step| FramePick::from_images(images, step))
        .collect::<driftless_world::Result<_>>()?)
}

/// The maze a DPF file's name tells.
fn guessed(file: &Path, format: &Format, path: &[Option<Pose>]) -> Option<Layout> {
    let known: Vec<Pose> = path.iter().copied().flatten().collect();
    (format.holds == Holds::Mazes).then(|| guess_maze(file, &known)).flatten()
}

fn maze_background(layout: &Layout) -> Background {
    let [width, height] = layout.extent();
    let [columns, rows] = layout.cells();
    let cell = layout.cell();
    let mut regions = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let (x, y) = (column as f64 * cell, row as f64 * cell);
            let bounds = Bounds { low: [x, y], high: [x + cell, y + cell] };
            let surface = layout.surfaces()[layout.surface(column, row)];
            // Rooms are told by their walls or by their floor, whichever is special.
            let special = surface.letter != '.';
            let colour = if special { surface.wall.colour } else { surface.floor.colour };
            regions.push(Region { bounds, colour });
        }
    }
    Background::Walls { width, height, segments: layout.segments(), regions }
}

/// Walls grey, free cells white, what is unknown between.
fn map_background(grid: &OccupancyGrid) -> driftless_world::Result<Background> {
    let [width, height] = grid.size;
    let colour = |(x, y): (usize, usize)| match grid.cells[x * height + y] {
        Cell::Occupied => [110, 116, 128],
        Cell::Free => [255; 3],
        Cell::Unknown => [236, 237, 239],
    };
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let image = Image::new(width, height, places.flat_map(colour).collect())?;
    Ok(Background::Raster { image, origin: grid.origin, scale: grid.cell })
}

fn house_picture(title: String, episode: &HouseEpisode, count: usize) -> Result<PathPicture> {
    let pose = |state: &[f32; 3]| {
        let [x, y, heading] = state.map(f64::from);
        Some(Pose::new(x * METRES_PER_PIXEL, y * METRES_PER_PIXEL, heading))
    };
    // As numbers, depths are stretched between the nearest and the farthest: bytes would be dark.
    let depth = episode.depth.as_ref().map(|depth| Images {
        pixels: Pixels::Floats((0..depth.pixels.len()).map(|i| depth.pixels.get(i)).collect()),
        ..*depth
    });
    let images = |step| -> Result<FramePick> {
        let depth = depth.as_ref().map(|depth| FramePick::from_images(depth, step)).transpose()?;
        Ok(match &episode.rgb {
            Some(rgb) => {
                FramePick { depth: depth.map(|pick| pick.rgb), ..FramePick::from_images(rgb, step)? }
            }
            None => depth.context("an episode without images")?,
        })
    };
    let [width, height] =
        [episode.maps.width, episode.maps.height].map(|side| side as f64 * METRES_PER_PIXEL);
    Ok(PathPicture {
        title,
        subtitle: format!("house on a map of {width:.1} x {height:.1} m"),
        background: Background::Raster {
            image: floor_plan(&episode.maps)?,
            origin: [0.0, 0.0],
            scale: METRES_PER_PIXEL,
        },
        path: episode.states.iter().map(pose).collect(),
        frames: spread_steps(episode.len(), count).into_iter().map(images).collect::<Result<_>>()?,
        unit: "m".into(),
    })
}

/// Walls dark, doors in colour, rooms faintly told apart, outside grey.
fn floor_plan(maps: &HouseMaps) -> Result<Image> {
    let mut pixels = Vec::with_capacity(3 * maps.width * maps.height);
    for y in 0..maps.height {
        for x in 0..maps.width {
            pixels.extend(match (maps.wall(x, y), maps.door(x, y), maps.room_id(x, y)) {
                (1.., _, _) => [45, 48, 56],
                (_, 1.., _) => [244, 205, 140],
                (_, _, 0) => [226, 228, 232],
                (_, _, room) => {
                    let [r, g, b] = driftless_report::colour::category(usize::from(room));
                    [r, g, b].map(|c| 230 + c / 10)
                }
            });
        }
    }
    Ok(Image::new(maps.width, maps.height, pixels)?)
}
