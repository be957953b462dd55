//! The processor time and the memory of processes.

use std::fs;
use std::process::Command;
use std::time::Duration;

/// Pins a process and its future children to some of the cores.
///
/// # Panics
/// Panics if that fails.
#[track_caller]
pub fn pin(process: u32, cores: &str) {
    let pinned = Command::new("taskset").args(["-apc", cores, &process.to_string()]).output();
    assert!(pinned.expect("there is taskset").status.success());
}

/// Returns the processor time of a process that is not reaped yet, in whole hundredths of a second.
///
/// # Panics
/// Panics if it does not run.
#[must_use]
pub fn processor_time(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("a process has a name");
    let field =
        |i: usize| fields.split_whitespace().nth(i).expect("a field").parse::<u64>().expect("a number");
    Duration::from_millis(10 * (field(11) + field(12)))
}

/// Returns the peak memory of a process.
///
/// # Panics
/// Panics if it does not run.
#[must_use]
pub fn peak_memory_kib(process: u32) -> u64 {
    status_kib(process, "VmHWM:")
}

/// Returns the memory of a process.
///
/// # Panics
/// Panics if it does not run.
#[must_use]
pub fn memory_kib(process: u32) -> u64 {
    status_kib(process, "VmRSS:")
}

fn status_kib(process: u32, what: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let found = status.lines().find_map(|line| line.strip_prefix(what)).expect("it has memory");
    found.trim().trim_end_matches("kB").trim().parse().expect("a number")
}
