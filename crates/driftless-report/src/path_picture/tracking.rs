//! The picture of a filter at work: the last steps of truth and estimate, and the particles there.

use super::style::{INK, KEY_BELOW, LABEL, MARGIN, NOTE, PAPER, QUIET};
use super::view::View;
use super::{
    Background, FramePick, badge, ground, has_place, legend, moment, route, scan, strip::Strip, style,
};
use crate::canvas::{Area, Canvas, Vertex};
use crate::colour::{Rgb, category};
use crate::font::{Align, CAP_HEIGHT};
use crate::image::Image;
use driftless_world::evaluation::{Episode, EpisodeStep, Particle, Plan};
use driftless_world::files::png_image::{self, Samples};
use driftless_world::{Error, Pose, Result};

/// Most frames below the map.
const FRAMES: usize = 8;
/// Pixels between marks of steps on a map of cells, at least.
const BETWEEN_STOPS: f64 = 30.0;
/// What marks of beacons are.
const MARKS: &str = "beacons";
/// What the line of a predicted scan is.
const SCAN: &str = "predicted walls";
/// What the colours of particles mean.
const WEIGHTS: &str = "particles by weight";
/// The lightest and the heaviest particle.
const LIGHT: Rgb = [176, 205, 232];
const HEAVY: Rgb = [8, 62, 122];

/// The last steps of an episode on its map.
#[derive(Clone, Debug)]
pub struct TrackingPicture<'a> {
    /// What is drawn.
    pub episode: &'a Episode,
    /// The first line, large.
    pub title: String,
    /// The line below.
    pub subtitle: String,
    /// How many steps at the end are shown; 20 in the paper.
    pub steps: usize,
}

