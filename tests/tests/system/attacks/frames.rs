//! HTTP/2 by hand, over TLS, to send frames that no library would send.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, StreamOwned};

/// Kinds of frames, by their numbers in RFC 9113.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
const GOAWAY: u8 = 7;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// How long to wait for data from the other end.
const LISTEN: Duration = Duration::from_millis(2);

/// How long to wait for an answer by HTTP/1.1.
const ANSWER: Duration = Duration::from_secs(10);

/// How the other end ended something, and how often.
pub(crate) type Endings = BTreeMap<String, u64>;

/// Builds a frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("small").to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Builds a gRPC message, which may be shorter than the length in its header.
pub(crate) fn message(compressed: bool, length: u32, bytes: &[u8]) -> Vec<u8> {
    let mut message = vec![u8::from(compressed)];
    message.extend(length.to_be_bytes());
    message.extend(bytes);
    message
}

/// Encodes the head of a request as HPACK (RFC 7541) without tables and Huffman codes.
pub(crate) fn head(path: &str, token: Option<&str>, more: &[(&str, &str)]) -> Vec<u8> {
    // POST and https, from the static table.
    let mut head = vec![0x83, 0x87];
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut fields = vec![(":path", path), (":authority", "localhost"), ("content-type", "application/grpc")];
    fields.push(("te", "trailers"));
    fields.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    fields.extend(more);
    for (name, value) in fields {
        head.push(0);
        for text in [name, value] {
            integer(&mut head, text.len());
            head.extend(text.as_bytes());
        }
    }
    head
}

/// Encodes a number after a prefix of seven bits.
fn integer(bytes: &mut Vec<u8>, number: usize) {
    match number.checked_sub(127) {
        None => bytes.push(u8::try_from(number).expect("small")),
        Some(rest) => {
            bytes.push(127);
            varint(bytes, rest);
        }
    }
}

/// Encodes a number in groups of seven bits, the lowest first.
pub(crate) fn varint(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 128 {
        bytes.push(u8::try_from(number % 128 + 128).expect("a byte"));
        number /= 128;
    }
    bytes.push(u8::try_from(number).expect("small"));
}

/// An attacker's connection.
pub(crate) struct Peer {
    stream: StreamOwned<ClientConnection, TcpStream>,
    heard: Vec<u8>,
}

impl Peer {
    /// Opens an encrypted connection, if that succeeds.
    pub(crate) fn connect(address: &str, config: &Arc<ClientConfig>) -> Option<Self> {
        let mut tcp = TcpStream::connect(address).ok()?;
        tcp.set_nodelay(true).ok()?;
        tcp.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        tcp.set_write_timeout(Some(Duration::from_secs(1))).ok()?;
        let name = ServerName::try_from("localhost").ok()?;
        let mut connection = ClientConnection::new(config.clone(), name).ok()?;
        while connection.is_handshaking() {
            connection.complete_io(&mut tcp).ok()?;
        }
        tcp.set_read_timeout(Some(LISTEN)).ok()?;
        Some(Self { stream: StreamOwned::new(connection, tcp), heard: Vec::new() })
    }

    /// Opens an encrypted connection and sends the greeting.
    pub(crate) fn greet(address: &str, config: &Arc<ClientConfig>) -> Option<Self> {
        let mut peer = Self::connect(address, config)?;
        let mut greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        // Without a header table, each header is written out and can be read.
        greeting.extend(frame(SETTINGS, 0, 0, &[0, 1, 0, 0, 0, 0]));
        peer.send(&greeting).then_some(peer)
    }

