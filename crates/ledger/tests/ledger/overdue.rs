//! Tests that a worker that claims to be slow, or to have many threads, holds nobody up.

use std::collections::BTreeMap;
use std::time::Duration;

use queens_model::{
    Delta, HalvesSkill, Hello, JobState, MOST_THREADS, Share, Speed, Submission, WorkerId, WorkerState,
};
use queens_solver::{BoardSize, Method};

use crate::world::{World, count};

impl World {
    /// Connects a worker that claims this number of threads of this speed.
    fn connect_claiming(&mut self, id: u64, name: &str, n_threads: u32, speed: f64) -> WorkerId {
        let halves = HalvesSkill { decomposition: 0, speed: Speed::ZERO };
        self.connect_saying(id, name, |hello| Hello {
            n_threads,
            speed: Speed::try_from(speed).expect("a speed"),
            halves,
            ..hello
        })
    }

    fn n_held(&self, id: WorkerId) -> usize {
        self.workers[&id].leases.len()
    }
}

/// Plays a worker that only reports each second that it is alive, until another has done the job, or for an hour.
#[track_caller]
fn check_held_up(n_threads: u32, claimed: f64, honest_first: bool) {
    let mut world = World::new();
    let connect_honest = |world: &mut World| world.connect(1, "anna");
    let mut honest = honest_first.then(|| connect_honest(&mut world));
    let slow = world.connect_claiming(2, "slow", n_threads, claimed);
    let job = world.submit(14);
    let honest = *honest.get_or_insert_with(|| connect_honest(&mut world));
    let mut named_after = None;
    while world.job(job).state == JobState::Running && world.now < Duration::from_secs(3600) {
        if !world.step(honest) {
            world.pass(Duration::from_secs(1));
            world.report(honest, None);
        }
        world.report(slow, None);
        let waits_for = world.job(job).waits_for;
        if waits_for.is_some_and(|whom| whom.starts_with("'slow', which holds ")) {
            named_after.get_or_insert(world.now);
        }
    }
    world.check_done(job);
    let took = world.now.as_secs_f64();
    assert!(took < 120.0, "{n_threads} threads of {claimed}: done after {took} s");
    // Its leases are overdue by the time when nothing else is left, unless it is named before.
    assert!(n_threads > 1 || named_after.is_some(), "nobody is named");
    assert_eq!(world.worker_state(slow), WorkerState::Stuck);
}

#[test]
fn a_worker_that_says_that_it_is_slow_holds_up_nobody() {
    for (n_threads, claimed, honest_first) in
        [(1, 1.0, true), (64, 1.0, true), (64, 1.0, false), (MOST_THREADS, 1.0, false), (64, 1e13, false)]
    {
        check_held_up(n_threads, claimed, honest_first);
    }
}

/// Three workers of one party, beside five honest parties, hold what they get for nine seconds and leave. Before one
/// leaves, another comes that is next by its number.
#[test]
fn who_hands_leases_over_from_worker_to_worker_holds_up_nobody() {
    let (mut world, job) = World::with(10);
    let mut held_since: BTreeMap<WorkerId, Option<Duration>> =
        (1000..1003).map(|id| (world.connect(id, "mallory"), None)).collect();
    let honest = [1, 2, 3, 4, 5].map(|id| world.connect(id, &format!("honest {id}")));
    let mut next = 1003;
    while world.job(job).state == JobState::Running && world.now < Duration::from_secs(3600) {
        honest.iter().for_each(|id| {
            let delta = world.begin(*id);
            world.report(*id, delta);
        });
        world.pass(Duration::from_secs(1));
        for (id, since) in std::mem::take(&mut held_since) {
            let holds = world.workers[&id].leases.values().any(|(_, spans)| !spans.is_empty());
            let since = holds.then(|| since.unwrap_or(world.now));
            if since.is_some_and(|since| world.now - since >= Duration::from_secs(9)) {
                held_since.insert(world.connect(next, "mallory"), None);
                next += 1;
                world.workers.remove(&id);
                world.ledger.goodbye(world.now, id);
                world.carry_out();
            } else {
                world.report(id, None);
                held_since.insert(id, since);
            }
        }
    }
    world.check_done(job);
    let took = world.now.as_secs_f64();
    assert!(took < 120.0, "done after {took} s");
}

