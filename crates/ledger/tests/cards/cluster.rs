//! A cluster in simulated time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use queens_ledger::intervals::Intervals;
use queens_ledger::store::Stored;
use queens_ledger::{Core, Run, Session, SpanOutcome};
use queens_model::{Lease, Name, Party, Report, Submission, ToCoordinator, ToWorker, WorkerId};
use queens_solver::{Method, Plan, Span, SplitMix};
use queens_worker_session::AfterStep;

use super::outcome::{Outcome, Threads};
use super::team::{Team, Truth, unit};
use super::worker::{Chunk, Worker};

/// Workers connect within this time. Then the job is submitted.
const CONNECTING: Duration = Duration::from_secs(5);

/// The delay of a message, and the time that a transaction takes, in milliseconds: the least and the most.
const LATENCY_MS: (f64, f64) = (0.5, 15.0);
const COMMIT_MS: (f64, f64) = (1.0, 8.0);

/// What a call takes of a card's thread beside the work. A processor has no such cost.
const CALL: Duration = Duration::from_millis(1);

/// No job may take longer than this many times the ideal time and a minute.
const LONGEST: f64 = 3.0;

/// A coordinator, its workers and the network between them.
pub(crate) struct Cluster<'a> {
    plan: &'a Arc<Plan>,
    truth: Truth,
    now: Duration,
    /// Events by time and number.
    due: BinaryHeap<Reverse<(Duration, u64)>>,
    events: BTreeMap<u64, Event>,
    n_events: u64,
    random: SplitMix,
    workers: Vec<Worker>,
    core: Core,
    sessions: BTreeMap<WorkerId, Session>,
    /// Messages that the coordinator has not read.
    unread: Vec<(usize, ToCoordinator)>,
    /// Until when the coordinator waits for its store, and when it runs next.
    committing_until: Duration,
    runs_at: Option<Duration>,
    n_recorded: u64,
    /// The subproblems that were ever leased, by part, and when the last of them was.
    leased: Vec<Intervals>,
    n_leased: u64,
    all_leased: Option<Duration>,
    /// When a thread of a card first had nothing to do after that.
    first_idle: Option<Duration>,
    done: Option<Duration>,
    leases_in_second: (u64, u64),
    outcome: Outcome,
}

enum Event {
    Up { worker: usize, message: ToCoordinator },
    Submit,
    Run,
    Down { worker: usize, message: ToWorker },
    Counted { worker: usize, thread: usize },
    Wake { worker: usize },
}

impl<'a> Cluster<'a> {
    /// Creates a cluster, in which one core would take `core_seconds` for the plan.
    pub(crate) fn new(plan: &'a Arc<Plan>, core_seconds: f64, teams: &[Team], seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let truth = Truth::of(plan, &mut random);
        let core_speed = plan.work() as f64 / core_seconds;
        let of_team = |&team: &Team| {
            (0..team.n_workers).map(move |number| (team, team.cores_of_thread(number) * core_speed))
        };
        let of_teams = teams.iter().flat_map(of_team).zip(1..);
        let workers: Vec<Worker> =
            of_teams.map(|((team, speed), id)| Worker::new(WorkerId(id), team, speed)).collect();
        let n_subproblems = plan.parts().iter().map(|part| part.choice().n_subproblems).sum();
        let mut outcome = Outcome { n_subproblems, ..Outcome::default() };
        for worker in &workers {
            let speed = worker.speed * worker.threads.len() as f64;
            threads(&mut outcome, worker.is_card).speed += speed;
        }
        outcome.ideal_seconds = truth.whole_work(plan) / (outcome.cards.speed + outcome.processors.speed);
        Self {
            plan,
            truth,
            now: Duration::ZERO,
            due: BinaryHeap::new(),
            events: BTreeMap::new(),
            n_events: 0,
            random,
            workers,
            core: Core::restore(Stored::default(), Run::new(seed.into())).expect("nothing contradicts"),
            sessions: BTreeMap::new(),
            unread: Vec::new(),
            committing_until: Duration::ZERO,
            runs_at: None,
            n_recorded: 0,
            leased: plan.parts().iter().map(|_| Intervals::default()).collect(),
            n_leased: 0,
            all_leased: None,
            first_idle: None,
            done: None,
            leases_in_second: (0, 0),
            outcome,
        }
    }

    /// Counts the job to its end.
    pub(crate) fn run(mut self) -> Outcome {
        for worker in 0..self.workers.len() {
            let at = CONNECTING.mul_f64(unit(&mut self.random));
            let it = &mut self.workers[worker];
            it.up = at;
            for message in it.session.connect(at, &it.queue) {
                self.at(at, Event::Up { worker, message });
            }
        }
        self.at(CONNECTING, Event::Submit);
        let limit = CONNECTING + Duration::from_secs_f64(60.0 + LONGEST * self.outcome.ideal_seconds);
        while self.done.is_none() {
            let Reverse((at, number)) = self.due.pop().expect("the coordinator ticks");
            assert!(at < limit, "the job does not end: {:?}", self.outcome);
            self.now = at;
            let event = self.events.remove(&number).expect("is due");
            self.happen(event);
        }
        self.sum_up()
    }

