//! Lines of a connection: of bounded length, with a bound on silence, and interrupted where the server ends.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A line that is longer is broken, and skipped to its end.
pub const LONGEST: usize = 4 << 20;
/// How often somebody looks whether to stop.
pub const PAUSE: Duration = Duration::from_millis(200);

/// What comes next.
#[derive(Debug, PartialEq)]
pub enum Next<'a> {
    Line(&'a [u8]),
    TooLong,
    /// Nothing was heard for too long.
    Silent,
    /// The other end is gone, or the server ends.
    End,
}

/// Lines as they come.
pub struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    is_too_long: bool,
}

impl Lines<TcpStream> {
    /// Of a connection, which is read by nobody else.
    pub fn of(stream: TcpStream) -> std::io::Result<Self> {
        stream.set_read_timeout(Some(PAUSE))?;
        Ok(Self::new(stream))
    }
}

impl<R: Read> Lines<R> {
    pub fn new(input: R) -> Self {
        Self { input: BufReader::with_capacity(16 << 10, input), line: Vec::new(), is_too_long: false }
    }

    /// Waits for a whole line; a last one without its end is none, as its sender was cut off. Looks up between any two
    /// pieces: a sender of single bytes holds nobody up.
    pub fn next(&mut self, idle: Duration, stops: impl Fn() -> bool) -> Next<'_> {
        let since = Instant::now();
        self.forget();
        loop {
            if stops() {
                return Next::End;
            }
            if since.elapsed() >= idle {
                return Next::Silent;
            }
            match self.piece() {
                Ok(Some(true)) if std::mem::take(&mut self.is_too_long) => return Next::TooLong,
                Ok(Some(true)) => return Next::Line(&self.line),
                Ok(Some(false)) => {}
                Err(error) if is_pause(error.kind()) => {}
                Ok(None) | Err(_) => return Next::End,
            }
        }
    }

    /// Reads what is there; says whether the line is complete, and nothing at the end.
    fn piece(&mut self) -> std::io::Result<Option<bool>> {
        let bytes = self.input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let piece = &bytes[..end.unwrap_or(bytes.len())];
        self.is_too_long |= self.line.len() + piece.len() > LONGEST;
        if !self.is_too_long {
            self.line.extend_from_slice(piece);
        }
        let taken = piece.len() + usize::from(end.is_some());
        self.input.consume(taken);
        Ok(Some(end.is_some()))
    }

    /// The last line goes; of a large one its memory, too.
    fn forget(&mut self) {
        self.line.clear();
        self.line.shrink_to(64 << 10);
    }
}

/// Nothing has come yet.
fn is_pause(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_a_bound() {
        let mut text = b"one\n\n".to_vec();
        text.extend(vec![b'x'; LONGEST]);
        text.extend(b"\n");
        text.extend(vec![b'x'; 2 * LONGEST + 7]);
        text.extend(b"\nlast\ncut off");
        let mut lines = Lines::new(&text[..]);
        let mut next = || match lines.next(Duration::MAX, || false) {
            Next::Line(line) => format!("{} {:?}", line.len(), line.first().map(|&byte| byte as char)),
            other => format!("{other:?}"),
        };
        let found: Vec<String> = (0..6).map(|_| next()).collect();
        let longest = format!("{LONGEST} Some('x')");
        assert_eq!(found, ["3 Some('o')", "0 None", &longest, "TooLong", "4 Some('l')", "End"]);
        assert_eq!(Lines::new(&b"one\n"[..]).next(Duration::MAX, || true), Next::End);
    }
}
