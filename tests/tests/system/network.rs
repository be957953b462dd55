//! Services and sessions on a simulated network: partitions, half-open connections and delays, and users who pause
//! their workers meanwhile.
//!
//! Coordinator and workers run as simulated machines, in simulated time; only their counting threads are real. Each
//! history has a fixed number of faults while the job is unfinished, and must end with the right total.

use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use queens_auth::Credentials;
use queens_coordinator::serve_to_all;
use queens_counting::{Config, Device, Duty, LeaveRequests, Metrics, Worker};
use queens_event_loop::{Handle, unthreaded};
use queens_ledger::Reporting;
use queens_ledger::store::draw::{Draw, Drawn, Recorded};
use queens_ledger::store::memory::MemoryStore;
use queens_ledger::store::{Store, StoreError, Stored, Write};
use queens_model::{JobId, JobState, JobStatus, Name, Submission};
use queens_proto::client::{Routes, endpoint};
use queens_solver::{BoardSize, Method, Span, published};
use queens_store::Archive;
use queens_tests::chance::Chance;
use queens_tests::prelude::*;
use queens_worker::own_numbers::OwnNumbers;
use queens_worker::remote;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;
use tonic::transport::server::Connected;
use turmoil::Sim;
use turmoil::net::{TcpListener, TcpStream};

const N: u8 = 16;
const PORT: u16 = 50051;
const COORDINATOR: &str = "coordinator";
const WORKERS: [&str; 3] = ["first", "second", "third"];

/// Simulated time of one step.
const STEP: Duration = Duration::from_millis(10);

/// The least real time of a step without a fault, as the counting threads need real time.
const PACE: Duration = Duration::from_micros(100);

/// The number of consecutive faults in a history.
const N_FAULTS: u32 = 5;

/// Simulated time in which a history must end.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Faults of the coordinator, or of its link to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Drops all data.
    Partition,
    /// Drops data from the worker to the coordinator.
    Deaf,
    /// Drops data from the coordinator to the worker.
    Mute,
    /// Holds all data back, and delivers it later.
    Hold,
    /// Delays all data by half a second.
    Delay,
    /// The coordinator crashes, and restarts on the same store.
    Crash,
}

const FAULTS: [Fault; 6] =
    [Fault::Partition, Fault::Deaf, Fault::Mute, Fault::Hold, Fault::Delay, Fault::Crash];

/// A store that outlives the coordinator.
#[derive(Clone, Debug, Default)]
struct Disk(Arc<Mutex<MemoryStore>>);

impl Disk {
    fn store(&self) -> std::sync::MutexGuard<'_, MemoryStore> {
        self.0.lock().expect("nobody panics")
    }
}

impl Archive for Disk {}

impl Store for Disk {
    fn load(&mut self) -> Result<Stored, StoreError> {
        self.store().load()
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        self.store().commit(writes)
    }

    fn find(&mut self, job: JobId, span: Span) -> Result<Option<Recorded>, StoreError> {
        self.store().find(job, span)
    }

    fn draw(&mut self, draw: &Draw) -> Result<Drawn, StoreError> {
        self.store().draw(draw)
    }
}

/// A connection that the coordinator has accepted.
struct Accepted(TcpStream);

impl Connected for Accepted {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Accepted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

type Shared<T> = Rc<RefCell<Option<T>>>;

async fn coordinate(disk: Disk, reporting: Reporting, current: Shared<Handle>) -> turmoil::Result {
    let (handle, running) = unthreaded(Box::new(disk), NonZeroUsize::MIN, reporting)?;
    tokio::spawn(running);
    if handle.snapshots().borrow().jobs.is_empty() {
        handle.submit(Submission::new(BoardSize::new(N)?, Method::Search)).await??;
    }
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
    let (sender, incoming) = tokio::sync::mpsc::channel(16);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            _ = sender.send(Ok(Accepted(stream))).await;
        }
    });
    *current.borrow_mut() = Some(handle.clone());
    let incoming = tokio_stream::wrappers::ReceiverStream::new(incoming);
    serve_to_all(incoming, handle, CancellationToken::new()).await?;
    Ok(())
}

