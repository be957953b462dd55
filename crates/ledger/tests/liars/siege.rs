//! Liars and their friends against honest workers, in realistic time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use queens_ledger::SpanOutcome;
use queens_model::{Delta, Failure, Held, JobId, LeaseId, Report, Speed, WorkerId};
use queens_solver::{Count, Span};

use super::play::{Action, Backing, Play, Presence, Scheme};
use super::random::Random;
use super::world::World;

/// The work of a subproblem.
const COST: f64 = 1000.0;

pub(super) struct Honest {
    pub(super) id: WorkerId,
    pub(super) name: String,
    speed: f64,
    /// The work that it can do now.
    pub(super) budget: f64,
    pub(super) away_until: Option<Duration>,
    /// The subproblem that it counts, even if the coordinator takes the lease from it.
    pub(super) current: Option<(LeaseId, JobId, Span)>,
}

pub(crate) struct Outcome {
    pub(crate) is_over: bool,
    /// The number of false records when everything is recorded, before most recounts.
    pub(crate) n_lies: i32,
    /// The number of false records at the end.
    pub(crate) n_false: i32,
    pub(crate) is_noticed: bool,
    pub(crate) n_honest_blocked: usize,
    /// The time that the jobs took.
    pub(crate) duration: Duration,
    /// The number of spans that the coordinator counted.
    pub(crate) n_judged: usize,
}

/// How records are checked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Check {
    /// A share of them is recounted, in parts per million.
    Recounts(u32),
    /// All parts are counted again by the same method.
    SecondPass,
}

impl Display for Check {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Self::Recounts(ppm) => write!(f, "{} %", ppm / 10_000),
            Self::SecondPass => write!(f, "second pass"),
        }
    }
}

pub(crate) struct Siege {
    pub(super) scheme: Scheme,
    pub(super) has_restarted: bool,
    /// The friends that have claimed to be slow.
    pub(super) slow: BTreeSet<WorkerId>,
    pub(super) world: World,
    pub(super) random: Random,
    pub(super) honest: Vec<Honest>,
    pub(super) friends: Vec<Friend>,
    /// The subproblems that friends have recorded.
    recorded: BTreeSet<(JobId, u32, u64)>,
    /// The subproblems with a false count.
    pub(super) lies: BTreeSet<(JobId, u32, u64)>,
    /// The number of lies of each party.
    n_lies_of: BTreeMap<usize, usize>,
    /// The lie that each party repeats.
    backed: BTreeMap<usize, (JobId, u32, u64)>,
    n_numbers: u64,
    /// The jobs of which everything is recorded, with the number of false records at that time.
    pub(super) complete: BTreeMap<JobId, i32>,
    tick: Duration,
    /// Whether honest workers break off now and then.
    breaks: bool,
}

impl Siege {
    /// Submits jobs to honest workers of these speeds and to friends, a party each.
    pub(crate) fn new(seed: u64, check: Check, play: (u32, Scheme), honest: &[f64], plays: &[Play]) -> Self {
        let (n_jobs, scheme) = play;
        let mut random = Random::new(seed);
        let mut world = World::new(random.fork());
        let uptime = Duration::from_secs(scheme.uptime);
        world.now = uptime;
        _ = world.ledger.tick(uptime);
        scheme.halves.into_iter().for_each(|factor| world.submit_halves(factor));
        for _ in 0..n_jobs {
            match check {
                Check::Recounts(share) => world.submit(share),
                Check::SecondPass => world.submit_twice(0),
            };
        }
        let slowest = honest.iter().copied().fold(f64::MAX, f64::min);
        let mut siege = Self {
            scheme,
            has_restarted: false,
            slow: BTreeSet::new(),
            world,
            random,
            honest: Vec::new(),
            friends: Vec::new(),
            recorded: BTreeSet::new(),
            lies: BTreeSet::new(),
            n_lies_of: BTreeMap::new(),
            backed: BTreeMap::new(),
            n_numbers: 0,
            complete: BTreeMap::new(),
            tick: Duration::from_secs_f64((250.0 / slowest).clamp(0.1, 1.0)),
            breaks: false,
        };
        // The order of the numbers must favour nobody.
        let n = honest.len() + plays.len();
        let mut order: Vec<(bool, u64, usize)> = (0..n)
            .map(|who| {
                let comes_later = who < honest.len() && plays.iter().any(|play| play.is_first);
                (comes_later, siege.random.next(), who)
            })
            .collect();
        order.sort_unstable();
        let mean = honest.iter().sum::<f64>() / honest.len() as f64;
        for (_, _, who) in order {
            match honest.get(who) {
                Some(&speed) => siege.add_honest(format!("honest {who}"), speed),
                None => siege.add_friend(who - honest.len(), plays[who - honest.len()], mean),
            }
        }
        siege
    }

