//! A coordinator under load: many workers with real connections and protocol, which only pretend to count. After a kill
//! of the coordinator, every acknowledged report is on disk.
//!
//! It runs a small cluster, unless the environment variable `QUEENS_LOAD` is `full`. Then ten thousand workers report a
//! thousand times a second to a coordinator on one core while they share another, with limits on its use of resources.
//! Then ten thousand times a second; then forty workers of 256 threads, and ten of 1024.
//!
//! Tests that only measure are ignored without `.ci/long`: the first load with and without TLS, to limit the cost of
//! encryption (`tls`), and with readers (`readers`); a hundred thousand workers on shared connections, which report at
//! their assigned interval (`many`); ten thousand that lose their coordinator and return (`storm`); the rate of reports
//! that each store takes (`stores`).

mod many;
mod readers;
mod stores;
mod storm;
mod tls;
mod worker;

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use queens_ledger::intervals::Intervals;
use queens_solver::Span;
use queens_store::sqlite::audit;
use queens_tests::files;
use queens_tests::prelude::*;
use std::process::Command;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::worker::Worker;

/// Concurrent connection attempts.
const OPENING: usize = 32;

/// The parameters of a load.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// A board with enough work for all workers.
    n: u8,
    n_workers: u64,
    n_threads: u32,
    /// Time between two reports of a worker.
    period: Duration,
    /// The time of the measurement. It starts after two periods, in which workers get their first leases.
    measured: Duration,
    /// The limits of a coordinator under the full load: 99 of 100 reports are acknowledged within this time.
    slowest: Duration,
    most_mib: u64,
}

/// A small load, whose times are not looked at.
const SHORT: Load = Load {
    n: 23,
    n_workers: 40,
    n_threads: 8,
    period: Duration::from_secs(1),
    measured: Duration::from_secs(1),
    slowest: Duration::MAX,
    most_mib: u64::MAX,
};

const FULL: [Load; 4] = [
    Load {
        n: 27,
        n_workers: 10_000,
        n_threads: 1,
        period: Duration::from_secs(10),
        measured: Duration::from_secs(60),
        slowest: Duration::from_millis(250),
        most_mib: 512,
    },
    Load {
        n: 27,
        n_workers: 10_000,
        n_threads: 1,
        period: Duration::from_secs(1),
        measured: Duration::from_secs(30),
        slowest: Duration::from_millis(500),
        most_mib: 768,
    },
    Load {
        n: 27,
        n_workers: 40,
        n_threads: 256,
        period: Duration::from_secs(1),
        measured: Duration::from_secs(30),
        slowest: Duration::from_millis(250),
        most_mib: 512,
    },
    Load {
        n: 27,
        n_workers: 10,
        n_threads: 1024,
        period: Duration::from_secs(1),
        measured: Duration::from_secs(30),
        slowest: Duration::from_millis(250),
        most_mib: 512,
    },
];

/// The largest share of a core for snapshots and updates of pages.
const MOST_PUBLISHING: f64 = 0.05;
const SLOWEST_UPDATE: Duration = Duration::from_secs(1);

#[test]
fn what_is_acknowledged_under_load_is_on_disk() {
    let full = is_full("QUEENS_LOAD");
    let _alone = full.then(alone);
    let _files = files::take(100);
    let loads = if full { &FULL[..] } else { &[SHORT] };
    loads.iter().for_each(|load| check(*load, full));
}

#[track_caller]
fn check(load: Load, full: bool) {
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::by(|mut command| {
        command.args(["--http", "127.0.0.1:0"]);
        if full { on_cores_apart(&command) } else { command }
    });
    let job = coordinator.submit(load.n);
    coordinator.wait_for_state(&job, "queued");
    let runtime = runtime();
    let played = runtime.block_on(play(load, &coordinator, &job));
    let peak_mib = peak_memory_kib(coordinator.id()) / 1024;
    coordinator.kill();
    drop(runtime);
    check_records(&data_dir, &played.acknowledged);

    assert!(!played.updates.is_empty());
    if !full {
        return;
    }
    let Played { mut times, n_reports, processor, publishing, updates, .. } = played;
    let longest_update = updates.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(load.measured);
    times.sort_unstable();
    let percentile = |percent: usize| times[(times.len() - 1) * percent / 100];
    let per_second = n_reports as f64 / load.measured.as_secs_f64();
    say(&format!(
        "{} workers of {} threads: {per_second:.0} reports a second, acknowledged when durable after {:.1?} (median), \
         {:.1?} (99th percentile), {:.1?} (longest); coordinator: {:.0} % of a core, {peak_mib} MiB at most; \
         snapshots and what pages are told: {:.1} % of a core, pages told at least every {longest_update:.1?}",
        load.n_workers,
        load.n_threads,
        percentile(50),
        percentile(99),
        percentile(100),
        100.0 * processor.as_secs_f64() / load.measured.as_secs_f64(),
        100.0 * publishing / load.measured.as_secs_f64(),
    ));
    // A worker that reports slightly late is not the coordinator's fault.
    let expected = load.n_workers as f64 / load.period.as_secs_f64();
    assert!(per_second >= 0.99 * expected, "{per_second} reports a second");
    assert!(percentile(99) < load.slowest, "{:?}", percentile(99));
    assert!(peak_mib < load.most_mib, "{peak_mib} MiB");
    assert!(publishing < MOST_PUBLISHING * load.measured.as_secs_f64(), "{publishing} s");
    assert!(longest_update < SLOWEST_UPDATE, "{longest_update:?}");
}

/// Runs one test at a time under the full load, so that each has both cores to itself.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pins the command to the first core, and this process to the second.
fn on_cores_apart(command: &Command) -> Command {
    pin(std::process::id(), "1");
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", "0"]).arg(command.get_program()).args(command.get_args());
    pinned
}

