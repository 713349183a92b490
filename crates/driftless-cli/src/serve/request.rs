//! HTTP/1.1 as far as a page needs it: one GET a connection, with bounds on its size and its time.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bytes of a request's line and headers.
const LONGEST: usize = 8 << 10;
/// A request and an answer take at most so long each.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is asked for, or the status and the words of an answer that says no.
pub type Asked = Result<String, (&'static str, &'static str)>;

/// Something to be shown.
pub struct Answer {
    pub kind: &'static str,
    pub body: Vec<u8>,
}

/// Reads a request to the end of its headers. Nothing if the other end goes, or is too slow.
pub fn read(stream: &mut TcpStream) -> Option<Asked> {
    let (until, mut head, mut piece) = (Instant::now() + PATIENCE, Vec::new(), [0; 1024]);
    while !ends(&head) {
        if head.len() > LONGEST {
            return Some(Err(("431 Request Header Fields Too Large", "the request is too long")));
        }
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        stream.set_read_timeout(Some(left)).ok()?;
        match stream.read(&mut piece) {
            Ok(0) => return None,
            Ok(count) => head.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    Some(understood(&head))
}

fn ends(head: &[u8]) -> bool {
    head.windows(4).any(|end| end == b"\r\n\r\n") || head.windows(2).any(|end| end == b"\n\n")
}

/// The path that is asked for.
fn understood(head: &[u8]) -> Asked {
    const BAD: Asked = Err(("400 Bad Request", "this is no request that is understood"));
    let Ok(head) = std::str::from_utf8(head) else { return BAD };
    let mut lines = head.lines();
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, path, version] = words[..] else { return BAD };
    if !version.starts_with("HTTP/1.") || !path.starts_with('/') {
        return BAD;
    }
    if method != "GET" {
        return Err(("405 Method Not Allowed", "only GET is allowed: nothing can be changed here"));
    }
    let hosts: Vec<&str> =
        lines.filter_map(|line| line.split_once(':')).filter(is_host).map(|(_, host)| host).collect();
    match hosts[..] {
        [host] if is_address(host.trim()) => Ok(path.split(['?', '#']).next().unwrap_or(path).to_owned()),
        [_] => Err(("403 Forbidden", "ask by an address or localhost: names can be anybody's")),
        _ => BAD,
    }
}

fn is_host((name, _): &(&str, &str)) -> bool {
    name.eq_ignore_ascii_case("host")
}

/// Whether a host is an address or localhost. A page of somebody else's could have its name lead here, and read.
fn is_address(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || bare.parse::<std::net::IpAddr>().is_ok()
}

/// Writes an answer, or says no. Whoever does not read it in time gets a part.
pub fn write(stream: &mut TcpStream, answer: Result<Answer, (&str, &str)>) {
    let (status, Answer { kind, body }) = match answer {
        Ok(answer) => ("200 OK", answer),
        Err((status, words)) => {
            (status, Answer { kind: "text/plain; charset=utf-8", body: format!("{words}\n").into_bytes() })
        }
    };
    let allow = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: {POLICY}\r\n{allow}\r\n",
        body.len()
    );
    let until = Instant::now() + PATIENCE;
    let all = [head.into_bytes(), body].concat();
    let mut rest = &all[..];
    while let (false, Some(left)) = (rest.is_empty(), until.checked_duration_since(Instant::now())) {
        let timed = stream.set_write_timeout(Some(left.max(Duration::from_millis(1))));
        match timed.and_then(|()| stream.write(rest)) {
            Ok(0) => return,
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// What a browser may do with the page: nothing from elsewhere, and no script but ours.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_understood() {
        let asked = |text: &str| understood(text.as_bytes());
        assert_eq!(
            asked("GET /live.json?now HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n"),
            Ok("/live.json".to_owned())
        );
        assert_eq!(asked("GET / HTTP/1.0\nhost: LOCALHOST\n\n"), Ok("/".to_owned()));
        assert_eq!(asked("GET / HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n"), Ok("/".to_owned()));
        let status = |text: &str| asked(text).unwrap_err().0[..3].to_owned();
        for (text, expected) in [
            ("", "400"),
            ("GET /", "400"),
            ("GET  / HTTP/1.1\r\nHost: ::1\r\n\r\n", "400"),
            ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
            ("GET / HTTP/2\r\nHost: ::1\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "405"),
            ("GET / HTTP/1.1\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: 1.1.1.1\r\nHost: 1.1.1.1\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: evil.example:80\r\n\r\n", "403"),
        ] {
            assert_eq!(status(text), expected, "{text:?}");
        }
        assert_eq!(understood(b"GET /\xff HTTP/1.1\r\n\r\n").unwrap_err().0, "400 Bad Request");
    }
}
