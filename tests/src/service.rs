//! Processes that run until they are stopped, and log to a file.

use std::borrow::BorrowMut;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::process::{Running, wait_for, wait_until};

/// A running service whose log is in a file.
#[derive(Debug)]
pub struct Service {
    running: Running,
    log: PathBuf,
}

impl Service {
    /// Starts `command` and logs to this file.
    ///
    /// # Panics
    /// Panics if it can't be started.
    #[track_caller]
    #[must_use]
    pub fn start(mut command: impl BorrowMut<Command>, log: &Path) -> Self {
        let file = File::create(log).expect("a log file");
        let command = command.borrow_mut().stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        Self { running: Running::start_redirected(command), log: log.to_owned() }
    }

    /// Returns its log.
    ///
    /// # Panics
    /// Panics if the log can't be read.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("the log is there")
    }

    /// Waits until `before` is in the log, and returns the word behind it.
    ///
    /// # Panics
    /// Panics if it is not logged, or the service ends.
    #[track_caller]
    pub fn logged(&mut self, before: &str) -> String {
        wait_until(before, || {
            let log = self.log();
            assert!(self.running.is_running(), "it has ended: {log}");
            let (_, rest) = log.split_once(before)?;
            rest.split_once(char::is_whitespace).map(|(word, _)| word.to_owned())
        })
    }

    /// Waits until this text is in the log.
    ///
    /// # Panics
    /// Panics if that does not happen.
    #[track_caller]
    pub fn wait_for_log(&self, text: &str) {
        wait_for(text, || self.log().contains(text));
    }

    /// Returns its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// Whether it has not ended yet.
    ///
    /// # Panics
    /// Panics if the system does not know.
    pub fn is_running(&mut self) -> bool {
        self.running.is_running()
    }

    /// Sends it a signal: `"STOP"` or `"CONT"`.
    ///
    /// # Panics
    /// Panics if it has ended.
    #[track_caller]
    pub fn signal(&mut self, name: &str) {
        self.running.signal(name);
    }

    /// Kills it with SIGKILL.
    ///
    /// # Panics
    /// Panics if it has ended before.
    #[track_caller]
    pub fn kill(mut self) {
        assert!(self.running.is_running(), "it has ended: {}", self.log());
        self.running.kill();
    }

    /// Waits until it ends by itself.
    ///
    /// # Panics
    /// Panics if it does not.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        self.running.wait_for_end()
    }

    /// Stops it with SIGTERM.
    ///
    /// # Panics
    /// Panics if it does not exit successfully.
    #[track_caller]
    pub fn stop(mut self) {
        self.running.signal("TERM");
        let outcome = self.running.wait();
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    }
}
