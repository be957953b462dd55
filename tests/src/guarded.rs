//! Runs coordinators that require an invitation.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use queens_auth::Token;
use serde_json::{Value, json};

use crate::TempDir;
use crate::cluster::{Coordinator, coordinator_command};
use crate::http::{self, Answer};
use crate::process::{Ended, Running, program, queens, run};

/// A running coordinator behind a proxy that encrypts: it requires tokens although it does not encrypt itself. It serves
/// gRPC and HTTP.
#[derive(Debug)]
pub struct Behind {
    data_dir: PathBuf,
    /// The arguments that name a store elsewhere.
    store: Vec<String>,
    // Dropped, and so killed, before its directory.
    coordinator: Coordinator,
    _scratch: Option<TempDir>,
}

impl Behind {
    /// Starts a coordinator with more arguments in a new directory.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn new(args: &[&str]) -> Self {
        let scratch = TempDir::new();
        let behind = Self::start(&scratch.join("data"), args);
        Self { _scratch: Some(scratch), ..behind }
    }

    /// Starts a coordinator with more arguments.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn start(data_dir: &Path, args: &[&str]) -> Self {
        let mut command = coordinator_command("127.0.0.1:0", data_dir);
        command.args(["--http", "127.0.0.1:0", "--require-tokens"]).args(args);
        let coordinator = Coordinator::start_command(command, data_dir);
        let store = args.iter().skip_while(|arg| **arg != "--store").take(2);
        let store = store.map(|&arg| arg.to_owned()).collect();
        Self { coordinator, data_dir: data_dir.to_owned(), store, _scratch: None }
    }

    /// Returns the coordinator itself.
    #[must_use]
    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// Returns its data directory.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Runs `queens-coordinator` with these arguments on its data directory and its store.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    pub fn manage<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ended {
        run(manager(&self.data_dir, args).args(&self.store)).good()
    }

    /// Stops it with SIGTERM.
    ///
    /// # Panics
    /// Panics if it does not exit successfully.
    #[track_caller]
    pub fn stop(self) {
        self.coordinator.stop();
    }

    /// Invites a person and returns their token.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn token(&self, role: &str) -> String {
        token_in(&self.manage(["invite", "--role", role]).stdout)
    }

    /// Runs `queens` with these arguments and a token.
    #[track_caller]
    pub fn queens<A: AsRef<OsStr>>(&self, token: &str, args: impl IntoIterator<Item = A>) -> Ended {
        run(self.coordinator.queens_command(args).env("QUEENS_TOKEN", token))
    }

    /// Sends its HTTP server a request with a token and JSON.
    ///
    /// # Panics
    /// Panics if there is no answer.
    #[track_caller]
    #[must_use]
    pub fn ask(&self, token: &str, method: &str, path: &str, body: &str) -> Answer {
        http::ask(&self.coordinator.http(), token, method, path, body)
    }
}

fn manager<A: AsRef<OsStr>>(data_dir: &Path, args: impl IntoIterator<Item = A>) -> Command {
    let mut command = program("queens-coordinator");
    command.args(args).arg("--data-dir").arg(data_dir);
    command
}

/// Extracts the token from a line that `invite` printed.
///
/// # Panics
/// Panics if there is none.
#[track_caller]
#[must_use]
pub fn token_in(line: &str) -> String {
    let token = line.split_whitespace().find_map(|word| word.strip_prefix("QUEENS_TOKEN="));
    token.unwrap_or_else(|| panic!("no token: {line}")).to_owned()
}

/// Returns the code of the link that `campaign open` printed first.
///
/// # Panics
/// Panics if there is none.
#[track_caller]
#[must_use]
pub fn code_in(opened: &str) -> &str {
    let link = opened.lines().next();
    link.and_then(|link| link.rsplit('/').next()).unwrap_or_else(|| panic!("no link: {opened}"))
}

/// Joins a campaign at this HTTP server by its code, and returns the token.
///
/// # Panics
/// Panics if that fails.
#[track_caller]
#[must_use]
pub fn join(address: &str, code: &str, name: &str) -> String {
    let joined = http::post(address, &format!("/api/v1/join/{code}"), &json!({ "name": name }).to_string());
    assert_eq!(joined.status, 201, "{joined:?}");
    joined.json()["token"].as_str().expect("a token").to_owned()
}

/// A running coordinator that encrypts, with a certificate authority beside its data directory. It serves gRPC and
/// HTTP.
#[derive(Debug)]
pub struct Guarded {
    data_dir: PathBuf,
    authority: PathBuf,
    keys: PathBuf,
    // Dropped, and so killed, before its directory.
    coordinator: Coordinator,
    _scratch: Option<TempDir>,
}

