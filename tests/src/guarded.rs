//! Runs coordinators that require an invitation.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use queens_auth::Token;

use crate::TempDir;
use crate::cluster::{Coordinator, coordinator_command};
use crate::process::{Ended, Running, program, queens, run};

/// A running coordinator behind a proxy that encrypts: it requires tokens although it does not encrypt itself.
#[derive(Debug)]
pub struct Behind {
    data_dir: PathBuf,
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
        let behind = Self::start(&scratch.path().join("data"), args);
        Self { _scratch: Some(scratch), ..behind }
    }

    /// Starts a coordinator with more arguments. It serves gRPC and HTTP.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn start(data_dir: &Path, args: &[&str]) -> Self {
        Self {
            coordinator: Coordinator::start_command(
                coordinator_command("127.0.0.1:0", data_dir)
                    .args(["--http", "127.0.0.1:0", "--require-tokens"])
                    .args(args),
                data_dir,
            ),
            data_dir: data_dir.to_owned(),
            _scratch: None,
        }
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

    /// Runs `queens-coordinator` with these arguments on its data directory.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    pub fn manage<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ended {
        manage(&self.data_dir, args)
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
}

fn manage<A: AsRef<OsStr>>(data_dir: &Path, args: impl IntoIterator<Item = A>) -> Ended {
    let ended = run(program("queens-coordinator").args(args).arg("--data-dir").arg(data_dir));
    assert!(ended.status.success(), "{ended:?}");
    ended
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

/// A running coordinator that encrypts.
#[derive(Debug)]
pub struct Guarded {
    coordinator: Coordinator,
    data_dir: PathBuf,
    authority: PathBuf,
    keys: PathBuf,
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
    /// Creates a certificate authority beside the data directory, and starts a coordinator that serves gRPC and HTTP.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn start(data_dir: &Path) -> Self {
        Self::start_with(data_dir, &[])
    }

    /// Does the same with more arguments.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn start_with(data_dir: &Path, args: &[&str]) -> Self {
        Self::start_as(data_dir, args, |command| command)
    }

    /// Does the same with a modified command.
    ///
    /// # Panics
    /// Panics if that fails.
    #[track_caller]
    #[must_use]
    pub fn start_as(data_dir: &Path, args: &[&str], change: impl FnOnce(Command) -> Command) -> Self {
        let keys = data_dir.with_extension("keys");
        certs(&keys, &[]);
        let mut command = coordinator_command("127.0.0.1:0", data_dir);
        command.args(["--http", "127.0.0.1:0", "--tls-cert"]).arg(keys.join("server.pem"));
        command.arg("--tls-key").arg(keys.join("server.key")).args(args);
        let coordinator = Coordinator::start_command(change(command), data_dir);
        Self { coordinator, data_dir: data_dir.to_owned(), authority: keys.join("ca.pem"), keys }
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
        manage(&self.data_dir, args)
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

    /// Runs `queens` with these arguments and a token, or without one.
    #[track_caller]
    pub fn queens<A: AsRef<OsStr>>(
        &self,
        invited: Option<&Invited>,
        args: impl IntoIterator<Item = A>,
    ) -> Ended {
        let mut command = queens(args);
        command.args(["--coordinator", &self.url(), "--ca"]).arg(&self.authority);
        if let Some(invited) = invited {
            command.env("QUEENS_TOKEN", invited.token.secret());
        }
        run(command)
    }

    /// Starts a worker with one thread and the slowest kernel.
    #[track_caller]
    #[must_use]
    pub fn worker(&self, invited: &Invited, name: &str) -> Running {
        Running::start_redirected(&mut self.worker_command(invited, name))
    }

    /// Returns the command for such a worker.
    #[must_use]
    pub fn worker_command(&self, invited: &Invited, name: &str) -> Command {
        let mut command = program("queens-worker");
        command.args(["--coordinator", &self.url(), "--name", name, "--ca"]).arg(&self.authority);
        command.env("QUEENS_TOKEN", invited.token.secret());
        command.env("QUEENS_THREADS", "1").env("QUEENS_KERNEL", "portable").env("QUEENS_CPU", "3");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// Creates TLS certificates in a directory with `queens-coordinator certs`.
///
/// # Panics
/// Panics if that fails.
#[track_caller]
pub fn certs(dir: &Path, args: &[&str]) {
    let made = run(program("queens-coordinator").arg("certs").arg(dir).args(args));
    assert!(made.status.success(), "{made:?}");
}
