//! Shares the open files of a process, perhaps just 1,000, among its tests: those that open hundreds take turns.

use std::process::Command;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use queens_platform::allow_many_files;

/// Files reserved for all tests that open few.
const KEPT: usize = 384;

static FREE: LazyLock<(Mutex<usize>, Condvar)> =
    LazyLock::new(|| (Mutex::new(limit().saturating_sub(KEPT)), Condvar::new()));

/// The right to open this many files, until it is dropped.
#[derive(Debug)]
pub struct Files(usize);

/// Returns this process's limit of open files.
///
/// # Panics
/// Panics if the system does not know it.
#[must_use]
pub fn limit() -> usize {
    let limit = allow_many_files().expect("the limit of open files");
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Waits until this many files may be opened.
///
/// # Panics
/// Panics if the limit never allows it: 1,024 files allow 640.
#[must_use]
pub fn take(n_files: usize) -> Files {
    assert!(n_files <= limit().saturating_sub(KEPT), "the limit of open files is {}", limit());
    let mut free = free();
    while *free < n_files {
        free = FREE.1.wait(free).unwrap_or_else(PoisonError::into_inner);
    }
    *free -= n_files;
    Files(n_files)
}

impl Drop for Files {
    fn drop(&mut self) {
        *free() += self.0;
        FREE.1.notify_all();
    }
}

/// Returns a command that runs another one, which may open this many files.
#[must_use]
pub fn limited(command: &Command, n_files: usize) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!(r#"ulimit -n {n_files} && exec "$0" "$@""#)]);
    limited.arg(command.get_program()).args(command.get_args());
    limited
}

fn free() -> MutexGuard<'static, usize> {
    FREE.0.lock().unwrap_or_else(PoisonError::into_inner)
}
