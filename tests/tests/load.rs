//! A coordinator under load: many workers on connections of their own, which speak the real protocol but only pretend
//! to count. All that was acknowledged is on disk after the coordinator is killed.
//!
//! Plays small clusters, unless the environment variable `QUEENS_LOAD` is `full`: then ten thousand workers report a
//! thousand times a second to a coordinator on one core while they share another, and what that may take is checked;
//! then forty workers of 256 threads, and ten of 1024.

use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use queens_coordinator::store::sqlite::audit;
use queens_ledger::intervals::Intervals;
use queens_messages::{Delta, Hello, LeaseId, Name, Report, Speed, ToCoordinator, ToWorker, WorkerId};
use queens_process::allow_many_files;
use queens_proto::client::endpoint;
use queens_proto::pb;
use queens_proto::pb::workers_client::WorkersClient;
use queens_solver::{Count, DECOMPOSITION_VERSION, Span};
use queens_tests::cluster::{Coordinator, coordinator_command};
use queens_tests::data_dir::records;
use queens_tests::process::{processor_time, wait_at_most};
use queens_tests::say;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Barrier, Semaphore, mpsc};
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

/// Subproblems that a pretended worker counts in a second: of large boards a fast core counts about as many.
const SUBPROBLEMS_PER_SECOND: u64 = 10;

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
}

const SHORT: [Load; 2] = [
    Load {
        n: 23,
        n_workers: 200,
        n_threads: 1,
        period: Duration::from_secs(2),
        measured: Duration::from_secs(6),
    },
    Load {
        n: 25,
        n_workers: 3,
        n_threads: 256,
        period: Duration::from_secs(1),
        measured: Duration::from_secs(3),
    },
];

const FULL: [Load; 3] = [
    Load {
        n: 27,
        n_workers: 10_000,
        n_threads: 1,
        period: Duration::from_secs(10),
        measured: Duration::from_secs(60),
    },
    Load {
        n: 27,
        n_workers: 40,
        n_threads: 256,
        period: Duration::from_secs(1),
        measured: Duration::from_secs(30),
    },
    Load {
        n: 27,
        n_workers: 10,
        n_threads: 1024,
        period: Duration::from_secs(1),
        measured: Duration::from_secs(30),
    },
];

/// What a coordinator may take under the full load.
const MOST_MIB: u64 = 512;
const SLOWEST_ACKNOWLEDGEMENT: Duration = Duration::from_millis(250);
/// The share of a core that goes into snapshots and what pages are told.
const MOST_PUBLISHING: f64 = 0.05;
const SLOWEST_UPDATE: Duration = Duration::from_secs(1);

#[test]
fn what_is_acknowledged_under_load_is_on_disk() {
    let full = env::var("QUEENS_LOAD").is_ok_and(|load| load == "full");
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
    allow_many_files().expect("the limit can be raised");
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
        assert!(percentile(99) < SLOWEST_ACKNOWLEDGEMENT, "{:?}", percentile(99));
        assert!(peak_mib < MOST_MIB, "{peak_mib} MiB");
        assert!(publishing < MOST_PUBLISHING * load.measured.as_secs_f64(), "{publishing} s");
        assert!(longest_update < SLOWEST_UPDATE, "{longest_update:?}");
    }
}

