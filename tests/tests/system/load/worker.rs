//! Simulated workers: they speak the real protocol and only pretend to count.

use std::collections::{BTreeMap, VecDeque};
use std::iter;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use queens_model::{
    Delta, HalvesSkill, Held, Hello, JobIdentity, Lease, LeaseId, LeasedSpan, Name, Report, Speed,
    ToCoordinator, ToWorker, WorkerId,
};
use queens_proto::client::{Connection, endpoint};
use queens_proto::pb;
use queens_proto::pb::workers_client::WorkersClient;
use queens_solver::{Count, DECOMPOSITION_VERSION, Span};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::transport::Endpoint;

/// The speed of a simulated worker in subproblems per second: a fast core counts about as many of a large board.
const SUBPROBLEMS_PER_SECOND: u64 = 10;

/// A worker that finds one solution and three nodes in every subproblem.
#[derive(Debug)]
pub(crate) struct Worker {
    number: u64,
    n_threads: u32,
    /// The last assigned report interval, which it ignores.
    pub(crate) interval: Option<Duration>,
    session: Option<Session>,
    leases: VecDeque<Lease>,
    next_sequence: u64,
    /// Reports without an acknowledgement, with their time.
    pending: VecDeque<(Instant, Report)>,
    pub(crate) acknowledged: Vec<Span>,
    pub(crate) times: Vec<Duration>,
    /// The times at which a thread ran out of work.
    pub(crate) starved: Vec<Instant>,
}

#[derive(Debug)]
struct Session {
    to_coordinator: mpsc::Sender<pb::WorkerMessage>,
    from_coordinator: tonic::Streaming<pb::CoordinatorMessage>,
}

/// The session has ended.
#[derive(Debug)]
pub(crate) struct Lost;

/// Chooses the source address of a worker's connections: one address has too few ports.
pub(crate) fn endpoint_of(number: u64, url: &str) -> Endpoint {
    let address = Ipv4Addr::new(127, 0, 1, u8::try_from(number % 8).expect("small"));
    endpoint(url).expect("a URL").local_address(Some(IpAddr::V4(address)))
}

impl Worker {
    pub(crate) fn new(number: u64, n_threads: u32) -> Self {
        Self {
            number,
            n_threads,
            interval: None,
            session: None,
            leases: VecDeque::new(),
            next_sequence: 1,
            pending: VecDeque::new(),
            acknowledged: Vec::new(),
            times: Vec::new(),
            starved: Vec::new(),
        }
    }

    pub(crate) async fn connect_plainly(number: u64, n_threads: u32, url: String) -> Self {
        let connection = endpoint_of(number, &url).connect().await.expect("connected");
        Self::connect(number, n_threads, connection.into()).await
    }

    pub(crate) async fn connect(number: u64, n_threads: u32, connection: Connection) -> Self {
        let mut worker = Self::new(number, n_threads);
        worker.open(connection).await.expect("a session");
        worker
    }

    /// Opens a session: sends its name and leases, and repeats reports without an acknowledgement.
    pub(crate) async fn open(&mut self, connection: Connection) -> Result<(), Status> {
        let mut client = WorkersClient::new(connection);
        let (to_coordinator, messages) = mpsc::channel(16);
        let hello = Hello {
            worker: WorkerId(self.number),
            name: Name::of_any(&format!("load-{}", self.number)),
            build: Name::of_any("0"),
            kernel: Name::of_any("none"),
            n_threads: self.n_threads,
            speed: Speed::try_from(1e9).expect("a speed"),
            decomposition: DECOMPOSITION_VERSION,
            halves: HalvesSkill { decomposition: 0, speed: Speed::ZERO },
            machine: 1,
            held: self.held(),
        };
        let repeated = self.pending.iter().map(|(_, report)| ToCoordinator::Report(report.clone()));
        for message in iter::once(ToCoordinator::Hello(Box::new(hello))).chain(repeated) {
            to_coordinator.try_send(message.into()).expect("a free place");
        }
        let answers = client.session(ReceiverStream::new(messages)).await?;
        self.session = Some(Session { to_coordinator, from_coordinator: answers.into_inner() });
        Ok(())
    }

    fn held(&self) -> Vec<Held> {
        let mut held: BTreeMap<(LeaseId, JobIdentity), Vec<Span>> = BTreeMap::new();
        for delta in self.pending.iter().flat_map(|(_, report)| &report.deltas) {
            held.entry((delta.lease, delta.job)).or_default().push(delta.span);
        }
        for lease in &self.leases {
            let spans = lease.spans.iter().map(|leased| leased.span);
            held.entry((lease.id, lease.job)).or_default().extend(spans);
        }
        held.into_iter().map(|((lease, job), spans)| Held { lease, job, spans }).collect()
    }