/// An invited person.
#[derive(Clone, Debug)]
pub struct Invited {
    /// Their token.
    pub token: Token,
    /// The whole line that `invite` printed.
    pub line: String,
}

impl Guarded {
    /// Starts a coordinator with more arguments in a new directory.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn new(args: &[&str]) -> Self {
        Self::by(|mut command| {
            command.args(args);
            command
        })
    }

    /// Starts a coordinator by a modified command in a new directory.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn by(change: impl FnOnce(Command) -> Command) -> Self {
        let scratch = TempDir::new();
        let guarded = Self::start_by(&scratch.join("data"), change);
        Self { _scratch: Some(scratch), ..guarded }
    }

    /// Starts a coordinator.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn start(data_dir: &Path) -> Self {
        Self::start_by(data_dir, |command| command)
    }

    #[track_caller]
    fn start_by(data_dir: &Path, change: impl FnOnce(Command) -> Command) -> Self {
        let keys = data_dir.with_extension("keys");
        certs(&keys, &[]);
        let mut command = coordinator_command("127.0.0.1:0", data_dir);
        command.args(["--http", "127.0.0.1:0"]);
        tls_args(&mut command, &keys);
        let coordinator = Coordinator::start_command(change(command), data_dir);
        let authority = keys.join("ca.pem");
        Self { coordinator, data_dir: data_dir.to_owned(), authority, keys, _scratch: None }
    }

    /// Returns the coordinator itself, whose URL is wrong here: see [`url`](Self::url).
    #[must_use]
    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// Makes it reload its TLS files.
    ///
    /// # Panics
    /// Panics if it has ended.
    #[track_caller]
    pub fn hang_up(&mut self) {
        self.coordinator.signal("HUP");
    }

    /// Returns its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.coordinator.address())
    }

    /// Returns its data directory.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Returns the path of a file beside its data directory.
    #[must_use]
    pub fn beside(&self, name: &str) -> PathBuf {
        self.data_dir.with_file_name(name)
    }

    /// Returns the directory with the keys and TLS certificates of its authority and its own.
    #[must_use]
    pub fn keys(&self) -> &Path {
        &self.keys
    }

    /// Returns the certificate of its authority.
    #[must_use]
    pub fn authority(&self) -> &Path {
        &self.authority
    }

    /// Runs `queens-coordinator` with these arguments on its data directory.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    pub fn manage<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ended {
        run(manager(&self.data_dir, args)).good()
    }

    /// Invites a person.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn invite<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Invited {
        let all = [OsStr::new("invite").to_owned()].into_iter();
        let all = all.chain(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        let line = self.manage(all).stdout;
        Invited { token: token_in(&line).parse().expect("a token"), line }
    }

    /// Runs `queens` with these arguments and a token.
    #[track_caller]
    pub fn queens<A: AsRef<OsStr>>(&self, invited: &Invited, args: impl IntoIterator<Item = A>) -> Ended {
        let mut command = queens(args);
        command.args(["--coordinator", &self.url(), "--ca"]).arg(&self.authority);
        run(command.env("QUEENS_TOKEN", invited.token.secret()))
    }

    /// Returns the answer of `queens` to these arguments and `--output json`.
    ///
    /// # Panics
    /// Panics if it fails.
    #[track_caller]
    #[must_use]
    pub fn json(&self, invited: &Invited, args: &[&str]) -> Value {
        self.queens(invited, [args, &["--output", "json"]].concat()).answer()
    }

    /// Starts a worker with one thread and the slowest kernel.
    #[track_caller]
    #[must_use]
    pub fn worker(&self, invited: &Invited, name: &str) -> Running {
        Running::start_silent(self.worker_command(invited, name))
    }

    /// Returns the command for such a worker.
    #[must_use]
    pub fn worker_command(&self, invited: &Invited, name: &str) -> Command {
        let mut command = program("queens-worker");
        command.args(["--coordinator", &self.url(), "--name", name, "--ca"]).arg(&self.authority);
        command.env("QUEENS_TOKEN", invited.token.secret());
        command.env("QUEENS_THREADS", "1").env("QUEENS_KERNEL", "portable").env("QUEENS_CPU", "3");
        command
    }
}

/// Creates TLS certificates in a directory with `queens-coordinator certs`.
///
/// # Panics
/// Panics if that fails.
#[track_caller]
pub fn certs(dir: &Path, args: &[&str]) {
    _ = run(program("queens-coordinator").arg("certs").arg(dir).args(args)).good();
}

/// Makes a coordinator encrypt, with the files of a directory that [`certs`] has filled.
pub fn tls_args(command: &mut Command, keys: &Path) {
    command.arg("--tls-cert").arg(keys.join("server.pem")).arg("--tls-key").arg(keys.join("server.key"));
}
