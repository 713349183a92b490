//! The report on a set of runs: one self-contained web page, and its figures and tables as files.

mod coordinates;
mod differences;
mod group;
mod headline;
mod over_time;
mod page;
mod panels;
mod player;
mod tables;

use crate::paired::Pairs;
use crate::path_picture::TrackingPicture;
use crate::run::Run;
use crate::table::Table;
use differences::Differences;
use driftless_world::files::base64;
use driftless_world::{Episode, Result};
pub(crate) use group::percent;
use group::{Comparison, World};
pub(crate) use page::STYLE;
pub(crate) use player::ground_data;
use std::collections::BTreeSet;

/// Steps in the tracking picture of a maze, as in the paper, which shows all of them in a house.
const LAST_STEPS: usize = 20;

/// Names of the tables' files; the last is there where states are of named coordinates.
const TABLES: [&str; 6] = ["accuracy", "overall", "paired", "belief", "runs", "coordinates"];

/// A figure of the report.
struct Figure {
    /// Its file's name without the end.
    name: String,
    /// What the page says below it.
    caption: String,
    /// What it shows, for those who cannot see it.
    alt: String,
    picture: Picture,
}

enum Picture {
    Svg(String),
    Png(Vec<u8>),
}

impl Figure {
    fn file(&self) -> (String, Vec<u8>) {
        match &self.picture {
            Picture::Svg(text) => (format!("{}.svg", self.name), text.clone().into_bytes()),
            Picture::Png(bytes) => (format!("{}.png", self.name), bytes.clone()),
        }
    }

    fn html(&self) -> String {
        match &self.picture {
            Picture::Svg(text) => text.clone(),
            Picture::Png(bytes) => format!(
                "<img src=\"data:image/png;base64,{}\" alt=\"{}\">",
                base64::encode(bytes),
                crate::chart::escape(&self.alt)
            ),
        }
    }
}

/// The figures of one world, the most important comparison first.
struct Chapter {
    world: String,
    /// Figures of the label share that most methods have, and across shares.
    figures: Vec<Figure>,
    /// Figures of the other label shares, by share.
    others: Vec<(String, Vec<Figure>)>,
    /// The last steps of an episode, by method.
    tracking: Vec<Figure>,
}

/// A report: see [`Report::of`].
#[derive(Debug)]
pub struct Report;

impl Report {
    /// All files of the report on `runs`: `index.html`, which needs no other file and no network,
    /// and each figure (`.svg`, `.png`) and table (`.csv`, `.md`) by itself.
    ///
    /// Whatever runs lack is said on the page. The same runs give the same bytes, in whatever order (those of
    /// the same name keep theirs).
    ///
    /// ```
    /// use driftless_report::{Report, Run};
    /// let empty = Run { name: "run-1".into(), ..Run::default() };
    /// let files = Report::of(&[empty])?;
    /// let page = String::from_utf8_lossy(&files[0].1);
    /// assert!(files[0].0 == "index.html" && page.contains("no metrics.csv"));
    /// # Ok::<(), driftless_world::Error>(())
    /// ```
    pub fn of(runs: &[Run]) -> Result<Vec<(String, Vec<u8>)>> {
        Self::with(runs, &Pairs::Usual)
    }

