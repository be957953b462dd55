//! Histories told step by step, in which friends once confirmed a lie more often than the formula says, or stopped a
//! job.

use std::collections::VecDeque;
use std::time::Duration;

use queens_model::{Delta, Held, JobState, LeaseId, Report, Speed, WorkerId};

use super::adversaries::{MOST, NOTHING_MORE, passes, seeds};
use super::play::{Action, Play, Scheme};
use super::random::Random;
use super::say;
use super::siege::{Check, Siege};
use super::world::World;

/// Histories of each setting.
const HISTORIES: u64 = 40;

const ALL: Check = Check::Recounts(1_000_000);

/// Checks that a lie stays in at most this share of the histories, within 4.5 standard errors.
fn check(what: &str, (n_stayed, n): (u32, u32), computed: f64) {
    let (n_stayed, n) = (f64::from(n_stayed), f64::from(n));
    say(&format!("| {what} | {n} | {computed:.3} | {:.3} |", n_stayed / n.max(1.0)));
    let most = n * computed + 4.5 * (n * computed * (1.0 - computed)).sqrt() + 1.0;
    assert!(n_stayed <= most, "{what}: of {n}, {n_stayed} lies stay, not {:.1}", n * computed);
}

/// A small world for histories that are told step by step: friends and honest parties, each with one worker.
struct Story {
    world: World,
    n_ids: u64,
    /// The subproblem that the liar has lied about.
    lie: Option<(u32, u64)>,
}

impl Story {
    fn new(seed: u64) -> Self {
        let mut world = World::new(Random::new(seed));
        world.submit(1_000_000);
        Self { world, n_ids: 0, lie: None }
    }

    fn join(&mut self, name: &str, n_threads: u32) -> WorkerId {
        self.join_with(name, n_threads, 1000)
    }

    fn join_with(&mut self, name: &str, n_threads: u32, speed: u32) -> WorkerId {
        self.n_ids += 1;
        let id = WorkerId(self.n_ids);
        self.world.say_hello(id, name, n_threads, Speed::from(speed), Vec::new());
        self.world.settle();
        id
    }

    fn n_left(&self) -> u128 {
        let progress = self.world.job(self.world.jobs()[0]).progress;
        progress.n_subproblems - progress.n_recorded
    }

    fn n_held(&self, id: WorkerId) -> usize {
        self.world.members.get(&id).map_or(0, |member| member.leases.values().map(VecDeque::len).sum())
    }

    fn wait(&mut self, seconds: f64) {
        self.world.now += Duration::from_secs_f64(seconds);
        _ = self.world.ledger.tick(self.world.now);
        self.world.settle();
    }

    fn send(&mut self, id: WorkerId, deltas: Vec<Delta>, finished: Vec<LeaseId>) {
        let Some(member) = self.world.members.get_mut(&id) else { return };
        finished.iter().for_each(|lease| _ = member.leases.remove(lease));
        member.sequence += 1;
        let report = Report { sequence: member.sequence, deltas, finished };
        if self.world.ledger.report(self.world.now, id, &report).is_err() {
            self.world.members.remove(&id);
        }
        self.world.settle();
    }

    fn says_that_it_is_alive(&mut self, id: WorkerId) {
        self.send(id, Vec::new(), Vec::new());
    }

    fn give_back(&mut self, id: WorkerId) {
        let held = self.world.members.get(&id).map(|member| member.leases.keys().copied().collect());
        self.send(id, Vec::new(), held.unwrap_or_default());
    }

    /// Reports the first subproblem that a worker holds, which took this long.
    fn report_first(&mut self, id: WorkerId, duration: Duration) {
        let Some(member) = self.world.members.get_mut(&id) else { return };
        let Some((&lease, spans)) = member.leases.iter_mut().find(|(_, spans)| !spans.is_empty()) else {
            return;
        };
        let Some((job, span)) = spans.pop_front() else { return };
        let (Some(first), rest) = span.split_at(span.from() + 1) else { return };
        rest.into_iter().for_each(|rest| spans.push_front((job, rest)));
        let finished = if spans.is_empty() { vec![lease] } else { Vec::new() };
        let identity = self.world.ledger.identity(job).expect("submitted");
        let count = self.world.true_count(job, first);
        self.send(id, vec![Delta { job: identity, lease, span: first, count, duration }], finished);
    }

