//! Messages as bytes: decoded, checked against the clock, and handed on.

use super::{IMAGES, Localiser, WAITING};
use crate::clock::Tick;
use crate::counts::Trouble;
use crate::odometer::Heard as Odometry;
use crate::sights::{Sight, What};
use crate::topics::Heard;
use driftless_world::Result;
use driftless_world::files::estimates::messages::Stamp;
use driftless_world::files::ros::{
    self, Cursor, Encoding, Header, Kind, LaserScan, header, laser_scan, picture, transforms,
};

/// The stamp that a message begins with, as it is written.
fn stamp(bytes: &[u8]) -> Result<Stamp> {
    let mut cursor = Cursor::new(Encoding::Cdr, bytes)?;
    Ok((cursor.i32()?, cursor.u32()?))
}

impl Localiser {
    /// Takes a message in CDR, the four bytes in front included.
    pub fn hear(&mut self, topic: Heard, bytes: &[u8]) {
        let taken = match topic {
            Heard::Scan => self.hear_scan(bytes),
            Heard::Image => self.hear_image(bytes),
            Heard::Odometry => self.hear_odometry(bytes),
            Heard::InitialPose => self.hear_initial_pose(bytes),
            Heard::Fixed => self.hear_fixed(bytes),
        };
        if let Err(error) = taken {
            let [package, name] = topic.kind();
            self.note(Trouble::Garbage, || format!("a message of {package}/{name} {error}: passed over"));
        }
    }

    /// The stamp of a message; one without is counted and passed over.
    pub(super) fn time(&mut self, header: &Header) -> Option<f64> {
        if header.time.is_none() {
            self.note(Trouble::WithoutTime, || {
                "a message has no stamp in its header: passed over".to_owned()
            });
        }
        header.time
    }

    fn hear_scan(&mut self, bytes: &[u8]) -> Result<()> {
        let head = header(&mut Cursor::new(Encoding::Cdr, bytes)?)?;
        let mut scan = laser_scan(Encoding::Cdr, bytes)?;
        self.counts.scans += 1;
        let Some(time) = self.time(&head) else { return Ok(()) };
        if self.wants.scanner.is_some() && self.is_new(0, time) {
            self.cut(&mut scan);
            self.wait(Sight { time, stamp: stamp(bytes)?, what: What::Scan(scan, head.frame) });
        }
        Ok(())
    }

    /// Readings that the user does not want are missing.
    fn cut(&self, scan: &mut LaserScan) {
        let (least, most) = (self.parameters.laser_min_range, self.parameters.laser_max_range);
        for range in &mut scan.ranges {
            let far = f64::from(*range);
            if far < least || (most >= 0.0 && far > most) {
                *range = f32::NAN;
            }
        }
    }

    fn hear_image(&mut self, bytes: &[u8]) -> Result<()> {
        let head = header(&mut Cursor::new(Encoding::Cdr, bytes)?)?;
        let mut image = picture(Kind::Image, Encoding::Cdr, bytes)?;
        self.counts.images += 1;
        let Some(time) = self.time(&head) else { return Ok(()) };
        if !self.wants.sees || !self.is_new(1, time) {
            return Ok(());
        }
        if let Some(side) = self.wants.image_side {
            image = image.resized(image.size_within(side));
        }
        if self.wants.scanner.is_none() {
            self.wait(Sight { time, stamp: stamp(bytes)?, what: What::Image(image) });
            return Ok(());
        }
        if self.images.len() == IMAGES {
            self.images.pop_front();
        }
        self.images.push_back((time, image));
        Ok(())
    }

    fn hear_odometry(&mut self, bytes: &[u8]) -> Result<()> {
        let odometry = ros::pose(Kind::Odometry, Encoding::Cdr, bytes)?;
        self.counts.odometry += 1;
        let Some(time) = self.time(&odometry.header) else { return Ok(()) };
        self.compare_frames([&odometry.header.frame, &odometry.child]);
        match self.odometer.hear(time, odometry.place.on_floor()) {
            Odometry::As(Tick::New) => {}
            Odometry::As(tick) => self.tell_of(tick, "odometry", time),
            Odometry::Jump => self.note(Trouble::Jump, || {
                format!("odometry jumped at {time:.3} s, as no robot drives: the next motion is not known")
            }),
        }
        self.settle();
        Ok(())
    }

    /// Frames of odometry that are not those of the parameters are told of once.
    fn compare_frames(&mut self, found: [&str; 2]) {
        let wanted = [&self.parameters.odom_frame, &self.parameters.base_frame];
        let names = ["odom_frame_id", "base_frame_id"];
        for k in 0..2 {
            if found[k] != wanted[k] && !std::mem::replace(&mut self.other_frames[k], true) {
                let told = format!(
                    "odometry has the frame {:?} where {} is {:?}: it is taken for that",
                    found[k], names[k], wanted[k]
                );
                self.outcomes.push(super::Outcome::Tell(told));
            }
        }
    }

    fn hear_fixed(&mut self, bytes: &[u8]) -> Result<()> {
        for transform in transforms(Encoding::Cdr, bytes)? {
            self.frames.note(&transform, transform.header.time.unwrap_or(0.0), true);
        }
        self.readings.look_again();
        Ok(())
    }

    /// Whether a scan (0) or an image (1) is newer than those before.
    fn is_new(&mut self, which: usize, time: f64) -> bool {
        let tick = self.clocks[which].tick(time);
        if tick != Tick::New {
            self.tell_of(tick, ["a scan", "an image"][which], time);
        }
        if tick == Tick::Restart {
            self.waiting.clear();
            self.images.clear();
        }
        matches!(tick, Tick::New | Tick::Restart)
    }

    fn tell_of(&mut self, tick: Tick, what: &str, time: f64) {
        let (trouble, why) = match tick {
            Tick::New => return,
            Tick::Twice => (Trouble::Twice, "has the time of the one before: passed over"),
            Tick::Late => (Trouble::Late, "is older than the one before: passed over"),
            Tick::Restart => (Trouble::Restart, "is so old that time must have begun anew"),
        };
        self.note(trouble, || format!("{what} of {time:.3} s {why}"));
    }

    fn wait(&mut self, sight: Sight) {
        self.waiting.push_back(sight);
        if self.waiting.len() > WAITING {
            self.waiting.pop_front();
            self.note(Trouble::WithoutOdometry, || {
                "no odometry comes that says where the robot was at its scans or images".to_owned()
            });
        }
        self.settle();
    }
}
