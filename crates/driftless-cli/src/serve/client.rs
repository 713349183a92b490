//! A client: where answers go, in bounded memory.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A client whose answers do not fit into the system's buffers for so long does not read.
const PATIENCE: Duration = Duration::from_millis(20);

/// Fields that a client is told of.
const MOST_TOLD: usize = 16;

/// Somebody who is connected. Answers wait in the system's own buffer, which has a bound; there is no other.
pub struct Client {
    /// Numbers clients.
    pub id: u64,
    address: Option<SocketAddr>,
    stream: Option<Mutex<TcpStream>>,
    gone: AtomicBool,
    /// Fields that it was told nobody knows.
    told: Mutex<BTreeSet<String>>,
}

impl Client {
    /// Answers go there.
    pub fn new(id: u64, stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let address = stream.peer_addr().ok();
        Ok(Self {
            id,
            address,
            stream: Some(Mutex::new(stream)),
            gone: AtomicBool::new(false),
            told: Mutex::default(),
        })
    }

    /// Nobody.
    #[cfg(test)]
    pub fn testing() -> std::sync::Arc<Self> {
        Self { id: 0, address: None, stream: None, gone: AtomicBool::new(false), told: Mutex::default() }
            .into()
    }

    /// Sends a line, unless the client is gone. One that does not read is hung up on: false the first time.
    pub fn say(&self, mut line: String) -> bool {
        let Some(stream) = self.stream.as_ref().filter(|_| !self.is_gone()) else { return true };
        line.push('\n');
        let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
        match write(&mut stream, line.as_bytes()) {
            Ok(()) => true,
            Err(error) => {
                self.gone.store(true, Ordering::Relaxed);
                // Wakes its reader; where the other end is gone already, there is nothing to shut.
                let _ = stream.shutdown(Shutdown::Both);
                !matches!(error, ErrorKind::WouldBlock | ErrorKind::TimedOut)
            }
        }
    }

    /// Whether it was not told of this field yet; of some it is never told.
    pub fn is_news(&self, field: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.len() < MOST_TOLD && told.insert(field.to_owned())
    }

    /// Whether there is no use in saying anything.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Where it is.
    pub fn address(&self) -> String {
        self.address.map_or_else(|| "a client".to_owned(), |address| address.to_string())
    }
}

/// All of it within the time that a client has, however little it takes at once.
fn write(stream: &mut TcpStream, mut bytes: &[u8]) -> Result<(), ErrorKind> {
    let until = Instant::now() + PATIENCE;
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.kind()),
        }
        if !bytes.is_empty() && Instant::now() > until {
            return Err(ErrorKind::TimedOut);
        }
    }
    Ok(())
}
