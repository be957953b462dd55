//! Measures a report and a restart with half a million gaps in the coverage of a part, fewer in a debug build. The
//! test checks the number of rows, and prints the times.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use queens_ledger::store::{Coverage, JobEntry, Phase, Store, Write};
use queens_ledger::{Ledger, Run};
use queens_model::{Delta, HalvesSkill, Hello, JobId, Lease, Name, Party, Report, Speed, ToWorker, WorkerId};
use queens_solver::{
    BoardSize, Choice, Count, DECOMPOSITION_VERSION, Method, Symmetry, crosses_in_counting_order,
};
use queens_store::sqlite::SqliteStore;

const N_GAPS: u64 = if cfg!(debug_assertions) { 30_000 } else { 500_000 };

const N_REPORTS: usize = 100;

/// Returns the writes of a job in which every other subproblem of the first part is recorded, and nothing else.
fn gaps() -> [Write; 3] {
    let (job, n) = (JobId(1), BoardSize::new(6).expect("a board size"));
    let row = JobEntry { phase: Phase::Active, ..JobEntry::new(job, n, Method::Search, 1_800_000_000_000) };
    let choice =
        |n_subproblems| Choice { image: Symmetry::IDENTITY, n_subproblems, work: n_subproblems.into() };
    let mut choices = vec![choice(0); crosses_in_counting_order(n).len()];
    choices[0] = choice(2 * N_GAPS);
    let mut coverage = Coverage { solutions: N_GAPS.into(), work: N_GAPS.into(), ..Coverage::default() };
    (0..N_GAPS).for_each(|i| _ = coverage.recorded.insert(2 * i..2 * i + 1));
    let change = coverage.change((0..N_GAPS).map(|i| 2 * i));
    [Write::Job(row), Write::Plan { job, choices }, Write::Coverage { job, part: 0, change }]
}

/// Prints a line even if the test harness captures output.
fn say(line: &str) {
    _ = writeln!(io::stderr(), "{line}");
}

#[test]
fn a_report_changes_few_rows_however_many_gaps_there_are() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    SqliteStore::open(dir.path()).expect("opens").commit(&gaps()).expect("commits");
    let began = Instant::now();
    let mut store = SqliteStore::open(dir.path()).expect("opens");
    let mut ledger = Ledger::restore(store.load().expect("loads"), Run::new(1)).expect("nothing contradicts");
    say(&format!("restarted with {N_GAPS} gaps in {:?}", began.elapsed()));

    let worker = WorkerId(1);
    let hello = Hello {
        worker,
        name: Name::of_any("only"),
        build: Name::of_any("0"),
        kernel: Name::of_any("none"),
        n_threads: 4,
        speed: Speed::try_from(1e4).expect("a speed"),
        decomposition: DECOMPOSITION_VERSION,
        halves: HalvesSkill { decomposition: 0, speed: Speed::ZERO },
        machine: 1,
        held: Vec::new(),
    };
    let party = Party::of_name(&hello.name);
    ledger.connect(Duration::ZERO, hello, party).expect("in order");
    let mut leases: Vec<Lease> = Vec::new();
    let (mut n_reports, mut longest) = (0, Duration::ZERO);
    let began = Instant::now();
    while n_reports < N_REPORTS {
        let effects = ledger.take_effects();
        let n_changed =
            |write: &Write| if let Write::Coverage { change, .. } = write { change.ranges.len() } else { 0 };
        let n_ranges: usize = effects.writes.iter().map(n_changed).sum();
        // With the gap filled, one range grows, and another one is merged into it.
        assert!(n_ranges <= 2, "{:?}", effects.writes);
        store.commit(&effects.writes).expect("commits");
        leases.extend(effects.messages.into_iter().filter_map(|(_, message)| match message {
            ToWorker::Lease(lease) => Some(lease),
            _ => None,
        }));
        let lease = leases.last_mut().expect("there is work");
        let (job, id, span) = (lease.job, lease.id, lease.spans.remove(0).span);
        assert_eq!(span.n_subproblems(), 1);
        if lease.spans.is_empty() {
            leases.pop();
        }
        let count = Count { solutions: 1, work: 1 };
        let delta = Delta { job, lease: id, span, count, duration: Duration::from_micros(1) };
        n_reports += 1;
        let report = Report { sequence: n_reports as u64, deltas: vec![delta], finished: Vec::new() };
        let asked = Instant::now();
        ledger.report(Duration::ZERO, worker, &report).expect("in order");
        longest = longest.max(asked.elapsed());
    }
    let elapsed = began.elapsed();
    say(&format!("{N_REPORTS} reports with {N_GAPS} gaps in {elapsed:?}, at most {longest:?} in the ledger"));
    store.commit(&ledger.take_effects().writes).expect("commits");
    drop(store);
    let stored = SqliteStore::open(dir.path()).expect("opens").load().expect("nothing contradicts");
    assert_eq!(stored.jobs[0].coverage[0].1.recorded.len(), N_GAPS + N_REPORTS as u64);
}
