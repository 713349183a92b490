//! Which topics and frames a drive is made of: those that were named, and where none was, those that leave no doubt.

use super::frames::Link;
use super::listing::{Listing, Topic};
use super::names::{distance, is_odometry, names, only, says, space};
use super::{BagOptions, NOTHING, PoseSource};
use crate::error::{Error, Result};
use crate::files::ros::Kind;

/// Words in the names of topics that hold the truth, or the best there is.
const TRUTH: [&str; 6] = ["truth", "mocap", "vicon", "optitrack", "amcl", "/gt"];
/// Words in the names of topics with poses that are wishes.
const WISHES: [&str; 8] = ["goal", "plan", "path", "cmd", "control", "setpoint", "target", "initialpose"];
/// Names of the robot's own frame.
const BASES: [&str; 3] = ["base_link", "base_footprint", "base"];

/// Where poses are taken from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A topic.
    Topic(Topic),
    /// Transforms.
    Frames {
        /// The robot's frame.
        child: String,
        /// The way to it.
        way: Vec<Link>,
    },
}

impl Origin {
    /// The frame whose poses they are, if that is known.
    fn frame(&self) -> Option<&str> {
        match self {
            Self::Topic(topic) => topic.children.first().map(String::as_str),
            Self::Frames { child, .. } => Some(child),
        }
    }
}

/// Everything that was chosen.
#[derive(Debug)]
pub struct Sources {
    /// The scans.
    pub scan: Option<Topic>,
    /// The images.
    pub image: Option<Topic>,
    /// The robot's own motion.
    pub odometry: Option<Origin>,
    /// The truth.
    pub pose: Option<Origin>,
    /// The robot's frame.
    pub base: Option<String>,
    /// What was chosen, in words.
    pub taken: Vec<String>,
}

/// Chooses.
pub fn choose(listing: &Listing, options: &BagOptions) -> Result<Sources> {
    let chooser = Chooser { listing };
    let mut taken = Vec::new();
    let scan = chooser.scan(options.scan.as_deref(), &mut taken)?;
    let image = chooser.image(options.image.as_deref(), scan.is_some(), &mut taken)?;
    let near = scan.as_ref().or(image.as_ref()).map(|topic| topic.name.clone());
    let odometry = match &options.odometry {
        Some(source) => chooser.poses(source, "--odometry", &mut taken)?,
        None => chooser.any_odometry(near.as_deref(), &mut taken)?,
    };
    let frames = &listing.frames;
    let base = odometry.as_ref().and_then(Origin::frame).map(str::to_owned);
    let base = base.or_else(|| BASES.iter().find(|name| frames.contains(name)).map(|&name| name.to_owned()));
    let pose = match &options.pose {
        Some(source) => chooser.poses(source, "--pose", &mut taken)?,
        None => chooser.any_truth(near.as_deref(), base.as_deref(), &mut taken),
    };
    if scan.is_none() && image.is_none() && odometry.is_none() && pose.is_none() {
        return Err(Error::new(format!(
            "holds nothing that a drive could be made of: no scans, images, odometry or poses of the types that are read; its types are {}",
            chooser.types()
        )));
    }
    Ok(Sources { scan, image, odometry, pose, base, taken })
}

struct Chooser<'a> {
    listing: &'a Listing,
}

