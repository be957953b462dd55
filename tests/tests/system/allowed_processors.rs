//! A worker starts one thread per processor that it may use: those of the machine, less the limits of an affinity mask
//! or a control group.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::thread;
use std::time::Duration;

use queens_tests::impossible;
use queens_tests::prelude::*;

/// A control group of this test, removed on drop.
struct Group {
    dir: PathBuf,
}

impl Group {
    /// Creates a group with a limit in percent of one processor, by either version of control groups.
    fn new(percent: u64) -> Option<Self> {
        let (quota, period) = (percent * 1000, 100_000);
        let of_ours = |below: &str| Path::new(below).join(format!("queens-test-{}-{percent}", process::id()));
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let of_version_2 = own.lines().find_map(|line| line.strip_prefix("0::"));
        let unified = format!("/sys/fs/cgroup{}", of_version_2.unwrap_or_default());
        let limits = [
            (
                of_ours("/sys/fs/cgroup/cpu"),
                vec![("cpu.cfs_period_us", period.to_string()), ("cpu.cfs_quota_us", quota.to_string())],
            ),
            (of_ours(&unified), vec![("cpu.max", format!("{quota} {period}"))]),
            (of_ours("/sys/fs/cgroup"), vec![("cpu.max", format!("{quota} {period}"))]),
        ];
        limits.into_iter().find_map(|(dir, limits)| {
            fs::create_dir(&dir).ok()?;
            let group = Self { dir };
            limits.iter().all(|(file, limit)| fs::write(group.dir.join(file), limit).is_ok()).then_some(group)
        })
    }

    /// Returns a command that runs a program in it.
    fn command(&self, program: &Path) -> Command {
        let mut command = clean(Command::new("sh"));
        command
            .args(["-c", "echo $$ >\"$0\" && exec \"$@\""])
            .arg(self.dir.join("cgroup.procs"))
            .arg(program);
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its processes were just killed, and take a moment to disappear.
        for _ in 0..100 {
            if fs::remove_dir(&self.dir).is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Returns the number of threads of a worker that this command starts.
#[track_caller]
fn threads(mut command: Command) -> u64 {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::start();
    let _worker = Running::start_silent(command.args(["--coordinator", &coordinator.url()]));
    wait_until("a worker", || coordinator.workers().first()?["threads"].as_u64())
}

fn affine(processors: &str) -> Command {
    let mut command = clean(Command::new("taskset"));
    command.args(["--cpu-list", processors]).arg(binary("queens-worker"));
    command
}

#[test]
fn a_worker_has_a_thread_for_each_processor_that_it_may_use() {
    let n_processors = thread::available_parallelism().expect("known").get() as u64;
    assert_eq!(threads(program("queens-worker")), n_processors);
    if n_processors < 2 {
        return impossible("that an affinity mask takes threads away, on one processor");
    }
    let allowed = first_processor();
    assert_eq!(threads(affine(&allowed)), 1);
    for (percent, expected) in [(100, 1), (150, 1), (n_processors * 100, n_processors), (20, 1)] {
        let Some(group) = Group::new(percent) else {
            return skipped_without_root(
                "that a control group takes threads away, without the right to make one",
            );
        };
        assert_eq!(threads(group.command(&binary("queens-worker"))), expected, "{percent} %");
    }
}

/// Returns the first processor that this process may use.
fn first_processor() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("we run");
    let list =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list").trim();
    list.split([',', '-']).next().expect("a processor").to_owned()
}