    pub(crate) fn with_breaks(self) -> Self {
        Self { breaks: true, ..self }
    }

    pub(super) fn new_id(&mut self) -> WorkerId {
        self.n_numbers += 1;
        WorkerId(self.n_numbers)
    }

    fn add_honest(&mut self, name: String, speed: f64) {
        let id = self.new_id();
        self.world.say_hello(id, &name, 1, to_speed(speed), Vec::new());
        self.world.settle();
        self.honest.push(Honest { id, name, speed, budget: 0.0, away_until: None, current: None });
    }

    /// Plays until all jobs are done, or for this long.
    pub(crate) fn play(mut self, most: Duration) -> Outcome {
        let mut next_report = Duration::ZERO;
        let began = self.world.now;
        while !self.is_over() && self.world.now < began + most {
            next_report = next_report.min(self.world.now + Duration::from_secs(1));
            self.world.now += self.tick;
            let reports = self.world.now >= next_report;
            if reports {
                next_report = self.world.now + Duration::from_secs(1);
            }
            let mut honest = std::mem::take(&mut self.honest);
            honest.iter_mut().for_each(|it| self.play_honest(it, reports));
            self.honest = honest;
            let mut friends = std::mem::take(&mut self.friends);
            friends.iter_mut().for_each(|it| self.play_friend(it, reports));
            self.friends = friends;
            _ = self.world.ledger.tick(self.world.now);
            self.world.settle();
            self.count_lies();
            self.restart_if_recorded();
        }
        let blocked = self.world.blocked();
        Outcome {
            is_over: self.is_over(),
            n_lies: self.complete.values().sum(),
            n_false: self.first_passes().map(|job| self.world.n_false_records(job)).sum(),
            is_noticed: !blocked.is_empty(),
            n_honest_blocked: blocked.iter().filter(|name| name.starts_with("honest")).count(),
            duration: self.world.now - began,
            n_judged: self.world.n_judged,
        }
    }

    fn is_over(&self) -> bool {
        self.world.jobs().iter().all(|&job| !self.world.ledger.is_open(job))
    }

    pub(super) fn first_passes(&self) -> impl Iterator<Item = JobId> {
        self.world.jobs().iter().copied().filter(|job| !self.world.is_second_pass(*job))
    }

    /// Counts the lies of each first pass once everything is recorded.
    fn count_lies(&mut self) {
        let jobs: Vec<JobId> = self.first_passes().collect();
        for job in jobs {
            if !self.complete.contains_key(&job) {
                let progress = self.world.job(job).progress;
                if progress.n_subproblems > 0 && progress.n_recorded == progress.n_subproblems {
                    self.complete.insert(job, self.world.n_false_records(job));
                }
            }
        }
    }

    fn play_honest(&mut self, honest: &mut Honest, reports: bool) {
        let now = self.world.now;
        if let Some(until) = honest.away_until {
            if now < until {
                return;
            }
            self.return_honest(honest);
        }
        // This is once in a thousand seconds.
        if self.breaks && self.random.below(1_000_000) as f64 / 1000.0 < self.tick.as_secs_f64() {
            self.world.ledger.disconnect(now, honest.id);
            self.world.settle();
            honest.away_until = Some(now + self.random.ms(500, 20_000));
            (honest.budget, honest.current) = (0.0, None);
            return;
        }
        honest.budget += honest.speed * self.tick.as_secs_f64();
        let mut has_reported = false;
        if let Some((lease, job, span)) = honest.current.filter(|current| !self.holds(honest.id, *current))
            && honest.budget >= COST
        {
            honest.budget -= COST;
            let count = self.world.true_count(job, span);
            self.tell(honest.id, lease, job, span, count, Duration::from_secs_f64(COST / honest.speed));
            honest.current = None;
            has_reported = true;
        }
        if honest.current.is_none_or(|current| self.holds(honest.id, current)) {
            has_reported |= self.count(honest);
            honest.current = self.current(honest.id);
        }
        if !has_reported && reports {
            self.report(honest.id, Vec::new(), Vec::new());
        }
    }

