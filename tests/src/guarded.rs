//! Coordinators that let in only who was invited.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use queens_auth::Token;

use crate::binary;
use crate::cluster::{Coordinator, coordinator_command};
use crate::process::{Ended, Running, clean, queens, run};

/// A running coordinator as it stands behind a proxy that encrypts: it asks for tokens though it does not encrypt itself.
#[derive(Debug)]
pub struct Behind {
    data_dir: PathBuf,
    coordinator: Coordinator,
}

impl Behind {
    /// Starts one that serves by gRPC and HTTP, with more arguments.
    ///
    /// # Panics
    /// If that fails.
    #[track_caller]
    #[must_use]
    pub fn start(data_dir: &Path, args: &[&str]) -> Self {
        let mut command = coordinator_command("127.0.0.1:0", data_dir);
        command.args(["--http", "127.0.0.1:0", "--require-tokens"]).args(args);
        Self { coordinator: Coordinator::start_command(command, data_dir), data_dir: data_dir.to_owned() }
    }

    /// The coordinator itself.
    #[must_use]
    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// Its data directory.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Runs `queens-coordinator` with these arguments on its data directory.
    ///
    /// # Panics
    /// If that fails.
    #[track_caller]
    pub fn manage<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ended {
        manage(&self.data_dir, args)
    }

    /// The token of somebody who is invited for it.
    ///
    /// # Panics
    /// If that fails.
    #[track_caller]
    #[must_use]
    pub fn token(&self, role: &str) -> String {
        let line = self.manage(["invite", "--role", role]).stdout;
        token_in(&line).expect("a token").secret().to_owned()
    }
}

fn manage<A: AsRef<OsStr>>(data_dir: &Path, args: impl IntoIterator<Item = A>) -> Ended {
    let mut command = clean(Command::new(binary("queens-coordinator")));
    command.args(args).arg("--data-dir").arg(data_dir);
    let ended = run(command);
    assert!(ended.status.success(), "{ended:?}");
    ended
}

/// The token in a line that `invite` has printed.
fn token_in(line: &str) -> Option<Token> {
    line.split_whitespace().find_map(|word| word.strip_prefix("QUEENS_TOKEN="))?.parse().ok()
}

/// A running coordinator that encrypts.
#[derive(Debug)]
pub struct Guarded {
    coordinator: Coordinator,
    data_dir: PathBuf,
    authority: PathBuf,
    keys: PathBuf,
}

/// Somebody who was invited.
#[derive(Clone, Debug)]
pub struct Invited {
    /// What they were given.
    pub token: Token,
    /// The whole line that was printed.
    pub line: String,
}

impl Guarded {
    /// Makes an authority beside the data directory, and starts a coordinator that serves by gRPC and HTTP.
    ///
    /// # Panics
    /// If that fails.
    #[track_caller]
    #[must_use]
    pub fn start(data_dir: &Path) -> Self {
        Self::start_with(data_dir, &[])
    }

    /// The same with more arguments.
    ///
    /// # Panics
    /// If that fails.
    #[track_caller]
    #[must_use]
    pub fn start_with(data_dir: &Path, args: &[&str]) -> Self {
        Self::start_as(data_dir, args, |command| command)
    }

    /// The same with a command that is made of the usual one.
    ///
    /// # Panics
    /// If that fails.
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

    /// The coordinator itself. What it says of its URL is not so: see [`url`](Self::url).
    #[must_use]
    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// Tells it to read the files of TLS again.
    ///
    /// # Panics
    /// If it has ended.
    #[track_caller]
    pub fn hang_up(&mut self) {
        self.coordinator.signal("HUP");
    }

    /// Where it is reached.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.coordinator.address())
    }

    /// Its data directory.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The directory of its authority's and its own keys and TLS certificates.
    #[must_use]
    pub fn keys(&self) -> &Path {
        &self.keys
    }

    /// The authority that vouches for it.
    #[must_use]
    pub fn authority(&self) -> &Path {
        &self.authority
    }

    /// Runs `queens-coordinator` with these arguments on its data directory.
    ///
    /// # Panics
    /// If that fails.
    #[track_caller]
    pub fn manage<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ended {
        manage(&self.data_dir, args)
    }

    /// Invites somebody.
    ///
    /// # Panics
    /// If that fails.
    #[track_caller]
    #[must_use]
    pub fn invite<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Invited {
        let all = [OsStr::new("invite").to_owned()].into_iter();
        let all = all.chain(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        let line = self.manage(all).stdout;
        Invited { token: token_in(&line).unwrap_or_else(|| panic!("no token: {line}")), line }
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

    /// What starts such a worker, unless more is said.
    #[must_use]
    pub fn worker_command(&self, invited: &Invited, name: &str) -> Command {
        let mut command = clean(Command::new(binary("queens-worker")));
        command.args(["--coordinator", &self.url(), "--name", name, "--ca"]).arg(&self.authority);
        command.env("QUEENS_TOKEN", invited.token.secret());
        command.env("QUEENS_THREADS", "1").env("QUEENS_KERNEL", "portable").env("QUEENS_CPU", "25");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// Makes TLS certificates in a directory by `queens-coordinator certs`.
///
/// # Panics
/// If that fails.
#[track_caller]
pub fn certs(dir: &Path, args: &[&str]) {
    let mut command = clean(Command::new(binary("queens-coordinator")));
    command.arg("certs").arg(dir).args(args);
    let made = run(command);
    assert!(made.status.success(), "{made:?}");
}
