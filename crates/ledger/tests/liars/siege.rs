//! Friends who use every freedom of the wire against honest workers, in realistic time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use queens_ledger::SpanOutcome;
use queens_model::{Delta, Failure, Held, JobId, JobState, LeaseId, Report, Speed, WorkerId};
use queens_solver::{Count, Span};

use super::random::Random;
use super::world::World;

/// The work of a subproblem.
const COST: f64 = 1000.0;

/// What a friend does with leases that are no recounts of his friends' records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Deed {
    /// Counts truthfully, in the time of an honest worker.
    Count,
    /// Reports at once, and claims to have taken this long.
    Fake(Duration),
    /// Ends the lease without a count.
    GiveBack,
    /// Says that the span can't be counted.
    Fail,
    /// Says nothing.
    Hold,
    /// Says nothing for this long, and then reports.
    Late(Duration),
    /// Reports the first span of a lease at once, and gives the rest back.
    Share,
}

/// What a friend says about his friends' records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Backing {
    /// He tells their numbers.
    All,
    /// He tells their numbers about one lie; otherwise the truth.
    Once,
    /// He does what he does with other records.
    Nothing,
}

/// When a friend is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Presence {
    Always,
    /// From when everything is recorded.
    Late,
    /// He leaves and comes back at random, under other names and numbers, or breaks off.
    Restless,
}

/// How a friend plays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Play {
    pub(crate) claim: u64,
    pub(crate) n_threads: u32,
    pub(crate) n_workers: u64,
    pub(crate) first: Deed,
    pub(crate) again: Deed,
    pub(crate) backing: Backing,
    pub(crate) presence: Presence,
    /// At most so many records are lies, and how many of a hundred leases may be.
    pub(crate) most_lies: usize,
    pub(crate) lie_percent: u64,
    /// The longest span that he lies about.
    pub(crate) longest_lie: u64,
    /// Whether he comes before the honest.
    pub(crate) is_first: bool,
    /// Whether he gives back what is not of the first job.
    pub(crate) only_first: bool,
    /// The second from which on he answers at once.
    pub(crate) turns: u64,
    /// The number of leases after which he gives back until then.
    pub(crate) pauses: u64,
}

struct Friend {
    party: usize,
    number: u64,
    name: String,
    play: Play,
    is_there: bool,
    budget: f64,
    speed: f64,
    /// When each lease came.
    came: BTreeMap<LeaseId, Duration>,
    seen: BTreeSet<LeaseId>,
}

struct Honest {
    id: WorkerId,
    name: String,
    speed: f64,
    budget: f64,
    away_until: Option<Duration>,
    /// The subproblem that it counts, even if the lease is taken from it.
    hand: Option<(LeaseId, JobId, Span)>,
}

pub(crate) struct Outcome {
    pub(crate) seconds: f64,
    pub(crate) is_over: bool,
    /// The false records when all was recorded.
    pub(crate) n_lies: i32,
    pub(crate) n_false: i32,
    pub(crate) is_noticed: bool,
    pub(crate) n_honest_blocked: usize,
    pub(crate) n_judgements: u64,
    /// The chance of an honest party to be drawn, by the speeds.
    pub(crate) n_friends_records: usize,
}

pub(crate) struct Siege {
    pub(crate) world: World,
    random: Random,
    honest: Vec<Honest>,
    friends: Vec<Friend>,
    /// The subproblems that friends have recorded, and by which party.
    told: BTreeMap<(JobId, u32, u64), usize>,
    lies: BTreeSet<(JobId, u32, u64)>,
    n_lies_of: BTreeMap<usize, usize>,
    backed: BTreeMap<usize, (JobId, u32, u64)>,
    n_numbers: u64,
    n_lies: Option<i32>,
    complete: BTreeSet<JobId>,
    dt: Duration,
    crashes: bool,
}