    /// Lets an honest worker connect again, with its leases or as a new process that knows nothing of them.
    fn return_honest(&mut self, honest: &mut Honest) {
        honest.away_until = None;
        let mut leases =
            self.world.members.remove(&honest.id).map(|member| member.leases).unwrap_or_default();
        if self.random.percent(50) {
            leases.clear();
            honest.id = self.new_id();
        }
        let held = leases.iter().filter_map(|(&lease, spans)| {
            let job = self.world.ledger.identity(spans.front()?.0)?;
            Some(Held { lease, job, spans: spans.iter().map(|(_, span)| *span).collect() })
        });
        let held = held.collect();
        self.world.say_hello(honest.id, &honest.name, 1, to_speed(honest.speed), held);
        if let Some(member) = self.world.members.get_mut(&honest.id) {
            member.leases = leases;
        }
        self.world.settle();
    }

    /// Returns the first subproblem of a worker's first lease.
    fn current(&self, id: WorkerId) -> Option<(LeaseId, JobId, Span)> {
        let leases = &self.world.members.get(&id)?.leases;
        let (lease, (job, span)) = leases.iter().find_map(|(id, spans)| Some((*id, *spans.front()?)))?;
        Some((lease, job, span.split_at(span.from() + 1).0?))
    }

    fn holds(&self, id: WorkerId, (lease, _, span): (LeaseId, JobId, Span)) -> bool {
        let spans = self.world.members.get(&id).and_then(|member| member.leases.get(&lease));
        spans.and_then(VecDeque::front).is_some_and(|(_, front)| front.from() == span.from())
    }

    /// Lets an honest worker count while its budget lasts. Returns whether it has reported.
    fn count(&mut self, honest: &mut Honest) -> bool {
        let id = honest.id;
        let mut has_reported = false;
        while let Some(member) = self.world.members.get(&id) {
            let is_empty = |(id, spans): (&LeaseId, &VecDeque<_>)| spans.is_empty().then_some(*id);
            let finished: Vec<LeaseId> = member.leases.iter().filter_map(is_empty).collect();
            let next = member.leases.iter().find_map(|(id, spans)| Some((*id, *spans.front()?)));
            let Some((lease, (job, span))) = next else {
                honest.budget = 0.0;
                if finished.is_empty() {
                    break;
                }
                self.report(id, Vec::new(), finished);
                has_reported = true;
                continue;
            };
            let Some((done, duration)) = start_of(span, &mut honest.budget, honest.speed) else { break };
            let count = self.world.true_count(job, done);
            self.tell(id, lease, job, done, count, duration);
            has_reported = true;
        }
        has_reported
    }

    /// Reports a span, and the end of its lease if nothing is left of it.
    pub(super) fn tell(
        &mut self,
        id: WorkerId,
        lease: LeaseId,
        job: JobId,
        span: Span,
        count: Count,
        duration: Duration,
    ) {
        let identity = self.world.ledger.identity(job).expect("submitted");
        let mut finished = Vec::new();
        if let Some(member) = self.world.members.get_mut(&id)
            && let Some(spans) = member.leases.get_mut(&lease)
        {
            let left = spans
                .iter()
                .flat_map(|&(job, it)| it.without(&[span]).into_iter().map(move |it| (job, it)))
                .collect();
            *spans = left;
            if spans.is_empty() {
                finished.push(lease);
            }
        }
        self.report(id, vec![Delta { job: identity, lease, span, count, duration }], finished);
    }

    pub(super) fn report(&mut self, id: WorkerId, deltas: Vec<Delta>, finished: Vec<LeaseId>) {
        let Some(member) = self.world.members.get_mut(&id) else { return };
        member.sequence += 1;
        finished.iter().for_each(|lease| _ = member.leases.remove(lease));
        let is_friend = member.name.starts_with("friend");
        let report = Report { sequence: member.sequence, deltas, finished };
        match self.world.ledger.report(self.world.now, id, &report) {
            Ok(outcomes) => {
                for (delta, outcome) in report.deltas.iter().zip(outcomes) {
                    if is_friend && outcome == SpanOutcome::Recorded {
                        let job = self.world.ledger.job_of(delta.job).expect("submitted");
                        let numbers = delta.span.from()..delta.span.to();
                        self.recorded.extend(numbers.map(|number| (job, delta.span.part(), number)));
                    }
                }
            }
            // The worker is blocked.
            Err(_) => _ = self.world.members.remove(&id),
        }
        self.world.settle();
        self.count_lies();
    }
}