    fn at(&mut self, at: Duration, event: Event) {
        self.n_events += 1;
        self.events.insert(self.n_events, event);
        self.due.push(Reverse((at, self.n_events)));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Up { worker, message } => {
                self.unread.push((worker, message));
                let at = self.now.max(self.committing_until);
                self.run_at(at);
            }
            Event::Submit => {
                self.submit();
                self.run_coordinator();
            }
            Event::Run => {
                if self.runs_at == Some(self.now) {
                    self.runs_at = None;
                    self.run_coordinator();
                }
            }
            Event::Down { worker, message } => {
                let it = &mut self.workers[worker];
                it.session.hear(self.now, message, &mut it.queue);
                self.drive(worker);
            }
            Event::Counted { worker, thread } => {
                let it = &mut self.workers[worker];
                it.finish(thread);
                it.threads[thread].idle_since = self.now;
                self.drive(worker);
            }
            Event::Wake { worker } => {
                if self.workers[worker].wakes == Some(self.now) {
                    self.drive(worker);
                }
            }
        }
    }

    fn run_at(&mut self, at: Duration) {
        if self.runs_at.is_none_or(|before| at < before) {
            self.runs_at = Some(at);
            self.at(at, Event::Run);
        }
    }

    /// Lets idle threads begin, and the session take its next step.
    fn drive(&mut self, worker: usize) {
        for thread in 0..self.workers[worker].threads.len() {
            if self.workers[worker].threads[thread].chunk.is_none() {
                self.begin(worker, thread);
            }
        }
        let it = &mut self.workers[worker];
        let step = it.session.step(self.now, &mut it.queue);
        let AfterStep::Wait { until } = step.next else { panic!("{} leaves: {:?}", it.id, step.next) };
        if it.wakes.replace(until) != Some(until) {
            self.at(until, Event::Wake { worker });
        }
        for message in step.messages {
            let at = self.workers[worker].up.max(self.now + between(LATENCY_MS, &mut self.random));
            self.workers[worker].up = at;
            self.at(at, Event::Up { worker, message });
        }
    }

    fn begin(&mut self, worker: usize, thread: usize) {
        let it = &mut self.workers[worker];
        let Some(span) = it.begin(thread) else {
            if it.is_card && self.all_leased.is_some() {
                self.first_idle.get_or_insert(self.now);
            }
            return;
        };
        let work = self.truth.work(self.plan, span, &mut self.random);
        let call = if it.is_card { CALL } else { Duration::ZERO };
        let duration = Duration::from_secs_f64(work / it.speed) + call;
        it.threads[thread].chunk = Some(Chunk { span, duration, work });
        let (speed, is_card, since) = (it.speed, it.is_card, it.threads[thread].idle_since);
        threads(&mut self.outcome, is_card).calls += speed * call.as_secs_f64();
        self.idle(is_card, speed, since);
        self.at(self.now + duration, Event::Counted { worker, thread });
    }

    /// Notes that a thread was idle until now.
    fn idle(&mut self, is_card: bool, speed: f64, since: Duration) {
        let since = since.max(CONNECTING);
        let idle = speed * self.now.saturating_sub(since).as_secs_f64();
        threads(&mut self.outcome, is_card).idle += idle;
    }

    /// Passes all messages to the core, makes its writes durable, and sends its messages.
    fn run_coordinator(&mut self) {
        let began = Instant::now();
        let unread = std::mem::take(&mut self.unread);
        let n_messages = unread.len() as u64;
        let next_tick = self.core.next_tick(false);
        self.core.wake(self.now, false, 0);
        for (worker, message) in unread {
            self.read(worker, message);
        }
        let is_tick = next_tick.is_some_and(|next_tick| self.now >= next_tick);
        if is_tick {
            self.core.tick();
        }
        let batch = self.core.take_batch();
        let took = began.elapsed();
        self.note_step(n_messages, is_tick, took);
        self.committing_until = match batch.writes() {
            [] => self.now,
            _ => self.now + between(COMMIT_MS, &mut self.random),
        };
        let (_, effects) = batch.written();
        effects.comparisons.iter().for_each(|comparison| self.core.compared(comparison, None));
        for (worker, message) in effects.messages {
            let worker = usize::try_from(worker.0 - 1).expect("small");
            if let ToWorker::Lease(lease) = &message {
                self.note_lease(lease);
            }
            let at = self.committing_until + between(LATENCY_MS, &mut self.random);
            let at = at.max(self.workers[worker].down);
            self.workers[worker].down = at;
            self.at(at, Event::Down { worker, message });
        }
        assert!(self.core.take_closed().is_empty(), "no session is closed");
        let next_tick = self.core.next_tick(false).unwrap_or(self.now + Duration::from_secs(1));
        let at = next_tick.max(self.committing_until).max(self.now + Duration::from_millis(1));
        self.run_at(at);
        if self.n_recorded == self.outcome.n_subproblems {
            self.done = Some(self.committing_until);
        }
    }

    fn submit(&mut self) {
        self.core.wake(self.now, false, 0);
        let asked = Submission::new(self.plan.n(), Method::Halves);
        let submitted = self.core.submit(&asked, 1);
        let batch = self.core.take_batch();
        let job = submitted.open(&batch.written().0).expect("it is taken");
        self.core.planned(job, self.plan.clone());
    }

    fn read(&mut self, worker: usize, message: ToCoordinator) {
        let id = self.workers[worker].id;
        match message {
            ToCoordinator::Hello(hello) => {
                let party = Party::of_name(&Name::of_any("all"));
                let session = self.core.connect(*hello, party).expect("its hello is in order");
                self.sessions.insert(id, session);
            }
            ToCoordinator::Report(report) => self.read_report(id, &report),
            ToCoordinator::Failure(_)
            | ToCoordinator::Notice(_)
            | ToCoordinator::Sensors(_)
            | ToCoordinator::Goodbye => {
                panic!("{id} fails or leaves")
            }
        }
    }

    fn read_report(&mut self, id: WorkerId, report: &Report) {
        let outcomes = self.core.report(self.sessions[&id], report).expect("it is in order");
        for (delta, outcome) in report.deltas.iter().zip(outcomes) {
            match outcome {
                SpanOutcome::Recorded => self.n_recorded += delta.span.n_subproblems(),
                _ => self.outcome.repeated_work += delta.count.work as f64,
            }
        }
    }

    fn note_lease(&mut self, lease: &Lease) {
        let spans = || lease.spans.iter().map(|leased| leased.span);
        for span in spans() {
            let leased = &mut self.leased[usize::try_from(span.part()).expect("small")];
            self.n_leased -= leased.len();
            leased.insert(span.from()..span.to());
            self.n_leased += leased.len();
        }
        if self.all_leased.is_none() && self.n_leased == self.outcome.n_subproblems {
            self.all_leased = Some(self.now);
            let cards = self.workers.iter().filter(|worker| worker.is_card);
            let is_idle = cards.flat_map(|card| &card.threads).any(|thread| thread.chunk.is_none());
            self.first_idle = is_idle.then_some(self.now);
        }
        let n_subproblems = spans().map(Span::n_subproblems).sum();
        let outcome = &mut self.outcome;
        outcome.n_leases += 1;
        outcome.most_subproblems_of_a_lease = outcome.most_subproblems_of_a_lease.max(n_subproblems);
        outcome.most_spans_of_a_lease = outcome.most_spans_of_a_lease.max(lease.spans.len() as u64);
        if self.leases_in_second.0 != self.now.as_secs() {
            self.leases_in_second = (self.now.as_secs(), 0);
        }
        self.leases_in_second.1 += 1;
        outcome.most_leases_a_second = outcome.most_leases_a_second.max(self.leases_in_second.1);
    }

    fn note_step(&mut self, n_messages: u64, is_tick: bool, took: Duration) {
        let steps = match self.n_recorded as f64 / self.outcome.n_subproblems as f64 {
            recorded if recorded < 0.25 => &mut self.outcome.quarters[0],
            recorded if recorded < 0.5 => &mut self.outcome.quarters[1],
            recorded if recorded < 0.75 => &mut self.outcome.quarters[2],
            _ => &mut self.outcome.quarters[3],
        };
        steps.n_messages += n_messages;
        steps.n_ticks += u64::from(is_tick);
        steps.took += took;
    }

    fn sum_up(mut self) -> Outcome {
        let done = self.done.expect("it is done");
        assert_eq!(self.core.ledger().n_open(), 0, "all is recorded");
        self.now = done;
        for worker in 0..self.workers.len() {
            let it = &self.workers[worker];
            let (is_card, speed) = (it.is_card, it.speed);
            let idle = it.threads.iter().filter(|thread| thread.chunk.is_none());
            for since in idle.map(|thread| thread.idle_since).collect::<Vec<_>>() {
                self.idle(is_card, speed, since);
            }
        }
        self.outcome.seconds = done.saturating_sub(CONNECTING).as_secs_f64();
        let first_idle = self.first_idle.unwrap_or(done);
        self.outcome.tail_seconds = done.saturating_sub(first_idle).as_secs_f64();
        self.outcome
    }
}

fn threads(outcome: &mut Outcome, is_card: bool) -> &mut Threads {
    if is_card { &mut outcome.cards } else { &mut outcome.processors }
}

fn between((least, most): (f64, f64), random: &mut SplitMix) -> Duration {
    Duration::from_secs_f64((least + (most - least) * unit(random)) / 1e3)
}
