//! Measures how long the ledger takes for a decision, and the memory of a lease, for clusters of several shapes.
//!
//! All work is leased, as at the end of a job. Idle threads then get the tails of others' leases, which is the most
//! expensive kind of scheduling. Times are of the ledger alone, without a store or a network.
//!
//! ```console
//! $ cargo bench -p queens-ledger --bench decisions
//! ```

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use queens_ledger::store::Stored;
use queens_ledger::{Ledger, Run, WorkerRefusal};
use queens_model::{
    Delta, HalvesSkill, Hello, JobIdentity, Lease, LeaseId, Name, Party, Report, Speed, Submission, ToWorker,
    WorkerId,
};
use queens_solver::{
    BoardSize, Choice, Count, DECOMPOSITION_VERSION, Method, Plan, Span, Symmetry, crosses_in_counting_order,
};

/// Subproblems in a lease, and the estimated nodes of each.
const PER_LEASE: u64 = 16;
const WORK: u128 = 1_000_000;

/// The threads of a worker that get leases before anything has come of them.
const MOST_UNPROVEN: u32 = 32;

/// The number of decisions of each kind that are timed.
const ROUNDS: u64 = 300;

fn main() {
    let numbers: Vec<u32> = env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    if let [n_workers, n_threads] = numbers[..] {
        return measure(n_workers.into(), n_threads);
    }
    println!("median / longest of {ROUNDS} in milliseconds");
    println!(
        "workers × threads    leases  bytes a lease  tick            one span        a whole report  hello, goodbye"
    );
    let shapes = [
        (1, 1),
        (1, 65_536),
        (10_000, 1),
        (320, 32),
        (40, 256),
        (10, 1024),
        (1, 4096),
        (249, 2000),
        (499_000, 1),
    ];
    for (n_workers, n_threads) in shapes {
        // Each shape has its own process, so that its memory is not mixed with that of others.
        let myself = env::current_exe().expect("it runs");
        let arguments = [n_workers, n_threads].map(|number: u32| number.to_string());
        let status = Command::new(myself).args(arguments).status().expect("it can be started");
        assert!(status.success(), "{status}");
    }
}

fn measure(n_workers: u64, n_threads: u32) {
    let shape = format!("{n_workers:>7} × {n_threads:<6}");
    let n_leases = 2 * n_workers * u64::from(n_threads);
    let before = memory();
    let has_to_prove = n_threads > MOST_UNPROVEN;
    let mut cluster =
        Cluster::new(if has_to_prove { measured_leases(n_leases) } else { n_leases * PER_LEASE });
    for worker in 1..=n_workers {
        if let Err(refusal) = cluster.connect(worker, n_threads) {
            return println!("{shape}  refused: {refusal}");
        }
    }
    // A decision grants some thousand leases at most; the next ones grant the rest. A worker with many threads gets few
    // leases before something has come of some.
    let mut n_held = 0;
    while n_held < n_leases {
        cluster.tick();
        if has_to_prove {
            (1..=n_workers).for_each(|worker| _ = cluster.report(WorkerId(worker), usize::MAX));
            if cluster.n_held() <= n_held + n_held / 64 {
                break;
            }
        }
        n_held = cluster.n_held();
    }
    let bytes = (memory() - before) / n_held;
    // This worker finds nothing free, so it must get a part of others' leases.
    cluster.connect(n_workers + 1, 1).expect("one more is let in");
    let mut times: [Vec<Duration>; 4] = Default::default();
    for round in 0..ROUNDS {
        let worker = WorkerId(1 + round % n_workers);
        times[0].push(cluster.tick());
        times[1].push(cluster.report(worker, 1));
        times[2].push(cluster.report(worker, if round % 10 == 0 { n_threads as usize } else { 1 }));
        // The idle worker finishes its leases.
        cluster.report(WorkerId(n_workers + 1), usize::MAX);
        times[3].push(cluster.come_and_go(n_workers + 2));
    }
    times[2] = times[2].iter().copied().step_by(10).collect();
    let [tick, span, report, hello] = times.map(|mut times| {
        times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        format!("{:.3} / {:.2}", ms(times[times.len() / 2]), ms(times[times.len() - 1]))
    });
    println!("{shape} {n_held:>9} {bytes:>14}  {tick:<15} {span:<15} {report:<15} {hello}");
}

/// Returns the subproblems for about `n_leases` leases, or somewhat fewer, of workers with measured speed. Each lease
/// takes a quarter of a millisecond for each thread of the cluster, 120 seconds at most.
fn measured_leases(n_leases: u64) -> u64 {
    let tenths_of_a_second = (n_leases / 2 / 400).clamp(1, 1200);
    n_leases * PER_LEASE * tenths_of_a_second / 10 * 9
}

