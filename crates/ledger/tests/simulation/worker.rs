//! A simulated worker: a real queue and session with simulated threads and time, and checks of its messages.

use std::sync::atomic::Ordering;
use std::time::Duration;

use queens_model::{
    Failure, HalvesSkill, Hello, JobIdentity, LeaseId, Name, Party, Report, Speed, ToCoordinator, ToWorker,
    WorkerId,
};
use queens_solver::{Count, Method, Span};
use queens_worker_session::{AfterStep, LeaseQueue, LeaseToCount, SessionStep, WorkerSession};

use super::watch::Watch;

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) id: WorkerId,
    /// The estimated work units per second of one searching thread.
    pub(crate) speed: f64,
    /// The same by halves, if it can count by them.
    pub(crate) halves_speed: Option<f64>,
    queue: LeaseQueue,
    session: WorkerSession,
    threads: Vec<Option<Thread>>,
    pub(crate) watch: Watch,
    /// Reports that it has sent, for the network to repeat.
    pub(crate) sent: Vec<Report>,
    /// The number of its link, if it believes that it has one.
    pub(crate) link: Option<u64>,
    /// When its session asks to be woken.
    pub(crate) wakes: Option<Duration>,
    /// Until when it does nothing at all.
    pub(crate) stalled_until: Duration,
    /// Until when its threads do nothing, while its session goes on.
    pub(crate) stuck_until: Duration,
    /// Whether the next chunk that a thread ends fails.
    pub(crate) fails: bool,
}

/// A thread that counts a lease.
#[derive(Debug)]
struct Thread {
    lease: LeaseToCount,
    /// The chunk in hand.
    chunk: Option<Span>,
}

impl Worker {
    /// Creates a worker that overestimates its speed by the factor `guess`.
    pub(crate) fn new(
        id: WorkerId,
        n_threads: u32,
        speed: f64,
        halves_speed: Option<f64>,
        guess: f64,
    ) -> Self {
        let guessed = |speed: f64| Speed::try_from(speed * guess).expect("a speed");
        let decomposition = halves_speed.map_or(0, |_| Method::Halves.decomposition());
        let halves = HalvesSkill { decomposition, speed: guessed(halves_speed.unwrap_or_default()) };
        let hello = Hello {
            worker: id,
            name: name(id),
            build: Name::of_any("simulated"),
            kernel: Name::of_any("simulated"),
            n_threads,
            speed: guessed(speed),
            halves,
            decomposition: Method::Search.decomposition(),
            machine: id.0,
            held: Vec::new(),
        };
        Self {
            id,
            speed,
            halves_speed,
            queue: LeaseQueue::default(),
            watch: Watch::new(hello.clone()),
            session: WorkerSession::new(hello),
            threads: (0..n_threads).map(|_| None).collect(),
            sent: Vec::new(),
            link: None,
            wakes: None,
            stalled_until: Duration::ZERO,
            stuck_until: Duration::ZERO,
            fails: false,
        }
    }

    /// Returns the estimated work units per second of one thread.
    pub(crate) fn speed(&self, method: Method) -> f64 {
        match method {
            Method::Search => self.speed,
            Method::Halves => self.halves_speed.expect("it was leased some"),
        }
    }

    /// Multiplies its speed.
    pub(crate) fn change_speed(&mut self, factor: f64) {
        self.speed *= factor;
        self.halves_speed = self.halves_speed.map(|speed| speed * factor);
    }

    pub(crate) fn n_threads(&self) -> usize {
        self.threads.len()
    }

    /// Returns all leases that it has not reported as finished.
    pub(crate) fn leases(&self) -> Vec<LeaseId> {
        self.queue.held().into_iter().map(|held| held.lease).collect()
    }

    /// Returns its messages on a new link.
    pub(crate) fn connect(&mut self, now: Duration) -> Vec<ToCoordinator> {
        let messages = self.session.connect(now, &self.queue);
        self.watch.greets(&messages);
        messages
    }

