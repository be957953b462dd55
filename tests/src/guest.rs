//! Workers of one user of this machine.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::TempDir;
use crate::process::{Ended, program, run, wait_until};
use crate::service::Service;

/// A user who lends a machine: the sockets and logs of the user's workers are in a directory of their own.
#[derive(Debug)]
pub struct Guest {
    scratch: TempDir,
}

impl Guest {
    /// Makes a user without workers.
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    #[must_use]
    pub fn new() -> Self {
        Self { scratch: TempDir::new() }
    }

    /// Returns the path of an entry of the user's directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// Starts a worker by this command.
    ///
    /// # Panics
    /// Panics if it can't be started.
    #[track_caller]
    #[must_use]
    pub fn start(&self, mut command: Command, name: &str) -> Service {
        command.env("XDG_RUNTIME_DIR", self.path("run"));
        Service::start(command, &self.path(&format!("{name}.log")))
    }

    /// Runs a command of `queens-worker` that talks to a worker.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Ended {
        run(program("queens-worker").args(args).env("XDG_RUNTIME_DIR", self.path("run")))
    }

    /// Returns a worker's answer to `queens-worker status`; `None` if it does not answer.
    #[track_caller]
    #[must_use]
    pub fn status(&self, name: &str) -> Option<Value> {
        let ended = self.run(&["status", "--name", name, "--output", "json"]);
        ended.status.success().then(|| ended.answer())
    }

    /// Waits until a worker answers and is in this state.
    ///
    /// # Panics
    /// Panics if that does not happen.
    #[track_caller]
    pub fn wait_for(&self, name: &str, state: &str) -> Value {
        wait_until(state, || self.status(name).filter(|status| status["state"] == state))
    }
}