    /// Reports once a period until the end, and returns the results.
    pub(crate) async fn work(
        mut self,
        first: Instant,
        period: Duration,
        measured: Instant,
        end: Instant,
    ) -> Self {
        let mut reports = tokio::time::interval_at(first, period);
        loop {
            tokio::select! {
                _ = reports.tick() => self.report(period).await.expect("the session goes on"),
                message = self.next() => {
                    let message = message.expect("the session goes on");
                    self.hear(message, measured, end).expect("with work for all, no other message");
                }
                () = tokio::time::sleep_until(end), if !self.acknowledged.is_empty() => return self,
            }
        }
    }

    /// Returns the coordinator's next message.
    pub(crate) async fn next(&mut self) -> Result<ToWorker, Lost> {
        let session = self.session.as_mut().ok_or(Lost)?;
        match session.from_coordinator.next().await {
            Some(Ok(message)) => Ok(ToWorker::try_from(message).expect("it is valid")),
            _ => Err(Lost),
        }
    }

    /// Handles a message; returns it if it only occurs in a shortage or a failure.
    pub(crate) fn hear(
        &mut self,
        message: ToWorker,
        measured: Instant,
        end: Instant,
    ) -> Result<(), ToWorker> {
        match message {
            ToWorker::Lease(lease) => self.leases.push_back(lease),
            ToWorker::ReportEvery(interval) => self.interval = Some(interval.get()),
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
            // What a worker without leases would wait for.
            ToWorker::Notice(_) => {}
            other => return Err(other),
        }
        Ok(())
    }

    /// Drops leases that the coordinator takes back, or does not know.
    pub(crate) fn give_up(&mut self, message: ToWorker) {
        match message {
            ToWorker::Shorten { lease, spans } => {
                for held in self.leases.iter_mut().filter(|held| held.id == lease) {
                    let left = held.spans.iter().flat_map(|leased| {
                        let rest = leased.span.without(&spans).into_iter();
                        rest.map(|span| LeasedSpan { span, ..*leased })
                    });
                    held.spans = left.collect();
                }
            }
            ToWorker::Cancel(lease) => self.leases.retain(|held| held.id != lease),
            other => panic!("nobody says {other:?}"),
        }
    }

    /// Whether it has leases, and awaits no acknowledgement.
    pub(crate) fn has_only_leases(&self) -> bool {
        self.pending.is_empty() && !self.leases.is_empty()
    }

    /// Returns the time to finish its current lease with one thread, if it has a lease.
    pub(crate) fn ends_in(&self) -> Option<Duration> {
        let lease = self.leases.front()?;
        let n_left: u64 = lease.spans.iter().map(|leased| leased.span.n_subproblems()).sum();
        Some(Duration::from_millis(n_left * 1000 / SUBPROBLEMS_PER_SECOND))
    }

    /// Reports the work of a period.
    pub(crate) async fn report(&mut self, period: Duration) -> Result<(), Lost> {
        let (mut deltas, mut finished) = (Vec::new(), Vec::new());
        let mut goes_on = Vec::new();
        for _ in 0..self.n_threads {
            let period_ms = u64::try_from(period.as_millis()).expect("a short time");
            let mut n_left = SUBPROBLEMS_PER_SECOND * period_ms / 1000;
            let mut in_hand = self.leases.pop_front();
            while let Some(lease) = in_hand.as_mut() {
                let Some(part) = lease.spans.first().copied() else {
                    finished.push(lease.id);
                    in_hand = self.leases.pop_front();
                    continue;
                };
                if n_left == 0 {
                    break;
                }
                let (counted, rest) = part.span.split_at(part.span.from() + n_left);
                match rest {
                    Some(rest) => lease.spans[0].span = rest,
                    None => _ = lease.spans.remove(0),
                }
                let span = counted.expect("some of it is counted");
                n_left -= span.n_subproblems();
                deltas.push(delta(lease.job, lease.id, span));
            }
            self.starved.extend((n_left > 0 || in_hand.is_none()).then(Instant::now));
            goes_on.extend(in_hand);
        }
        goes_on.into_iter().rev().for_each(|lease| self.leases.push_front(lease));
        let report = Report { sequence: self.next_sequence, deltas, finished };
        self.next_sequence += 1;
        if !report.is_empty() {
            self.pending.push_back((Instant::now(), report.clone()));
        }
        let session = self.session.as_mut().ok_or(Lost)?;
        session.to_coordinator.send(ToCoordinator::Report(report).into()).await.map_err(|_| Lost)
    }
}

fn delta(job: JobIdentity, lease: LeaseId, span: Span) -> Delta {
    let n = span.n_subproblems();
    let count = Count { solutions: n, work: 3 * n };
    let duration = Duration::from_millis(n * 1000 / SUBPROBLEMS_PER_SECOND);
    Delta { job, lease, span, count, duration }
}
