//! A plain HTTP client for the services under test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// An answer to an HTTP request.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, as text.
    pub body: String,
    /// The body as it came.
    pub file: Vec<u8>,
}

impl Answer {
    /// Returns a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the name and the value of the cookie that it sets.
    ///
    /// # Panics
    /// Panics if it sets none.
    #[track_caller]
    #[must_use]
    pub fn cookie(&self) -> &str {
        let cookie = self.header("set-cookie").and_then(|cookie| cookie.split(';').next());
        cookie.unwrap_or_else(|| panic!("no cookie: {self:?}"))
    }

    /// Returns the body as JSON.
    ///
    /// # Panics
    /// Panics if it is not JSON.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Gets a path from the server at this host and port.
///
/// # Panics
/// Panics if there is no answer.
#[track_caller]
#[must_use]
pub fn get(address: &str, path: &str) -> Answer {
    request(address, "GET", path, &[], "")
}

/// Posts JSON to a path.
///
/// # Panics
/// Panics if there is no answer.
#[track_caller]
pub fn post(address: &str, path: &str, body: &str) -> Answer {
    request(address, "POST", path, &[("Content-Type", "application/json")], body)
}

/// Sends a request with a token and JSON.
///
/// # Panics
/// Panics if there is no answer.
#[track_caller]
#[must_use]
pub fn ask(address: &str, token: &str, method: &str, path: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    request(address, method, path, &headers, body)
}

/// Logs in by the pages.
///
/// # Panics
/// Panics if there is no answer.
#[track_caller]
#[must_use]
pub fn log_in(address: &str, token: &str) -> Answer {
    post(address, "/api/v1/login", &json!({ "token": token }).to_string())
}

/// Sends a request and returns the status of the answer, which may be endless.
///
/// # Panics
/// Panics if there is no answer.
#[track_caller]
#[must_use]
pub fn status(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> u16 {
    let mut line = String::new();
    BufReader::new(send(address, method, path, headers, body)).read_line(&mut line).expect("an answer");
    line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

/// Sends a request and returns the whole answer. A header `Host` replaces the address.
///
/// # Panics
/// Panics if there is no answer.
#[track_caller]
#[must_use]
pub fn request(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    try_request(address, method, path, headers, body).expect("a head and a body")
}

/// Does the same, but returns `None` if the server closes the connection without an answer.
///
/// # Panics
/// Panics if the answer is malformed.
#[track_caller]
#[must_use]
pub fn try_request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Answer> {
    parse(send(address, method, path, headers, body))
}

/// Reads an answer up to the end of the connection; `None` if there is no whole head.
pub(crate) fn parse(mut stream: impl Read) -> Option<Answer> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    let n_head = bytes.windows(4).position(|end| end == b"\r\n\r\n")?;
    let file = bytes.split_off(n_head + 4);
    let head = String::from_utf8(bytes).expect("text");
    let mut lines = head.trim_end().lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status");
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").expect("a header");
        (name.to_ascii_lowercase(), value.to_owned())
    };
    Some(Answer {
        status: status.parse().expect("a number"),
        headers: lines.map(header).collect(),
        body: String::from_utf8_lossy(&file).into_owned(),
        file,
    })
}

#[track_caller]
fn send(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
    stream.write_all(text(address, method, path, headers, body).as_bytes()).expect("sent");
    stream
}

/// Returns the text of a request.
pub(crate) fn text(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    // An HTTP/1.0 answer is not chunked, and ends with the connection.
    let mut head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {}\r\n", body.len());
    if headers.iter().all(|(name, _)| *name != "Host") {
        head.push_str(&format!("Host: {address}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{head}\r\n{body}")
}
