//! The picture of one episode: the path on its map, coloured by time, and what was seen on the way.

mod background;
mod badge;
mod frames;
mod ground;
mod legend;
mod route;
mod scan;
mod statistics;
mod strip;
mod style;
mod tracking;
mod view;

pub use background::{Background, Bounds, Region};
pub use frames::{FramePick, spread_steps};
pub use tracking::TrackingPicture;

use crate::canvas::Canvas;
use crate::font::{Align, Text};
use driftless_world::{Error, Pose, Result};
use statistics::Statistics;
use strip::Strip;
use style::{MARGIN, PAPER};
use view::View;

/// More frames than this would be stamps.
const MAX_FRAMES: usize = 48;

/// An episode to be drawn.
///
/// ```
/// use driftless_report::{Background, Bounds, PathPicture};
/// use driftless_world::Pose;
/// let path = vec![Some(Pose::new(0.0, 0.0, 0.0)), None, Some(Pose::new(3.0, 1.0, 0.5))];
/// let picture = PathPicture {
///     title: "A walk".into(),
///     subtitle: "three steps, one of them unknown".into(),
///     background: Background::Empty { bounds: Bounds::around(&path) },
///     path,
///     frames: vec![],
///     unit: "m".into(),
/// };
/// let png = picture.draw()?.to_png()?;
/// assert!(png.starts_with(b"\x89PNG"));
/// # Ok::<(), driftless_world::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PathPicture {
    /// The first line, large; cut if it is too long.
    pub title: String,
    /// The line below, smaller; may be empty.
    pub subtitle: String,
    /// What the path runs over, which also decides what part of the world is shown.
    pub background: Background,
    /// The pose at each step, y up; steps that are unknown or not finite are skipped.
    pub path: Vec<Option<Pose>>,
    /// Steps to be numbered on the map and shown below it, at most 48.
    pub frames: Vec<FramePick>,
    /// The unit of length, as written behind numbers: "m", "units".
    pub unit: String,
}

impl PathPicture {
    /// Draws everything. Equal pictures give equal canvases.
    pub fn draw(&self) -> Result<Canvas> {
        self.check()?;
        let bounds = self.background.bounds()?;
        let view = View::of(bounds, MARGIN, self.map_top());
        let width = view.figure_width();
        let inner = width - 2.0 * MARGIN;
        let strip = Strip::plan(&self.frames, inner);
        let strip_top = view.panel.bottom + style::UNDER_MAP;
        let height = strip_top + strip.height() + MARGIN - style::STRIP_GAP;

        let mut canvas = Canvas::new(width as usize, height.ceil() as usize, PAPER)?;
        self.draw_titles(&mut canvas, inner);
        let panel = view.panel;
        canvas.rectangle(panel, style::FLOOR, 1.0);
        canvas.clipped(panel, |canvas| {
            self.background.draw(canvas, &view);
            route::draw(canvas, &view, &self.path);
        });
        canvas.frame(panel.grown(1.0), 1.0, style::HAIRLINE);
        badge::draw_on_map(&mut canvas, &view, &self.path, &self.frames);
        legend::draw_colour_bar(&mut canvas, panel, self.path.len() - 1);
        legend::draw_key(&mut canvas, &view, &self.unit, self.path.len() > 1);
        let statistics = Statistics::of(&self.path, |pose| !bounds.holds(pose)).in_words(&self.unit);
        let below = [MARGIN, panel.bottom + style::STATISTICS_BASELINE];
        style::NOTE.draw(&mut canvas, &style::NOTE.fitted(&statistics, inner as usize), below, Align::Left);
        strip.draw(&mut canvas, MARGIN, strip_top, self.path.len() - 1);
        Ok(canvas)
    }

    fn check(&self) -> Result<()> {
        if self.path.is_empty() {
            return Err(Error::new("has no steps to draw").in_field("path"));
        }
        if self.frames.len() > MAX_FRAMES {
            let problem = format!("{} frames do not fit; pick at most {MAX_FRAMES}", self.frames.len());
            return Err(Error::new(problem).in_field("frames"));
        }
        for (i, frame) in self.frames.iter().enumerate() {
            if frame.step >= self.path.len() {
                let problem = format!("shows step {} of a path of {} steps", frame.step, self.path.len());
                return Err(Error::new(problem).in_record(format_args!("frame {i}")).in_field("step"));
            }
        }
        Ok(())
    }

    fn map_top(&self) -> f64 {
        MARGIN + if self.subtitle.is_empty() { 46.0 } else { 76.0 }
    }

    fn draw_titles(&self, canvas: &mut Canvas, width: f64) {
        let line = |canvas: &mut Canvas, text: Text, words: &str, baseline: f64| {
            let words = text.fitted(words, width as usize);
            text.draw(canvas, &words, [MARGIN, baseline], Align::Left);
        };
        line(canvas, style::TITLE, &self.title, MARGIN + 20.0);
        line(canvas, style::NOTE, &self.subtitle, MARGIN + 52.0);
    }
}

/// How far into the episode a step lies, 0..=1.
fn moment(step: usize, last: usize) -> f64 {
    step as f64 / last.max(1) as f64
}

/// True if the pose has a place; its heading may still be unknown.
fn has_place(pose: &Pose) -> bool {
    pose.x.is_finite() && pose.y.is_finite()
}