/// The same command on the first core, and this process on the second.
fn on_cores_apart(command: &Command) -> Command {
    let us = std::process::id().to_string();
    let moved = Command::new("taskset").args(["-apc", "1", &us]).output().expect("there is taskset");
    assert!(moved.status.success(), "{moved:?}");
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", "0"]).arg(command.get_program()).args(command.get_args());
    pinned
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
    let opening = Arc::new(Semaphore::new(OPENING));
    let everybody = Arc::new(Barrier::new(usize::try_from(load.n_workers).expect("few") + 1));
    let workers: Vec<_> = (0..load.n_workers)
        .map(|number| {
            let (url, opening, everybody) = (coordinator.url(), opening.clone(), everybody.clone());
            tokio::spawn(async move {
                let permit = opening.acquire().await.expect("it is not closed");
                let worker = Worker::connect(number, load.n_threads, &url).await;
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

/// A worker that has all subproblems of a lease count one solution and three nodes.
#[derive(Debug)]
struct Worker {
    n_threads: u32,
    to_coordinator: mpsc::Sender<pb::WorkerMessage>,
    from_coordinator: tonic::Streaming<pb::CoordinatorMessage>,
    leases: VecDeque<queens_messages::Lease>,
    next_sequence: u64,
    /// Sent and not acknowledged, with the time.
    pending: VecDeque<(Instant, Report)>,
    acknowledged: Vec<Span>,
    times: Vec<Duration>,
}

impl Worker {
    async fn connect(number: u64, n_threads: u32, url: &str) -> Self {
        // One address has only so many ports.
        let address = Ipv4Addr::new(127, 0, 1, u8::try_from(number % 8).expect("small"));
        let endpoint = endpoint(url).expect("a URL").local_address(Some(IpAddr::V4(address)));
        let mut client = WorkersClient::new(endpoint.connect().await.expect("connected"));
        let (to_coordinator, messages) = mpsc::channel(16);
        let hello = Hello {
            worker: WorkerId(number),
            name: Name::of_any(&format!("load-{number}")),
            build: Name::of_any("0"),
            kernel: Name::of_any("none"),
            n_threads,
            speed: Speed::try_from(1e9).expect("a speed"),
            decomposition: DECOMPOSITION_VERSION,
            halves: None,
            machine: Some(1),
            held: Vec::new(),
        };
        to_coordinator.send(ToCoordinator::Hello(Box::new(hello)).into()).await.expect("it is open");
        let answers = client.session(ReceiverStream::new(messages)).await.expect("a session");
        Self {
            n_threads,
            to_coordinator,
            from_coordinator: answers.into_inner(),
            leases: VecDeque::new(),
            next_sequence: 1,
            pending: VecDeque::new(),
            acknowledged: Vec::new(),
            times: Vec::new(),
        }
    }

    /// Reports once a period until the end, and returns what came of it.
    async fn work(mut self, first: Instant, period: Duration, measured: Instant, end: Instant) -> Self {
        let mut reports = tokio::time::interval_at(first, period);
        loop {
            tokio::select! {
                _ = reports.tick() => self.report(period).await,
                message = self.from_coordinator.next() => {
                    let message = message.expect("the session goes on").expect("the session goes on");
                    self.hear(ToWorker::try_from(message).expect("it makes sense"), measured, end);
                }
                () = tokio::time::sleep_until(end) => return self,
            }
        }
    }

    fn hear(&mut self, message: ToWorker, measured: Instant, end: Instant) {
        match message {
            ToWorker::Lease(lease) => self.leases.push_back(lease),
            ToWorker::Acknowledge { sequence } => {
                let now = Instant::now();
                while let Some((sent, report)) = self.pending.pop_front_if(|sent| sent.1.sequence <= sequence)
                {
                    self.acknowledged.extend(report.deltas.iter().map(|delta| delta.span));
                    if (measured..end).contains(&sent) {
                        self.times.push(now - sent);
                    }
                }
            }
            other => panic!("with work for all, nobody is told {other:?}"),
        }
    }

    /// Reports what was counted in a period.
    async fn report(&mut self, period: Duration) {
        let (mut deltas, mut finished) = (Vec::new(), Vec::new());
        let mut goes_on = Vec::new();
        for _ in 0..self.n_threads {
            let mut n_left = SUBPROBLEMS_PER_SECOND * period.as_secs();
            let mut in_hand = self.leases.pop_front();
            while let Some(lease) = in_hand.as_mut().filter(|_| n_left > 0) {
                let Some(part) = lease.spans.first().copied() else {
                    finished.push(lease.id);
                    in_hand = self.leases.pop_front();
                    continue;
                };
                let (counted, rest) = part.span.split_at(part.span.from() + n_left);
                match rest {
                    Some(rest) => lease.spans[0].span = rest,
                    None => _ = lease.spans.remove(0),
                }
                let span = counted.expect("some of it is counted");
                n_left -= span.n_subproblems();
                deltas.push(delta(lease.job, lease.id, span));
            }
            goes_on.extend(in_hand);
        }
        goes_on.into_iter().rev().for_each(|lease| self.leases.push_front(lease));
        let report = Report { sequence: self.next_sequence, deltas, finished };
        self.next_sequence += 1;
        if !report.is_empty() {
            self.pending.push_back((Instant::now(), report.clone()));
        }
        self.to_coordinator.send(ToCoordinator::Report(report).into()).await.expect("the session goes on");
    }
}

fn delta(job: queens_messages::JobId, lease: LeaseId, span: Span) -> Delta {
    let n = span.n_subproblems();
    let count = Count { solutions: n, nodes: 3 * n };
    let duration = Duration::from_millis(n * 1000 / SUBPROBLEMS_PER_SECOND);
    Delta { job, lease, span, count, duration }
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
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it has memory");
    peak.trim().trim_end_matches("kB").trim().parse().expect("a number")
}
