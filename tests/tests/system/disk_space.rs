//! The disk space of a long count's records.

use std::fs;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use queens_ledger::store::{JobEntry, Phase, Record, Source, Store, Write};
use queens_model::{JobId, LeaseId, Party};
use queens_solver::{BoardSize, Count, Method, Plan, Span};
use queens_store::sqlite::SqliteStore;
use queens_tests::chance::Chance;
use queens_tests::prelude::*;

const N: u8 = 27;

/// The longest lease, in seconds: the reports of one lease and part become one record.
const LEASE_SECONDS: f64 = 120.0;

/// The number of records for a measurement, and of concurrent leases: their records are interleaved.
const N_RECORDS: usize = 40_000;
const N_LIVE: usize = 4_000;

/// The most bytes of all records.
const MOST_BYTES: f64 = 10e9;

/// Returns a record of N as a fast thread makes it in the longest lease.
fn record(number: usize, source: &Arc<Source>, per_cross: usize, subproblems: u64) -> Record {
    let (part, place) = (number / per_cross, number % per_cross);
    let from = place as u64 * subproblems;
    let span = Span::new(u32::try_from(part).expect("few"), from, from + subproblems).expect("not empty");
    Record {
        span,
        count: Count { solutions: 5_000_000_000 + number as u64, work: 120_000_000_000 + number as u64 },
        duration: Duration::from_micros(119_000_000 + number as u64),
        lease: LeaseId((3 << 32) + number as u64),
        source: source.clone(),
    }
}

/// Returns the bytes per record of a large database. Each record is written at its start and again at its end.
fn bytes_a_record(plan: &Plan) -> f64 {
    let dir = TempDir::new();
    let mut store = SqliteStore::open(dir.path()).expect("an empty directory");
    let job = JobId(1);
    let row =
        JobEntry { phase: Phase::Active, ..JobEntry::new(job, plan.n(), Method::Search, 1_800_000_000_000) };
    let choices = plan.parts().iter().map(|part| *part.choice()).collect();
    store.commit(&[Write::Job(row), Write::Plan { job, choices }]).expect("written");
    let size = |dir: &TempDir| fs::metadata(dir.join(DATABASE)).expect("a file").len();
    let empty = size(&dir);

    let sources: Vec<Arc<Source>> = (0..1000)
        .map(|worker| {
            let name = |text: &str| text.parse().expect("a name");
            let worker = name(&format!("machine-{worker}"));
            let party = Party::of_name(&worker);
            Arc::new(Source { name: worker, build: name("0.1.0"), kernel: name("avx512"), party })
        })
        .collect();
    let per_cross = N_RECORDS / 800;
    let mut chance = Chance::new(1);
    for live in (0..N_RECORDS).collect::<Vec<_>>().chunks_mut(N_LIVE) {
        for ends in [false, true] {
            for i in (1..live.len()).rev() {
                live.swap(i, usize::try_from(chance.within(0..=i as u64)).expect("few"));
            }
            for some in live.chunks(1000) {
                let write = |&number: &usize| {
                    let source = &sources[number % sources.len()];
                    let mut record = record(number, source, per_cross, 2000);
                    if !ends {
                        let (span, _) = record.span.split_at(record.span.from() + 1);
                        record.span = span.expect("one");
                        record.count = Count { solutions: 1_000_000, work: 100_000_000 };
                        record.duration = Duration::from_millis(100);
                    }
                    Write::Record { job, record }
                };
                store.commit(&some.iter().map(write).collect::<Vec<_>>()).expect("written");
            }
        }
    }
    // Closed, so that the log is merged into the database.
    drop(store);
    (size(&dir) - empty) as f64 / N_RECORDS as f64
}

#[test]
fn the_record_of_27_queens_fits_a_small_disk() {
    let n = BoardSize::new(N).expect("a board size");
    let plan = Plan::new(n, Method::Search, NonZeroUsize::MIN, &AtomicBool::new(false)).expect("not stopped");
    let bytes = bytes_a_record(&plan);
    let work = plan.work() as f64;
    for kernel in [Kernel::Avx512, Kernel::Portable] {
        let thread_seconds = work / f64::from(Method::Search.typical_speed(kernel));
        // A lease that extends into another part has a record in each.
        let n_records = thread_seconds / LEASE_SECONDS + plan.parts().len() as f64;
        let total = n_records * bytes;
        say(&format!(
            "Q({N}): {work:.2e} nodes at {:.0e} a second and thread are {:.0} thread-years, {:.1} million leases of \
             {LEASE_SECONDS} s on {} parts; with {bytes:.0} bytes a record, the record takes {:.2} GB ({kernel})",
            f64::from(Method::Search.typical_speed(kernel)),
            thread_seconds / (365.25 * 86_400.0),
            thread_seconds / LEASE_SECONDS / 1e6,
            plan.parts().len(),
            total / 1e9,
        ));
        assert!(total < MOST_BYTES, "{total} bytes");
    }
}