#[test]
fn a_duration_that_can_not_be_measures_nothing() {
    let mut world = World::new();
    let slow = world.connect_claiming(2, "slow", 64, 1e3);
    let job = world.submit(11);
    let n_lies = (0..32).filter(|_| {
        let delta =
            world.begin(slow).map(|delta| Delta { duration: Duration::from_secs(1_000_000), ..delta });
        delta.is_some_and(|delta| !world.report(slow, Some(delta)).is_empty())
    });
    assert_eq!(n_lies.count(), 32, "it shows that it counts, and says that it takes long");
    let told = world.ledger.workers().into_iter().find(|worker| worker.id == slow).expect("connected").speed;
    assert_eq!(told, None, "it is measured by what can't be");
    let honest = world.connect(1, "anna");
    while world.job(job).state == JobState::Running && world.now < Duration::from_secs(3600) {
        if !world.step(honest) {
            world.pass(Duration::from_secs(1));
            world.report(honest, None);
        }
        world.report(slow, None);
    }
    world.check_done(job);
    let took = world.now.as_secs_f64();
    assert!(took < 120.0, "done after {took} s");
}

#[test]
fn threads_that_have_shown_nothing_get_few_leases() {
    let (mut world, job) = World::with(14);
    let n_parts = world.job(job).progress.n_subproblems;
    assert!(n_parts > 640, "{n_parts}");
    let claims = world.connect_claiming(2, "many", MOST_THREADS, 1e3);
    assert_eq!(world.n_held(claims), 64);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.n_held(claims), 64, "time alone shows nothing");
    world.workers.remove(&claims);
    world.ledger.goodbye(world.now, claims);
    world.carry_out();

    // Each lease with a report proves one thread, and four threads get leases for each proven one.
    let honest = world.connect_claiming(3, "honest", 200, 1e3);
    let mut most = 0;
    for n_proven in 1..=40 {
        let delta = world.begin(honest).expect("has leases");
        world.report_counted(honest, delta);
        let n_held = world.n_held(honest);
        assert!(n_held <= 64.max(8 * n_proven), "{n_held} after {n_proven}");
        most = most.max(n_held);
    }
    assert!(most > 128, "{most}");
}

/// Before a silent session is noticed, the next one is there, under another number.
#[test]
fn one_invitation_whose_sessions_report_nothing_does_not_keep_recounts_from_others() {
    // With each of these parties, some records would go to it before all others.
    (9..25).for_each(check_silent);
}

#[track_caller]
fn check_silent(party: u8) {
    let mut world = World::new();
    let counted = world.connect_of(1, 1, "anna");
    let job = world.submit_verified(7, 100);
    while world.step(counted) {}
    world.ledger.disconnect(world.now, counted);
    world.workers.remove(&counted);
    let mut silent: Vec<WorkerId> =
        (10..13).map(|number| world.connect_of(party, number, "mallory")).collect();
    let honest = world.connect_of(party + 100, 2, "carl");
    let mut n_rounds = 0;
    while world.job(job).state != JobState::Done {
        n_rounds += 1;
        assert!(n_rounds < 100, "{:?}", world.job(job));
        while world.step(honest) {}
        let gone = silent.remove(0);
        world.ledger.disconnect(world.now, gone);
        world.workers.remove(&gone);
        silent.push(world.connect_of(party, 12 + n_rounds, "mallory"));
        for _ in 0..5 {
            world.pass(Duration::from_secs(1));
            world.report(honest, None);
            silent.iter().for_each(|&worker| _ = world.report(worker, None));
        }
    }
    world.check_done(job);
}

