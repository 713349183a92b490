//! A predicted range scan: over the image, where near is below and far above, and on the map.

use super::style::{INK, PAPER};
use super::view::View;
use crate::canvas::{Area, Canvas, Vertex};
use crate::colour::{Rgb, category};
use driftless_world::evaluation::{EpisodeStep, Plan, PredictedScan};

/// What a network predicted.
pub(super) const PREDICTED: Rgb = [0, 158, 115];

/// The nearest and the farthest depth of some steps: all images of a picture have one scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Depths {
    near: f64,
    far: f64,
}

impl Depths {
    /// Of all scans; nothing where there is none.
    pub(super) fn of(steps: &[EpisodeStep]) -> Option<Self> {
        let scans = steps.iter().filter_map(|step| step.scan.as_ref());
        let all = scans.flat_map(|scan| {
            let quantiles = (0..scan.len()).flat_map(|ray| scan.predicted[ray].map(|x| depth(scan, ray, x)));
            let on_map = (0..scan.len()).map(|ray| depth(scan, ray, scan.from_estimate[ray]));
            quantiles.chain(on_map).collect::<Vec<f64>>()
        });
        let (near, far) =
            all.filter(|x| *x > 0.0).fold((f64::INFINITY, 0.0), |(near, far), x| (x.min(near), x.max(far)));
        (near < far).then_some(Self { near, far })
    }

    /// How high a depth stands in an image, from 0 to 1: equal ratios are equally far apart.
    fn height(self, depth: f64) -> f64 {
        ((depth.max(self.near) / self.near).ln() / (self.far / self.near).ln()).min(1.0)
    }
}

/// Depth is along the camera's axis: a wall ahead is a level line.
fn depth(scan: &PredictedScan, ray: usize, distance: f32) -> f64 {
    f64::from(distance) * f64::from(scan.bearings[ray]).cos()
}

/// Over an image: between 10 % and 90 % a band, its median, and what the map says from the estimate and from the truth.
pub(super) fn draw_over(canvas: &mut Canvas, area: Area, scan: &PredictedScan, depths: Depths) {
    let column = area.width() / scan.len().max(1) as f64;
    let y =
        |ray: usize, distance: f32| area.bottom - depths.height(depth(scan, ray, distance)) * area.height();
    for (ray, [low, _, high]) in scan.predicted.iter().enumerate() {
        let left = area.left + ray as f64 * column;
        let band = Area { left, right: left + column, top: y(ray, *high), bottom: y(ray, *low) };
        canvas.rectangle(band, PREDICTED, 0.35);
    }
    let median: Vec<f32> = scan.predicted.iter().map(|[_, median, _]| *median).collect();
    for (distances, colour) in
        [(&scan.from_truth, INK), (&scan.from_estimate, category(1)), (&median, PREDICTED)]
    {
        let vertex = |ray: usize, colour: Rgb| {
            let at = [area.left + (ray as f64 + 0.5) * column, y(ray, distances[ray])];
            Vertex { at, colour }
        };
        for (colour, width) in [(PAPER, 4.0), (colour, 2.0)] {
            let line: Vec<Vertex> = (0..distances.len()).map(|ray| vertex(ray, colour)).collect();
            canvas.polyline(&line, width, if width > 3.0 { 0.6 } else { 1.0 });
        }
    }
}