impl Siege {
    pub(crate) fn new(
        seed: u64,
        share: u32,
        n_jobs: u32,
        honest: &[f64],
        plays: &[Play],
        crashes: bool,
    ) -> Self {
        let mut random = Random::new(seed);
        let giant = plays.iter().any(|play| play.only_first);
        let mut world = World::with_last_part(random.fork(), giant.then_some(6000));
        if giant {
            world.submit_with(
                share,
                None,
                Some(queens_model::PartRange::new(0, from_env("PARTS").unwrap_or(2) as u32).expect("two")),
            );
            world.submit(share);
        } else {
            for _ in 0..n_jobs {
                world.submit(share);
            }
        }
        let slowest = honest.iter().copied().fold(f64::MAX, f64::min);
        let dt =
            Duration::from_secs_f64((250.0 / slowest).clamp(0.1, 1.0) * from_env("DT").unwrap_or(1) as f64);
        let mut siege = Self {
            world,
            random,
            honest: Vec::new(),
            friends: Vec::new(),
            told: BTreeMap::new(),
            lies: BTreeSet::new(),
            n_lies_of: BTreeMap::new(),
            backed: BTreeMap::new(),
            n_numbers: 1000,
            n_lies: None,
            complete: BTreeSet::new(),
            dt,
            crashes,
        };
        // Nobody is first by his number.
        let n = honest.len() + plays.len();
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, usize::try_from(siege.random.below(i as u64 + 1)).expect("small"));
        }
        if plays.iter().any(|play| play.is_first) {
            order.sort_by_key(|&who| if who < honest.len() { n + who } else { who });
        }
        let mean = honest.iter().sum::<f64>() / honest.len().max(1) as f64;
        for who in order {
            if let Some(&speed) = honest.get(who) {
                siege.n_numbers += 1;
                let (id, name) = (WorkerId(siege.n_numbers), format!("honest {who}"));
                siege.world.say_hello(id, &name, 1, self::speed(speed), Vec::new());
                siege.world.settle();
                siege.honest.push(Honest { id, name, speed, budget: 0.0, away_until: None, hand: None });
                continue;
            }
            let party = who - honest.len();
            let play = plays[party];
            for _ in 0..play.n_workers {
                siege.n_numbers += 1;
                let number = siege.n_numbers;
                let name = format!("friend {party}, {number}");
                let mut friend = Friend {
                    party,
                    number,
                    name,
                    play,
                    is_there: false,
                    budget: 0.0,
                    speed: mean,
                    came: BTreeMap::new(),
                    seen: BTreeSet::new(),
                };
                if play.presence != Presence::Late {
                    siege.enter(&mut friend);
                }
                siege.friends.push(friend);
            }
        }
        siege
    }

    fn enter(&mut self, friend: &mut Friend) {
        friend.is_there = true;
        friend.came.clear();
        let claim = speed(friend.play.claim as f64);
        self.world.say_hello(WorkerId(friend.number), &friend.name, friend.play.n_threads, claim, Vec::new());
        self.world.settle();
    }

    fn describe(&self) -> String {
        format!("{:?} {:?}", self.world.ledger.jobs(), self.world.ledger.workers())
    }

    pub(crate) fn play(mut self, most_seconds: f64) -> Outcome {
        let mut beat = Duration::ZERO;
        while !self.is_over() && self.world.now.as_secs_f64() < most_seconds {
            self.world.now += self.dt;
            let beats = self.world.now >= beat;
            if beats {
                beat = self.world.now + Duration::from_secs(1);
            }
            let mut honest = std::mem::take(&mut self.honest);
            honest.iter_mut().for_each(|it| self.honest_turn(it, beats));
            self.honest = honest;
            let mut friends = std::mem::take(&mut self.friends);
            friends.iter_mut().for_each(|it| self.friends_turn(it, beats));
            self.friends = friends;
            _ = self.world.ledger.tick(self.world.now);
            self.world.settle();
            self.look();
        }
        if !self.is_over() && std::env::var("DESCRIBE").is_ok() {
            eprintln!("{}", self.describe());
        }
        let jobs = self.world.jobs().to_vec();
        let n_false = jobs
            .iter()
            .take(if self.friends.iter().any(|it| it.play.only_first) { 1 } else { 9 })
            .map(|&job| self.world.n_false_records(job))
            .sum();
        let blocked = self.world.blocked();
        Outcome {
            seconds: self.world.now.as_secs_f64(),
            is_over: self.is_over(),
            n_lies: self.n_lies.unwrap_or_default(),
            n_false,
            is_noticed: !blocked.is_empty(),
            n_honest_blocked: blocked.iter().filter(|name| name.starts_with("honest")).count(),
            n_judgements: self.world.n_judgements,
            n_friends_records: self.told.len(),
        }
    }

    fn is_over(&self) -> bool {
        let n = if self.friends.iter().any(|it| it.play.only_first) { 1 } else { 9 };
        self.world.jobs().iter().take(n).all(|&job| self.world.job(job).state == JobState::Done)
    }

    /// Counts the lies once everything is recorded.
    fn look(&mut self) {
        for &job in self.world.jobs() {
            if self.complete.contains(&job) {
                continue;
            }
            let progress = self.world.job(job).progress;
            if progress.n_subproblems > 0 && progress.n_recorded == progress.n_subproblems {
                self.complete.insert(job);
                if std::env::var("STATES").is_ok() {
                    let states: Vec<String> = self
                        .world
                        .ledger
                        .workers()
                        .iter()
                        .map(|it| format!("{} {:?} {:?}", it.name, it.state, it.speed.map(|it| it.search)))
                        .collect();
                    eprintln!("complete {job:?} at {:?}: {states:?}", self.world.now);
                }
                if job != self.world.jobs()[0] && self.friends.iter().any(|it| it.play.only_first) {
                    continue;
                }
                *self.n_lies.get_or_insert(0) += self.world.n_false_records(job);
            }
        }
    }

    fn honest_turn(&mut self, honest: &mut Honest, beats: bool) {
        let now = self.world.now;
        if let Some(until) = honest.away_until {
            if now < until {
                return;
            }
            honest.away_until = None;
            let held = self.world.members.get(&honest.id).map(|member| &member.leases);
            let held = held.into_iter().flatten().filter_map(|(&lease, spans)| {
                let job = self.world.ledger.identity(spans.front()?.0)?;
                Some(Held { lease, job, spans: spans.iter().map(|(_, span)| *span).collect() })
            });
            let mut held: Vec<Held> = held.collect();
            let kept = self.world.members.remove(&honest.id).map(|member| member.leases).unwrap_or_default();
            let mut leases = kept;
            if self.random.percent(50) {
                // It has lost its memory, and has another number.
                held.clear();
                leases.clear();
                self.n_numbers += 1;
                honest.id = WorkerId(self.n_numbers);
            }
            let speed = self::speed(honest.speed);
            self.world.say_hello(honest.id, &honest.name, 1, speed, held);
            if let Some(member) = self.world.members.get_mut(&honest.id) {
                member.leases = leases;
            }
            self.world.settle();
        }
        if self.crashes && self.random.below(20_000) < (self.dt.as_millis() / 50) as u64 {
            self.world.ledger.disconnect(now, honest.id);
            self.world.settle();
            honest.away_until = Some(now + self.random.ms(500, 20_000));
            (honest.budget, honest.hand) = (0.0, None);
            return;
        }
        honest.budget += honest.speed * self.dt.as_secs_f64();
        let mut has_spoken = false;
        if let Some((lease, job, span)) = honest.hand.filter(|hand| !self.holds(honest.id, *hand)) {
            if honest.budget >= COST {
                honest.budget -= COST;
                let count = self.world.true_count(job, span);
                self.tell(honest.id, lease, job, span, count, Duration::from_secs_f64(COST / honest.speed));
                honest.hand = None;
                has_spoken = true;
            }
        }
        if honest.hand.is_none_or(|hand| self.holds(honest.id, hand)) {
            has_spoken |= self.count(honest.id, &mut honest.budget, honest.speed);
            honest.hand = self.in_hand(honest.id);
        }
        if !has_spoken && beats {
            self.report(honest.id, Vec::new(), Vec::new());
        }
    }

    fn in_hand(&self, id: WorkerId) -> Option<(LeaseId, JobId, Span)> {
        let leases = self.world.members.get(&id).map(|member| &member.leases)?;
        let (lease, (job, span)) = leases.iter().find_map(|(id, spans)| Some((*id, *spans.front()?)))?;
        Some((lease, job, span.split_at(span.from() + 1).0?))
    }

    fn holds(&self, id: WorkerId, (lease, _, span): (LeaseId, JobId, Span)) -> bool {
        let leases = self.world.members.get(&id).map(|member| &member.leases);
        let spans = leases.and_then(|leases| leases.get(&lease));
        spans.is_some_and(|spans| spans.front().is_some_and(|(_, front)| front.from() == span.from()))
    }

    /// Lets a worker count truthfully while its budget lasts. Returns whether it has reported.
    fn count(&mut self, id: WorkerId, budget: &mut f64, speed: f64) -> bool {
        let mut has_spoken = false;
        for _ in 0..1000 {
            let Some(member) = self.world.members.get(&id) else { return has_spoken };
            let finished: Vec<LeaseId> =
                member.leases.iter().filter(|(_, spans)| spans.is_empty()).map(|(id, _)| *id).collect();
            let next = member.leases.iter().find_map(|(id, spans)| Some((*id, *spans.front()?)));
            let Some((lease, (job, span))) = next else {
                *budget = 0.0;
                if !finished.is_empty() {
                    self.report(id, Vec::new(), finished);
                    has_spoken = true;
                    continue;
                }
                return has_spoken;
            };
            let n = ((*budget / COST) as u64).min(span.n_subproblems());
            if n == 0 {
                return has_spoken;
            }
            *budget -= n as f64 * COST;
            let (Some(done), _) = span.split_at(span.from() + n) else { return has_spoken };
            let duration = Duration::from_secs_f64(n as f64 * COST / speed);
            let count = self.world.true_count(job, done);
            self.tell(id, lease, job, done, count, duration);
            has_spoken = true;
        }
        has_spoken
    }

    /// Reports a span, and the end of its lease if nothing is left of it.
    fn tell(
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
            let left: VecDeque<_> = spans
                .iter()
                .flat_map(|&(job, it)| it.without(&[span]).into_iter().map(move |it| (job, it)))
                .collect();
            *spans = left;
            if spans.is_empty() {
                member.leases.remove(&lease);
                finished.push(lease);
            }
        }
        self.report(id, vec![Delta { job: identity, lease, span, count, duration }], finished);
    }

    fn report(&mut self, id: WorkerId, deltas: Vec<Delta>, finished: Vec<LeaseId>) {
        let Some(member) = self.world.members.get_mut(&id) else { return };
        member.sequence += 1;
        finished.iter().for_each(|lease| _ = member.leases.remove(lease));
        let report = Report { sequence: member.sequence, deltas, finished };
        let party = party_of_friend(&member.name);
        match self.world.ledger.report(self.world.now, id, &report) {
            Ok(outcomes) => {
                for (delta, outcome) in report.deltas.iter().zip(outcomes) {
                    let Some(party) = party.filter(|_| outcome == SpanOutcome::Recorded) else { continue };
                    let job = self.world.ledger.job_of(delta.job).expect("submitted");
                    for number in delta.span.from()..delta.span.to() {
                        self.told.insert((job, delta.span.part(), number), party);
                    }
                }
            }
            Err(_) => _ = self.world.members.remove(&id),
        }
        self.world.settle();
        self.look();
    }

    /// Plays a friend until nothing more is to do now.
    fn friends_turn(&mut self, friend: &mut Friend, beats: bool) {
        let now = self.world.now;
        if !friend.is_there {
            let comes = match friend.play.presence {
                Presence::Always => false,
                Presence::Late => self.n_lies.is_some(),
                Presence::Restless => self.random.percent(10),
            };
            if comes {
                self.n_numbers += 1;
                friend.number = self.n_numbers;
                friend.name = format!("friend {}, {}", friend.party, friend.number);
                self.enter(friend);
            }
            return;
        }
        let id = WorkerId(friend.number);
        if friend.play.presence == Presence::Restless && beats && self.random.percent(3) {
            friend.is_there = false;
            self.world.members.remove(&id);
            if self.random.percent(50) {
                self.world.ledger.goodbye(now, id);
            } else {
                self.world.ledger.disconnect(now, id);
            }
            return self.world.settle();
        }
        friend.budget += friend.speed * self.dt.as_secs_f64();
        if beats {
            self.report(id, Vec::new(), Vec::new());
        }
        for _ in 0..50 {
            let Some(member) = self.world.members.get(&id) else { return };
            let fronts = member.leases.iter().map(|(lease, spans)| (*lease, spans.front().copied()));
            let fronts: Vec<_> = fronts.collect();
            let mut has_acted = false;
            for (lease, front) in fronts {
                has_acted |= match front {
                    Some((job, span)) => self.act(friend, lease, job, span),
                    None => {
                        self.report(id, Vec::new(), vec![lease]);
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

    /// Whether friends have recorded all of a span.
    fn is_friends(&self, job: JobId, span: Span) -> bool {
        (span.from()..span.to()).all(|number| self.told.contains_key(&(job, span.part(), number)))
    }

    fn lies_in(&self, job: JobId, span: Span) -> u64 {
        self.lies.range((job, span.part(), span.from())..(job, span.part(), span.to())).count() as u64
    }

    fn act(&mut self, friend: &mut Friend, lease: LeaseId, job: JobId, span: Span) -> bool {
        let (now, id, play, party) = (self.world.now, WorkerId(friend.number), friend.play, friend.party);
        let came = *friend.came.entry(lease).or_insert(now);
        let is_new = came == now && !friend.seen.contains(&lease);
        friend.seen.insert(lease);
        let key = (job, span.part(), span.from());
        let (mut deed, mut lies) = (play.first, true);
        if self.is_friends(job, span) {
            let has_lies = self.lies_in(job, span) > 0;
            (deed, lies) = match play.backing {
                Backing::All => (Deed::Fake(Duration::from_secs(1)), true),
                Backing::Once => {
                    let is_backed = self.backed.values().any(|backed| *backed == key);
                    let backs = has_lies && (is_backed || *self.backed.entry(party).or_insert(key) == key);
                    (Deed::Fake(Duration::from_secs(1)), backs)
                }
                Backing::Nothing => (play.again, false),
            };
        } else if self.complete.contains(&job) {
            (deed, lies) = (play.again, false);
        } else if is_new
            && matches!(deed, Deed::Count | Deed::Fake(_) | Deed::Late(_) | Deed::Share)
            && span.n_subproblems() <= play.longest_lie
        {
            let n_lies = self.n_lies_of.entry(party).or_default();
            if *n_lies < play.most_lies && self.random.percent(play.lie_percent) {
                *n_lies += 1;
                self.lies.insert(key);
            }
        }
        if !self.complete.contains(&job) && friend.seen.len() as u64 > play.pauses {
            deed = Deed::GiveBack;
        }
        if !self.complete.contains(&job) && now.as_secs() >= play.turns {
            deed = Deed::Fake(Duration::from_millis(25));
        }
        if play.only_first && job != self.world.jobs()[0] {
            deed = Deed::GiveBack;
        }
        let (told, duration) = match deed {
            Deed::Count => {
                let n = ((friend.budget / COST) as u64).min(span.n_subproblems());
                friend.budget -= n as f64 * COST;
                let part = (n > 0).then(|| span.split_at(span.from() + n).0).flatten();
                (part, Duration::from_secs_f64(n as f64 * COST / friend.speed))
            }
            Deed::Fake(duration) => (Some(span), duration),
            Deed::Late(duration) => (Some(span).filter(|_| now >= came + duration), duration),
            Deed::Share => {
                self.tell_lies(id, lease, job, span, Duration::from_micros(1));
                self.report(id, Vec::new(), vec![lease]);
                return true;
            }
            Deed::Hold => (None, Duration::ZERO),
            Deed::GiveBack => {
                if self.random.percent(20) {
                    self.report(id, Vec::new(), vec![lease]);
                }
                return false;
            }
            Deed::Fail => {
                let identity = self.world.ledger.identity(job).expect("submitted");
                let failure = Failure { job: identity, lease, span, reason: "no".to_owned() };
                let failed = self.world.ledger.fail(now, id, &failure);
                if let Some(member) = self.world.members.get_mut(&id) {
                    member.leases.entry(lease).or_default().pop_front();
                }
                self.world.settle();
                return failed.is_ok();
            }
        };
        let Some(told) = told else { return false };
        if lies {
            self.tell_lies(id, lease, job, told, duration);
        } else {
            let count = self.world.true_count(job, told);
            self.tell(id, lease, job, told, count, duration);
        }
        true
    }

    fn tell_lies(&mut self, id: WorkerId, lease: LeaseId, job: JobId, span: Span, duration: Duration) {
        let mut count = self.world.true_count(job, span);
        count.solutions += self.lies_in(job, span);
        self.tell(id, lease, job, span, count, duration);
    }
}

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn party_of_friend(name: &str) -> Option<usize> {
    name.strip_prefix("friend ")?.split(',').next()?.parse().ok()
}

fn speed(work_per_second: f64) -> Speed {
    Speed::try_from(work_per_second).expect("a speed")
}