/// Returns how long a job takes that one honest worker would do alone. Sessions of one invitation take leases and
/// report nothing. When they get no more, they come again under other numbers.
#[track_caller]
fn seconds_beside(n_silent: u64) -> f64 {
    let mut world = World::new();
    let honest = world.connect_of(1, 1, "anna");
    let connect = |world: &mut World, number: u64| {
        let id = 100 + number;
        world.connect_of(2, id, "mallory")
    };
    let mut silent: Vec<WorkerId> = (0..n_silent).map(|number| connect(&mut world, number)).collect();
    let (job, mut n_sessions) = (world.submit(14), n_silent);
    while world.job(job).state == JobState::Running && world.now < Duration::from_secs(3600) {
        if !world.step(honest) {
            world.pass(Duration::from_secs(1));
            world.report(honest, None);
        }
        for place in &mut silent {
            world.report(*place, None);
            if world.worker_state(*place) == WorkerState::Stuck {
                world.ledger.goodbye(world.now, *place);
                world.workers.remove(place);
                *place = connect(&mut world, n_sessions);
                n_sessions += 1;
            }
        }
    }
    world.check_done(job);
    world.now.as_secs_f64()
}

#[test]
fn one_invitation_whose_sessions_report_nothing_does_not_slow_a_count_down() {
    let alone = seconds_beside(0);
    for n_silent in [1, 4, 16] {
        let took = seconds_beside(n_silent);
        // The leases that they took in the beginning are taken back once.
        assert!(took < 1.2 * alone + 30.0, "{took} s beside {n_silent}, {alone} s alone");
    }
}

/// Lets each of these workers count one subproblem, for which it takes this long. All others report that they are
/// alive.
fn count_slowly(world: &mut World, slow: &[WorkerId], seconds: u64) {
    let begun: Vec<(WorkerId, Option<Delta>)> = slow.iter().map(|&id| (id, world.begin(id))).collect();
    for _ in 0..seconds {
        world.pass(Duration::from_secs(1));
        let all: Vec<WorkerId> = world.workers.keys().copied().collect();
        all.into_iter().for_each(|id| _ = world.report(id, None));
    }
    for (id, delta) in begun {
        let duration = Duration::from_secs(seconds);
        world.report(id, delta.map(|delta| Delta { duration, ..delta }));
    }
}

/// Lets a worker count a span of a lease, and report it as one record. Returns `false` if it has no leases.
fn count_as_one(world: &mut World, id: WorkerId) -> bool {
    let worker = world.workers.get_mut(&id).expect("connected");
    let next =
        worker.leases.values_mut().find_map(|(lease, spans)| Some((lease.clone(), spans.pop_front()?)));
    let delta = next.map(|(lease, span)| {
        let duration = Duration::from_millis(50 * span.n_subproblems());
        Delta { job: lease.job, lease: lease.id, span, count: count(&lease, span), duration }
    });
    let has_leases = delta.is_some();
    world.pass(delta.as_ref().map_or(Duration::from_secs(1), |delta| delta.duration));
    world.report(id, delta);
    has_leases
}

/// Lets a graphics card count a job, and then others, 400 times slower, recount its records.
#[track_caller]
fn check_recounted_slowly(n_slow: u64, most_rounds: u128) {
    let mut world = World::new();
    let card = world.connect_able(1, "card");
    let recount = Some(Share::of_ppm(50_000).expect("a share"));
    let n = BoardSize::new(12).expect("a board size");
    let job =
        world.submit_on(&Submission { recount, ..Submission::new(n, Method::Halves) }).expect("it is taken");
    while count_as_one(&mut world, card) {}
    let longest = world.store.records(job).map(|record| record.span.n_subproblems()).max();
    assert!(longest > Some(4), "{longest:?}");
    let slow: Vec<WorkerId> = (0..n_slow).map(|k| world.connect_able(2 + k, &format!("slow{k}"))).collect();
    let mut n_rounds = 0;
    while world.job(job).state != JobState::Done {
        n_rounds += 1;
        assert!(n_rounds <= most_rounds, "{n_slow} workers: {:?}", world.job(job));
        count_slowly(&mut world, &slow, 20);
    }
    world.check_done(job);
}

#[test]
fn recounts_of_a_cards_records_stay_with_the_only_processor() {
    check_recounted_slowly(1, 20);
}

#[test]
fn recounts_of_a_cards_records_are_not_taken_from_processors_for_ever() {
    // Each time, they may take twice as long.
    check_recounted_slowly(2, 50);
}
