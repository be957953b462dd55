//! Runs processes in a clean environment, with time limits, and never leaves one behind.

use std::borrow::BorrowMut;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use serde_json::Value;

use crate::binary;
use crate::cleanup::{Leftover, Registered};
use crate::resources::processor_time;

/// The limit of a wait. It is far longer than any wait takes, even if others keep all cores busy.
const LIMIT: Duration = Duration::from_secs(900);

/// The shortest and the longest pause between two checks of a condition. It is eight times the last check, which may
/// have started a process.
const PAUSES: [Duration; 2] = [Duration::from_millis(40), Duration::from_millis(400)];

/// Runs `queens-coordinator` with these arguments, in a clean environment.
///
/// # Panics
/// Panics if it can't be run, or does not end.
#[track_caller]
#[must_use]
pub fn queens_coordinator(args: &[&str]) -> Ended {
    run(program("queens-coordinator").args(args))
}

/// Returns a path as an argument.
///
/// # Panics
/// Panics if it is not UTF-8.
#[must_use]
pub fn utf8(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Returns a command that runs one of our programs, in a clean environment.
#[must_use]
pub fn program(name: &str) -> Command {
    clean(Command::new(binary(name)))
}

/// Returns a command that runs `queens` with these arguments.
#[must_use]
pub fn queens<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = program("queens");
    command.args(args);
    command
}

/// Removes the variables that our programs read, sets a usual terminal type, and makes panics show their origin.
/// Workers have no local socket, unless a test gives them a directory for it. Adds the directories of `.ci/tools` and
/// of servers to the path, as not every user has them.
#[must_use]
pub fn clean(mut command: Command) -> Command {
    command.env("PATH", path()).env("TERM", "xterm").env("XDG_RUNTIME_DIR", "/dev/null");
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("QUEENS_")) {
        command.env_remove(name);
    }
    command.env("RUST_BACKTRACE", "1");
    command
}

/// Whether a program is installed, that is, can be started.
#[must_use]
pub fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .env("PATH", path())
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok()
}

fn path() -> OsString {
    let usual = env::var_os("PATH").unwrap_or_default();
    let more = [concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools"), "/usr/sbin"].map(PathBuf::from);
    env::join_paths(env::split_paths(&usual).chain(more)).unwrap_or(usual)
}

/// A process's end and its output.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its stdout, if that was not redirected.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
    /// The time from its start to its end.
    pub elapsed: Duration,
    /// Its processor time, in hundredths of a second.
    pub processor_time: Duration,
}

impl Ended {
    /// Returns its exit status as a shell sees it: 128 more than the signal that ended it.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.status.code().or_else(|| Some(128 + self.status.signal()?))
    }

    /// Returns the one JSON object that a successful `queens count --output json` writes.
    ///
    /// # Panics
    /// Panics if it was not successful or wrote anything else.
    #[track_caller]
    #[must_use]
    pub fn answer(&self) -> Value {
        // On a busy machine, a count takes long enough to report its progress, and a lease longer than was measured. A
        // large board waits for a second party.
        let is_usual = |line: &&str| {
            line.starts_with("n = ")
                || line.contains("worker exceeded the deadline of its leases")
                || line.contains(" waits for a second party")
        };
        let said = self.stderr.lines().find(|line| !is_usual(line));
        assert_eq!((self.status.code(), said), (Some(0), None), "{self:?}");
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).expect("JSON")
    }

    /// Returns it if it was successful.
    ///
    /// # Panics
    /// Panics if it was not.
    #[track_caller]
    pub fn good(self) -> Self {
        assert_eq!(self.status.code(), Some(0), "{self:?}");
        self
    }

    /// Returns the one line on stderr of a run that failed with this exit status.
    ///
    /// # Panics
    /// Panics if it ended otherwise or wrote anything else.
    #[track_caller]
    #[must_use]
    pub fn complaint(&self, code: i32) -> &str {
        assert_eq!((self.code(), self.stdout.as_str()), (Some(code), ""), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        for internals in ["panicked", "backtrace", "Error {", "Some(", "Err("] {
            assert!(!self.stderr.contains(internals), "{self:?}");
        }
        self.stderr.trim_end()
    }
}

/// Runs a command to its end.
///
/// # Panics
/// Panics if it does not end in time.
#[track_caller]
pub fn run(command: impl BorrowMut<Command>) -> Ended {
    Running::start(command).wait()
}

/// A running process in its own process group. Dropping it kills the group, as does an interruption of the test
/// program.
#[derive(Debug)]
pub struct Running {
    child: Child,
    started: Instant,
    registered: Option<Registered>,
}

impl Running {
    /// Starts a command with empty input and captures its output unless it is redirected. The output must fit into a
    /// pipe until somebody waits for the end.
    ///
    /// # Panics
    /// Panics if it can't be started.
    #[track_caller]
    pub fn start(mut command: impl BorrowMut<Command>) -> Self {
        let command = command.borrow_mut();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::start_redirected(command)
    }

    /// Starts a command with empty input, and drops its output.
    ///
    /// # Panics
    /// Panics if it can't be started.
    #[track_caller]
    pub fn start_silent(mut command: impl BorrowMut<Command>) -> Self {
        let command = command.borrow_mut();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self::start_redirected(command)
    }

    /// Starts a command unchanged.
    ///
    /// # Panics
    /// Panics if it can't be started.
    #[track_caller]
    pub fn start_redirected(mut command: impl BorrowMut<Command>) -> Self {
        let command = command.borrow_mut();
        let started = Instant::now();
        let (child, registered) = Registered::make(|| {
            let child = command.process_group(0).spawn().expect("the program can be started");
            let group = Pid::from_child(&child);
            (child, Leftover::Group(group))
        });
        Self { child, started, registered: Some(registered) }
    }