    /// Sends bytes; returns whether that succeeded.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).and_then(|()| self.stream.flush()).is_ok()
    }

    /// Returns the status of an HTTP/1.1 answer, and reads its body unless that is endless.
    pub(crate) fn status(&mut self) -> Option<u16> {
        self.stream.sock.set_read_timeout(Some(ANSWER)).ok()?;
        let mut buffer = [0; 16384];
        let (head, body_at) = loop {
            if let Some(at) = self.heard.windows(4).position(|four| four == b"\r\n\r\n") {
                break (str::from_utf8(&self.heard[..at]).ok()?.to_ascii_lowercase(), at + 4);
            }
            let n_read = self.stream.read(&mut buffer).ok().filter(|n_read| *n_read > 0)?;
            self.heard.extend(&buffer[..n_read]);
        };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let end = body_at + length.and_then(|length| length.trim().parse::<usize>().ok()).unwrap_or(0);
        while self.heard.len() < end {
            let n_read = self.stream.read(&mut buffer).ok().filter(|n_read| *n_read > 0)?;
            self.heard.extend(&buffer[..n_read]);
        }
        self.heard.drain(..end);
        head.split(' ').nth(1)?.parse().ok()
    }

    /// Records the endings that the other end sent; returns whether the connection is still open.
    pub(crate) fn listen(&mut self, endings: &mut Endings) -> bool {
        let mut buffer = [0; 16384];
        let goes_on = loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => break false,
                Ok(n_read) => self.heard.extend(&buffer[..n_read]),
                Err(error) => break matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            }
        };
        while let Some((kind, payload, rest)) = first_frame(&self.heard) {
            let code = |at: usize| payload.get(at..at + 4).map_or(0, |code| u32::from(code[3]));
            let ending = match kind {
                GOAWAY => Some(format!("connection ended: {}", error_name(code(4)))),
                RST_STREAM => Some(format!("stream ended: {}", error_name(code(0)))),
                HEADERS => grpc_status(payload).map(|status| format!("gRPC status {status}")),
                _ => None,
            };
            ending.into_iter().for_each(|ending| *endings.entry(ending).or_default() += 1);
            self.heard.drain(..rest);
        }
        if !goes_on {
            *endings.entry("connection closed".to_owned()).or_default() += 1;
        }
        goes_on
    }
}

/// Returns kind and payload of the first whole frame, and the start of the next.
fn first_frame(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let [a, b, c, kind, ..] = *bytes else { return None };
    let end = 9 + usize::from(a) * 65536 + usize::from(b) * 256 + usize::from(c);
    bytes.get(9..end).map(|payload| (kind, payload, end))
}

/// Returns the number in `grpc-status`.
fn grpc_status(payload: &[u8]) -> Option<String> {
    // "grpc-status" in the Huffman code.
    const NAME: [u8; 8] = [0x9a, 0xca, 0xc8, 0xb2, 0x12, 0x34, 0xda, 0x8f];
    let at = payload.windows(NAME.len()).position(|window| window == NAME)? + NAME.len();
    // Digits have five or six bits: one byte holds one digit, two bytes hold two.
    match payload.get(at..)? {
        [0x81, digit, ..] if *digit >> 3 < 3 => Some(format!("{}", digit >> 3)),
        [0x81, digit, ..] => Some(format!("{}", (digit >> 2).wrapping_sub(0x19) + 3)),
        [1, digit, ..] => Some(char::from(*digit).to_string()),
        [2, one, other, ..] => Some(format!("{}{}", char::from(*one), char::from(*other))),
        [0x82, one, other, ..] => {
            let second = (one & 7) << 3 | other >> 5;
            let second = if second >> 1 < 3 { second >> 1 } else { second.wrapping_sub(0x19) + 3 };
            Some(format!("{}{second}", one >> 3))
        }
        _ => None,
    }
}

fn error_name(code: u32) -> String {
    let names = ["no error", "protocol error", "internal error", "flow control", "settings", "stream closed"];
    let more = ["frame size", "refused", "cancel", "compression", "connect", "enhance your calm"];
    let index = usize::try_from(code).expect("small");
    names.iter().chain(&more).nth(index).map_or_else(|| format!("error {code}"), |name| (*name).to_owned())
}
