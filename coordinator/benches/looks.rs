//! Benchmarks how long a store takes to draw records for recounts, which blocks the event loop.
//!
//! The store has two passes of equally many records, evenly over all parts, by as many names as there are workers.
//! The second pass is searched alone, and with the names that counted its parts in the first.
//!
//! ```console
//! $ cargo bench -p queens-coordinator --bench looks -- RECORDS CROSSES NAMES
//! ```

#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::env;
use std::sync::Arc;
use std::time::{Duration, Instant};

use queens_ledger::store::draw::Draw;
use queens_ledger::store::{JobEntry, Record, Source, Store, Write};
use queens_model::{JobId, LeaseId, Name, Party, Share};
use queens_solver::{BoardSize, Choice, Count, Method, Span, Symmetry, crosses_in_counting_order};
use queens_store::sqlite::SqliteStore;

/// Records in one transaction.
const BATCH: usize = 10_000;

fn main() {
    let numbers: Vec<u64> = env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    println!("   records    parts  names  first pass  wanted     looks  median ms  longest ms  in all s");
    if let [n_records, n_parts, n_names] = numbers[..] {
        return measure(n_records, n_parts, n_names);
    }
    measure(10_000, 1000, 100);
    measure(1_000_000, 1000, 100);
    measure(1_000_000, 1000, 10_000);
    measure(1_000_000, 10, 10_000);
}

fn measure(n_records: u64, n_parts: u64, n_names: u64) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut store = SqliteStore::open(dir.path()).expect("opens");
    let n = BoardSize::new(16).expect("a board size");
    let n_planned = crosses_in_counting_order(n).len();
    let names: Vec<Arc<Source>> = (0..n_names).map(source).collect();
    for job in [JobId(1), JobId(2)] {
        let mut entry = JobEntry::new(job, n, Method::Search, 1_800_000_000_000).identified();
        entry.terms.second_of = (job == JobId(2)).then_some(JobId(1));
        let choice = Choice { image: Symmetry::IDENTITY, n_subproblems: n_records, work: n_records.into() };
        let choices = vec![choice; n_planned];
        store.commit(&[Write::Job(entry), Write::Plan { job, choices }]).expect("commits");
        let records: Vec<Write> =
            (0..n_records).map(|number| record(job, number, n_records / n_parts, &names)).collect();
        records.chunks(BATCH).for_each(|batch| store.commit(batch).expect("commits"));
    }
    for first_pass in [None, Some(JobId(1))] {
        let (mut after, mut times, mut n_wanted) = (None, Vec::new(), 0);
        loop {
            let began = Instant::now();
            let draw = Draw {
                job: JobId(2),
                after,
                seed: 7,
                share: Share::of_ppm(10_000).expect("a share"),
                suspects: Arc::default(),
                doubted: Default::default(),
                first_pass,
            };
            let drawn = store.draw(&draw).expect("it can be read");
            times.push(began.elapsed());
            n_wanted += drawn.records.len();
            after = drawn.next;
            if after.is_none() {
                break;
            }
        }
        let total = times.iter().sum::<Duration>().as_secs_f64();
        times.sort_unstable();
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let is_with = if first_pass.is_some() { "with" } else { "without" };
        println!(
            "{n_records:10}  {n_parts:7}  {n_names:5}  {is_with:>10}  {n_wanted:6}  {:8}  {:9.2}  {:10.2}  {total:8.2}",
            times.len(),
            millis(times[times.len() / 2]),
            times.last().copied().map_or(0.0, millis)
        );
    }
}

fn source(number: u64) -> Arc<Source> {
    let name = Name::of_any(&format!("worker {number}"));
    let party = Party::of_name(&name);
    Arc::new(Source { name, build: Name::of_any("0"), kernel: Name::of_any("none"), party })
}

/// Returns the record with a number: each part has `of_each`, of one subproblem each.
fn record(job: JobId, number: u64, of_each: u64, names: &[Arc<Source>]) -> Write {
    let (part, from) = (u32::try_from(number / of_each).expect("few"), number % of_each);
    // Each name's records are scattered, as with many workers that take small leases in turn.
    let mixed = (number ^ job.0 << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    let source = Arc::clone(&names[usize::try_from(mixed).expect("fits") % names.len()]);
    let count = Count { solutions: 1, work: 1 };
    let span = Span::new(part, from, from + 1).expect("not empty");
    Write::Record {
        job,
        record: Record { span, count, duration: Duration::from_micros(1), lease: LeaseId(1), source },
    }
}
