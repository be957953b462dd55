//! A simulated ledger with its store and honest or lying workers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use queens_ledger::store::memory::MemoryStore;
use queens_ledger::store::{Record, Source, Store};
use queens_ledger::{Ledger, Run};
use queens_model::{
    Arbiter, Delta, HalvesSkill, Held, Hello, JobId, JobState, JobStatus, LeaseId, Name, Party, Report,
    Share, Speed, Submission, ToWorker, WorkerId, WorkerState,
};
use queens_solver::{BoardSize, Choice, Count, DECOMPOSITION_VERSION, Method, Plan, Span, Symmetry};

use super::nature::{Nature, hash};
use super::random::Random;

/// The most steps in which a history must end when nothing goes wrong any more.
const MOST_STEPS: u64 = 100_000;

/// The board size, which gives the smallest jobs.
const N: u8 = 6;

/// The simulated world.
pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) ledger: Ledger,
    pub(crate) store: MemoryStore,
    /// Another store, which gets the same writes and must give the same answers.
    pub(crate) mirror: Option<Box<dyn Store>>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) now: Duration,
    jobs: Vec<JobId>,
    /// The first pass of each second pass.
    firsts: BTreeMap<JobId, JobId>,
    pub(crate) members: BTreeMap<WorkerId, Member>,
    /// The nature of each party that ever joined.
    natures: BTreeMap<String, Nature>,
    n_members: u64,
    /// Whether the coordinator crashes now and then.
    pub(crate) crashes: bool,
    pub(crate) n_crashes: u64,
    /// The only party that recounts jobs submitted from now on.
    pub(crate) arbiter: Option<String>,
    /// The number of names that liars have besides their first.
    pub(crate) n_further_names: usize,
    /// The number of spans that the coordinator counted.
    pub(crate) n_judged: usize,
    /// The plan of the job by halves, which only honest parties can count.
    halves_plan: Option<Arc<Plan>>,
}

pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) leases: BTreeMap<LeaseId, VecDeque<(JobId, Span)>>,
    pub(crate) sequence: u64,
}

/// The coordinator has crashed in the middle of something.
struct Crashed;

impl World {
    pub(crate) fn new(mut random: Random) -> Self {
        let n = BoardSize::new(N).expect("a board size");
        let n_parts = queens_solver::parts_in_counting_order(n, Method::Search).len();
        let choice = |_| {
            let n_subproblems = random.between(10, 60);
            Choice { image: Symmetry::IDENTITY, n_subproblems, work: u128::from(n_subproblems) * 1000 }
        };
        let choices: Vec<Choice> = (0..n_parts).map(choice).collect();
        let plan = Plan::from_choices(n, Method::Search, &choices).expect("one choice for each part");
        let mut store = MemoryStore::default();
        let run = Run::new(random.next().into());
        let ledger = Ledger::restore(store.load().expect("memory"), run).expect("nothing");
        Self {
            random,
            ledger,
            store,
            mirror: None,
            plan: Arc::new(plan),
            now: Duration::ZERO,
            jobs: Vec::new(),
            firsts: BTreeMap::new(),
            members: BTreeMap::new(),
            natures: BTreeMap::new(),
            n_members: 0,
            crashes: false,
            n_crashes: 0,
            arbiter: None,
            n_further_names: 0,
            n_judged: 0,
            halves_plan: None,
        }
    }

    pub(crate) fn submit(&mut self, share: u32) -> JobId {
        self.submit_with(share, None)
    }

    /// Submits a board that is counted twice.
    pub(crate) fn submit_twice(&mut self, share: u32) -> JobId {
        self.submit_with(share, Some(Method::Search))
    }

    fn submit_with(&mut self, share: u32, second_pass: Option<Method>) -> JobId {
        let recount = Share::of_ppm(share).expect("a share");
        let arbiter =
            |name: &String| Arbiter { party: Party::of_name(&Name::of_any(name)), invitation: None };
        let recount_by = self.arbiter.as_ref().map(arbiter);
        let asked = Submission {
            recount: Some(recount),
            recount_by,
            second_pass,
            ..Submission::new(self.plan.n(), Method::Search)
        };
        let seed = u128::from(self.random.next()) << 64;
        let job = self.ledger.submit(&asked, seed, 0).expect("it is taken");
        self.jobs.push(job);
        if let Some(second) = self.job(job).second {
            self.jobs.push(second);
            self.firsts.insert(second, job);
        }
        self.settle();
        job
    }

