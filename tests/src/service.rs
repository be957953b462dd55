//! A coordinator or worker with more flags than other tests need, known by what it logs.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{Running, wait_until};

/// A running service whose log is in a file.
#[derive(Debug)]
pub struct Service {
    running: Running,
    log: PathBuf,
}

impl Service {
    /// Starts `command` with its log in this file.
    ///
    /// # Panics
    /// If it can't be started.
    #[track_caller]
    #[must_use]
    pub fn start(mut command: Command, log: &Path) -> Self {
        let file = File::create(log).expect("a log file");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        Self { running: Running::start_redirected(&mut command), log: log.to_owned() }
    }

    /// What it has logged.
    ///
    /// # Panics
    /// If the log can't be read.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("the log is there")
    }

    /// The word behind `before` in the log; waits for it.
    ///
    /// # Panics
    /// If it is not logged, or the service ends.
    #[track_caller]
    pub fn logged(&mut self, before: &str) -> String {
        wait_until(before, || {
            let log = self.log();
            assert!(self.running.is_running(), "it has ended: {log}");
            let (_, rest) = log.split_once(before)?;
            rest.split_once(char::is_whitespace).map(|(word, _)| word.to_owned())
        })
    }

    /// Stops it with SIGTERM.
    ///
    /// # Panics
    /// If it does not end well.
    #[track_caller]
    pub fn stop(mut self) {
        self.running.signal("TERM");
        let outcome = self.running.wait();
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    }
}

/// Asks an HTTP server for a path; returns status and body.
///
/// # Panics
/// If it does not answer in HTTP.
#[track_caller]
#[must_use]
pub fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("HTTP");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, body.to_owned())
}