    /// Reports the first span that a worker holds, with the lie that concerns it if it is a friend. Returns whether
    /// there was any.
    fn report(&mut self, id: WorkerId, lies: bool) -> bool {
        let Some(member) = self.world.members.get_mut(&id) else { return false };
        let is_empty = |(_, spans): &(&LeaseId, &VecDeque<_>)| spans.is_empty();
        let empty: Vec<LeaseId> = member.leases.iter().filter(is_empty).map(|(lease, _)| *lease).collect();
        if !empty.is_empty() {
            self.send(id, Vec::new(), empty);
            return true;
        }
        let first = member.leases.iter_mut().find(|(_, spans)| !spans.is_empty());
        let Some((&lease, spans)) = first else {
            self.says_that_it_is_alive(id);
            return false;
        };
        let Some((job, span)) = spans.pop_front() else { return false };
        let finished = if spans.is_empty() { vec![lease] } else { Vec::new() };
        let mut count = self.world.true_count(job, span);
        let is_concerned =
            |(part, number): &(u32, u64)| *part == span.part() && (span.from()..span.to()).contains(number);
        count.solutions += u64::from(lies && self.lie.as_ref().is_some_and(is_concerned));
        let identity = self.world.ledger.identity(job).expect("submitted");
        let duration = Duration::from_millis(25);
        self.send(id, vec![Delta { job: identity, lease, span, count, duration }], finished);
        true
    }

    fn report_all(&mut self, id: WorkerId, lies: bool) {
        for _ in 0..10_000 {
            if !self.report(id, lies) {
                return;
            }
        }
    }

    fn is_done(&self) -> bool {
        self.world.job(self.world.jobs()[0]).state == JobState::Done
    }

    /// Lets everybody count until the job is done. Returns whether the lie has stayed.
    fn ends_with_lie(&mut self, friends: &[WorkerId], honest: &[WorkerId]) -> bool {
        for _ in 0..10_000 {
            if self.is_done() {
                break;
            }
            self.wait(0.2);
            friends.iter().for_each(|id| self.report_all(*id, true));
            // Each thread of these counts one.
            honest.iter().for_each(|id| _ = (0..32).take_while(|_| self.report(*id, false)).count());
        }
        assert!(self.is_done(), "no end in sight");
        let blocked = self.world.blocked();
        assert!(!blocked.iter().any(|name| name.starts_with("honest")), "{blocked:?}");
        self.world.n_false_records(self.world.jobs()[0]) > 0
    }
}

/// Friends have all records, or all but one. Honest parties were there when all was recorded. Then the coordinator
/// restarts, and honest workers need some seconds longer than friends to come back.
#[test]
fn parties_without_records_are_drawn_after_a_restart() {
    for (k, m, n_with_records, delay) in
        [(2, 4, 0, 5.0), (2, 4, 0, 0.0), (2, 4, 1, 5.0), (2, 6, 2, 0.0), (3, 6, 1, 0.0), (5, 10, 1, 0.0)]
    {
        let (mut n_stayed, mut n) = (0, 0);
        for seed in seeds(HISTORIES) {
            let mut story = Story::new(seed);
            let mut friends: Vec<WorkerId> = (0..k).map(|i| story.join(&format!("friend {i}"), 1)).collect();
            // The friends count all but what the last one holds, and what honest parties get.
            let mut honest: Vec<WorkerId> = Vec::new();
            let first_honest: Vec<WorkerId> =
                (0..n_with_records).map(|i| story.join(&format!("honest {i}"), 1)).collect();
            honest.extend(&first_honest);
            for _ in 0..10_000 {
                if story.n_left() <= story.n_held(friends[k - 1]) as u128 || story.n_left() <= 3 {
                    break;
                }
                first_honest.iter().for_each(|id| _ = story.report(*id, false));
                for id in &friends[..k - 1] {
                    if *id == friends[0] && story.lie.is_none() {
                        let member = &story.world.members[id];
                        let span = member.leases.values().flatten().next().map(|(_, span)| *span);
                        story.lie = span.map(|span| (span.part(), span.from()));
                    }
                    story.report(*id, true);
                }
                // The last friend reports some, too.
                if story.n_held(friends[k - 1]) > 1 {
                    story.report(friends[k - 1], true);
                }
            }
            for i in n_with_records..m - k {
                honest.push(story.join(&format!("honest {i}"), 1));
            }
            for _ in 0..100 {
                if story.n_left() == 0 {
                    break;
                }
                friends.iter().for_each(|id| story.report_all(*id, true));
                first_honest.iter().for_each(|id| _ = story.report(*id, false));
            }
            let job = story.world.jobs()[0];
            if story.n_left() > 0 || story.world.n_false_records(job) != 1 {
                continue;
            }
            // Friends recount what they are drawn for. Then the coordinator restarts.
            story.wait(0.1);
            friends.iter().for_each(|id| story.report_all(*id, true));
            story.world.now = Duration::ZERO;
            story.world.restart();
            friends = (0..k).map(|i| story.join(&format!("friend {i}"), 1)).collect();
            let mut waited = 0.0;
            honest.clear();
            if delay == 0.0 {
                honest = (0..m - k).map(|i| story.join(&format!("honest {i}"), 1)).collect();
            }
            while waited < delay {
                story.wait(0.1);
                waited += 0.1;
                friends.iter().for_each(|id| story.report_all(*id, true));
            }
            if delay > 0.0 {
                honest = (0..m - k).map(|i| story.join(&format!("honest {i}"), 1)).collect();
            }
            n += 1;
            n_stayed += u32::from(story.ends_with_lie(&friends, &honest));
        }
        let of_friends = (k - 1) as f64 / (m - 1) as f64;
        let what = format!("{k} of {m}, {n_with_records} with records, back after {delay} s");
        check(&what, (n_stayed, n), passes(ALL, of_friends, 1, 1));
    }
}