/// On the map: rays from the truth and from the estimate to the walls, and from the estimate the predicted band.
pub(super) fn draw_on_map(canvas: &mut Canvas, view: &View, plan: &Plan, step: &EpisodeStep) {
    let Some((scan, estimate)) = step.scan.as_ref().zip(step.estimate) else { return };
    let at = |pose: [f32; 3], ray: usize, distance: f32| {
        let [x, y] = scan.end(ray, pose, distance);
        view.place([x - plan.low[0], y - plan.low[1]])
    };
    let rays = [(step.truth, &scan.from_truth, INK), (step.estimate, &scan.from_estimate, category(1))];
    for (pose, distances, colour) in rays {
        let Some(pose) = pose else { continue };
        for (ray, distance) in distances.iter().enumerate() {
            canvas.line(at(pose, ray, 0.0), at(pose, ray, *distance), 1.0, colour, 0.3);
        }
    }
    let quantile = |ray: usize, k: usize| at(estimate, ray, scan.predicted[ray][k]);
    for ray in 1..scan.len() {
        let corners = [quantile(ray - 1, 0), quantile(ray - 1, 2), quantile(ray, 2), quantile(ray, 0)];
        for [a, b, c] in [[0, 1, 2], [0, 2, 3]] {
            canvas.triangle([corners[a], corners[b], corners[c]], PREDICTED, 0.3);
        }
    }
    for (colour, width) in [(PAPER, 5.0), (PREDICTED, 2.5)] {
        let line: Vec<Vertex> = (0..scan.len()).map(|ray| Vertex { at: quantile(ray, 1), colour }).collect();
        canvas.polyline(&line, width, if width > 3.0 { 0.6 } else { 1.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_picture::Bounds;
    use driftless_world::Pose;
    use driftless_world::evaluation::{About, Episode, Seen};

    fn count(canvas: &Canvas, colour: Rgb) -> usize {
        canvas.pixels().chunks_exact(3).filter(|pixel| **pixel == colour).count()
    }

    fn scan() -> PredictedScan {
        PredictedScan {
            bearings: vec![0.3, 0.0, -0.3],
            predicted: vec![[1.0, 2.0, 4.0]; 3],
            from_estimate: vec![3.0; 3],
            from_truth: vec![2.5; 3],
        }
    }

    fn step() -> EpisodeStep {
        let plan = Plan { low: [0.0; 2], high: [10.0; 2], ..Plan::default() };
        let mut episode = Episode::new("t", About::default(), plan).unwrap();
        let (scan, pose) = (scan(), Pose::new(2.0, 5.0, 0.0));
        episode.push(&Seen { truth: pose, estimate: pose, scan: Some(&scan), ..Seen::default() }).unwrap();
        episode.steps.remove(0)
    }

    /// Depths run from cos 0.3 to 4: the median of 2 in the middle column stands at ln(2 / cos 0.3) / ln(4 / cos 0.3).
    #[test]
    fn depths_are_heights() {
        let steps = [step()];
        let depths = Depths::of(&steps).unwrap();
        assert!((depths.near - 0.3_f64.cos()).abs() < 1e-6 && (depths.far - 4.0).abs() < 1e-6);
        let expected = (2.0 / 0.3_f64.cos()).ln() / (4.0 / 0.3_f64.cos()).ln();
        assert!((depths.height(2.0) - expected).abs() < 1e-6);
        assert_eq!((depths.height(0.0), depths.height(99.0)), (0.0, 1.0));
        assert!(Depths::of(&[EpisodeStep { scan: None, ..steps[0].clone() }]).is_none());
        let mut canvas = Canvas::new(120, 120, PAPER).unwrap();
        draw_over(&mut canvas, Area::sized(10.0, 10.0, 90.0, 100.0), &scan(), depths);
        // Lines of full ink are at their heights in the middle column, and nothing is outside the image.
        let row = |colour: Rgb| {
            let is_there = |y: &usize| canvas.pixels()[3 * (120 * y + 55)..][..3] == colour;
            (0..120).find(is_there).map(|y| y as f64)
        };
        for (colour, depth) in [(PREDICTED, 2.0), (category(1), 3.0), (INK, 2.5)] {
            let expected = 110.0 - 100.0 * depths.height(depth);
            assert!(row(colour).is_some_and(|y| (y - expected).abs() < 3.0), "{depth}: {:?}", row(colour));
        }
        assert!(canvas.pixels()[..3 * 120 * 9].iter().all(|x| *x == 255));
    }

    /// The median's line is 2 to the right of the robot, and rays to the walls end 3 to the right of it.
    #[test]
    fn rays_on_the_map() {
        let bounds = Bounds { low: [0.0; 2], high: [10.0; 2] };
        let view = View::of(bounds, 0.0, 0.0);
        let mut canvas = Canvas::new(900, 800, PAPER).unwrap();
        let plan = Plan { low: [0.0; 2], high: [10.0; 2], ..Plan::default() };
        draw_on_map(&mut canvas, &view, &plan, &step());
        let at = |x: f64, y: f64| {
            let [x, y] = view.place([x, y]).map(|x| x as usize);
            canvas.pixels()[3 * (900 * y + x)..][..3].to_vec()
        };
        assert_eq!(at(4.0, 5.0), PREDICTED);
        assert_ne!(at(4.5, 5.1), PAPER, "the band");
        assert_ne!(at(2.5, 5.0), PAPER, "a ray");
        assert_eq!(at(8.0, 5.0), PAPER);
        assert!(count(&canvas, PREDICTED) > 50);
        let mut empty = Canvas::new(900, 800, PAPER).unwrap();
        draw_on_map(&mut empty, &view, &plan, &EpisodeStep { scan: None, ..step() });
        assert_eq!(count(&empty, PAPER), 900 * 800);
    }
}
