//! Plays random histories: whatever happens to workers, links, store and coordinators, a job ends with the right count.
//!
//! The histories drive the coordinator's [`Core`](queens_ledger::Core), a store, and the workers'
//! [`LeaseQueue`](queens_worker_session::LeaseQueue)s and [`WorkerSession`](queens_worker_session::WorkerSession)s,
//! which count small boards. There is one coordinator, whose store is a directory, or there are two that share a
//! database. There, the leader may write, and the previous leader goes on until it notices. Links delay and break. The
//! number of faults is limited, and the history must end after the last one. All random choices come from a seed, time
//! is simulated, and nothing runs in parallel, so that any history can be played again:
//!
//! - `QUEENS_SIMULATION_HISTORIES`: the number of histories;
//! - `QUEENS_SIMULATION_SEED`: play the history of this seed alone, and show all its steps if it fails;
//! - `QUEENS_SIMULATION_FAULTS`: inflict only the faults with these numbers in each history, for example `0,3`.

mod contents;
mod coordinator;
pub(crate) mod disk;
mod event;
mod fault;
mod host;
mod lead;
mod mischief;
mod network;
mod operators;
mod process;
mod puzzle;
mod random;
mod sight;
mod surroundings;
mod takeover;
mod verdict;
mod watch;
mod witness;
mod worker;
mod world;

use std::env;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::str::FromStr;

use self::disk::RealDisk;
use self::event::Log;
use self::fault::{Faults, Tally};
use self::puzzle::Library;
use self::world::World;

/// The steps that are shown of a history that fails, unless it is the only one.
const LAST_STEPS: usize = 40;

/// The first seed.
const FIRST_SEED: u64 = 1;

/// The setting that all histories share.
struct Stage {
    library: Library,
    /// Makes an empty real disk; `None` uses a model.
    disk: Option<fn() -> Box<dyn RealDisk>>,
    /// The number of coordinators that share it.
    n_hosts: usize,
    /// The name of the test, to run it again.
    test: &'static str,
}

/// Plays `usual` histories of `n_hosts` coordinators, or the number in the environment. They use disks made by `disk`,
/// or a model of one. `test` is the test's name for cargo.
pub(crate) fn any_history_ends_with_the_right_count(
    test: &'static str,
    usual: u64,
    n_hosts: usize,
    disk: Option<fn() -> Box<dyn RealDisk>>,
) {
    let stage = Stage { library: Library::new(), disk, n_hosts, test };
    let faults = from_environment("FAULTS").unwrap_or_default();
    let seeds = match from_environment("SEED") {
        Some(seed) => seed..seed + 1,
        None => FIRST_SEED..FIRST_SEED + from_environment("HISTORIES").unwrap_or(usual),
    };
    let n_histories = seeds.end - seeds.start;
    let mut tally = Tally::default();
    for (n_before, seed) in (0..).zip(seeds) {
        let mut log = Log::default();
        match play(&stage, seed, &faults, &mut log) {
            Ok(inflicted) => tally.add(&inflicted),
            Err(_) => explain(&stage, seed, &faults, n_before),
        }
    }
    say(&format!("simulated {n_histories} histories, none with a wrong total, {tally}"));
    if n_hosts > 1 {
        say(&format!("of two coordinators, it happened that: {}", tally.sights));
        let missing = tally.sights.missing(n_histories);
        assert!(missing.is_empty(), "these histories prove nothing: no {missing:?}");
    }
}

/// Plays one history. The error is the failed check.
fn play(stage: &Stage, seed: u64, faults: &Faults, log: &mut Log) -> Result<Tally, String> {
    let history = || {
        let mut world =
            World::new(&stage.library, seed, faults, stage.n_hosts, stage.disk.map(|make| make()), log);
        world.run();
        world.tally
    };
    catch_unwind(AssertUnwindSafe(history)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    })
}

/// Finds the fewest faults with which a history fails, shows its steps and fails.
fn explain(stage: &Stage, seed: u64, faults: &Faults, n_before: u64) -> ! {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let fewest = faults.fewest(|some| play(stage, seed, some, &mut Log::default()).is_err());
    let longest = if env::var_os("QUEENS_SIMULATION_SEED").is_some() { usize::MAX } else { LAST_STEPS };
    let mut log = Log { longest, ..Log::default() };
    let reason = play(stage, seed, &fewest, &mut log).err().unwrap_or_default();
    panic::set_hook(hook);
    for line in &log.lines {
        say(line);
    }
    panic!(
        "after {n_before} histories, that of seed {seed} fails, at least with its faults [{fewest}]: {reason}\nto play \
         it again: QUEENS_SIMULATION_SEED={seed} QUEENS_SIMULATION_FAULTS={fewest} cargo test {}",
        stage.test
    );
}

fn from_environment<T: FromStr>(name: &str) -> Option<T> {
    let value = env::var(format!("QUEENS_SIMULATION_{name}")).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("QUEENS_SIMULATION_{name}={value} makes no sense")))
}

/// Prints a line. The test harness captures `println!` if the test passes.
fn say(line: &str) {
    _ = writeln!(io::stderr(), "{line}");
}