/// Pauses a worker now and then, for a moment or until it is given up, as its user does.
async fn pause_now_and_then(paused: watch::Sender<bool>, mut chance: Chance) {
    loop {
        for (is_paused, longest) in [(false, 20_000), (true, 30_000)] {
            paused.send_replace(is_paused);
            tokio::time::sleep(Duration::from_millis(chance.within(1..=longest))).await;
        }
    }
}

async fn work(name: &'static str, stop: CancellationToken, user: Option<Chance>) -> turmoil::Result {
    let config = Config {
        name: name.parse()?,
        kernel: Kernel::Portable,
        device: Device::Processor(NonZeroUsize::MIN),
        board: None,
        duty: Duty::FULL,
        is_nice: false,
    };
    let mut worker = Worker::start(config, &Metrics::new())?;
    let endpoint = endpoint(&format!("http://{COORDINATOR}:{PORT}"))?;
    let address: SocketAddr = (turmoil::lookup(COORDINATOR), PORT).into();
    let connector = tower::service_fn(move |_| async move {
        Ok::<_, io::Error>(TokioIo::new(TcpStream::connect(address).await?))
    });
    let routes = Routes::new(vec![endpoint], Credentials::default())?;
    let connect = async |endpoint: &Endpoint| endpoint.connect_with_connector(connector).await;
    let (paused, pause) = watch::channel(false);
    if let Some(chance) = user {
        tokio::spawn(pause_now_and_then(paused, chance));
    }
    let requests = LeaveRequests { drain: stop, pause: pause.into() };
    let own = OwnNumbers::new(Name::of_any("worker"));
    remote::serve_through(&mut worker, routes, connect, &requests, &own).await?;
    worker.stop();
    Ok(())
}

struct History<'a> {
    sim: Sim<'a>,
    current: Shared<Handle>,
    chance: Chance,
    seed: u64,
}

impl History<'_> {
    fn step(&mut self) {
        self.sim.step().unwrap_or_else(|error| panic!("history {}: {error}", self.seed));
        assert!(self.sim.elapsed() < PATIENCE, "history {}: no end in sight: {:?}", self.seed, self.job());
    }

    fn job(&self) -> Option<JobStatus> {
        self.current.borrow().as_ref()?.snapshots().borrow().job(JobId(1)).cloned()
    }

    fn run(&mut self, time: Duration) {
        let end = self.sim.elapsed() + time;
        while self.sim.elapsed() < end {
            self.step();
        }
    }

    /// Runs until this share is recorded.
    fn run_to(&mut self, share: f64) -> JobStatus {
        loop {
            if let Some(job) = self.job().filter(|job| job.fraction() >= share) {
                return job;
            }
            self.step();
            std::thread::sleep(PACE);
        }
    }

    fn draw(&mut self, from: u64, to: u64) -> usize {
        usize::try_from(self.chance.within(from..=to)).expect("few")
    }

    /// Inflicts a fault for some time, and ends it.
    fn strike(&mut self) -> Fault {
        let fault = FAULTS[self.draw(0, FAULTS.len() as u64 - 1)];
        // One worker, or all of them.
        let first = self.draw(0, WORKERS.len() as u64 - 1);
        let workers = if self.draw(0, 1) == 0 { &WORKERS[first..=first] } else { &WORKERS[..] };
        let time = Duration::from_secs(self.chance.within(1..=40));
        for &worker in workers {
            let sim = &mut self.sim;
            match fault {
                Fault::Partition => sim.partition(COORDINATOR, worker),
                Fault::Deaf => sim.partition_oneway(worker, COORDINATOR),
                Fault::Mute => sim.partition_oneway(COORDINATOR, worker),
                Fault::Hold => sim.hold(COORDINATOR, worker),
                Fault::Delay => sim.set_link_latency(COORDINATOR, worker, Duration::from_millis(500)),
                Fault::Crash => {}
            }
        }
        if fault == Fault::Crash {
            *self.current.borrow_mut() = None;
            self.sim.crash(COORDINATOR);
        }
        self.run(time);
        for &worker in workers {
            let sim = &mut self.sim;
            match fault {
                Fault::Partition => sim.repair(COORDINATOR, worker),
                Fault::Deaf => sim.repair_oneway(worker, COORDINATOR),
                Fault::Mute => sim.repair_oneway(COORDINATOR, worker),
                Fault::Hold => sim.release(COORDINATOR, worker),
                Fault::Delay => sim.set_link_latency(COORDINATOR, worker, Duration::from_millis(1)),
                Fault::Crash => {}
            }
        }
        if fault == Fault::Crash {
            self.sim.bounce(COORDINATOR);
        }
        fault
    }
}

