//! Coordinators that serve their pages, and a plain client for them.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::binary;
use crate::cluster::coordinator_command;
use crate::process::{Running, clean, wait_until};

/// A running `queens-coordinator` with `--http`.
#[derive(Debug)]
pub struct Site {
    running: Running,
    listen: String,
    http: String,
    data_dir: PathBuf,
}

/// An answer to an HTTP request.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Answer {
    /// A header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is none.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Site {
    /// Starts one on a data directory, on free ports.
    ///
    /// # Panics
    /// If it does not say that it listens.
    #[track_caller]
    #[must_use]
    pub fn start(data_dir: &Path) -> Self {
        Self::start_on("127.0.0.1:0", "127.0.0.1:0", data_dir)
    }

    #[track_caller]
    fn start_on(listen: &str, http: &str, data_dir: &Path) -> Self {
        let log = data_dir.with_extension("log");
        let mut command = coordinator_command(listen, data_dir);
        command.args(["--http", http]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log).expect("a log file"));
        let mut running = Running::start_redirected(&mut command);
        let (listen, http) = wait_until("the coordinator to listen", || {
            let log = fs::read_to_string(&log).expect("the log is there");
            assert!(running.is_running(), "the coordinator has ended: {log}");
            let listen = log.split_once("listening address=")?.1.split_once(' ')?.0;
            let http = log.split_once("dashboard url=\"http://")?.1.split_once('/')?.0;
            Some((listen.to_owned(), http.to_owned()))
        });
        Self { running, listen, http, data_dir: data_dir.to_owned() }
    }

    /// Kills it with SIGKILL.
    #[track_caller]
    #[must_use]
    pub fn kill(self) -> Killed {
        self.running.kill();
        Killed { listen: self.listen, http: self.http, data_dir: self.data_dir }
    }

    /// Host and port of its pages.
    #[must_use]
    pub fn http(&self) -> &str {
        &self.http
    }

    /// Starts a worker of it with one thread and this kernel.
    #[track_caller]
    #[must_use]
    pub fn worker(&self, name: &str, kernel: &str) -> Running {
        let mut command = clean(Command::new(binary("queens-worker")));
        command.args(["--coordinator", &format!("http://{}", self.listen), "--name", name]);
        command.args(["--threads", "1", "--kernel", kernel]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Running::start_redirected(&mut command)
    }

    /// Asks for a path.
    #[track_caller]
    #[must_use]
    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], "")
    }

    /// Posts JSON to a path.
    #[track_caller]
    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.request("POST", path, &[("Content-Type", "application/json")], body)
    }

    /// Sends a request and reads the whole answer. A header `Host` replaces the address.
    ///
    /// # Panics
    /// If there is no answer.
    #[track_caller]
    #[must_use]
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.http).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if headers.iter().all(|(name, _)| *name != "Host") {
            head.push_str(&format!("Host: {}\r\n", self.http));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status");
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").expect("a header");
            (name.to_ascii_lowercase(), value.to_owned())
        };
        Answer {
            status: status.parse().expect("a number"),
            headers: lines.map(header).collect(),
            body: body.to_owned(),
        }
    }
}

/// Where a coordinator was.
#[derive(Debug)]
pub struct Killed {
    listen: String,
    http: String,
    data_dir: PathBuf,
}

impl Killed {
    /// Starts another on the same data directory and ports.
    #[track_caller]
    #[must_use]
    pub fn restart(self) -> Site {
        Site::start_on(&self.listen, &self.http, &self.data_dir)
    }
}