/// The measurements.
#[derive(Debug)]
struct Played {
    /// The time from each measured report to its acknowledgement.
    times: Vec<Duration>,
    /// Acknowledged during the measurement.
    n_reports: usize,
    /// The coordinator's processor time meanwhile.
    processor: Duration,
    /// Seconds of that for snapshots and updates of pages.
    publishing: f64,
    /// The times of updates of a page meanwhile.
    updates: Vec<Instant>,
    /// All acknowledged spans, including those before.
    acknowledged: Vec<Span>,
}

async fn play(load: Load, coordinator: &Coordinator, job: &str) -> Played {
    let url = coordinator.url();
    let workers =
        begin(load, move |number| Box::pin(Worker::connect_plainly(number, load.n_threads, url.clone())))
            .await;
    let (before, publishing_before) =
        (processor_time(coordinator.id()), publishing_seconds(coordinator).await);
    let updates = follow(&coordinator.http(), job, load.measured).await;
    let processor = processor_time(coordinator.id()) - before;
    let publishing = publishing_seconds(coordinator).await - publishing_before;
    let mut played =
        Played { times: Vec::new(), n_reports: 0, processor, publishing, updates, acknowledged: Vec::new() };
    for worker in workers {
        let mut worker = worker.await.expect("it does not panic");
        played.n_reports += worker.times.len();
        played.times.append(&mut worker.times);
        played.acknowledged.append(&mut worker.acknowledged);
    }
    played
}

/// A connection attempt of a worker.
type Connecting = Pin<Box<dyn Future<Output = Worker> + Send>>;

/// Connects all workers and starts their work; returns at the start of the measurement.
async fn begin<C>(load: Load, connect: C) -> Vec<JoinHandle<Worker>>
where
    C: Fn(u64) -> Connecting + Send + Sync + 'static,
{
    let (connect, opening) = (Arc::new(connect), Arc::new(Semaphore::new(OPENING)));
    let everybody = Arc::new(Barrier::new(usize::try_from(load.n_workers).expect("few") + 1));
    let workers = (0..load.n_workers)
        .map(|number| {
            let (connect, opening, everybody) = (connect.clone(), opening.clone(), everybody.clone());
            tokio::spawn(async move {
                let permit = opening.acquire().await.expect("it is not closed");
                let worker = connect(number).await;
                drop(permit);
                everybody.wait().await;
                let start = Instant::now();
                // One after the other, so that reports are spread evenly.
                let first = load.period.mul_f64(number as f64 / load.n_workers as f64);
                let measured = start + load.period * 2;
                worker.work(start + first, load.period, measured, measured + load.measured).await
            })
        })
        .collect();
    everybody.wait().await;
    tokio::time::sleep(load.period * 2).await;
    workers
}

/// Returns the coordinator's own figure for its time on snapshots and updates of pages.
async fn publishing_seconds(coordinator: &Coordinator) -> f64 {
    let numbers = ask(&coordinator.http(), "/metrics").await;
    let seconds = numbers.lines().find_map(|line| line.strip_prefix("queens_publishing_seconds_total "));
    seconds.and_then(|seconds| seconds.parse().ok()).expect("a metric")
}

/// Keeps a page of the job and one of the workers open for some time; returns the times of their updates.
async fn follow(address: &str, job: &str, time: Duration) -> Vec<Instant> {
    let end = Instant::now() + time;
    let mut stream = begin_to_ask(address, "/api/v1/live").await;
    let mut polls = tokio::time::interval(Duration::from_secs(1));
    let (mut updates, mut told, mut buffer) = (Vec::new(), Vec::new(), vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = stream.read(&mut buffer) => {
                let n_read = read.expect("the stream goes on");
                assert!(n_read > 0, "the stream has ended: {}", String::from_utf8_lossy(&told));
                told.extend_from_slice(&buffer[..n_read]);
                while let Some(at) = told.windows(2).position(|pair| pair == b"\n\n") {
                    let update = told.drain(..at + 2).as_slice().starts_with(b"event: summary");
                    updates.extend(update.then(Instant::now));
                }
            }
            _ = polls.tick() => {
                for path in [&format!("/api/v1/jobs/{job}/cells"), "/api/v1/workers?sort=speed&limit=50"] {
                    let (address, path) = (address.to_owned(), path.to_owned());
                    tokio::spawn(async move { drop(ask(&address, &path).await) });
                }
            }
            () = tokio::time::sleep_until(end), if !updates.is_empty() => return updates,
        }
    }
}

async fn ask(address: &str, path: &str) -> String {
    let mut answer = String::new();
    begin_to_ask(address, path).await.read_to_string(&mut answer).await.expect("text");
    assert!(answer.starts_with("HTTP/1.0 200 "), "{path}: {answer}");
    answer
}

async fn begin_to_ask(address: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    stream
}

/// Checks that every acknowledged span is recorded exactly once.
#[track_caller]
fn check_records(data_dir: &Path, acknowledged: &[Span]) {
    let jobs = audit(data_dir).expect("consistent records");
    assert_eq!(jobs.len(), 1);
    let mut recorded: BTreeMap<i64, Intervals> = BTreeMap::new();
    for record in records(data_dir).expect("readable") {
        let (_, part, first, until) = record.span;
        assert_eq!((record.count.0, record.count.1), (until - first, 3 * (until - first)), "{record:?}");
        recorded.entry(part).or_default().insert(first.unsigned_abs()..until.unsigned_abs());
    }
    assert!(!acknowledged.is_empty());
    for span in acknowledged {
        let part = recorded.get(&span.part().into()).expect("acknowledged, so it is recorded");
        assert!(part.contains(&(span.from()..span.to())), "{span} was acknowledged and is not recorded");
    }
}