impl Chooser<'_> {
    fn scan(&self, wanted: Option<&str>, taken: &mut Vec<String>) -> Result<Option<Topic>> {
        if let Some(name) = wanted {
            return self.named(name, "--scan", "scans", Kind::is_scan, taken);
        }
        let lasers = self.of(|kind| kind == Kind::LaserScan);
        let found = if lasers.is_empty() { self.of(Kind::is_scan) } else { lasers };
        match found.as_slice() {
            [] => Ok(None),
            [topic] => Ok(Some(taking("scans", topic, taken))),
            several => Err(Error::new(format!(
                "several topics hold scans: {}; choose one, or {NOTHING}",
                names(several)
            ))
            .in_field("--scan")),
        }
    }

    fn image(&self, wanted: Option<&str>, seeing: bool, taken: &mut Vec<String>) -> Result<Option<Topic>> {
        if let Some(name) = wanted {
            return self.named(name, "--image", "images", Kind::is_image, taken);
        }
        let found = self.of(Kind::is_image);
        match found.as_slice() {
            [] => Ok(None),
            several if seeing => {
                taken.push(format!("no images; --image takes those of {}", names(several)));
                Ok(None)
            }
            [topic] => Ok(Some(taking("images", topic, taken))),
            several => Err(Error::new(format!(
                "several topics hold images: {}; choose one, or {NOTHING}",
                names(several)
            ))
            .in_field("--image")),
        }
    }

    /// Poses from where it was said.
    fn poses(&self, source: &PoseSource, option: &str, taken: &mut Vec<String>) -> Result<Option<Origin>> {
        let what = if option == "--pose" { "poses" } else { "odometry" };
        match source {
            PoseSource::Nothing => Ok(None),
            PoseSource::Topic(name) => {
                Ok(self.named(name, option, what, Kind::is_pose, taken)?.map(Origin::Topic))
            }
            PoseSource::Frames { parent, child } => {
                let way = self.listing.frames.way(parent, child).map_err(|error| error.in_field(option))?;
                if way.iter().all(|link| !self.listing.frames.edge(link).moves) {
                    let problem = format!("{child} never moves as seen from {parent}");
                    return Err(Error::new(problem).in_field(option));
                }
                taken.push(format!("{what} from the transforms {parent}->{child}"));
                Ok(Some(Origin::Frames { child: child.clone(), way }))
            }
        }
    }

    /// Odometry that nobody named: a topic of that type, or the transforms from a frame called odom.
    fn any_odometry(&self, near: Option<&str>, taken: &mut Vec<String>) -> Result<Option<Origin>> {
        let mut found = self.of(|kind| kind == Kind::Odometry);
        found.retain(|topic| !says(topic, &TRUTH));
        if found.len() > 1
            && let Some(topic) =
                only(&found, |topic| near.is_some_and(|near| space(near) == space(&topic.name)))
        {
            found = vec![topic];
        }
        if found.len() > 1
            && let Some(topic) = only(&found, |topic| topic.name.trim_matches('/') == "odom")
        {
            found = vec![topic];
        }
        match found.as_slice() {
            [] => {}
            [topic] => return Ok(Some(Origin::Topic(taking("odometry", topic, taken)))),
            several => {
                let problem = format!("several topics hold odometry: {}; choose one", names(several));
                return Err(Error::new(problem).in_field("--odometry"));
            }
        }
        let odom = |name: &str| name.rsplit('/').next().is_some_and(|last| last.starts_with("odom"));
        let pairs = self.listing.frames.pairs();
        let mut moving: Vec<_> =
            pairs.filter(|(pair, edge)| edge.moves && odom(&pair.0)).map(|(pair, _)| pair.clone()).collect();
        if moving.len() > 1 {
            moving.retain(|pair| BASES.contains(&pair.1.rsplit('/').next().unwrap_or_default()));
        }
        let [(parent, child)] = moving.as_slice() else { return Ok(None) };
        let source = PoseSource::Frames { parent: parent.clone(), child: child.clone() };
        self.poses(&source, "--odometry", taken)
    }

    /// Truth that nobody named: a topic whose name says so, the only one with poses, or the frame called map.
    fn any_truth(&self, near: Option<&str>, base: Option<&str>, taken: &mut Vec<String>) -> Option<Origin> {
        let found = self.of(Kind::is_pose);
        let poses: Vec<&Topic> = found
            .iter()
            .copied()
            .filter(|topic| says(topic, &TRUTH) || !is_odometry(topic) && !says(topic, &WISHES))
            .collect();
        let sure = only(&poses, |topic| says(topic, &TRUTH));
        let near_by = only(&poses, |topic| {
            says(topic, &TRUTH) && near.is_some_and(|near| space(near) == space(&topic.name))
        });
        if let Some(topic) = near_by.or(sure).or_else(|| only(&poses, |_| true)) {
            return Some(Origin::Topic(taking("poses", topic, taken)));
        }
        if !poses.is_empty() {
            taken.push(format!("no poses; --pose takes those of {}", names(&poses)));
            return None;
        }
        let source = PoseSource::Frames { parent: "map".to_owned(), child: base?.to_owned() };
        self.poses(&source, "--pose", taken).ok().flatten()
    }

    /// A topic by its name; if it does not fit, says which ones would.
    fn named(
        &self,
        name: &str,
        option: &str,
        what: &str,
        fits: fn(Kind) -> bool,
        taken: &mut Vec<String>,
    ) -> Result<Option<Topic>> {
        if name == NOTHING {
            return Ok(None);
        }
        let fitting = self.of(fits);
        if let Some(topic) = fitting.iter().find(|topic| topic.name == name) {
            return Ok(Some(taking(what, topic, taken)));
        }
        let would_do = match fitting.as_slice() {
            [] => "no topic of this bag would do".to_owned(),
            some => format!("these would do: {}", names(some)),
        };
        let problem = match self.listing.topics.iter().find(|topic| topic.name == name) {
            Some(topic) if topic.heard.messages == 0 => format!("topic {name} has no messages"),
            Some(topic) => {
                format!("topic {name} has type {} ({}), which does not fit", topic.schema, topic.encoding)
            }
            None => format!("there is no topic {name}{}", self.nearest(name)),
        };
        Err(Error::new(format!("{problem}; {would_do}")).in_field(option))
    }

    fn nearest(&self, name: &str) -> String {
        let topics = self.listing.topics.iter();
        let nearest = topics.map(|topic| (distance(&topic.name, name), &topic.name)).min();
        let near = nearest.filter(|(letters, _)| *letters <= 2 + name.len() / 4);
        near.map(|(_, name)| format!(" (did you mean {name}?)")).unwrap_or_default()
    }

    /// Topics with messages of a kind.
    fn of(&self, fits: impl Fn(Kind) -> bool) -> Vec<&Topic> {
        let some =
            |topic: &&Topic| topic.heard.messages > 0 && topic.kind().is_some_and(|(kind, _)| fits(kind));
        self.listing.topics.iter().filter(some).collect()
    }

    fn types(&self) -> String {
        let mut types: Vec<String> = self
            .listing
            .topics
            .iter()
            .map(|topic| format!("{} ({})", topic.schema, topic.encoding))
            .collect();
        types.sort();
        types.dedup();
        if types.is_empty() { "none".to_owned() } else { types.join(", ") }
    }
}

/// Says that a topic was taken.
fn taking(what: &str, topic: &Topic, taken: &mut Vec<String>) -> Topic {
    taken.push(format!("{what} from {} ({}, {} messages)", topic.name, topic.schema, topic.heard.messages));
    topic.clone()
}
