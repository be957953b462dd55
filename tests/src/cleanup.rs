//! Cleans up processes and files of a test program when it is interrupted.
//!
//! A test that passes or fails drops its values, which end their processes and remove their directories. Ctrl-C and
//! SIGTERM drop nothing. So a thread of each test program waits for these signals, undoes everything registered here,
//! and ends the program.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};

/// A shell's exit status for a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// Something to undo.
#[derive(Debug)]
pub(crate) enum Leftover {
    /// Run a command.
    Command(Command),
    /// Kill a process and all others of its group.
    Group(Pid),
    /// Remove a directory.
    Directory(PathBuf),
}

/// A registered leftover. Dropping it unregisters it.
#[derive(Debug)]
pub(crate) struct Registered(u64);

#[derive(Debug, Default)]
struct Registry {
    next: u64,
    leftovers: BTreeMap<u64, Leftover>,
}

static REGISTRY: LazyLock<Mutex<Registry>> = LazyLock::new(|| {
    undo_when_interrupted();
    Mutex::default()
});

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registered {
    /// Makes something and registers its cleanup, without an interruption in between.
    pub(crate) fn make<T>(make: impl FnOnce() -> (T, Leftover)) -> (T, Self) {
        let mut registry = registry();
        let (made, leftover) = make();
        let id = registry.next;
        registry.next += 1;
        registry.leftovers.insert(id, leftover);
        (made, Self(id))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        registry().leftovers.remove(&self.0);
    }
}

/// A command that undoes something other than a process, such as a mount or a container. It runs on drop, and when the
/// test program is interrupted.
#[derive(Debug)]
pub struct Undo {
    command: Command,
    _registered: Registered,
}

impl Undo {
    /// Registers the command that a function makes. Call it before there is something to undo.
    #[must_use]
    pub fn by(command: impl Fn() -> Command) -> Self {
        let (command, registered) = Registered::make(|| (command(), Leftover::Command(command())));
        Self { command, _registered: registered }
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        run_silently(&mut self.command);
    }
}

/// Starts the thread that waits for signals, which are caught from now on.
fn undo_when_interrupted() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    let entered = runtime.enter();
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let [mut interrupt, mut terminate, mut hangup] = kinds.map(|kind| signal(kind).expect("a handler"));
    drop(entered);
    let wait = move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        });
        // Held to the end, so that nothing else starts.
        let mut registry = registry();
        undo(std::mem::take(&mut registry.leftovers).into_values().collect());
        exit(INTERRUPTED);
    };
    thread::Builder::new().name("cleanup".to_owned()).spawn(wait).expect("a thread");
}

/// Undoes everything: commands first, as they may need processes; then processes, as they write to directories.
fn undo(leftovers: Vec<Leftover>) {
    let mut groups = vec![];
    let mut directories = vec![];
    for leftover in leftovers {
        match leftover {
            Leftover::Command(mut command) => run_silently(&mut command),
            Leftover::Group(group) => groups.push(group),
            Leftover::Directory(directory) => directories.push(directory),
        }
    }
    for group in groups {
        // It may have ended.
        _ = kill_process_group(group, Signal::KILL);
    }
    for directory in directories {
        remove(&directory);
    }
}

/// Runs a command that undoes something. It may fail: there may be nothing to undo.
fn run_silently(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    _ = command.status();
}

/// Removes a directory. A process that was just killed may still create files in it.
fn remove(directory: &Path) {
    for _ in 0..100 {
        if fs::remove_dir_all(directory).is_ok() || !directory.exists() {
            return;
        }
    }
}