    /// The same with chosen pairs of methods to compare trajectory by trajectory.
    pub fn with(runs: &[Run], pairs: &Pairs) -> Result<Vec<(String, Vec<u8>)>> {
        let mut runs: Vec<&Run> = runs.iter().collect();
        runs.sort_by(|a, b| a.name.cmp(&b.name));
        let comparison = Comparison::of(&runs);
        let differences = Differences::of(&comparison, pairs);
        let mut chapters = Vec::new();
        for (world, figure) in comparison.worlds.iter().zip(differences.figures) {
            let mut chapter = chapter(world)?;
            chapter.figures.extend(figure);
            chapters.push(chapter);
        }
        let mut tables = vec![
            tables::accuracy(&comparison),
            tables::overall(&comparison),
            differences.table,
            tables::belief(&comparison),
            tables::runs(&runs),
        ];
        tables.extend(Some(coordinates::table(&comparison)).filter(|table| !table.is_empty()));
        let page = page::html(&runs, &comparison, &chapters, &tables);
        let mut files = vec![("index.html".to_owned(), page.into_bytes())];
        for chapter in &chapters {
            let others = chapter.others.iter().flat_map(|(_, figures)| figures);
            let figures = chapter.figures.iter().chain(others).chain(&chapter.tracking);
            files.extend(figures.map(Figure::file));
        }
        for (name, table) in TABLES.into_iter().zip(&tables) {
            files.push((format!("{name}.csv"), table.to_csv().into_bytes()));
            files.push((format!("{name}.md"), Table::to_markdown(table).into_bytes()));
        }
        Ok(with_unique_names(files))
    }
}

/// Labels that differ only in what a file's name cannot hold get a number at the end.
fn with_unique_names(files: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    let mut used = BTreeSet::new();
    let unique = |(name, bytes): (String, Vec<u8>)| {
        let (stem, end) = name.rsplit_once('.').unwrap_or((&name, ""));
        let numbered = (2..).map(|number: usize| format!("{stem}-{number}.{end}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| used.insert(name.clone()));
        (free.unwrap_or_default(), bytes)
    };
    files.into_iter().map(unique).collect()
}

fn chapter(world: &World) -> Result<Chapter> {
    let shares = world.shares();
    let main = world.main_share();
    let mut figures: Vec<Figure> = main.map_or(vec![], |share| panels::of_share(world, share));
    figures.extend(panels::label_shares(world));
    figures.extend(coordinates::charts(world));
    figures.extend(panels::of_unknown(world));
    let others = shares.into_iter().filter(|share| Some(*share) != main);
    let others = others.map(|share| (group::percent(share), panels::of_share(world, share)));
    let others = others.filter(|(_, figures)| !figures.is_empty()).collect();
    Ok(Chapter { world: world.name.clone(), figures, others, tracking: tracking(world)? })
}

/// One picture a group, of its first episode.
fn tracking(world: &World) -> Result<Vec<Figure>> {
    let mut pictures = Vec::new();
    for group in &world.groups {
        let Some(episode) = group.runs.iter().find_map(|run| run.episodes.first()) else { continue };
        if episode.steps.is_empty() {
            continue;
        }
        let shown = shown_steps(world, episode);
        let words = tracking_words(episode, shown);
        let picture = TrackingPicture {
            episode,
            title: format!("{} in {}", group.label, world.name),
            subtitle: words.clone(),
            steps: shown,
        };
        let name =
            format!("tracking-{}", group::file_name(&[&world.name, &group.label, &group.share_label()]));
        let alt = format!("Map of {}: {words} by {}.", world.name, group.label);
        let caption = format!("{}, {} labels: {words}.", group.label, group.share_label());
        pictures.push(Figure { name, caption, alt, picture: Picture::Png(picture.draw()?.to_png()?) });
    }
    Ok(pictures)
}

fn shown_steps(world: &World, episode: &Episode) -> usize {
    let all = episode.steps.len();
    // Lengths have a unit in houses alone.
    if world.unit() == "units" { all.min(LAST_STEPS) } else { all }
}

fn tracking_words(episode: &Episode, shown: usize) -> String {
    let all = episode.steps.len();
    let part = if shown < all { format!("last {shown} of {all} steps") } else { format!("all {all} steps") };
    let names: Vec<&str> = episode.coordinates.iter().take(2).map(|one| one.name.as_str()).collect();
    let plane =
        if names.is_empty() { String::new() } else { format!(", in the plane of {}", names.join(" and ")) };
    format!("{}, {part}{plane}, estimate and truth", episode.title)
}