/// Two honest parties with 32 threads each recount. Their connections break once, and they are back at once, with their
/// leases.
#[test]
fn a_worker_that_comes_back_at_once_keeps_its_recounts() {
    for n_breaks in [0, 1] {
        let (mut n_stayed, mut n) = (0, 0);
        for seed in seeds(HISTORIES) {
            let mut story = Story::new(seed);
            let friends = ["friend 0", "friend 1"].map(|name| story.join(name, 1));
            let honest = ["honest 0", "honest 1"].map(|name| story.join(name, 32));
            for _ in 0..10_000 {
                if story.n_left() == 0 {
                    break;
                }
                if story.lie.is_none() {
                    let member = &story.world.members[&friends[0]];
                    let span = member.leases.values().flatten().next().map(|(_, span)| *span);
                    story.lie = span.map(|span| (span.part(), span.from()));
                }
                friends.iter().chain(&honest).for_each(|id| _ = story.report(*id, friends.contains(id)));
            }
            let job = story.world.jobs()[0];
            if story.n_left() > 0 || story.world.n_false_records(job) != 1 {
                continue;
            }
            story.wait(0.1);
            friends.iter().for_each(|id| story.report_all(*id, true));
            for _ in 0..n_breaks {
                for id in honest {
                    let member = &story.world.members[&id];
                    let held = member.leases.iter().filter_map(|(&lease, spans)| {
                        let job = story.world.ledger.identity(spans.front()?.0)?;
                        Some(Held { lease, job, spans: spans.iter().map(|(_, span)| *span).collect() })
                    });
                    let (held, leases) = (held.collect(), member.leases.clone());
                    let name = member.name.clone();
                    story.world.ledger.disconnect(story.world.now, id);
                    story.world.say_hello(id, &name, 32, Speed::from(1000), held);
                    story.world.members.get_mut(&id).expect("it is there").leases = leases;
                    story.world.settle();
                }
                story.wait(0.1);
            }
            n += 1;
            n_stayed += u32::from(story.ends_with_lie(&friends, &honest));
        }
        check(&format!("2 of 4, {n_breaks} short breaks"), (n_stayed, n), 1.0 / 3.0);
    }
}

