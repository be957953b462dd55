//! A coordinator under load: many workers on connections of their own, which speak the real protocol but only pretend
//! to count. All that was acknowledged is on disk after the coordinator is killed.
//!
//! Plays small clusters, unless the environment variable `QUEENS_LOAD` is `full`: then ten thousand workers report a
//! thousand times a second to a coordinator on one core while they share another, and what that may take is checked;
//! then ten thousand times a second; then forty workers of 256 threads, and ten of 1024. The first of these is also
//! played with TLS and without, and what encryption adds is checked. A hundred thousand workers on shared connections
//! report as often as they are told (`many`), and ten thousand lose their coordinator and come back (`storm`). How many
//! reports each store takes is measured in turns (`stores`).

mod many;
mod stores;
mod storm;
mod tls;
mod worker;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::pin::Pin;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use queens_ledger::intervals::Intervals;
use queens_solver::Span;
use queens_store::sqlite::audit;
use queens_tests::cluster::{Coordinator, coordinator_command};
use queens_tests::data_dir::records;
use queens_tests::process::{processor_time, wait_at_most};
use queens_tests::{TempDir, files, say};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::worker::Worker;

/// Connections that are opened at the same time.
const OPENING: usize = 32;

/// What is played.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// A board that has enough to count for so many workers.
    n: u8,
    n_workers: u64,
    n_threads: u32,
    /// Time between two reports of a worker.
    period: Duration,
    /// Measured after two periods, in which workers get their first leases.
    measured: Duration,
    /// What a coordinator may take under the full load: 99 of 100 reports are acknowledged within this time.
    slowest: Duration,
    most_mib: u64,
}

const SHORT: [Load; 2] = [
    Load {
        n: 23,
        n_workers: 200,
        n_threads: 1,
        period: Duration::from_secs(2),
        measured: Duration::from_secs(6),
        slowest: Duration::from_millis(250),
        most_mib: 512,
    },
    Load {
        n: 25,
        n_workers: 3,
        n_threads: 256,
        period: Duration::from_secs(1),
        measured: Duration::from_secs(3),
        slowest: Duration::from_millis(250),
        most_mib: 512,
    },
];

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

/// The share of a core that goes into snapshots and what pages are told.
const MOST_PUBLISHING: f64 = 0.05;
const SLOWEST_UPDATE: Duration = Duration::from_secs(1);

#[test]
fn what_is_acknowledged_under_load_is_on_disk() {
    let full = env::var("QUEENS_LOAD").is_ok_and(|load| load == "full");
    let _alone = alone(full);
    let _files = files::take(300);
    let loads = if full { &FULL[..] } else { &SHORT[..] };
    loads.iter().for_each(|load| check(*load, full));
}

#[track_caller]
fn check(load: Load, full: bool) {
    let scratch = TempDir::new().expect("a temporary directory");
    let data_dir = scratch.path().join("data");
    let mut command = coordinator_command("127.0.0.1:0", &data_dir);
    command.args(["--http", "127.0.0.1:0"]);
    if full {
        command = on_cores_apart(&command);
    }
    let coordinator = Coordinator::start_command(command, &data_dir);
    let job = coordinator.submit(load.n);
    wait_at_most(Duration::from_secs(300), "the plan", || {
        (coordinator.status(&job)["state"] == "queued").then_some(())
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let played = runtime.block_on(play(load, &coordinator, &job));
    let peak_mib = peak_memory_kib(coordinator.id()) / 1024;
    coordinator.kill();
    drop(runtime);
    check_records(&data_dir, &played.acknowledged);

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
    assert!(n_reports > 0);
    assert!(!updates.is_empty());
    if full {
        // A worker that reports a little later than it should is not the coordinator's fault.
        let expected = load.n_workers as f64 / load.period.as_secs_f64();
        assert!(per_second >= 0.99 * expected, "{per_second} reports a second");
        assert!(percentile(99) < load.slowest, "{:?}", percentile(99));
        assert!(peak_mib < load.most_mib, "{peak_mib} MiB");
        assert!(publishing < MOST_PUBLISHING * load.measured.as_secs_f64(), "{publishing} s");
        assert!(longest_update < SLOWEST_UPDATE, "{longest_update:?}");
    }
}

/// Under the full load, one test goes on at a time: each has both cores to itself.
fn alone(full: bool) -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    full.then(|| ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The same command on the first core, and this process on the second.
fn on_cores_apart(command: &Command) -> Command {
    move_to("1");
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", "0"]).arg(command.get_program()).args(command.get_args());
    pinned
}

/// Moves this process, and what it starts from now on, to some of the cores.
fn move_to(cores: &str) {
    let us = std::process::id().to_string();
    let moved = Command::new("taskset").args(["-apc", cores, &us]).output().expect("there is taskset");
    assert!(moved.status.success(), "{moved:?}");
}

/// What was measured.
#[derive(Debug)]
struct Played {
    /// From each report that was sent while it was measured to its acknowledgement.
    times: Vec<Duration>,
    /// Acknowledged while it was measured.
    n_reports: usize,
    /// What the coordinator took meanwhile.
    processor: Duration,
    /// Seconds of that for snapshots and what pages are told.
    publishing: f64,
    /// When a page was told something meanwhile.
    updates: Vec<Instant>,
    /// All that was acknowledged, also before.
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

/// A worker that is about to be connected.
type Connecting = Pin<Box<dyn Future<Output = Worker> + Send>>;

/// Connects all workers and has them work; returns when what they do is to be measured.
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
                // One after the other, so that reports come evenly.
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

/// What the coordinator says it has spent on snapshots and what pages are told.
async fn publishing_seconds(coordinator: &Coordinator) -> f64 {
    let numbers = ask(&coordinator.http(), "/metrics").await;
    let seconds = numbers.lines().find_map(|line| line.strip_prefix("queens_publishing_seconds_total "));
    seconds.and_then(|seconds| seconds.parse().ok()).expect("it is told")
}

/// Has a page of the job, and one of the workers, open for some time; returns when the pages were told something.
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
            () = tokio::time::sleep_until(end) => return updates,
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

/// Nothing that was acknowledged is missing, and nothing is recorded twice.
#[track_caller]
fn check_records(data_dir: &Path, acknowledged: &[Span]) {
    let jobs = audit(data_dir).expect("nothing contradicts");
    assert_eq!(jobs.len(), 1);
    let mut recorded: BTreeMap<i64, Intervals> = BTreeMap::new();
    for record in records(data_dir).expect("readable") {
        let (_, cross, first, until) = record.span;
        assert_eq!((record.count.0, record.count.1), (until - first, 3 * (until - first)), "{record:?}");
        recorded.entry(cross).or_default().insert(first.unsigned_abs()..until.unsigned_abs());
    }
    assert!(!acknowledged.is_empty());
    for span in acknowledged {
        let cross = recorded.get(&span.cross().into()).expect("acknowledged, so it is recorded");
        assert!(cross.contains(&(span.from()..span.to())), "{span} was acknowledged and is not recorded");
    }
}

/// The most memory a process has had.
fn peak_memory_kib(process: u32) -> u64 {
    status_kib(process, "VmHWM:")
}

/// The memory that a process has.
fn memory_kib(process: u32) -> u64 {
    status_kib(process, "VmRSS:")
}

fn status_kib(process: u32, what: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let found = status.lines().find_map(|line| line.strip_prefix(what)).expect("it has memory");
    found.trim().trim_end_matches("kB").trim().parse().expect("a number")
}
