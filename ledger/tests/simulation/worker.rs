//! A worker as queens-worker is one, but for its threads and its clock: desk and session as plain data.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use queens_messages::{Delta, Failure, Held, Hello, JobId, Lease, LeaseId, Name, Report, ToWorker, WorkerId};
use queens_solver::{Count, DECOMPOSITION_VERSION, Span};

/// Reports that may wait to be acknowledged.
const MOST_UNACKNOWLEDGED: usize = 16;

/// How long one chunk should take.
const CHUNK: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) id: WorkerId,
    /// Estimated nodes per second of one thread.
    pub(crate) speed: f64,
    /// What it believes its speed to be.
    pub(crate) guess: f64,
    held: BTreeMap<LeaseId, Work>,
    waiting: VecDeque<LeaseId>,
    threads: Vec<Option<Thread>>,
    pub(crate) unacknowledged: Vec<Report>,
    /// Some that were sent, for the network to repeat.
    pub(crate) sent: Vec<Report>,
    next_sequence: u64,
    /// The number of its link, if it believes it has one.
    pub(crate) link: Option<u64>,
    /// Until when it does nothing at all.
    pub(crate) stalled_until: Duration,
    /// Until when its threads do nothing, while its session goes on.
    pub(crate) stuck_until: Duration,
    pub(crate) leaving: bool,
    /// Whether the next chunk that a thread ends can't be counted.
    pub(crate) fails: bool,
}

#[derive(Debug)]
struct Work {
    job: JobId,
    left: VecDeque<Span>,
    in_hand: Option<Span>,
    done: Vec<Delta>,
    failed: Option<Failure>,
    stopped: bool,
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    lease: LeaseId,
    chunk_size: u64,
}

impl Worker {
    pub(crate) fn new(id: WorkerId, n_threads: usize, speed: f64, guess: f64) -> Self {
        Self {
            id,
            speed,
            guess,
            held: BTreeMap::new(),
            waiting: VecDeque::new(),
            threads: vec![None; n_threads],
            unacknowledged: Vec::new(),
            sent: Vec::new(),
            next_sequence: 1,
            link: None,
            stalled_until: Duration::ZERO,
            stuck_until: Duration::ZERO,
            leaving: false,
            fails: false,
        }
    }

    pub(crate) fn n_threads(&self) -> usize {
        self.threads.len()
    }

    /// All leases it has not reported as finished.
    pub(crate) fn leases(&self) -> Vec<LeaseId> {
        self.held.keys().copied().collect()
    }

    pub(crate) fn hello(&self) -> Hello {
        let held = |(&lease, work): (&LeaseId, &Work)| {
            let done = work.done.iter().map(|delta| delta.span);
            let spans = done.chain(work.in_hand).chain(work.left.iter().copied()).collect();
            Held { lease, job: work.job, spans }
        };
        let mut held: Vec<Held> = self.held.iter().map(held).collect();
        for delta in self.unacknowledged.iter().flat_map(|report| &report.deltas) {
            match held.iter_mut().find(|held| held.lease == delta.lease) {
                Some(held) => held.spans.insert(0, delta.span),
                None => held.push(Held { lease: delta.lease, job: delta.job, spans: vec![delta.span] }),
            }
        }
        Hello {
            worker: self.id,
            name: name(self.id),
            build: Name::of_any("simulated"),
            kernel: Name::of_any("simulated"),
            n_threads: u32::try_from(self.threads.len()).expect("few"),
            rate: self.guess,
            decomposition: DECOMPOSITION_VERSION,
            held,
        }
    }

    /// Takes in a message; draining is the session's affair.
    pub(crate) fn hear(&mut self, message: ToWorker) {
        match message {
            ToWorker::Lease(lease) => self.add(lease),
            ToWorker::Shorten { lease, spans } => {
                if let Some(work) = self.held.get_mut(&lease) {
                    work.left = std::mem::take(&mut work.left)
                        .into_iter()
                        .flat_map(|part| without(part, &spans))
                        .collect();
                }
            }
            ToWorker::Cancel(lease) => self.cancel(lease),
            ToWorker::Acknowledge { sequence } => {
                self.unacknowledged.retain(|report| report.sequence > sequence);
            }
            ToWorker::Drain => self.leaving = true,
            ToWorker::Notice(_) => {}
        }
    }

    fn add(&mut self, lease: Lease) {
        let left = lease.spans.iter().map(|leased| leased.span).collect();
        let work = Work {
            job: lease.job,
            left,
            in_hand: None,
            done: Vec::new(),
            failed: None,
            stopped: false,
            ended: false,
        };
        let known = self.held.insert(lease.id, work);
        assert!(known.is_none(), "{} was leased {} twice", self.id, lease.id);
        self.waiting.push_back(lease.id);
    }

    fn cancel(&mut self, lease: LeaseId) {
        if let Some(work) = self.held.get_mut(&lease) {
            work.stopped = true;
            work.left.clear();
        }
    }

    pub(crate) fn cancel_all(&mut self) {
        self.leases().into_iter().for_each(|lease| self.cancel(lease));
    }

