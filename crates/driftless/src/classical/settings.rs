//! Everything that can be chosen, with defaults found on simulated houses kept for validation.

use crate::config::{check, positive};
use crate::error::Result;
use crate::resample::ResamplerSettings;
use serde::{Deserialize, Serialize};

/// How to localise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassicalSettings {
    /// What depth images mean.
    pub camera: CameraSettings,
    /// Which sensor model is used.
    pub model: ModelName,
    /// The one by where beams end.
    pub likelihood_field: FieldSettings,
    /// The one by how far they should reach.
    pub beam: BeamSettings,
    /// How many columns of an image are used.
    pub beams: usize,
    /// What a scan's log-likelihood is multiplied by, above 0 and at most 1. Beams err together: half of
    /// them hit the same cupboard.
    pub likelihood_tempering: f64,
    /// Standard deviation of a particle's own motion a step, along x and along y, in metres.
    pub position_noise: f64,
    /// The same of its heading, in degrees.
    pub heading_noise: f64,
    /// Every number of the odometry is multiplied by N(1, this²) for each particle.
    pub odometry_noise: f64,
    /// Particles are resampled when fewer than this share of them count, from 0 (never) to 1.
    pub resample_below: f64,
    /// How particles are resampled; systematically without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resampler: Option<ResamplerSettings>,
}

impl Default for ClassicalSettings {
    fn default() -> Self {
        Self {
            camera: CameraSettings::default(),
            model: ModelName::default(),
            likelihood_field: FieldSettings::default(),
            beam: BeamSettings::default(),
            beams: 14,
            likelihood_tempering: 0.2,
            position_noise: 0.04,
            heading_noise: 5.0,
            odometry_noise: 0.0,
            resample_below: 0.5,
            resampler: None,
        }
    }
}

/// The sensor models by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelName {
    /// [`super::LikelihoodField`].
    LikelihoodField,
    /// [`super::BeamModel`].
    #[default]
    Beam,
}

/// What the pixels of depth images mean. Pixels are square, depth is along the optical axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CameraSettings {
    /// Vertical, in degrees; 60 in House3D.
    pub field_of_view: f64,
    /// Metres of one unit: decimetres in PF-net's records.
    pub depth_unit: f64,
    /// Metres added to every depth: half a unit if depths were cut rather than rounded to whole units.
    pub depth_offset: f64,
    /// Depths of so many metres and more are no readings but the end of sight; 255 in bytes always is.
    pub farthest: f64,
}

impl Default for CameraSettings {
    fn default() -> Self {
        Self { field_of_view: 60.0, depth_unit: 0.1, depth_offset: 0.0, farthest: 25.0 }
    }
}

/// Numbers of the likelihood field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FieldSettings {
    /// Standard deviation of a beam's end from the wall it hit, in metres.
    pub hit_deviation: f64,
    /// Share of beams that end anywhere, from 0 to below 1.
    pub random: f64,
}

impl Default for FieldSettings {
    fn default() -> Self {
        Self { hit_deviation: 0.2, random: 0.2 }
    }
}

/// Numbers of the beam model. The four shares need not sum to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BeamSettings {
    /// Share of beams that meet the wall they should.
    pub hit: f64,
    /// Share of those that meet something before it.
    pub short: f64,
    /// Share of those that meet nothing.
    pub beyond: f64,
    /// Share of those that end anywhere.
    pub random: f64,
    /// Standard deviation of a hit, in metres.
    pub hit_deviation: f64,
    /// How fast shorter readings become rarer with their range, per metre.
    pub short_rate: f64,
}

impl Default for BeamSettings {
    fn default() -> Self {
        Self { hit: 0.8, short: 0.1, beyond: 0.01, random: 0.09, hit_deviation: 0.1, short_rate: 0.3 }
    }
}

impl BeamSettings {
    /// Hit, short, beyond and random, summing to 1.
    pub(super) fn shares(&self) -> [f64; 4] {
        let shares = [self.hit, self.short, self.beyond, self.random];
        let sum: f64 = shares.iter().sum();
        shares.map(|share| share / sum)
    }