/// A party that can also count by halves holds leases of a more urgent job by halves, and counts nothing. Others count
/// the records of a job by search that it was drawn for.
#[test]
fn a_party_that_might_count_something_more_urgent_stops_no_job() {
    let mut story = Story { world: World::new(Random::new(1)), n_ids: 0, lie: None };
    story.world.submit_halves(10);
    story.world.submit(1_000_000);
    // By their names, only honest parties can count by halves in this world.
    let idle = story.join("honest, but idle", 1);
    let others = ["friend 0", "friend 1"].map(|name| story.join(name, 1));
    for _ in 0..3600 {
        story.wait(1.0);
        others.iter().for_each(|id| _ = story.report(*id, false));
        let member = story.world.members.get_mut(&idle).expect("there");
        member.sequence += 1;
        let report = Report { sequence: member.sequence, deltas: Vec::new(), finished: Vec::new() };
        story.world.ledger.report(story.world.now, idle, &report).expect("in order");
        story.world.settle();
    }
    let job = *story.world.jobs().last().expect("submitted");
    assert_eq!(story.world.job(job).state, JobState::Done);
}

/// A friend answers each record shortly before it is late with it: he claims to be slow, and is. That is the same
/// however long the coordinator has been running.
#[test]
fn a_party_that_answers_slowly_delays_a_job_by_less_than_two_hours() {
    let friend = Play {
        claim: 1,
        first: Action::GiveBack,
        again: Action::Late(Duration::from_secs(2300)),
        ..Play::WORKER
    };
    for uptime in [0, 30 * 86_400] {
        let scheme = Scheme { uptime, ..NOTHING_MORE };
        let duration = Siege::new(1, ALL, (1, scheme), &[1000.0; 3], &[friend]).play(MOST).duration;
        assert!(duration < Duration::from_mins(120), "after {uptime} s: {duration:?}");
    }
}

/// A friend is measured alone, as very slow; another counts all without ever being measured. Then honest parties come.
/// The first friend must not determine how long a recount usually takes.
#[test]
fn two_friends_do_not_say_what_is_usual() {
    for seed in 0..2 {
        let mut story = Story::new(seed);
        let slow = story.join_with("friend 0", 1, 1);
        for _ in 0..200 {
            story.wait(5.0);
            story.says_that_it_is_alive(slow);
        }
        story.report_first(slow, Duration::from_secs(1000));
        let fast = story.join("friend 1", 32);
        let mut honest = Vec::new();
        while story.n_left() > 0 {
            story.wait(0.1);
            story.give_back(slow);
            if story.n_left() < 100 && honest.is_empty() {
                honest.extend(["honest 2", "honest 3", "honest 4"].map(|name| story.join(name, 1)));
            }
            // It took longer than it can have taken.
            (0..story.n_left().min(50)).for_each(|_| story.report_first(fast, Duration::from_hours(1)));
            honest.iter().for_each(|id| story.give_back(*id));
        }
        let began = story.world.now;
        while !story.is_done() && story.world.now < began + Duration::from_secs(20_000) {
            story.wait(0.5);
            honest.iter().for_each(|id| _ = story.report(*id, false));
            story.report_all(fast, false);
            story.says_that_it_is_alive(slow);
        }
        let took = story.world.now.saturating_sub(began);
        say(&format!("two friends, one measured alone: done after {took:?}"));
        assert!(took < Duration::from_mins(45), "seed {seed}: {took:?}");
    }
}

/// A slow friend says hello again each time before its recounts are overdue.
#[test]
fn hellos_bring_no_more_time() {
    for seed in 0..2 {
        let mut story = Story::new(seed);
        let friend = story.join_with("friend", 1, 1);
        let honest = ["honest 1", "honest 2", "honest 3"].map(|name| story.join(name, 1));
        while story.n_left() > 0 {
            story.wait(1.0);
            honest.iter().for_each(|id| _ = (0..10).take_while(|_| story.report(*id, false)).count());
            story.give_back(friend);
        }
        let began = story.world.now;
        let (mut heard, mut is_measured) = (began, false);
        while !story.is_done() && story.world.now < began + Duration::from_secs(20_000) {
            story.wait(1.0);
            honest.iter().for_each(|id| _ = story.report(*id, false));
            if !is_measured && story.world.now > began + Duration::from_secs(240) {
                story.report_first(friend, Duration::from_secs(240));
                is_measured = true;
            } else if story.world.now > heard + Duration::from_secs(1000) {
                heard = story.world.now;
                story.world.say_hello(friend, "friend", 1, Speed::from(1), Vec::new());
                story.world.settle();
            }
            story.says_that_it_is_alive(friend);
        }
        let took = story.world.now.saturating_sub(began);
        say(&format!("a friend who says hello again: done after {took:?}"));
        assert!(took < Duration::from_secs(4000), "seed {seed}: {took:?}");
    }
}
