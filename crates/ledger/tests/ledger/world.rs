//! A ledger with a store, and workers that follow their messages.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use queens_ledger::store::memory::MemoryStore;
use queens_ledger::store::{Record, Source, Store, Stored};
use queens_ledger::{Ledger, Run, SpanOutcome, SubmissionRefusal, WantedPlan};
use queens_model::{
    Delta, Failure, HalvesSkill, Held, Hello, JobId, JobIdentity, JobState, JobStatus, Lease, LeaseId, Name,
    Party, Priority, Report, Share, Speed, Submission, ToWorker, WorkerId, WorkerState,
};
use queens_solver::{
    BoardSize, Count, DECOMPOSITION_VERSION, Kernel, Method, Pass, Plan, Span, parts_in_counting_order,
    published,
};

pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

pub(crate) fn size(n: u8) -> BoardSize {
    BoardSize::new(n).expect("a board size")
}

pub(crate) fn plan(n: BoardSize, method: Method, pass: Pass) -> Plan {
    let make = if pass == Pass::First { Plan::new } else { Plan::second };
    make(n, method, NonZeroUsize::MIN, &NEVER).expect("nobody stops it")
}

pub(crate) fn named(name: &str) -> Name {
    name.parse().expect("a name")
}

pub(crate) fn priority(priority: i32) -> Priority {
    Priority::try_from(priority).expect("a priority")
}

/// Returns why the last job of a store is invalid, if it is set aside.
pub(crate) fn damage(stored: &Stored) -> Option<String> {
    let ledger = Ledger::restore(stored.clone(), Run::new(1)).expect("the decomposition is this one");
    let job = ledger.jobs().pop().expect("a job");
    assert_eq!(job.state == JobState::Damaged, job.failure.is_some(), "{job:?}");
    job.failure
}

pub(crate) fn solutions(n: BoardSize) -> u128 {
    published(n).expect("published").solutions
}

/// A ledger with a store, and workers that follow their messages.
pub(crate) struct World {
    pub(crate) ledger: Ledger,
    pub(crate) store: MemoryStore,
    pub(crate) now: Duration,
    pub(crate) workers: BTreeMap<WorkerId, Worker>,
    /// Subproblems that a worker began before the ledger heard of the end of the lease before. For the ledger they
    /// still wait, so it may give them to another worker, which counts them too.
    begun_unheard: Vec<(JobIdentity, Span)>,
    /// The party of the next worker; `None` makes each name a party.
    party: Option<Party>,
    /// How often the ledger was restarted.
    run: u128,
    /// The job whose first record the coordinator can't count.
    pub(crate) bad_for_coordinator: Option<JobId>,
}