    /// Adds a worker: a new party, or a further name of a known one, as in "liar 0, again".
    pub(crate) fn recruit(&mut self, name: &str, nature: Nature) -> WorkerId {
        self.natures.insert(party_of(name).to_owned(), nature);
        let id = self.join(name);
        self.settle();
        id
    }

    fn join(&mut self, name: &str) -> WorkerId {
        self.n_members += 1;
        let worker = WorkerId(self.n_members);
        self.say_hello(worker, name, 1, Speed::from(1000), Vec::new());
        worker
    }

    /// Opens a session for a worker.
    pub(crate) fn say_hello(
        &mut self,
        worker: WorkerId,
        name: &str,
        n_threads: u32,
        speed: Speed,
        held: Vec<Held>,
    ) {
        let member = Member { name: name.to_owned(), leases: BTreeMap::new(), sequence: 0 };
        self.members.insert(worker, member);
        let hello = Hello {
            worker,
            name: name.parse().expect("a name"),
            build: Name::of_any("0"),
            kernel: Name::of_any("simulated"),
            n_threads,
            speed,
            decomposition: DECOMPOSITION_VERSION,
            halves: match &self.halves_plan {
                Some(_) if name.starts_with("honest") => HalvesSkill { decomposition: 1, speed },
                _ => HalvesSkill { decomposition: 0, speed: Speed::ZERO },
            },
            machine: worker.0,
            held,
        };
        let party = Party::of_name(&Name::of_any(party_of(name)));
        self.ledger.connect(self.now, hello, party).expect("in order");
    }

    /// Lets a worker leave.
    pub(crate) fn dismiss(&mut self, worker: WorkerId) {
        self.members.remove(&worker);
        self.ledger.goodbye(self.now, worker);
        self.settle();
    }

    /// Plays one random event.
    pub(crate) fn step(&mut self) {
        self.now += Duration::from_millis(20);
        let members: Vec<WorkerId> = self.members.keys().copied().collect();
        match self.random.below(100) {
            0 if self.crashes => self.crash(),
            1 if self.crashes => {
                let blocked = self.blocked();
                let names: Vec<Name> = blocked.iter().map(|name| name.parse().expect("a name")).collect();
                if let Some(name) = self.random.pick(&names) {
                    self.ledger.unblock(self.now, &name).expect("is blocked");
                }
            }
            2 if self.crashes && members.len() > 2 => {
                let worker = self.random.pick(&members).expect("not empty");
                let name = self.members[&worker].name.clone();
                self.dismiss(worker);
                self.join(&name);
            }
            3..20 => _ = self.ledger.tick(self.now),
            _ => {
                if let Some(worker) = self.random.pick(&members) {
                    self.report(worker);
                }
            }
        }
        self.settle();
    }

    /// Lets a worker count some of its first lease and report it.
    fn report(&mut self, id: WorkerId) {
        let Some(member) = self.members.get_mut(&id) else { return };
        member.sequence += 1;
        let nature = self.natures[party_of(&member.name)];
        let mut chunk = None;
        let first = member.leases.iter_mut().find(|(_, spans)| !spans.is_empty());
        if let Some((&lease, spans)) = first
            && let Some((job, span)) = spans.pop_front()
        {
            let n = self.random.between(1, span.n_subproblems());
            let (begun, rest) = span.split_at(span.from() + n);
            rest.into_iter().for_each(|rest| spans.push_front((job, rest)));
            chunk = begun.map(|span| (lease, job, span));
        }
        let duration = Duration::from_millis(20);
        let deltas = chunk.map(|(lease, job, span)| {
            let count = self.told(nature, job, span);
            Delta { job: self.ledger.identity(job).expect("submitted"), lease, span, count, duration }
        });
        let deltas = deltas.into_iter().collect();
        let Some(member) = self.members.get_mut(&id) else { return };
        let finished: Vec<LeaseId> =
            member.leases.iter().filter(|(_, spans)| spans.is_empty()).map(|(lease, _)| *lease).collect();
        finished.iter().for_each(|lease| _ = member.leases.remove(lease));
        let report = Report { sequence: member.sequence, deltas, finished };
        self.ledger.report(self.now, id, &report).expect("in order");
    }

    /// Returns a worker's reported count of a span. Its lies concern the same subproblems in both passes.
    fn told(&mut self, nature: Nature, job: JobId, span: Span) -> Count {
        let mut told = Count::default();
        for number in span.from()..span.to() {
            let truth = self.truth(job, span.part(), number);
            let number = self.in_first_pass(job, span.part(), number);
            let count = nature.tell(&mut self.random, span.part(), number, truth);
            told = told.checked_add(count).expect("small numbers");
        }
        told
    }

