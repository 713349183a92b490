//! `driftless serve`: robots are followed over the network as they drive, and shown on a page.

mod client;
mod fleet;
mod health;
mod lines;
mod live;
mod mailbox;
mod page;
mod record;
mod request;
mod robot;
mod server;
mod snapshot;

use crate::args;
use crate::output::print;
use crate::track::{Asked, Trackers};
use crate::usage::misused;
use anyhow::{Context, Result};
use driftless_world::maze::Layout;
use fleet::{Bounds, Fleet};
use live::Live;
use record::Recorder;
use server::Server;
use snapshot::Folder;
use std::net::{SocketAddr, TcpListener};

/// Serves until somebody asks to stop.
pub fn run(wanted: &args::Serve, threads: Option<u16>) -> Result<()> {
    let asked = Asked {
        run: &wanted.run,
        floor: wanted.floor.as_deref(),
        from: wanted.from,
        start: wanted.start.as_deref(),
        particles: wanted.particles,
    };
    let maze = wanted.maze.as_deref().map(Layout::open).transpose()?;
    let trackers = Trackers::open(&asked)?;
    let live = Live::of(&trackers, maze)?;
    let folder =
        wanted.state.as_ref().map(|state| Folder::open(state, &wanted.run, &trackers)).transpose()?;
    let bounds = Bounds {
        robots: wanted.robots as usize,
        queue: usize::from(wanted.queue),
        idle: wanted.idle,
        linger: wanted.linger,
    };
    if wanted.record.is_some() && !trackers.names.is_empty() {
        misused!("--record: a recording holds poses in the plane; the run is of named coordinates");
    }
    let fleet = Fleet::new(trackers, wanted.seed, bounds, Recorder::of(wanted)?);
    if let Some(folder) = &folder {
        let count = fleet.restore(|trackers| folder.read(trackers))?;
        if count > 0 {
            print(&format!("{count} robots go on from where they were\n"))?;
        }
    }
    let robots = listen(wanted.listen, ["robots: ", ""])?;
    let page = wanted.page.map(|address| listen(address, ["page: http://", "/"])).transpose()?;
    let server = Server::new(fleet, live, folder, wanted);
    server.run(&robots, page.as_ref(), threads)?;
    server.last_words()
}

/// Listens there, and says where that is.
fn listen(address: SocketAddr, [before, behind]: [&str; 2]) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).with_context(|| format!("{address}: cannot listen"))?;
    listener.set_nonblocking(true)?;
    print(&format!("{before}{}{behind}\n", listener.local_addr()?))?;
    Ok(listener)
}
