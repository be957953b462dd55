//! Starts real workers.

use std::path::Path;
use std::process::Command;

use queens_solver::Kernel;

use crate::process::{Running, clean, program};
use crate::service::Service;

/// Starts a worker with one thread and the slowest kernel, which counts for 3 % of the time: so there is time for
/// faults on a small board. Tests wait most of the time, and share the processors.
#[track_caller]
#[must_use]
pub fn worker(url: &str, name: &str) -> Running {
    let mut command = worker_command(url, name, Kernel::Portable);
    command.args(SLOWLY);
    start(&command)
}

/// Makes a worker count for a small part of the time.
pub const SLOWLY: [&str; 2] = ["--cpu", "3"];

/// Starts a [`worker`] whose log is in this directory, under its name.
#[track_caller]
#[must_use]
pub fn logging_worker(urls: &str, name: &str, dir: &Path) -> Service {
    let mut command = worker_command(urls, name, Kernel::Portable);
    Service::start(command.args(SLOWLY), &dir.join(name).with_extension("log"))
}

/// Starts a worker that counts at full speed on one thread, to finish a job.
#[track_caller]
#[must_use]
pub fn fast_worker(url: &str) -> Running {
    worker_with(url, "fast", Kernel::best())
}

/// Starts a worker with one thread and this kernel. It has a low priority where processors are short: most tests let it
/// count while they wait for something else.
#[track_caller]
#[must_use]
pub fn worker_with(url: &str, name: &str, kernel: Kernel) -> Running {
    start(&worker_command(url, name, kernel))
}

#[track_caller]
fn start(worker: &Command) -> Running {
    Running::start_silent(
        clean(Command::new("nice")).args(["-n", "5"]).arg(worker.get_program()).args(worker.get_args()),
    )
}

/// Returns a command that runs `queens-worker` with one thread and this kernel.
#[must_use]
pub fn worker_command(url: &str, name: &str, kernel: Kernel) -> Command {
    let mut command = program("queens-worker");
    command.args(["--coordinator", url, "--name", name, "--threads", "1", "--kernel", kernel.name()]);
    command
}