    /// Carries out the ledger's effects, and starts over if the coordinator crashes meanwhile.
    pub(crate) fn settle(&mut self) {
        if let Err(Crashed) = self.carry_out() {
            self.crash();
            self.carry_out().unwrap_or_else(|Crashed| self.crash());
        }
    }

    fn carry_out(&mut self) -> Result<(), Crashed> {
        loop {
            let effects = self.ledger.take_effects();
            let may_crash = self.crashes && !effects.writes.is_empty();
            if may_crash && self.random.below(200) == 0 {
                return Err(Crashed);
            }
            self.store.commit(&effects.writes).expect("memory");
            if let Some(mirror) = &mut self.mirror {
                mirror.commit(&effects.writes).expect("it can be written");
            }
            if may_crash && self.random.below(200) == 0 {
                return Err(Crashed);
            }
            for (worker, message) in effects.messages {
                if let Some(member) = self.members.get_mut(&worker) {
                    member.hear(message, &self.ledger);
                }
            }
            for comparison in &effects.comparisons {
                let recorded = self.store.find(comparison.job, comparison.second.span).expect("memory");
                if let Some(mirror) = &mut self.mirror {
                    let found = mirror.find(comparison.job, comparison.second.span);
                    assert_eq!(found.expect("it can be read"), recorded);
                }
                self.ledger.compared(comparison, recorded);
            }
            for draw in &effects.draws {
                let drawn = self.store.draw(draw).expect("memory");
                if let Some(mirror) = &mut self.mirror {
                    assert_eq!(mirror.draw(draw).expect("it can be read"), drawn);
                }
                self.ledger.drawn(draw, drawn);
            }
            if let Some(judgement) = &effects.judgement {
                self.n_judged += 1;
                let count = self.true_count(judgement.job, judgement.span);
                let name = Name::of_any("simulated");
                let source = Arc::new(Source::coordinator(name.clone(), name));
                self.ledger.judged(judgement, Some((count, Duration::from_millis(1), source)));
            }
            for wanted in &effects.plans {
                let plan = match (wanted.method, &self.halves_plan) {
                    (Method::Halves, Some(plan)) => Arc::clone(plan),
                    _ => Arc::clone(&self.plan),
                };
                self.ledger.planned(self.now, wanted.job, plan);
            }
            let is_answered = !effects.comparisons.is_empty() || !effects.draws.is_empty();
            if !is_answered && effects.plans.is_empty() && effects.judgement.is_none() {
                return Ok(());
            }
        }
    }

    fn run_again(&mut self) {
        self.n_crashes += 1;
        let run = Run::new(self.random.next().into());
        let stored = self.store.load().expect("memory");
        self.ledger = Ledger::restore(stored, run).expect("it can be gone on with");
    }

    /// Replaces the coordinator by one that continues from the durable state. All workers come back without leases.
    fn crash(&mut self) {
        let was = std::mem::replace(&mut self.crashes, false);
        self.run_again();
        let names: Vec<String> = self.members.values().map(|member| member.name.clone()).collect();
        self.members.clear();
        for name in names {
            self.join(&name);
        }
        _ = self.carry_out();
        // A request that was not durable was not answered, so it is repeated.
        let n_known = self.ledger.jobs().len();
        self.jobs.truncate(n_known);
        self.crashes = was;
    }

    /// Submits a job by halves with this many times the work of others.
    pub(crate) fn submit_halves(&mut self, factor: u64) {
        let n_parts = queens_solver::parts_in_counting_order(self.plan.n(), Method::Halves).len();
        let choice = |_| {
            let n_subproblems = factor * self.random.between(10, 60);
            Choice { image: Symmetry::IDENTITY, n_subproblems, work: u128::from(n_subproblems) * 1000 }
        };
        let choices: Vec<Choice> = (0..n_parts).map(choice).collect();
        let plan = Plan::from_choices(self.plan.n(), Method::Halves, &choices);
        self.halves_plan = Some(Arc::new(plan.expect("one choice for each part")));
        let asked =
            Submission { recount: Some(Share::NOTHING), ..Submission::new(self.plan.n(), Method::Halves) };
        self.jobs.push(self.ledger.submit(&asked, 5, 0).expect("it is taken"));
        self.settle();
    }