    fn check(&self) -> Result<()> {
        let shares =
            [("hit", self.hit), ("short", self.short), ("beyond", self.beyond), ("random", self.random)];
        for (key, share) in shares {
            check(key, share, (0.0..=1e6).contains(&share), "at least 0")?;
        }
        positive("hit", self.hit)?;
        length("hit_deviation", self.hit_deviation)?;
        positive("short_rate", self.short_rate)
    }
}

/// Fails unless a length in metres that a house can have something to do with: from a micrometre to 1000 km.
fn length(key: &str, metres: f64) -> Result<()> {
    check(key, metres, (1e-6..=1e6).contains(&metres), "from 1e-6 to 1e6")
}

impl ClassicalSettings {
    /// Fails with the first number that is out of its range.
    pub fn check(&self) -> Result<()> {
        self.camera.check().map_err(|error| error.under("camera"))?;
        let field = &self.likelihood_field;
        length("hit_deviation", field.hit_deviation)
            .and_then(|()| check("random", field.random, (0.0..1.0).contains(&field.random), "in [0, 1)"))
            .map_err(|error| error.under("likelihood_field"))?;
        self.beam.check().map_err(|error| error.under("beam"))?;
        check("beams", self.beams, self.beams > 0, "at least 1")?;
        check(
            "likelihood_tempering",
            self.likelihood_tempering,
            self.likelihood_tempering > 0.0 && self.likelihood_tempering <= 1.0,
            "in (0, 1]",
        )?;
        let noises = [
            ("position_noise", self.position_noise),
            ("heading_noise", self.heading_noise),
            ("odometry_noise", self.odometry_noise),
        ];
        for (key, noise) in noises {
            check(key, noise, (0.0..=1e3).contains(&noise), "from 0 to 1000")?;
        }
        check("resample_below", self.resample_below, (0.0..=1.0).contains(&self.resample_below), "in [0, 1]")
    }
}

impl CameraSettings {
    fn check(&self) -> Result<()> {
        let view = self.field_of_view;
        check("field_of_view", view, (1.0..=170.0).contains(&view), "from 1 to 170 degrees")?;
        length("depth_unit", self.depth_unit)?;
        check("depth_offset", self.depth_offset, self.depth_offset.abs() <= 1e3, "from -1000 to 1000")?;
        length("farthest", self.farthest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    #[test]
    fn texts_give_settings_and_back() {
        let text =
            "beams = 28\nmodel = 'likelihood-field'\n[camera]\ndepth_unit = 0.001\n[beam]\nshort = 0.3";
        let settings: ClassicalSettings = parse(text).unwrap();
        let expected = ClassicalSettings {
            beams: 28,
            model: ModelName::LikelihoodField,
            camera: CameraSettings { depth_unit: 0.001, ..CameraSettings::default() },
            beam: BeamSettings { short: 0.3, ..BeamSettings::default() },
            ..ClassicalSettings::default()
        };
        assert_eq!(settings, expected);
        assert_eq!(parse::<ClassicalSettings>(&toml::to_string(&settings).unwrap()).unwrap(), settings);
        settings.check().unwrap();
        ClassicalSettings::default().check().unwrap();
        assert!(parse::<ClassicalSettings>("beems = 3").unwrap_err().to_string().contains("`beams`"));
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        for (text, key) in [
            ("beams = 0", "beams"),
            ("likelihood_tempering = 0.0", "likelihood_tempering"),
            ("likelihood_tempering = nan", "likelihood_tempering"),
            ("heading_noise = -1.0", "heading_noise"),
            ("resample_below = 1.5", "resample_below"),
            ("camera.field_of_view = 180.0", "camera.field_of_view"),
            ("camera.depth_unit = 0.0", "camera.depth_unit"),
            ("camera.depth_offset = inf", "camera.depth_offset"),
            ("camera.farthest = inf", "camera.farthest"),
            ("likelihood_field.random = 1.0", "likelihood_field.random"),
            ("likelihood_field.hit_deviation = 0.0", "likelihood_field.hit_deviation"),
            ("beam.hit = 0.0", "beam.hit"),
            ("beam.short = -0.1", "beam.short"),
            ("beam.random = nan", "beam.random"),
            ("beam.short_rate = 0.0", "beam.short_rate"),
        ] {
            let error = parse::<ClassicalSettings>(text).unwrap().check().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{key}: must be")), "{text}: {error}");
        }
    }
}
