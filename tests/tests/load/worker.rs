//! Workers that speak the real protocol and only pretend to count.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use queens_messages::{Delta, Hello, LeaseId, Name, Report, Speed, ToCoordinator, ToWorker, WorkerId};
use queens_proto::client::{Connection, endpoint};
use queens_proto::pb;
use queens_proto::pb::workers_client::WorkersClient;
use queens_solver::{Count, DECOMPOSITION_VERSION, Span};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

/// Subproblems that a pretended worker counts in a second: of large boards a fast core counts about as many.
const SUBPROBLEMS_PER_SECOND: u64 = 10;

/// A worker that has all subproblems of a lease count one solution and three nodes.
#[derive(Debug)]
pub(crate) struct Worker {
    n_threads: u32,
    to_coordinator: mpsc::Sender<pb::WorkerMessage>,
    from_coordinator: tonic::Streaming<pb::CoordinatorMessage>,
    leases: VecDeque<queens_messages::Lease>,
    next_sequence: u64,
    /// Sent and not acknowledged, with the time.
    pending: VecDeque<(Instant, Report)>,
    pub(crate) acknowledged: Vec<Span>,
    pub(crate) times: Vec<Duration>,
}

impl Worker {
    pub(crate) async fn connect_plainly(number: u64, n_threads: u32, url: String) -> Self {
        // One address has only so many ports.
        let address = Ipv4Addr::new(127, 0, 1, u8::try_from(number % 8).expect("small"));
        let endpoint = endpoint(&url).expect("a URL").local_address(Some(IpAddr::V4(address)));
        Self::connect(number, n_threads, endpoint.connect().await.expect("connected").into()).await
    }

    pub(crate) async fn connect(number: u64, n_threads: u32, connection: Connection) -> Self {
        let mut client = WorkersClient::new(connection);
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
            takes_interval: false,
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