/// Plays one history and returns its faults.
fn play(seed: u64) -> Vec<Fault> {
    let mut builder = turmoil::Builder::new();
    builder.tick_duration(STEP).simulation_duration(PATIENCE * 2).rng_seed(seed);
    builder.min_message_latency(Duration::from_millis(1)).max_message_latency(Duration::from_millis(50));
    let (disk, current) = (Disk::default(), Shared::default());
    let mut sim = builder.build();
    let (kept, shared) = (disk.clone(), current.clone());
    // Every other history imitates thousands of workers: each reports every twenty seconds.
    let per_second = if seed.is_multiple_of(2) { WORKERS.len() as f64 / 20.0 } else { 300.0 };
    let reporting = Reporting { per_second, ..Reporting::default() };
    sim.host(COORDINATOR, move || coordinate(kept.clone(), reporting, shared.clone()));
    let stop = CancellationToken::new();
    for (number, name) in (0..).zip(WORKERS) {
        // The first is never paused.
        let user = (number > 0).then(|| Chance::new(1000 * seed + number));
        sim.client(name, work(name, stop.clone(), user));
    }
    let mut history = History { sim, current, chance: Chance::new(seed), seed };
    let mut faults = Vec::new();
    for number in 1..=N_FAULTS {
        let job = history.run_to(0.3 * f64::from(number) / f64::from(N_FAULTS));
        // The job may have finished during the last fault; another would show nothing.
        if job.state != JobState::Done {
            faults.push(history.strike());
        }
    }
    let job = history.run_to(1.0);
    let expected = published(BoardSize::new(N).expect("a board size")).expect("published").solutions;
    assert_eq!((job.state, job.progress.solutions), (JobState::Done, expected), "history {seed}");
    let counted: u128 =
        disk.store().records(JobId(1)).map(|record| u128::from(record.span.n_subproblems())).sum();
    assert_eq!(counted, job.progress.n_subproblems, "history {seed}");
    // All workers are still there and leave on request.
    stop.cancel();
    history.sim.run().unwrap_or_else(|error| panic!("history {seed}: {error}"));
    faults
}

#[test]
fn partitions_half_open_connections_and_delays_cost_no_count() {
    let full = is_full("QUEENS_FAULTS");
    let n_histories = if full { 100 } else { 4 };
    let mut inflicted: Vec<Fault> = (1..=n_histories).flat_map(play).collect();
    let n_faults = inflicted.len();
    let mut tally = String::new();
    for fault in FAULTS {
        let before = inflicted.len();
        inflicted.retain(|&other| other != fault);
        tally += &format!(" {fault:?}: {}", before - inflicted.len());
    }
    assert!(n_faults >= usize::try_from(n_histories).expect("few"), "{n_faults} faults");
    say(&format!("{n_histories} simulated networks, each ends with Q({N}); {n_faults} faults:{tally}"));
}
