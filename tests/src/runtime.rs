//! The runtime of servers and clients inside a test.

use tokio::runtime::{Builder, Runtime};

/// Returns a runtime with one thread, which runs its tasks while the test waits.
///
/// # Panics
/// Panics if the thread can't be started.
#[must_use]
pub fn runtime() -> Runtime {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime")
}
