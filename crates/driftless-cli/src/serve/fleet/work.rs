//! What a worker does: it takes robots in turn, steps the filter of each by one line, and answers.

use super::Fleet;
use crate::serve::mailbox::Waiting;
use crate::serve::robot::Robot;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a worker waits before it looks whether to stop.
const PAUSE: Duration = Duration::from_millis(100);

impl Fleet {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Arc<Robot>>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn schedule(&self, robot: Arc<Robot>) {
        self.queue().push_back(robot);
        self.wake.notify_one();
    }

    /// Answers lines, a line of each robot in turn, until the server ends and nothing waits.
    pub fn work(&self) {
        loop {
            let mut ready = self.queue();
            let next = loop {
                if let Some(robot) = ready.pop_front() {
                    break robot;
                }
                if self.closes.load(Ordering::Relaxed) {
                    return;
                }
                ready = self.wake.wait_timeout(ready, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
            };
            drop(ready);
            self.serve(next);
        }
    }

    /// No lines come any more: workers end when nothing waits.
    pub fn close(&self) {
        self.closes.store(true, Ordering::Relaxed);
        self.wake.notify_all();
    }

    /// Answers the oldest line of a robot.
    fn serve(&self, robot: Arc<Robot>) {
        let next = robot.post().next();
        if let Some(waiting) = next {
            self.answer(&robot, &waiting);
        }
        let mut post = robot.post();
        post.is_scheduled = post.mailbox.len() > 0 && !post.is_forgotten;
        if post.is_scheduled {
            drop(post);
            self.schedule(robot);
        }
    }

    fn answer(&self, robot: &Arc<Robot>, waiting: &Waiting) {
        let (client, number) = (Arc::clone(&waiting.client), waiting.number);
        let step = || robot.step(waiting, &self.trackers, self.seed, self.recorder.as_ref());
        match catch_unwind(AssertUnwindSafe(step)) {
            Ok(Ok(text)) => {
                self.say(&client, text);
                self.health.answered(waiting.received);
            }
            Ok(Err(problem)) => self.refuse(&client, number, robot.name.as_deref(), &format!("{problem:#}")),
            Err(_) => {
                // A bug of ours; it must not be that of all other robots, too.
                self.forget(robot);
                self.refuse(
                    &client,
                    number,
                    robot.name.as_deref(),
                    "the filter failed, and forgot the robot",
                );
            }
        }
    }
}