/// Plays a cluster to a ledger.
struct Cluster {
    ledger: Ledger,
    identity: JobIdentity,
    now: Duration,
    /// The leased spans of each worker.
    held: BTreeMap<WorkerId, BTreeMap<LeaseId, Vec<Span>>>,
}

impl Cluster {
    fn new(n_subproblems: u64) -> Self {
        let n = BoardSize::new(8).expect("a board size");
        let n_parts = crosses_in_counting_order(n).len() as u64;
        let share = n_subproblems.div_ceil(n_parts);
        let choices = (0..n_parts).map(|i| {
            let n_subproblems = share.min(n_subproblems.saturating_sub(i * share));
            Choice { image: Symmetry::IDENTITY, n_subproblems, work: WORK * u128::from(n_subproblems.max(1)) }
        });
        let plan = Plan::from_choices(n, Method::Search, &choices.collect::<Vec<_>>())
            .expect("one choice for each part");
        let mut ledger = Ledger::restore(Stored::default(), Run::new(1)).expect("nothing contradicts");
        let job = ledger.submit(&Submission::new(n, Method::Search), 0, 0).expect("it is taken");
        ledger.planned(Duration::ZERO, job, plan);
        let identity = ledger.identity(job).expect("it is there");
        Self { ledger, identity, now: Duration::ZERO, held: BTreeMap::new() }
    }

    fn connect(&mut self, worker: u64, n_threads: u32) -> Result<(), WorkerRefusal> {
        let hello = Hello {
            worker: WorkerId(worker),
            name: Name::of_any(&format!("worker {worker}")),
            build: Name::of_any("0"),
            kernel: Name::of_any("none"),
            n_threads,
            // The first lease, of a tenth of a second, then has `PER_LEASE` subproblems.
            speed: Speed::try_from(10.0 * PER_LEASE as f64 * WORK as f64).expect("a speed"),
            decomposition: DECOMPOSITION_VERSION,
            halves: HalvesSkill { decomposition: 0, speed: Speed::ZERO },
            machine: 1,
            held: Vec::new(),
        };
        let party = Party::of_name(&hello.name);
        self.ledger.connect(self.now, hello, party)?;
        self.hear();
        Ok(())
    }

    fn come_and_go(&mut self, worker: u64) -> Duration {
        let began = Instant::now();
        self.connect(worker, 1).expect("one more is let in");
        self.ledger.goodbye(self.now, WorkerId(worker));
        let took = began.elapsed();
        self.hear();
        self.held.remove(&WorkerId(worker));
        took
    }

    fn tick(&mut self) -> Duration {
        self.now += Duration::from_millis(1);
        let began = Instant::now();
        self.ledger.tick(self.now);
        let took = began.elapsed();
        self.hear();
        took
    }

    /// Reports the first subproblem of each of `n_deltas` leases of a worker.
    fn report(&mut self, worker: WorkerId, n_deltas: usize) -> Duration {
        let held = self.held.entry(worker).or_default();
        let mut deltas = Vec::new();
        for (&lease, spans) in held.iter_mut().take(n_deltas) {
            let Some(first) = spans.first_mut() else { continue };
            let (Some(span), rest) = first.split_at(first.from() + 1) else { continue };
            match rest {
                Some(rest) => *first = rest,
                None => _ = spans.remove(0),
            }
            let count = Count { solutions: 1, work: 1_000_000 };
            let duration = Duration::from_secs_f64(0.1 / PER_LEASE as f64);
            deltas.push(Delta { job: self.identity, lease, span, count, duration });
        }
        let report = Report { sequence: 1, deltas, finished: Vec::new() };
        let began = Instant::now();
        self.ledger.report(self.now, worker, &report).expect("it makes sense");
        let took = began.elapsed();
        held.retain(|_, spans| !spans.is_empty());
        self.hear();
        took
    }

    /// Delivers the messages to the workers.
    fn hear(&mut self) {
        for (worker, message) in self.ledger.take_effects().messages {
            let held = self.held.entry(worker).or_default();
            match message {
                ToWorker::Lease(Lease { id, spans, .. }) => {
                    held.insert(id, spans.into_iter().map(|leased| leased.span).collect());
                }
                ToWorker::Shorten { lease, spans } => {
                    let Some(left) = held.get_mut(&lease) else { continue };
                    *left = left.iter().flat_map(|held| held.without(&spans)).collect();
                    if left.is_empty() {
                        held.remove(&lease);
                    }
                }
                _ => {}
            }
        }
    }

    fn n_held(&self) -> u64 {
        self.held.values().map(|held| held.len() as u64).sum()
    }
}

/// Returns the memory of this process in bytes. A tenth or so is the simulated workers' own.
fn memory() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<u64> = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or_default() * 4096
}
