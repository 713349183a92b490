//! Ranks that are threads of one process: what tests and whoever writes a method play many processes with.

use super::{Lost, Ranks};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

/// One of several ranks in a process. One that is dropped is lost to the others.
#[derive(Debug)]
pub struct Played {
    rank: usize,
    /// To and from each rank, its own too.
    to: Mutex<Vec<Sender<Vec<u8>>>>,
    from: Mutex<Vec<Receiver<Vec<u8>>>>,
}

impl Played {
    /// So many, each for a thread of its own.
    pub fn ranks(size: usize) -> Vec<Self> {
        let mut from: Vec<Vec<Receiver<Vec<u8>>>> = (0..size).map(|_| Vec::new()).collect();
        let mut to: Vec<Vec<Sender<Vec<u8>>>> = (0..size).map(|_| Vec::new()).collect();
        for senders in &mut to {
            for receivers in &mut from {
                let (sender, receiver) = channel();
                senders.push(sender);
                receivers.push(receiver);
            }
        }
        let both = to.into_iter().zip(from).enumerate();
        both.map(|(rank, (to, from))| Self { rank, to: Mutex::new(to), from: Mutex::new(from) }).collect()
    }

    /// Does the same on so many ranks, and says what it came to on each.
    pub fn each<T: Send>(size: usize, task: impl Fn(Self) -> T + Sync) -> Vec<T> {
        let task = &task;
        std::thread::scope(|scope| {
            let threads = Self::ranks(size).into_iter().map(|ranks| scope.spawn(move || task(ranks)));
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().expect("no rank has panicked")).collect()
        })
    }
}

impl Ranks for Played {
    fn size(&self) -> usize {
        self.to.lock().expect("no thread has panicked").len()
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn gather(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
        let gone = |rank: usize| Lost(format!("rank {rank} is gone"));
        for (rank, to) in self.to.lock().expect("no thread has panicked").iter().enumerate() {
            to.send(own.clone()).map_err(|_| gone(rank))?;
        }
        let from = self.from.lock().expect("no thread has panicked");
        from.iter().enumerate().map(|(rank, from)| from.recv().map_err(|_| gone(rank))).collect()
    }
}