impl TrackingPicture<'_> {
    /// Draws everything. Equal pictures give equal canvases. An error if the episode has no steps or a
    /// camera image cannot be read.
    pub fn draw(&self) -> Result<Canvas> {
        let steps = &self.episode.steps;
        let shown = &steps[steps.len().saturating_sub(self.steps.max(1))..];
        if shown.is_empty() {
            return Err(Error::new("has no steps to draw").in_field("steps"));
        }
        let plan = &self.episode.plan;
        let background = Background::Walls {
            width: plan.size()[0],
            height: plan.size()[1],
            segments: plan.walls.iter().map(|wall| shifted(*wall, plan.low)).collect(),
            regions: vec![],
        };
        let view = View::of(background.bounds()?, MARGIN, MARGIN + 76.0);
        let inner = view.figure_width() - 2.0 * MARGIN;
        let hidden = steps.len() - shown.len();
        let frames = frames(shown, hidden)?;
        let strip = Strip::plan(&frames, inner);
        let strip_top = view.panel.bottom + 72.0 + self.second_line(&view);
        let height = strip_top + strip.height() + MARGIN - style::STRIP_GAP;
        let mut canvas = Canvas::new(view.figure_width() as usize, height.ceil() as usize, PAPER)?;
        style::TITLE.draw(&mut canvas, &self.title, [MARGIN, MARGIN + 20.0], Align::Left);
        let subtitle = NOTE.fitted(&self.subtitle, inner as usize);
        NOTE.draw(&mut canvas, &subtitle, [MARGIN, MARGIN + 52.0], Align::Left);
        self.draw_map(&mut canvas, &view, &background, shown)?;
        canvas.frame(view.panel.grown(1.0), 1.0, style::HAIRLINE);
        let truth: Vec<Option<Pose>> =
            steps.iter().map(|step| step.truth.map(|pose| self.place(pose))).collect();
        badge::draw_on_map(&mut canvas, &view, &truth, &frames);
        self.draw_key(&mut canvas, &view);
        strip.draw(&mut canvas, MARGIN, strip_top, steps.len() - 1);
        if let Some(depths) = scan::Depths::of(shown) {
            for (i, frame) in frames.iter().enumerate() {
                let Some(scan) = &steps[frame.step].scan else { continue };
                scan::draw_over(&mut canvas, strip.area(i, MARGIN, strip_top), scan, depths);
            }
        }
        Ok(canvas)
    }

    /// Everything on the map, from the ground up.
    fn draw_map(
        &self,
        canvas: &mut Canvas,
        view: &View,
        background: &Background,
        shown: &[EpisodeStep],
    ) -> Result<()> {
        let plan = &self.episode.plan;
        canvas.rectangle(view.panel, style::FLOOR, 1.0);
        let mut drawn = Ok(());
        canvas.clipped(view.panel, |canvas| {
            drawn = ground::draw(canvas, view, plan);
            background.draw(canvas, view);
            ground::draw_marks(canvas, view, plan);
            self.draw_particles(canvas, view, shown);
            if let Some(last) = shown.last() {
                scan::draw_on_map(canvas, view, plan, last);
            }
            self.draw_paths(canvas, view, shown);
        });
        drawn
    }

    fn has_scans(&self) -> bool {
        self.episode.steps.iter().any(|step| step.scan.is_some())
    }

    /// A pose on a map whose corner is the origin.
    fn place(&self, [x, y, heading]: [f32; 3]) -> Pose {
        let low = self.episode.plan.low;
        Pose::new(f64::from(x) - low[0], f64::from(y) - low[1], f64::from(heading))
    }

    /// Clouds of all shown steps, older ones fainter; heavier particles darker and larger.
    fn draw_particles(&self, canvas: &mut Canvas, view: &View, shown: &[EpisodeStep]) {
        let plan = &self.episode.plan;
        // Thousands of particles of a robot that could be anywhere would hide a map.
        let hidden = if plan.ground.is_some() { shown.len() * 4 / 5 } else { 0 };
        for (i, step) in shown.iter().enumerate().skip(hidden) {
            let age = moment(i, shown.len() - 1);
            let alpha = if i + 1 == shown.len() { 0.9 } else { 0.06 + 0.16 * age };
            let mut particles = step.particles.particles(plan);
            particles.sort_by(|a, b| a.weight.total_cmp(&b.weight));
            for Particle { pose, weight } in particles {
                let share = weight / f64::from(step.particles.largest).max(f64::MIN_POSITIVE);
                let at = view.place([pose.x - plan.low[0], pose.y - plan.low[1]]);
                canvas.disc(at, 2.0 + 2.5 * share, weight_colour(share), alpha);
            }
        }
    }

    fn draw_paths(&self, canvas: &mut Canvas, view: &View, shown: &[EpisodeStep]) {
        let nowhere = Pose::new(f64::NAN, f64::NAN, f64::NAN);
        let placed = |pose: Option<[f32; 3]>| pose.map_or(nowhere, |pose| self.place(pose));
        let truth: Vec<Pose> = shown.iter().map(|step| placed(step.truth)).collect();
        let estimate: Vec<Pose> = shown.iter().map(|step| placed(step.estimate)).collect();
        let both =
            truth.iter().zip(&estimate).filter(|(truth, estimate)| has_place(truth) && has_place(estimate));
        for (truth, estimate) in both {
            canvas.line(view.place_of(truth), view.place_of(estimate), 1.2, QUIET, 0.5);
        }
        for (path, colour) in [(&truth, INK), (&estimate, estimate_colour())] {
            let line = |colour: Rgb| -> Vec<Vertex> {
                path.iter().map(|pose| Vertex { at: view.place_of(pose), colour }).collect()
            };
            canvas.polyline(&line(PAPER), 6.5, 0.75);
            canvas.polyline(&line(colour), 3.0, 1.0);
            // Short steps on a large map would hide the line.
            let Plan { ground, marks, .. } = &self.episode.plan;
            let apart = if ground.is_some() || !marks.is_empty() { BETWEEN_STOPS } else { 0.0 };
            let mut before = None;
            for (i, pose) in path.iter().enumerate().filter(|(_, pose)| has_place(pose)) {
                let at = view.place_of(pose);
                let near = before.is_some_and(|[x, y]: [f64; 2]| (at[0] - x).hypot(at[1] - y) < apart);
                if !near || i + 1 == path.len() {
                    route::draw_stop(canvas, at, pose.heading, colour);
                    before = Some(at);
                }
            }
        }
    }

    /// How much lower the marks stand than the scale bar: a line, if the map is too narrow for both.
    fn second_line(&self, view: &View) -> f64 {
        let bar = legend::round_length(view) * view.pixels + LABEL.width(&self.scale_words(view)) as f64;
        if bar + 40.0 + self.marks_width() > view.panel.width() { 32.0 } else { 0.0 }
    }

    /// Room that the marks of the key take.
    fn marks_width(&self) -> f64 {
        let words = [
            ("estimate", true),
            ("truth", true),
            (WEIGHTS, true),
            (MARKS, !self.episode.plan.marks.is_empty()),
            (SCAN, self.has_scans()),
        ];
        words.iter().filter(|(_, is_shown)| *is_shown).map(|(word, _)| LABEL.width(word) as f64 + 54.0).sum()
    }

    fn scale_words(&self, view: &View) -> String {
        format!("{} {}", legend::round_length(view), self.episode.plan.unit)
    }

    /// Scale bar on the left; truth, estimate and weights on the right.
    fn draw_key(&self, canvas: &mut Canvas, view: &View) {
        let (panel, length) = (view.panel, legend::round_length(view));
        let y = panel.bottom + KEY_BELOW;
        let baseline = y + (CAP_HEIGHT * LABEL.scale) as f64 / 2.0;
        let width = (length * view.pixels).round();
        canvas.rectangle(Area::sized(panel.left, y - 1.0, width, 2.0), INK, 1.0);
        LABEL.draw(canvas, &self.scale_words(view), [panel.left + width + 14.0, baseline], Align::Left);
        let lower = self.second_line(view);
        let (y, baseline) = (y + lower, baseline + lower);
        // Below a narrow map they begin at the page's margin.
        let mut x = panel.right.max(MARGIN + self.marks_width());
        for (word, colour) in [("estimate", estimate_colour()), ("truth", INK)] {
            LABEL.draw(canvas, word, [x, baseline], Align::Right);
            x -= LABEL.width(word) as f64 + 20.0;
            route::draw_stop(canvas, [x, y], 0.0, colour);
            x -= 34.0;
        }
        if !self.episode.plan.marks.is_empty() {
            LABEL.draw(canvas, MARKS, [x, baseline], Align::Right);
            x -= LABEL.width(MARKS) as f64 + 20.0;
            ground::draw_mark(canvas, [x, y]);
            x -= 34.0;
        }
        if self.has_scans() {
            LABEL.draw(canvas, SCAN, [x, baseline], Align::Right);
            x -= LABEL.width(SCAN) as f64 + 10.0;
            canvas.line([x - 22.0, y], [x, y], 3.0, scan::PREDICTED, 1.0);
            x -= 44.0;
        }
        if self.episode.steps.iter().all(|step| step.particles.is_empty()) {
            return;
        }
        LABEL.draw(canvas, WEIGHTS, [x, baseline], Align::Right);
        x -= LABEL.width(WEIGHTS) as f64 + 16.0;
        for share in [1.0, 0.66, 0.33, 0.0] {
            canvas.disc([x, y], 2.0 + 2.5 * share, weight_colour(share), 1.0);
            x -= 13.0;
        }
    }
}