/// Returns how much of a span's start a budget suffices for, and the time that it takes.
fn start_of(span: Span, budget: &mut f64, speed: f64) -> Option<(Span, Duration)> {
    let mut n = 0;
    while *budget >= COST && n < span.n_subproblems() {
        *budget -= COST;
        n += 1;
    }
    let done = if n > 0 { span.split_at(span.from() + n).0 } else { None };
    Some((done?, Duration::from_secs_f64(n as f64 * COST / speed)))
}

pub(super) fn to_speed(work_per_second: f64) -> Speed {
    Speed::try_from(work_per_second).expect("a speed")
}

/// A friend acts on a lease again at once, but not more often than this.
const MOST_ACTIONS: u32 = 50;

/// The leases that a pausing friend keeps.
const MOST_LEASES: usize = 5;

pub(super) struct Friend {
    pub(super) party: usize,
    pub(super) id: WorkerId,
    pub(super) play: Play,
    pub(super) is_connected: bool,
    /// The work that he can do now.
    pub(super) budget: f64,
    speed: f64,
    /// When each lease came.
    pub(super) came: BTreeMap<LeaseId, Duration>,
}

impl Siege {
    fn add_friend(&mut self, party: usize, play: Play, speed: f64) {
        for _ in 0..play.n_workers {
            let id = WorkerId(0);
            let came = BTreeMap::new();
            let mut friend = Friend { party, id, play, is_connected: false, budget: 0.0, speed, came };
            if play.presence != Presence::Late {
                self.connect_friend(&mut friend);
            }
            self.friends.push(friend);
        }
    }

    pub(super) fn connect_friend(&mut self, friend: &mut Friend) {
        friend.id = self.new_id();
        friend.is_connected = true;
        friend.came.clear();
        let name = format!("friend {}, {}", friend.party, friend.id.0);
        let claim = to_speed(friend.play.claim as f64);
        self.world.say_hello(friend.id, &name, friend.play.n_threads, claim, Vec::new());
        self.world.settle();
    }

    pub(super) fn disconnect_friend(&mut self, friend: &mut Friend) {
        friend.is_connected = false;
        self.world.members.remove(&friend.id);
        if self.random.percent(50) {
            self.world.ledger.goodbye(self.world.now, friend.id);
        } else {
            self.world.ledger.disconnect(self.world.now, friend.id);
        }
        self.world.settle();
    }

    /// Lets a friend act until nothing is left to do now.
    fn play_friend(&mut self, friend: &mut Friend, reports: bool) {
        if self.scheme.dodges && friend.party == 1 && self.dodge(friend) {
            return;
        }
        if !friend.is_connected {
            let comes = match friend.play.presence {
                Presence::Always => false,
                Presence::Late => !self.complete.is_empty(),
                Presence::Restless => self.random.percent(10),
            };
            if comes {
                self.connect_friend(friend);
            }
            return;
        }
        if friend.play.presence == Presence::Restless && reports && self.random.percent(3) {
            return self.disconnect_friend(friend);
        }
        friend.budget += friend.speed * self.tick.as_secs_f64();
        if reports {
            self.report(friend.id, Vec::new(), Vec::new());
        }
        for _ in 0..MOST_ACTIONS {
            let Some(member) = self.world.members.get(&friend.id) else { return };
            let fronts = member.leases.iter().map(|(lease, spans)| (*lease, spans.front().copied()));
            let fronts: Vec<_> = fronts.collect();
            let mut has_acted = false;
            for (lease, front) in fronts {
                has_acted |= match front {
                    Some((job, span)) => self.act(friend, lease, job, span),
                    None => {
                        self.report(friend.id, Vec::new(), vec![lease]);
                        true
                    }
                };
            }
            if !has_acted {
                break;
            }
        }
        friend.budget = friend.budget.min(2.0 * COST);
    }

