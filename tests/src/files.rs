//! Open files, of which a process may have as few as a thousand: tests that open hundreds take turns.

use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use queens_runtime::allow_many_files;

/// What is kept for all tests that open few.
const KEPT: usize = 384;

static FREE: LazyLock<(Mutex<usize>, Condvar)> =
    LazyLock::new(|| (Mutex::new(limit().saturating_sub(KEPT)), Condvar::new()));

/// The right to open so many files, until it is dropped.
#[derive(Debug)]
pub struct Files(usize);

/// How many files this process may have open.
///
/// # Panics
/// If the system doesn't say.
#[must_use]
pub fn limit() -> usize {
    let limit = allow_many_files().expect("the limit of open files");
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Waits until so many files may be opened.
///
/// # Panics
/// If there are never so many: with a limit of 1,024, at most 640.
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

fn free() -> MutexGuard<'static, usize> {
    FREE.0.lock().unwrap_or_else(PoisonError::into_inner)
}