#[derive(Default)]
pub(crate) struct Worker {
    pub(crate) name: String,
    /// In the order of counting.
    pub(crate) leases: BTreeMap<LeaseId, (Lease, VecDeque<Span>)>,
    /// The lease whose subproblem its thread counts.
    pub(crate) in_hand: Option<LeaseId>,
    pub(crate) n_reports: u64,
    pub(crate) sent_home: bool,
    /// The error of its counts.
    pub(crate) lie: Count,
    pub(crate) notices: Vec<String>,
    /// The report interval that it was last told.
    pub(crate) interval: Option<Duration>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::of(Stored::default(), MemoryStore::default())
    }

    /// Returns a world with a job.
    pub(crate) fn with(n: u8) -> (Self, JobId) {
        let mut world = Self::new();
        let job = world.submit(n);
        (world, job)
    }

    /// Returns a world with a job that has this percentage of recounts.
    pub(crate) fn with_recounts(n: u8, percent: u32) -> (Self, JobId) {
        let mut world = Self::new();
        let job = world.submit_verified(n, percent);
        (world, job)
    }

    pub(crate) fn of(stored: Stored, store: MemoryStore) -> Self {
        Self::of_run(stored, store, 0)
    }

    fn of_run(stored: Stored, store: MemoryStore, run: u128) -> Self {
        let ledger = Ledger::restore(stored, Run::new(run)).expect("fits");
        let mut world = Self {
            ledger,
            store,
            now: Duration::ZERO,
            workers: BTreeMap::new(),
            begun_unheard: Vec::new(),
            party: None,
            run,
            bad_for_coordinator: None,
        };
        world.carry_out();
        world
    }

    /// Removes all workers and continues with another ledger.
    pub(crate) fn restart(mut self) -> Self {
        let run = self.run + 1;
        Self::of_run(self.store.load().expect("memory"), self.store, run)
    }

    pub(crate) fn submit(&mut self, n: u8) -> JobId {
        self.submit_by(n, Method::Search)
    }

    /// Submits a job with this percentage of recounts.
    pub(crate) fn submit_verified(&mut self, n: u8, percent: u32) -> JobId {
        let recount = Share::of_ppm(percent * 10_000).expect("a share");
        let asked = Submission { recount: Some(recount), ..Submission::new(size(n), Method::Search) };
        self.submit_on(&asked).expect("it is taken")
    }

    pub(crate) fn submit_by(&mut self, n: u8, method: Method) -> JobId {
        self.submit_on(&Submission::new(size(n), method)).expect("it is taken")
    }

    pub(crate) fn submit_on(&mut self, asked: &Submission) -> Result<JobId, SubmissionRefusal> {
        let job = self.ledger.submit(asked, 0, 0);
        self.carry_out();
        job
    }

    pub(crate) fn connect(&mut self, id: u64, name: &str) -> WorkerId {
        self.connect_with(id, name, Vec::new())
    }

    pub(crate) fn connect_with(&mut self, id: u64, name: &str, held: Vec<Held>) -> WorkerId {
        let of_another_version = HalvesSkill { decomposition: 0, speed: Speed::ZERO };
        self.connect_as(id, name, of_another_version, held)
    }

    /// Connects a worker of a name with the invitation of this number.
    pub(crate) fn connect_of(&mut self, party: u8, id: u64, name: &str) -> WorkerId {
        self.party = Some(Party::from_bytes([party; 16]));
        let worker = self.connect(id, name);
        self.party = None;
        worker
    }

    /// Connects a worker that can also count by halves.
    pub(crate) fn connect_able(&mut self, id: u64, name: &str) -> WorkerId {
        let skill = HalvesSkill { decomposition: Method::Halves.decomposition(), speed: Speed::from(1000) };
        self.connect_as(id, name, skill, Vec::new())
    }

    pub(crate) fn connect_as(
        &mut self,
        id: u64,
        name: &str,
        halves: HalvesSkill,
        held: Vec<Held>,
    ) -> WorkerId {
        self.connect_saying(id, name, |hello| Hello { halves, held, ..hello })
    }

    /// Connects a worker whose hello differs from that of a worker with one thread by `change`.
    pub(crate) fn connect_saying(
        &mut self,
        id: u64,
        name: &str,
        change: impl FnOnce(Hello) -> Hello,
    ) -> WorkerId {
        let worker = WorkerId(id);
        self.workers.insert(worker, Worker { name: name.to_owned(), ..Worker::default() });
        let hello = change(Hello {
            worker,
            name: named(name),
            build: named("0"),
            kernel: named("portable"),
            n_threads: 1,
            speed: Speed::try_from(1e3).expect("a speed"),
            decomposition: DECOMPOSITION_VERSION,
            halves: HalvesSkill { decomposition: 0, speed: Speed::ZERO },
            machine: id,
            held: Vec::new(),
        });
        let party = self.party.unwrap_or_else(|| Party::of_name(&hello.name));
        self.ledger.connect(self.now, hello, party).expect("in order");
        self.carry_out();
        worker
    }

    /// Carries out the ledger's effects; plans are made at once.
    pub(crate) fn carry_out(&mut self) {
        loop {
            let effects = self.ledger.take_effects();
            self.store.commit(&effects.writes).expect("memory");
            for (worker, message) in effects.messages {
                if let Some(worker) = self.workers.get_mut(&worker) {
                    worker.hear(message);
                }
            }
            self.check_leases();
            for comparison in &effects.comparisons {
                let recorded = self.store.find(comparison.job, comparison.second.span).expect("memory");
                self.ledger.compared(comparison, recorded);
            }
            for draw in &effects.draws {
                let drawn = self.store.draw(draw).expect("memory");
                self.ledger.drawn(draw, drawn);
            }
            if let Some(judgement) = &effects.judgement {
                let part = &judgement.plan.parts()[judgement.span.part() as usize];
                let range = judgement.span.from()..judgement.span.to();
                let count = part
                    .subproblems()
                    .count(range.clone(), Kernel::Portable, &NEVER)
                    .expect("nobody stops it");
                let source = Arc::new(Source::coordinator(named("0"), named("portable")));
                let is_bad = self.bad_for_coordinator == Some(judgement.job) && range == (0..1);
                let counted = Some((count, Duration::from_secs(1), source)).filter(|_| !is_bad);
                self.ledger.judged(judgement, counted);
            }
            for &WantedPlan { job, n, method, pass } in &effects.plans {
                self.ledger.planned(self.now, job, plan(n, method, pass));
            }
            let is_answered = !effects.comparisons.is_empty() || !effects.draws.is_empty();
            if !is_answered && effects.plans.is_empty() && effects.judgement.is_none() {
                return;
            }
        }
    }

    /// Checks that no two workers hold the same subproblem, once they have heard all their messages.
    pub(crate) fn check_leases(&self) {
        let held = self.workers.values().flat_map(|worker| worker.leases.values());
        let mut spans: Vec<(JobIdentity, Span)> =
            held.flat_map(|(lease, spans)| spans.iter().map(|&span| (lease.job, span))).collect();
        spans.sort_by_key(|(job, span)| (*job, span.part(), span.from()));
        for pair in spans.windows(2) {
            let apart = pair[0].0 != pair[1].0 || pair[0].1.intersection(pair[1].1).is_none();
            assert!(apart, "held twice: {pair:?}");
        }
    }

    pub(crate) fn job(&self, id: JobId) -> JobStatus {
        self.ledger.jobs().into_iter().find(|job| job.id == id).expect("submitted")
    }

    /// Returns the identity of a job.
    pub(crate) fn identity(&self, job: JobId) -> JobIdentity {
        self.ledger.identity(job).expect("submitted")
    }

    pub(crate) fn worker_state(&self, id: WorkerId) -> WorkerState {
        self.ledger.workers().into_iter().find(|worker| worker.id == id).expect("connected").state
    }

    /// Returns the subproblem that a worker counts next.
    pub(crate) fn next(&self, id: WorkerId) -> Option<(JobId, Span)> {
        let (lease, spans) = self.workers[&id].leases.values().find(|(_, spans)| !spans.is_empty())?;
        Some((self.ledger.job_of(lease.job)?, spans.front()?.split_at(spans.front()?.from() + 1).0?))
    }

    /// Lets a worker's thread begin the next subproblem, which it counts whatever messages come.
    pub(crate) fn begin(&mut self, id: WorkerId) -> Option<Delta> {
        let worker = self.workers.get_mut(&id).filter(|worker| worker.in_hand.is_none())?;
        let first = worker.leases.keys().next().copied();
        let (lease, spans) = worker.leases.values_mut().find(|(_, spans)| !spans.is_empty())?;
        let front = spans.pop_front().expect("not empty");
        let (span, rest) = front.split_at(front.from() + 1);
        rest.into_iter().for_each(|rest| spans.push_front(rest));
        let span = span.expect("not empty");
        let count = count(lease, span).checked_add(worker.lie).expect("small");
        worker.in_hand = Some(lease.id);
        if first != Some(lease.id) {
            self.begun_unheard.push((lease.job, span));
        }
        Some(Delta { job: lease.job, lease: lease.id, span, count, duration: Duration::from_millis(50) })
    }

    /// Lets a worker report the subproblem in hand and its finished leases.
    pub(crate) fn report(&mut self, id: WorkerId, delta: Option<Delta>) -> Vec<SpanOutcome> {
        self.report_all(id, delta.into_iter().collect())
    }

    /// Lets a worker report all this, with the subproblem in hand, and its finished leases.
    pub(crate) fn report_all(&mut self, id: WorkerId, deltas: Vec<Delta>) -> Vec<SpanOutcome> {
        let worker = self.workers.get_mut(&id).expect("connected");
        worker.n_reports += 1;
        if !deltas.is_empty() {
            worker.in_hand = None;
        }
        let is_ended = |(id, (_, spans)): &(&LeaseId, &(Lease, VecDeque<Span>))| {
            spans.is_empty() && worker.in_hand != Some(**id)
        };
        let ended: Vec<LeaseId> = worker.leases.iter().filter(is_ended).map(|(&id, _)| id).collect();
        ended.iter().for_each(|lease| _ = worker.leases.remove(lease));
        let report = Report { sequence: worker.n_reports, deltas, finished: ended };
        let outcomes = self.ledger.report(self.now, id, &report).expect("in order");
        self.carry_out();
        outcomes
    }

    /// Lets a worker report the subproblem in hand, which must be new.
    #[track_caller]
    pub(crate) fn report_counted(&mut self, id: WorkerId, delta: Delta) {
        let may_be_repeated = self.begun_unheard.contains(&(delta.job, delta.span));
        match &self.report(id, Some(delta))[..] {
            [SpanOutcome::Recorded] => {}
            [SpanOutcome::Repeated] if may_be_repeated => {}
            outcomes => panic!("{delta:?}: {outcomes:?}"),
        }
    }

    /// Lets a worker count and report one subproblem, or its finished leases. Returns `false` if it has no leases.
    pub(crate) fn step(&mut self, id: WorkerId) -> bool {
        let has_leases = !self.workers[&id].leases.is_empty();
        let delta = self.begin(id);
        self.pass(Duration::from_millis(50));
        self.report(id, delta);
        has_leases
    }

    /// Lets a worker fail on the next subproblem, which ends the lease.
    pub(crate) fn fail(&mut self, id: WorkerId) -> Option<Span> {
        let Delta { job, lease, span, .. } = self.begin(id)?;
        let failure = Failure { job, lease, span, reason: "division by zero".to_owned() };
        self.ledger.fail(self.now, id, &failure).expect("in order");
        self.carry_out();
        let worker = self.workers.get_mut(&id).expect("connected");
        worker.in_hand = None;
        if let Some((_, spans)) = worker.leases.get_mut(&lease) {
            spans.clear();
        }
        self.report(id, None);
        Some(span)
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += time;
        self.ledger.tick(self.now);
        self.carry_out();
    }

    /// Lets all workers count until none has anything to do.
    pub(crate) fn finish(&mut self) {
        let ids: Vec<WorkerId> = self.workers.keys().copied().collect();
        // A tick draws parties, and only then their workers get leases.
        let mut n_idle = 0;
        while n_idle < 3 {
            let n_counting = ids.iter().filter(|&&id| self.step(id)).count();
            let is_busy = n_counting > 0 || self.ledger.is_drawing() || self.are_busy();
            n_idle = if is_busy { 0 } else { n_idle + 1 };
        }
    }

    /// Lets all workers count to the end of a job.
    #[track_caller]
    pub(crate) fn finish_job(&mut self, job: JobId) {
        self.finish();
        self.check_done(job);
    }

    fn are_busy(&self) -> bool {
        self.workers.values().any(|worker| !worker.leases.is_empty())
    }

    /// Checks that the records of a job add up to its total.
    #[track_caller]
    pub(crate) fn check_total(&self, job: JobId) {
        let status = self.job(job);
        let plan = plan(status.n, status.method, self.ledger.board(job).expect("submitted").2);
        let weight = |span: Span| u128::from(plan.parts()[span.part() as usize].weight());
        let counted = |record: &Record| weight(record.span) * u128::from(record.count.solutions);
        assert_eq!(self.store.records(job).map(counted).sum::<u128>(), status.progress.solutions);
        assert_eq!(
            self.store.records(job).map(|it| u128::from(it.count.work)).sum::<u128>(),
            status.progress.work
        );
    }

    #[track_caller]
    pub(crate) fn check_done(&self, job: JobId) {
        let status = self.job(job);
        assert_eq!((status.state, status.n_disputed), (JobState::Done, 0));
        assert_eq!(status.progress.solutions, solutions(status.n));
    }
}