    pub(crate) fn hear(&mut self, now: Duration, message: ToWorker) {
        self.watch.hears(now, &message);
        self.session.hear(now, message, &mut self.queue);
    }

    /// Tells it to leave.
    pub(crate) fn leave(&mut self, now: Duration) {
        self.watch.leaves();
        self.session.leave(now, &mut self.queue);
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.session.is_leaving()
    }

    /// Returns the next step of its session.
    pub(crate) fn step(&mut self, now: Duration) -> SessionStep {
        let step = self.session.step(now, &mut self.queue);
        if matches!(step.next, AfterStep::Left) {
            self.watch.has_left(now);
        }
        for message in &step.messages {
            self.watch.says(now, message);
            match message {
                ToCoordinator::Report(report) if !report.is_empty() => self.sent.push(report.clone()),
                _ => {}
            }
        }
        if let AfterStep::Wait { until } = step.next
            && !self.session.is_leaving()
        {
            self.watch.waits(now, until);
        }
        step
    }

    /// Lets a thread begin its next chunk, if necessary of another lease. Returns `None` if there is nothing to do, or
    /// the thread is busy.
    pub(crate) fn begin(&mut self, thread: usize) -> Option<(JobIdentity, Span)> {
        let thread = &mut self.threads[thread];
        if thread.as_ref().is_some_and(|thread| thread.chunk.is_some()) {
            return None;
        }
        loop {
            let lease = match thread.take() {
                Some(Thread { lease, .. }) => lease,
                None => self.queue.next_lease()?,
            };
            if let Some(chunk) = self.queue.begin(lease.id) {
                self.watch.begins(lease.id, chunk.span);
                let job = lease.job;
                *thread = Some(Thread { lease, chunk: Some(chunk.span) });
                return Some((job, chunk.span));
            }
            self.watch.ends(lease.id);
            self.queue.end(lease.id);
        }
    }

    /// Lets a thread finish its chunk, unless it was told to drop it.
    pub(crate) fn finish(
        &mut self,
        thread: usize,
        count: impl Fn(JobIdentity, Span) -> Count,
        duration: Duration,
    ) {
        let Some(Thread { lease, chunk }) = &mut self.threads[thread] else { return };
        let Some(chunk) = chunk.take() else { return };
        let id = lease.id;
        if lease.stop.load(Ordering::Relaxed) {
            self.watch.drops(id);
        } else if std::mem::take(&mut self.fails) {
            self.watch.fails(id);
            self.queue.fail(id, "simulated".to_owned());
        } else {
            let count = count(lease.job, chunk);
            self.watch.finishes(id, count, duration);
            return self.queue.finish(id, count, duration);
        }
        self.watch.ends(id);
        self.queue.end(id);
        self.threads[thread] = None;
    }

    /// Returns false failures of all subproblems that it holds; it goes on counting all the same.
    pub(crate) fn failures_of_all(&self) -> Vec<Failure> {
        let one = |(lease, job, span): (LeaseId, JobIdentity, Span)| {
            let reason = || "flood".to_owned();
            let subproblem = move |number| Span::new(span.part(), number, number + 1).expect("not empty");
            (span.from()..span.to()).map(move |number| Failure {
                job,
                lease,
                span: subproblem(number),
                reason: reason(),
            })
        };
        self.watch.uncounted().flat_map(one).take(200).collect()
    }
}

/// Workers with higher numbers come at the end of a history, for work that nobody else may count.
pub(crate) const FIRST_NEWCOMER: u64 = 1000;

/// Returns the name of a worker: several share each name, and newcomers have their own.
pub(crate) fn name(worker: WorkerId) -> Name {
    if worker.0 > FIRST_NEWCOMER {
        return Name::of_any(&format!("newcomer {worker}"));
    }
    Name::of_any(&format!("worker {}", worker.0 % 4))
}

/// Returns the party of a name: two names belong to one party.
pub(crate) fn party_of(name: &Name) -> Party {
    let is_second = *name == *"worker 3";
    Party::of_name(&if is_second { Name::of_any("worker 0") } else { name.clone() })
}