    /// Carries out a friend's action on a lease. Returns whether he has reported something.
    fn act(&mut self, friend: &mut Friend, lease: LeaseId, job: JobId, span: Span) -> bool {
        let now = self.world.now;
        let is_new = !friend.came.contains_key(&lease);
        let came = *friend.came.entry(lease).or_insert(now);
        if let Some(duration) = self.scheme.slow {
            return self.claim_to_be_slow(friend, lease, job, span, duration);
        }
        let (action, lies) = self.choose(friend, is_new, job, span);
        let (told, duration) = match action {
            Action::Count => match start_of(span, &mut friend.budget, friend.speed) {
                Some(counted) => counted,
                None => return false,
            },
            Action::Fake(duration) => (span, duration),
            Action::Late(duration) if now >= came + duration => (span, duration),
            Action::Late(_) | Action::Hold => return false,
            Action::FirstSpan => (span, Duration::from_micros(1)),
            Action::GiveBack => {
                // This takes some ticks, so that the ledger does not grant him the lease forever in the same tick.
                if self.random.percent(20) {
                    self.report(friend.id, Vec::new(), vec![lease]);
                }
                return false;
            }
            Action::Fail => return self.fail(friend.id, lease, job, span),
        };
        let mut count = self.world.true_count(job, told);
        if lies {
            count.solutions += self.n_lies_in(job, told);
        }
        self.tell(friend.id, lease, job, told, count, duration);
        if action == Action::FirstSpan {
            self.report(friend.id, Vec::new(), vec![lease]);
        }
        true
    }

    /// Returns a friend's action on a span, and whether he tells the lies that concern it.
    fn choose(&mut self, friend: &Friend, is_new: bool, job: JobId, span: Span) -> (Action, bool) {
        let Friend { play, party, .. } = *friend;
        let key = (job, span.part(), span.from());
        let is_complete = self.complete.contains_key(&job);
        if !is_complete && let Some(until) = play.pauses_until {
            if self.world.now.as_secs() >= until {
                return (Action::Fake(Duration::from_millis(25)), true);
            }
            if friend.came.len() > MOST_LEASES {
                return (Action::GiveBack, true);
            }
        }
        if self.scheme.adopts && party == 1 && self.world.is_second_pass(job) {
            return (Action::Fake(Duration::from_millis(25)), true);
        }
        let mut numbers = span.from()..span.to();
        if numbers.all(|number| self.recorded.contains(&(job, span.part(), number))) {
            let repeat = Action::Fake(Duration::from_secs(1));
            return match play.backing {
                Backing::All => (repeat, true),
                Backing::One => {
                    let is_backed = self.backed.values().any(|backed| *backed == key);
                    let has_lies = self.n_lies_in(job, span) > 0;
                    (repeat, has_lies && (is_backed || *self.backed.entry(party).or_insert(key) == key))
                }
                Backing::Nothing => (play.again, false),
            };
        }
        if is_complete {
            return (play.again, false);
        }
        let reports = !matches!(play.first, Action::GiveBack | Action::Fail | Action::Hold);
        let suits = !self.scheme.dodges || self.is_avoided(job, span.part());
        let is_late = 4 * span.part() as usize >= 3 * self.world.plan.parts().len()
            && self.first_passes().last() == Some(job);
        let suits = suits && (is_late || !self.scheme.late_lies);
        let n_lies = self.n_lies_of.entry(party).or_default();
        if (is_new || self.scheme.dodges)
            && reports
            && !self.world.is_second_pass(job)
            && span.n_subproblems() <= play.longest_lie
            && suits
            && *n_lies < play.most_lies
            && self.random.percent(play.lie_percent)
        {
            *n_lies += 1;
            self.lies.insert(key);
        }
        (play.first, true)
    }

    fn n_lies_in(&self, job: JobId, span: Span) -> u64 {
        let (job, numbers) = self.world.in_first_pass_of(job, span);
        let all = (job, span.part(), numbers.start)..(job, span.part(), numbers.end);
        self.lies.range(all).map(|_| 1).sum()
    }

    /// Reports that a span can't be counted. Returns whether the ledger takes it.
    fn fail(&mut self, id: WorkerId, lease: LeaseId, job: JobId, span: Span) -> bool {
        let identity = self.world.ledger.identity(job).expect("submitted");
        let failure = Failure { job: identity, lease, span, reason: "no".to_owned() };
        let has_failed = self.world.ledger.fail(self.world.now, id, &failure).is_ok();
        if let Some(spans) = self.world.members.get_mut(&id).and_then(|member| member.leases.get_mut(&lease))
        {
            spans.pop_front();
        }
        self.world.settle();
        has_failed
    }
}
