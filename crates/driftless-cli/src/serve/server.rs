//! The threads of a server: one for each client, one for each core, one for snapshots, and one that looks after them.

use super::client::Client;
use super::fleet::Fleet;
use super::health::count;
use super::lines::{LONGEST, Lines, Next};
use super::live::Live;
use super::page;
use super::record::Recorder;
use super::snapshot::Folder;
use crate::args;
use crate::interrupt;
use crate::output::{complain, grouped, print};
use anyhow::Result;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, Scope, available_parallelism, scope, sleep};
use std::time::{Duration, Instant};

/// How often somebody looks whether a client comes, or whether to stop.
const PAUSE: Duration = Duration::from_millis(10);
/// How often robots are looked over.
const ROUND: Duration = Duration::from_secs(1);
/// Memory of a client's thread; its line is elsewhere.
const STACK: usize = 512 << 10;

/// What all threads share.
pub struct Server {
    fleet: Fleet,
    live: Live,
    folder: Option<Folder>,
    snapshot_every: Duration,
    idle: Duration,
    duration: Option<Duration>,
    most_clients: usize,
    clients: AtomicUsize,
    /// Nobody is listened to any more.
    stops: AtomicBool,
}

/// One of those that are counted, for as long as it lives.
pub struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    /// One more, unless there are so many.
    pub fn below(most: usize, all: &'a AtomicUsize) -> Option<Self> {
        let taken = all.fetch_add(1, Ordering::Relaxed);
        let counted = Self(all);
        (taken < most).then_some(counted)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Server {
    /// Ready to run.
    pub fn new(fleet: Fleet, live: Live, folder: Option<Folder>, wanted: &args::Serve) -> Self {
        Self {
            fleet,
            live,
            folder,
            snapshot_every: wanted.snapshot_every,
            idle: wanted.idle,
            duration: wanted.duration,
            most_clients: wanted.clients as usize,
            clients: AtomicUsize::new(0),
            stops: AtomicBool::new(false),
        }
    }

    /// Serves until somebody asks to stop, or the time is over; all lines that came in until then are answered.
    pub fn run(&self, robots: &TcpListener, page: Option<&TcpListener>, threads: Option<u16>) -> Result<()> {
        let cores = || available_parallelism().map_or(1, usize::from);
        let workers = threads.map_or_else(cores, usize::from);
        // Each worker is a pool of its own: what a filter would share out, it does itself.
        let pool = |_| rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pools = (0..workers).map(pool).collect::<Result<Vec<_>, _>>()?;
        scope(|scope| {
            for pool in &pools {
                scope.spawn(|| pool.install(|| self.fleet.work()));
            }
            if let Some(folder) = &self.folder {
                scope.spawn(|| self.keep(folder));
            }
            if let Some(recorder) = &self.fleet.recorder {
                scope.spawn(|| recorder.keep(&self.stops));
            }
            self.look_after(scope, robots, page);
            self.stops.store(true, Ordering::Relaxed);
            while self.clients.load(Ordering::Relaxed) > 0 {
                sleep(PAUSE);
            }
            self.fleet.close();
        });
        Ok(())
    }

    /// Lets clients in and forgets robots.
    fn look_after<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        robots: &TcpListener,
        page: Option<&TcpListener>,
    ) {
        let (began, readers) = (Instant::now(), &self.live.readers);
        let (mut looked, mut id) = (began, 0);
        while !interrupt::happened() && self.duration.is_none_or(|duration| began.elapsed() < duration) {
            let (client, reader) = (accepted(robots), page.and_then(accepted));
            if client.is_none() && reader.is_none() {
                sleep(PAUSE);
            }
            if let Some(stream) = client {
                id += 1;
                let thread = Builder::new().stack_size(STACK);
                let listen = Counted::below(self.most_clients, &self.clients)
                    .map(|counted| thread.spawn_scoped(scope, move || self.hear(stream, id, counted)));
                if !matches!(listen, Some(Ok(_))) {
                    count(&self.fleet.health.refused, 1);
                }
            }
            if let Some((stream, counted)) = reader.zip(Counted::below(page::MOST_READERS, readers)) {
                let thread = Builder::new().stack_size(STACK);
                // A browser asks again.
                let _ = thread
                    .spawn_scoped(scope, move || page::answer(stream, &self.fleet, &self.live, counted));
            }
            if looked.elapsed() >= ROUND {
                looked = Instant::now();
                self.fleet.tidy();
            }
        }
    }

    /// Hears a client out.
    fn hear(&self, stream: TcpStream, id: u64, _counted: Counted) {
        let both = stream.try_clone().and_then(|copy| Ok((Client::new(id, copy)?, Lines::of(stream)?)));
        // Nobody to be told.
        let Ok((client, mut lines)) = both else { return };
        let client = Arc::new(client);
        for number in 1.. {
            match lines.next(self.idle, || client.is_gone() || self.stops.load(Ordering::Relaxed)) {
                Next::Line(line) if line.trim_ascii().is_empty() => {}
                Next::Line(line) => self.fleet.take(&client, number, line),
                Next::TooLong => {
                    let problem = format!("is longer than {} bytes", grouped(LONGEST));
                    self.fleet.refuse(&client, number, None, &problem);
                }
                Next::Silent | Next::End => break,
            }
        }
        self.fleet.leave(&client);
    }

    /// Writes snapshots until the server stops.
    fn keep(&self, folder: &Folder) {
        let mut written = Instant::now();
        while !self.stops.load(Ordering::Relaxed) {
            if written.elapsed() >= self.snapshot_every {
                written = Instant::now();
                if let Err(error) = folder.write(&self.fleet) {
                    complain(&format!("warning: no snapshot: {error:#}"));
                }
            }
            sleep(PAUSE);
        }
    }

    /// The end of the recording, the last snapshot, and what was done.
    pub fn last_words(&self) -> Result<()> {
        self.fleet.recorder.as_ref().map_or(Ok(()), Recorder::finish)?;
        let steps = self.fleet.health.steps.load(Ordering::Relaxed) as usize;
        let Some(folder) = &self.folder else { return print(&format!("{} steps\n", grouped(steps))) };
        let robots = grouped(folder.write(&self.fleet)?);
        print(&format!("{} steps; {robots} robots in the last snapshot\n", grouped(steps)))
    }
}

/// Whoever came, if somebody did.
fn accepted(listener: &TcpListener) -> Option<TcpStream> {
    let (stream, _) = listener.accept().ok()?;
    // Whether it waits is inherited from the listener on some systems.
    stream.set_nonblocking(false).ok()?;
    Some(stream)
}
