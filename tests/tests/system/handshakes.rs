//! Connections that start a TLS handshake and do not finish it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use queens_tests::files;
use queens_tests::prelude::*;

use super::connections::{AFTER_FLOOD, is_closed, open};

/// The limit of connections of an address, and the number of attempts.
const MOST: usize = 200;
const N_HALF_OPEN: usize = 400;

/// The beginning of a handshake: a record that announces a ClientHello of 512 bytes.
const HALF: [u8; 11] = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];

#[test]
fn half_open_handshakes_do_not_last_and_end_no_session() {
    let guarded = Guarded::new(&["--max-connections-of-address", &MOST.to_string()]);
    let operator = guarded.invite(["--role", "operator"]);
    let worker = guarded.invite(["--role", "worker"]);
    let _running = guarded.worker(&worker, "honest");
    _ = guarded.queens(&operator, ["submit", "18", "--yes"]).good();
    let work = || {
        let status = guarded.queens(&operator, ["status", "1", "--output", "json"]);
        let answer = status.status.success().then(|| status.answer())?;
        answer["work"].as_str()?.parse::<u64>().ok().filter(|work| *work > 0)
    };
    let before = wait_until("the first counts", work);
    let _files = files::take(N_HALF_OPEN);
    let mut half_open = open(guarded.coordinator().address(), N_HALF_OPEN, &HALF);
    wait_for("all to be closed", || {
        half_open.retain(|stream| !is_closed(stream));
        half_open.is_empty()
    });
    let after = wait_at_most(promised(AFTER_FLOOD), "an answer", work);
    assert!(after > before, "the worker counts all the time: {after}");
    let log = guarded.coordinator().log();
    assert!(log.contains("TLS handshake") && !log.contains("connection to worker lost"), "{log}");
    assert!(log.lines().count() < 100, "a flood is not a line each: {log}");
}

#[test]
fn what_is_not_encrypted_gets_no_answer() {
    let guarded = Guarded::new(&[]);
    for address in [guarded.coordinator().address().to_owned(), guarded.coordinator().http()] {
        for plain in ["GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
            let mut stream = TcpStream::connect(&address).expect("it listens");
            stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
            stream.write_all(plain.as_bytes()).expect("sent");
            let mut answer = Vec::new();
            _ = stream.read_to_end(&mut answer);
            assert!(!String::from_utf8_lossy(&answer).contains("HTTP"), "{answer:?}");
        }
    }
}