impl Worker {
    pub(crate) fn hear(&mut self, message: ToWorker) {
        match message {
            ToWorker::Lease(lease) => {
                let spans = lease.spans.iter().map(|leased| leased.span).collect();
                self.leases.insert(lease.id, (lease, spans));
            }
            ToWorker::Shorten { lease, spans: taken } => {
                if let Some((_, spans)) = self.leases.get_mut(&lease) {
                    *spans = spans.iter().flat_map(|span| span.without(&taken)).collect();
                }
            }
            ToWorker::Cancel(lease) => _ = self.leases.remove(&lease),
            ToWorker::Drain => self.sent_home = true,
            ToWorker::Notice(text) => self.notices.push(text),
            ToWorker::ReportEvery(interval) => self.interval = Some(interval.get()),
            ToWorker::Acknowledge { .. } | ToWorker::Farewell => {}
        }
    }
}

pub(crate) fn count(lease: &Lease, span: Span) -> Count {
    let leased = lease.spans.iter().find(|leased| leased.span.intersection(span).is_some()).expect("leased");
    let part = &parts_in_counting_order(lease.n, lease.method)[span.part() as usize];
    let count = part.subproblems(leased.image).count(span.from()..span.to(), Kernel::Portable, &NEVER);
    count.expect("nobody stops it")
}