fn estimate_colour() -> Rgb {
    category(1)
}

fn weight_colour(share: f64) -> Rgb {
    std::array::from_fn(|c| {
        let (light, heavy) = (f64::from(LIGHT[c]), f64::from(HEAVY[c]));
        (light + share.clamp(0.0, 1.0) * (heavy - light)).round() as u8
    })
}

fn shifted([x0, y0, x1, y1]: [f64; 4], [left, bottom]: [f64; 2]) -> [f64; 4] {
    [x0 - left, y0 - bottom, x1 - left, y1 - bottom]
}

/// Evenly spread steps that have a camera image, counted from the episode's beginning.
fn frames(shown: &[EpisodeStep], hidden: usize) -> Result<Vec<FramePick>> {
    let seen: Vec<usize> = (0..shown.len()).filter(|i| !shown[*i].camera.is_empty()).collect();
    let picked = super::spread_steps(seen.len(), FRAMES).into_iter().map(|i| seen[i]);
    picked.map(|i| Ok(FramePick { step: hidden + i, rgb: image(&shown[i].camera)?, depth: None })).collect()
}

fn image(file: &[u8]) -> Result<Image> {
    let picture = png_image::decode(file).map_err(|error| error.in_field("camera"))?;
    match (&picture.samples, picture.channels) {
        (Samples::Eight(bytes), 3) => Image::new(picture.width, picture.height, bytes.clone()),
        (Samples::Eight(bytes), 1) => Image::from_grey(picture.width, picture.height, bytes),
        _ => Err(Error::new("is not an image of 8 bits, grey or RGB").in_field("camera")),
    }
}