    /// Closes the reading end of its stdout.
    pub fn close_stdout(&mut self) {
        drop(self.child.stdout.take());
    }

    /// Takes the reading end of its stdout, if that is piped and not taken yet.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Returns its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended yet.
    ///
    /// # Panics
    /// Panics if the system doesn't know.
    pub fn is_running(&mut self) -> bool {
        self.status().is_none()
    }

    /// Returns its exit status. Its id may then belong to another process.
    fn status(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().expect("our child");
        if status.is_some() {
            self.registered = None;
        }
        status
    }

    /// Waits until it has handlers for SIGINT and SIGTERM.
    ///
    /// # Panics
    /// Panics if it ends or goes on without.
    #[track_caller]
    pub fn wait_for_signal_handlers(&mut self) {
        let status = format!("/proc/{}/status", self.child.id());
        let both = (1 << (2 - 1)) | (1 << (15 - 1));
        wait_until("signal handlers", || {
            assert!(self.is_running(), "it has ended");
            let status = fs::read_to_string(&status).ok()?;
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
            (u64::from_str_radix(caught.trim(), 16).ok()? & both == both).then_some(())
        });
    }

    /// Sends it a signal, for example `"TERM"`.
    ///
    /// # Panics
    /// Panics if it has ended.
    #[track_caller]
    pub fn signal(&mut self, name: &str) {
        assert!(self.is_running(), "SIG{name} comes too late");
        let signal = match name {
            "CONT" => Signal::CONT,
            "HUP" => Signal::HUP,
            "INT" => Signal::INT,
            "KILL" => Signal::KILL,
            "STOP" => Signal::STOP,
            "TERM" => Signal::TERM,
            _ => panic!("SIG{name} is not known here"),
        };
        kill_process(Pid::from_child(&self.child), signal).expect("our child");
    }

    /// Sends it SIGKILL and waits for its end.
    ///
    /// # Panics
    /// Panics if it does not end.
    #[track_caller]
    pub fn kill(mut self) -> Ended {
        self.child.kill().expect("our child");
        self.wait()
    }

    /// Waits for its end and does not read its output.
    ///
    /// # Panics
    /// Panics if it does not end in time.
    #[track_caller]
    pub fn wait_for_end(&mut self) -> ExitStatus {
        wait_until("the end of a process", || self.status())
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// Panics if it does not end in time.
    #[track_caller]
    pub fn wait(mut self) -> Ended {
        // Read meanwhile: otherwise a process that writes more than a pipe holds would block for ever.
        let stdout = self.child.stdout.take().map(|pipe| thread::spawn(|| text(pipe)));
        let stderr = self.child.stderr.take().map(|pipe| thread::spawn(|| text(pipe)));
        // Before the process is reaped: until then its times can be read.
        let end = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let id = Pid::from_child(&self.child);
        wait_until("the end of a process", || waitid(WaitId::Pid(id), end).expect("our child"));
        let elapsed = self.started.elapsed();
        let processor_time = processor_time(self.id());
        let status = self.wait_for_end();
        let read = |reader: Option<thread::JoinHandle<String>>| {
            reader.map(|reader| reader.join().expect("the output is text")).unwrap_or_default()
        };
        let (stdout, stderr) = (read(stdout), read(stderr));
        Ended { status, stdout, stderr, elapsed, processor_time }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_running() {
            _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            _ = self.child.wait();
        }
    }
}

fn text(mut pipe: impl Read) -> String {
    let mut text = String::new();
    pipe.read_to_string(&mut text).expect("UTF-8");
    text
}

/// Calls `poll` repeatedly until it returns an answer.
///
/// # Panics
/// Panics if that does not happen in time.
#[track_caller]
pub fn wait_until<T>(what: &str, poll: impl FnMut() -> Option<T>) -> T {
    wait_at_most(LIMIT, what, poll)
}

/// Waits until something holds.
///
/// # Panics
/// Panics if that does not happen in time.
#[track_caller]
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    wait_until(what, || holds().then_some(()));
}

/// Does the same as [`wait_until`] with another limit, for slow conditions.
///
/// # Panics
/// Panics if it never has an answer.
#[track_caller]
pub fn wait_at_most<T>(limit: Duration, what: &str, poll: impl FnMut() -> Option<T>) -> T {
    poll_for(limit, poll).unwrap_or_else(|| panic!("waited {limit:?} for {what}"))
}

/// Whether `.ci/long` runs a test in full: then this environment variable is `full`.
#[must_use]
pub fn is_full(variable: &str) -> bool {
    env::var(variable).is_ok_and(|value| value == "full")
}

/// Returns the limit of a time that is promised for an idle machine: it holds in full, and is far off otherwise.
#[must_use]
pub fn promised(seconds: u64) -> Duration {
    if is_full("QUEENS_FAULTS") { Duration::from_secs(seconds) } else { LIMIT }
}

/// Calls `poll` repeatedly until it returns an answer; returns `None` if that does not happen in time.
pub fn poll_until<T>(poll: impl FnMut() -> Option<T>) -> Option<T> {
    poll_for(LIMIT, poll)
}

fn poll_for<T>(limit: Duration, mut poll: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        let began = Instant::now();
        let answer = poll();
        if answer.is_some() || Instant::now() >= deadline {
            return answer;
        }
        thread::sleep((began.elapsed() * 8).clamp(PAUSES[0], PAUSES[1]));
    }
}