    /// Restarts the coordinator: nobody is connected.
    pub(crate) fn restart(&mut self) {
        self.run_again();
        self.members.clear();
        self.settle();
    }

    /// Plays on until all jobs are done.
    pub(crate) fn finish(&mut self) {
        for _ in 0..MOST_STEPS {
            if self.jobs.iter().all(|&job| self.job(job).state == JobState::Done) {
                return;
            }
            self.step();
        }
        panic!("no end in sight: {:?}", self.ledger.jobs());
    }

    pub(crate) fn jobs(&self) -> &[JobId] {
        &self.jobs
    }

    pub(crate) fn job(&self, id: JobId) -> JobStatus {
        self.ledger.jobs().into_iter().find(|job| job.id == id).expect("submitted")
    }

    pub(crate) fn blocked(&self) -> BTreeSet<String> {
        self.ledger.blocked().map(ToString::to_string).collect()
    }

    pub(crate) fn liars(&self) -> Vec<&String> {
        let is_liar = |(name, nature): (_, &Nature)| (*nature != Nature::Honest).then_some(name);
        self.natures.iter().filter_map(is_liar).collect()
    }

    /// Whether two parties tell the same lies, or may by chance, because the same bits flip.
    pub(crate) fn has_colluders(&self) -> bool {
        let lies = self.natures.values().filter_map(|nature| match nature {
            Nature::Honest => None,
            Nature::Liar { seed, .. } => Some((*seed, 0)),
            Nature::Flaky { bit, .. } => Some((0, *bit)),
        });
        let lies: Vec<(u64, u32)> = lies.collect();
        lies.iter().collect::<BTreeSet<_>>().len() < lies.len()
    }

    pub(crate) fn n_verdicts(&self) -> usize {
        self.jobs.iter().map(|&job| self.store.verdicts(job).count()).sum()
    }

    /// Returns the number of wrong records of a job.
    pub(crate) fn n_false_records(&self, job: JobId) -> i32 {
        let is_false = |record: &&Record| record.count != self.true_count(job, record.span);
        i32::try_from(self.store.records(job).filter(is_false).count()).expect("few")
    }

    /// Checks that the progress of each job is the sum of its records.
    pub(crate) fn check_sums(&self) {
        for &job in &self.jobs {
            let weight = |span: Span| u128::from(self.plan.parts()[span.part() as usize].weight());
            let weighted = |record: &Record| weight(record.span) * u128::from(record.count.solutions);
            let progress = self.job(job).progress;
            assert_eq!(self.store.records(job).map(weighted).sum::<u128>(), progress.solutions, "job {job}");
            let work = self.store.records(job).map(|record| u128::from(record.count.work)).sum::<u128>();
            assert_eq!(work, progress.work, "job {job}");
        }
    }

    /// Checks all totals and verdicts, and all records of jobs with full recounts.
    pub(crate) fn check_truth(&self) {
        for &job in &self.jobs {
            let status = self.job(job);
            let total = (0..).zip(self.plan.parts()).map(|(part, planned)| {
                let all = Span::new(part, 0, planned.choice().n_subproblems).expect("not empty");
                u128::from(planned.weight()) * u128::from(self.true_count(job, all).solutions)
            });
            assert_eq!(status.progress.solutions, total.sum::<u128>(), "a lie of job {job} stands");
            for record in self.store.records(job).filter(|_| status.terms.recount == Share::ALL) {
                let truth = self.true_count(job, record.span);
                assert_eq!(record.count, truth, "a lie of job {job} stands: {record:?}");
            }
            for verdict in self.store.verdicts(job) {
                let truth = self.true_count(job, verdict.span);
                assert!(verdict.count == truth && verdict.lost != truth, "a wrong verdict: {verdict:?}");
            }
        }
    }

    /// Returns the true count of a subproblem. In the second pass each part has the same solutions, elsewhere.
    fn truth(&self, job: JobId, part: u32, number: u64) -> Count {
        let drawn = |job: JobId, number| hash(job.0 + 99, u64::from(part), number);
        let first = self.firsts.get(&job).copied().unwrap_or(job);
        let solutions = drawn(first, self.in_first_pass(job, part, number)) % 20;
        Count { solutions, work: 1 + drawn(job, number) % 1000 }
    }

    /// Returns the subproblem of the first pass that has the same solutions.
    fn in_first_pass(&self, job: JobId, part: u32, number: u64) -> u64 {
        let last = self.plan.parts()[part as usize].choice().n_subproblems - 1;
        if self.firsts.contains_key(&job) { last - number } else { number }
    }