    /// Lets a thread begin its next chunk, for which it may have to end its lease and take another; `None` if there
    /// is nothing to do, or it is at work already.
    pub(crate) fn begin(&mut self, thread: usize) -> Option<(JobId, Span)> {
        loop {
            let Some(Thread { lease, chunk_size }) = self.threads[thread] else {
                let lease = self.waiting.pop_front()?;
                self.threads[thread] = Some(Thread { lease, chunk_size: 1 });
                continue;
            };
            let work = self.held.get_mut(&lease).expect("held until it is ended");
            if work.in_hand.is_some() {
                return None;
            }
            let Some(front) = work.left.pop_front() else {
                work.ended = true;
                self.threads[thread] = None;
                continue;
            };
            let (chunk, rest) = front.split_at(front.from() + chunk_size);
            rest.into_iter().for_each(|rest| work.left.push_front(rest));
            work.in_hand = chunk;
            return chunk.map(|chunk| (work.job, chunk));
        }
    }

    /// A thread has counted its chunk, unless it was told to drop it.
    pub(crate) fn finish(&mut self, thread: usize, count: impl Fn(JobId, Span) -> Count, duration: Duration) {
        let Some(Thread { lease, chunk_size }) = self.threads[thread] else { return };
        let work = self.held.get_mut(&lease).expect("held until it is ended");
        let Some(chunk) = work.in_hand.take().filter(|_| !work.stopped) else { return };
        if std::mem::take(&mut self.fails) {
            let reason = "simulated".to_owned();
            work.failed = Some(Failure { job: work.job, lease, span: chunk, reason });
            return work.left.clear();
        }
        let count = count(work.job, chunk);
        match work.done.last_mut() {
            Some(last) if last.span.cross() == chunk.cross() && last.span.to() == chunk.from() => {
                let span = Span::new(chunk.cross(), last.span.from(), chunk.to()).expect("not empty");
                let count = last.count.checked_add(count).expect("small");
                *last = Delta { span, count, duration: last.duration + duration, ..*last };
            }
            _ => work.done.push(Delta { job: work.job, lease, span: chunk, count, duration }),
        }
        let chunk_size = if duration < CHUNK / 2 {
            chunk_size.max(chunk.n_subproblems() * 2)
        } else if duration > CHUNK * 2 {
            (chunk.n_subproblems() / 2).max(1)
        } else {
            chunk_size
        };
        self.threads[thread] = Some(Thread { lease, chunk_size });
    }

    /// What could not be counted, which is told before the report that ends its lease.
    pub(crate) fn failures(&mut self) -> Vec<Failure> {
        self.held.values_mut().filter_map(|work| work.failed.take()).collect()
    }

    /// That it can count nothing of what it holds, told of each subproblem; it goes on counting all the same.
    pub(crate) fn failures_of_all(&self) -> Vec<Failure> {
        let of_lease = |(&lease, work): (&LeaseId, &Work)| {
            let job = work.job;
            let left: Vec<Span> = work.in_hand.iter().chain(&work.left).copied().collect();
            let one = move |span: Span| {
                (span.from()..span.to())
                    .filter_map(move |number| Span::new(span.cross(), number, number + 1).ok())
            };
            left.into_iter().flat_map(one).map(move |span| Failure {
                job,
                lease,
                span,
                reason: "flood".to_owned(),
            })
        };
        self.held.iter().flat_map(of_lease).take(200).collect()
    }

    /// What was counted since the last report; nothing, when there is nothing and it need not show that it lives.
    pub(crate) fn report(&mut self, always: bool) -> Option<Report> {
        let (mut deltas, mut finished) = (Vec::new(), Vec::new());
        if self.unacknowledged.len() < MOST_UNACKNOWLEDGED {
            self.held.values_mut().for_each(|work| deltas.append(&mut work.done));
            finished.extend(self.held.iter().filter(|(_, work)| work.ended).map(|(&lease, _)| lease));
            self.held.retain(|_, work| !work.ended);
        }
        if deltas.is_empty() && finished.is_empty() && !always {
            return None;
        }
        let report = Report { sequence: self.next_sequence, deltas, finished };
        self.next_sequence += 1;
        // A mere sign of life is not acknowledged.
        if !report.is_empty() {
            self.unacknowledged.push(report.clone());
            self.sent.push(report.clone());
        }
        Some(report)
    }

    /// Whether a lease has ended and that is not reported.
    pub(crate) fn has_ended_leases(&self) -> bool {
        self.held.values().any(|work| work.ended)
    }

    /// Whether it holds nothing and waits for nothing.
    pub(crate) fn may_leave(&self) -> bool {
        self.held.is_empty() && self.unacknowledged.is_empty()
    }
}

/// What a worker is called: several by each name.
pub(crate) fn name(worker: WorkerId) -> Name {
    Name::of_any(&format!("worker {}", worker.0 % 2))
}

/// What is left of `part` when `spans` are taken off it.
pub(crate) fn without(part: Span, spans: &[Span]) -> Vec<Span> {
    let mut left = vec![part];
    for span in spans {
        left = left
            .into_iter()
            .flat_map(|part| {
                if part.intersection(*span).is_none() {
                    return vec![part];
                }
                let (before, rest) = part.split_at(span.from());
                let after = rest.and_then(|rest| rest.split_at(span.to()).1);
                before.into_iter().chain(after).collect()
            })
            .collect();
    }
    left
}
