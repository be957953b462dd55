//! Benchmarks durable reports per second of each store, with one or more reports per transaction, as in the event loop.
//!
//! A report is a record and the new coverage of its part. Directories are created in `TMPDIR`. The database server
//! must be otherwise idle.
//!
//! ```console
//! $ cargo bench -p queens-coordinator --bench commits -- postgres://USER@HOST:PORT/DATABASE
//! ```

#![expect(clippy::print_stdout, reason = "a table for whoever runs it")]

use std::env;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use queens_ledger::store::{Coverage, JobEntry, Record, Source, Store, Write};
use queens_model::{JobId, LeaseId, Party};
use queens_solver::{BoardSize, Choice, Count, Method, Span, Symmetry};
use queens_store::postgres::{Contact, LeaderCandidate, Server};
use queens_store::sqlite::SqliteStore;

const JOB: JobId = JobId(1);
const N_CROSSES: u32 = 1000;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_secs(1);

/// A store with a job, and the coverage of each part.
struct Filled {
    name: &'static str,
    store: Box<dyn Store>,
    covered: Vec<Coverage>,
    next: u64,
}

impl Filled {
    fn new(name: &'static str, mut store: Box<dyn Store>) -> Self {
        let entry = JobEntry::new(JOB, BoardSize::new(20).expect("a board size"), Method::Search, 0);
        let choice = Choice { image: Symmetry::IDENTITY, n_subproblems: 1 << 40, work: 1 << 40 };
        let plan = Write::Plan { job: JOB, choices: vec![choice; N_CROSSES as usize] };
        store.commit(&[Write::Job(entry), plan]).expect("an empty store");
        Self { name, store, covered: vec![Coverage::default(); N_CROSSES as usize], next: 0 }
    }

    /// Commits batches of reports for a while; returns the reports per second.
    fn run(&mut self, size: usize) -> f64 {
        let began = Instant::now();
        let mut n_reports = 0_u32;
        while began.elapsed() < ROUND {
            let writes: Vec<Write> = (0..size).flat_map(|_| self.report()).collect();
            self.store.commit(&writes).expect("commits");
            n_reports += u32::try_from(size).expect("few");
        }
        f64::from(n_reports) / began.elapsed().as_secs_f64()
    }

    fn report(&mut self) -> [Write; 2] {
        let number = self.next;
        self.next += 1;
        let part = u32::try_from(number % u64::from(N_CROSSES)).expect("few");
        let from = number / u64::from(N_CROSSES) * 10;
        let name = |text: String| text.parse().expect("a name");
        let source = Source {
            name: name(format!("worker-{}", number % 100)),
            build: name("1".to_owned()),
            kernel: name("avx2".to_owned()),
            party: Party::of_name(&name(format!("worker-{}", number % 100))),
        };
        let record = Record {
            span: Span::new(part, from, from + 10).expect("not empty"),
            count: Count { solutions: 1 << 30, work: 1 << 40 },
            duration: Duration::from_secs(1),
            lease: LeaseId(1 << 40),
            source: Arc::new(source),
        };
        let coverage = &mut self.covered[part as usize];
        let merged = coverage.recorded.insert(from..from + 10);
        coverage.solutions += 1 << 30;
        coverage.work += 1 << 40;
        let starts = merged.iter().map(|range| range.start).chain([from]);
        let change = coverage.change(starts.collect::<Vec<_>>());
        [Write::Record { job: JOB, record }, Write::Coverage { job: JOB, part, change }]
    }
}

fn main() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut stores = vec![Filled::new("SQLite", Box::new(SqliteStore::open(dir.path()).expect("opens")))];
    if let Some(address) = env::args().skip(1).find(|argument| argument.starts_with("postgres")) {
        let server = Server::new(&address, None, None).expect("an address");
        let contact = Contact { url: "bench".to_owned(), pages: None };
        let store = LeaderCandidate::new(server, contact, Path::new(".")).lead().expect("opens");
        stores.push(Filled::new("PostgreSQL", Box::new(store)));
    }
    println!("reports in a transaction  store        reports/s (median of {ROUNDS})");
    for size in [1, 10, 100, 1000] {
        let mut speeds = vec![Vec::new(); stores.len()];
        for _ in 0..ROUNDS {
            for (store, speeds) in stores.iter_mut().zip(&mut speeds) {
                speeds.push(store.run(size));
            }
        }
        for (store, speeds) in stores.iter().zip(&mut speeds) {
            speeds.sort_by(f64::total_cmp);
            println!("{size:>24}  {:<11}  {:>8.0}", store.name, speeds[ROUNDS / 2]);
        }
    }
}
