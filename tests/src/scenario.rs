//! A coordinator in a directory of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::TempDir;
use crate::cluster::{Coordinator, coordinator_command};

/// A running coordinator in a new directory. It ends before the directory goes.
#[derive(Debug)]
pub struct Scenario {
    /// Its data directory.
    pub data_dir: PathBuf,
    /// The coordinator.
    pub coordinator: Coordinator,
    /// Holds the data directory, and what else a test puts there.
    pub scratch: TempDir,
}

impl Scenario {
    /// Starts a coordinator.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn start() -> Self {
        Self::of(Coordinator::start)
    }

    /// Starts a coordinator that also serves HTTP.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn with_http() -> Self {
        Self::of(Coordinator::start_with_http)
    }

    /// Starts a coordinator with these arguments.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn with<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Self {
        Self::by(|mut command| {
            command.args(args);
            command
        })
    }

    /// Starts a coordinator by a modified command.
    ///
    /// # Panics
    /// Panics if it does not log that it listens.
    #[track_caller]
    #[must_use]
    pub fn by(change: impl FnOnce(Command) -> Command) -> Self {
        Self::of(|data_dir| {
            Coordinator::start_command(change(coordinator_command("127.0.0.1:0", data_dir)), data_dir)
        })
    }

    #[track_caller]
    fn of(start: impl FnOnce(&Path) -> Coordinator) -> Self {
        let scratch = TempDir::new();
        let data_dir = scratch.join("data");
        Self { coordinator: start(&data_dir), data_dir, scratch }
    }
}