    /// Returns the job and the subproblems of the first pass that have the same solutions as a span.
    pub(crate) fn in_first_pass_of(&self, job: JobId, span: Span) -> (JobId, Range<u64>) {
        let ends = [span.from(), span.to() - 1].map(|number| self.in_first_pass(job, span.part(), number));
        let first = self.firsts.get(&job).copied().unwrap_or(job);
        (first, ends[0].min(ends[1])..ends[0].max(ends[1]) + 1)
    }

    pub(crate) fn is_second_pass(&self, job: JobId) -> bool {
        self.firsts.contains_key(&job)
    }

    pub(crate) fn true_count(&self, job: JobId, span: Span) -> Count {
        let counts = (span.from()..span.to()).map(|number| self.truth(job, span.part(), number));
        counts.fold(Count::default(), |sum, count| sum.checked_add(count).expect("small numbers"))
    }

    /// Checks that the stored evidence makes a valid certificate: `queens check` trusts no coordinator.
    pub(crate) fn check_opinions(&self) {
        for &job in &self.jobs {
            for record in self.store.records(job) {
                let (span, party) = (record.span, record.source.party);
                let again = self.store.second_counts(job).filter(|it| it.span == span);
                let again: Vec<_> = again.filter(|it| it.source.party != party).collect();
                let verdicts: Vec<_> = self.store.verdicts(job).filter(|it| it.span == span).collect();
                for it in again.iter().filter(|it| it.count != record.count) {
                    let mut verdicts = verdicts.iter();
                    let has_lost =
                        verdicts.any(|by| by.lost_source.party == it.source.party && by.lost == it.count);
                    assert!(has_lost, "job {job}: no verdict about {it:?}");
                }
                let is_confirmed = again.iter().any(|it| it.count == record.count);
                for (i, verdict) in verdicts.iter().enumerate() {
                    let later = || verdicts[i + 1..].iter();
                    let is_lost_later = later().any(|it| it.lost == verdict.count);
                    assert!(is_confirmed, "job {job}: nobody confirms what won in {verdict:?}");
                    assert!(verdict.count == record.count || is_lost_later, "job {job}: {verdict:?}");
                    assert_ne!(verdict.source.party, verdict.lost_source.party, "job {job}, {span}");
                    let mut standing = later().take_while(|it| it.count != verdict.lost);
                    let (party, lost) = (verdict.lost_source.party, verdict.lost);
                    let is_said_again = standing.any(|it| {
                        it.lost_source.party == party && it.lost == lost && it.count == verdict.count
                    });
                    assert!(!is_said_again, "job {job}: {verdict:?}");
                }
            }
        }
    }

    /// Checks that a party that was found out is blocked under all its names.
    pub(crate) fn check_all_names_are_blocked(&self) {
        let blocked = self.blocked();
        let parties: BTreeSet<&str> = blocked.iter().map(|name| party_of(name)).collect();
        for worker in self.ledger.workers() {
            let is_blocked = worker.state == WorkerState::Blocked;
            let name = worker.name.as_str();
            assert_eq!(is_blocked, parties.contains(party_of(name)), "{name}, of {blocked:?}");
        }
    }

    pub(crate) fn check_nobody_honest_is_blocked(&self) {
        for name in self.blocked() {
            assert_ne!(self.natures[party_of(&name)], Nature::Honest, "{name} is blocked");
        }
    }
}

/// Returns the party that a name belongs to: the text before a comma.
fn party_of(name: &str) -> &str {
    name.split(',').next().unwrap_or(name)
}

impl Member {
    fn hear(&mut self, message: ToWorker, ledger: &Ledger) {
        match message {
            ToWorker::Lease(lease) => {
                let job = ledger.job_of(lease.job).expect("it grants what it has");
                let spans = lease.spans.iter().map(|leased| (job, leased.span)).collect();
                self.leases.insert(lease.id, spans);
            }
            ToWorker::Shorten { lease, spans: taken } => {
                if let Some(spans) = self.leases.get_mut(&lease) {
                    let left = spans
                        .iter()
                        .flat_map(|&(job, span)| span.without(&taken).into_iter().map(move |it| (job, it)));
                    *spans = left.collect();
                }
            }
            ToWorker::Cancel(lease) => _ = self.leases.remove(&lease),
            ToWorker::Drain
            | ToWorker::Notice(_)
            | ToWorker::Acknowledge { .. }
            | ToWorker::Farewell
            | ToWorker::ReportEvery(_) => {}
        }
    }
}
