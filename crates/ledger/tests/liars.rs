//! Plays random histories with workers that lie, alone or together, and with memory that flips bits.
//!
//! Some jobs recount everything, or count all parts twice. They end with the right total as long as no two parties tell
//! the same lie, under however many names. No honest worker is blocked. In jobs that recount a share, lies pass
//! unnoticed as often as the formula says. The coordinator crashes at any commit, before or after it is durable.
//! `QUEENS_SIMULATION_HISTORIES` is the number of histories; `QUEENS_SIMULATION_SEED` plays one alone.

#[path = "liars/nature.rs"]
mod nature;
#[allow(dead_code, reason = "the other simulation uses all of it")]
#[path = "simulation/random.rs"]
mod random;
#[path = "liars/siege.rs"]
mod siege;
#[allow(dead_code, reason = "the coordinator's test uses all of it")]
#[path = "liars/world.rs"]
mod world;

use std::io::Write as _;

use nature::Nature;
use queens_model::JobState;
use random::Random;
use world::World;

/// This many take half a minute without optimisation.
const HISTORIES: u64 = 500;

fn from_environment(name: &str) -> Option<u64> {
    let value = std::env::var(format!("QUEENS_SIMULATION_{name}")).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("QUEENS_SIMULATION_{name}={value} makes no sense")))
}

/// Prints a line. The test harness captures `println!` if the test passes.
fn say(line: &str) {
    _ = writeln!(std::io::stderr(), "{line}");
}

#[test]
fn no_liar_who_is_alone_changes_a_total_that_is_counted_again_or_twice() {
    let seeds = match from_environment("SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + from_environment("HISTORIES").unwrap_or(HISTORIES),
    };
    let n_histories = seeds.end - seeds.start;
    let (mut n_liars, mut n_blocked, mut n_crashes, mut n_verdicts, mut n_colluding) = (0, 0, 0, 0, 0);
    let mut n_names = 0;
    for seed in seeds {
        let played = std::panic::catch_unwind(|| play(seed));
        let Ok(world) = played else {
            panic!(
                "after {} histories, that of seed {seed} fails; to play it again: QUEENS_SIMULATION_SEED={seed} cargo test -p \
                 queens-ledger --test liars",
                seed - 1
            )
        };
        n_liars += world.liars().len();
        n_names += world.liars().len() + world.n_further_names;
        n_blocked += world.blocked().len();
        n_crashes += world.n_crashes;
        n_verdicts += world.n_verdicts();
        n_colluding += u64::from(world.has_colluders());
    }
    say(&format!(
        "simulated {n_histories} histories with {n_liars} liars by {n_names} names, {n_colluding} of them with two who tell \
         the same lies, and {n_crashes} crashes: {n_verdicts} verdicts, {n_blocked} blocked at the end"
    ));
}

/// Plays a history with liars and crashes to its end.
fn play(seed: u64) -> World {
    let mut random = Random::new(seed);
    let jobs = 1 + random.below(2);
    let mut world = World::new(random.fork());
    let collude = random.percent(10);
    // An honest party that comes at the end recounts everything as the arbiter, so colluders can't outvote it.
    let is_arbitrated = collude && random.percent(50);
    world.arbiter = is_arbitrated.then(|| "honest 10".to_owned());
    let mut n_names = 0;
    for _ in 0..jobs {
        if collude || random.percent(50) {
            world.submit(1_000_000);
        } else {
            let share = random.pick(&[0, 200_000]).expect("not empty");
            world.submit_twice(share);
        }
    }
    for liar in 0..random.between(1, 3) {
        let nature = Nature::random(&mut random, if collude { 0 } else { liar });
        world.recruit(&format!("liar {liar}"), nature);
        // Its other names tell the same lies.
        for name in 1..random.between(1, 4) {
            world.recruit(&format!("liar {liar}, name {name}"), nature);
            n_names += 1;
        }
    }
    if random.percent(30) {
        // They may have counted everything, in both passes.
        for _ in 0..random.between(0, 300) {
            world.step();
        }
    }
    for honest in 0..random.between(1, 3) {
        world.recruit(&format!("honest {honest}"), Nature::Honest);
    }
    world.crashes = true;
    for _ in 0..random.between(0, 600) {
        world.step();
    }
    world.crashes = false;
    for honest in 10..13 {
        world.recruit(&format!("honest {honest}"), Nature::Honest);
    }
    world.finish();
    world.check_sums();
    world.check_opinions();
    world.check_all_names_are_blocked();
    if !world.has_colluders() || is_arbitrated {
        world.check_truth();
        world.check_nobody_honest_is_blocked();
    }
    world.n_further_names = n_names;
    world
}

/// Compares, for each share of recounts, how often a liar is noticed with the expected frequency.
#[test]
fn lies_pass_unnoticed_as_often_as_the_formula_says() {
    for share in [10_000, 50_000, 200_000] {
        let p = f64::from(share) / 1e6;
        let (mut expected, mut variance, mut noticed, mut n_lies) = (0.0, 0.0, 0.0, 0);
        for seed in 0..300 {
            let mut random = Random::new(1_000_000 + seed);
            let mut world = World::new(random.fork());
            let job = world.submit(share);
            let liar = world.recruit("liar 0", Nature::solutions(seed, random.between(5_000, 200_000)));
            world.recruit("honest 0", Nature::Honest);
            while world.job(job).progress.n_recorded < world.job(job).progress.n_subproblems {
                world.step();
            }
            // The liar confirms nothing, so that the result depends only on the draw.
            world.dismiss(liar);
            let n_false = world.n_false_records(job);
            for honest in 1..4 {
                world.recruit(&format!("honest {honest}"), Nature::Honest);
            }
            world.finish();
            assert_eq!(world.job(job).state, JobState::Done);
            let probability = 1.0 - (1.0 - p).powi(n_false);
            expected += probability;
            variance += probability * (1.0 - probability);
            noticed += f64::from(u8::from(!world.blocked().is_empty()));
            n_lies += n_false;
            // One noticed lie exposes all records of a liar, so false records are left only of unnoticed liars.
            assert!(world.blocked().is_empty() || world.n_false_records(job) == 0);
        }
        say(&format!(
            "of 300 liars with {n_lies} false records in all, recounts of {} % noticed {noticed}; expected \
             {expected:.1}, give or take {:.1}",
            100.0 * p,
            variance.sqrt()
        ));
        assert!((noticed - expected).abs() < 4.5 * variance.sqrt() + 1.0, "{noticed} instead of {expected}");
    }
}

/// Of `m` invitations of the same speed, `k` collude: they tell the same lies, and confirm each other. All s records of
/// a lie pass unnoticed with probability (1 - p (m - k) / (m - 1))^s: any of the m - 1 others recounts a drawn record.
#[test]
fn lies_of_colluders_pass_unnoticed_as_often_as_the_formula_says() {
    say("| k of m | share | records of the lie, mean | computed | simulated |");
    say("|---|---|---|---|---|");
    for (k, m) in [(1, 4), (2, 4), (3, 4), (2, 10), (5, 10)] {
        for share in [50_000, 300_000, 1_000_000] {
            check_collusion(k, m, share);
        }
    }
}

fn check_collusion(k: u64, m: u64, share: u32) {
    const HISTORIES: u64 = 300;
    let p = f64::from(share) / 1e6;
    let by_honest = p * (m - k) as f64 / (m - 1) as f64;
    let (mut expected, mut variance, mut unnoticed, mut n_lies, mut n_histories) = (0.0, 0.0, 0.0, 0, 0.0);
    for seed in 0..HISTORIES {
        let mut random = Random::new(2_000_000 + seed);
        let mut world = World::new(random.fork());
        world.are_wise = true;
        let job = world.submit(share);
        // There are few lies, so that drawn ones are mostly in leases of their own.
        let lies = Nature::solutions(seed, random.between(5_000, 40_000));
        for number in 0..m {
            let (kind, nature) = if number < k { ("liar", lies) } else { ("honest", Nature::Honest) };
            // Half of them have two names, which must not matter.
            world.recruit(&format!("{kind} {number}"), nature);
            if number % 2 == 0 {
                world.recruit(&format!("{kind} {number}, again"), nature);
            } else {
                world.recruit_twin(&format!("{kind} {number}"));
            }
        }
        while world.job(job).progress.n_recorded < world.job(job).progress.n_subproblems {
            world.step();
        }
        if world.n_disputed(job) > 0 {
            // By accident, two have counted the end of a lease before anything was drawn.
            continue;
        }
        let n_false = world.n_false_records(job);
        world.finish_or_stay();
        n_histories += 1.0;
        let probability = (1.0 - by_honest).powi(n_false);
        expected += probability;
        variance += probability * (1.0 - probability);
        unnoticed += f64::from(u8::from(world.n_disputed(job) == 0));
        n_lies += n_false;
    }
    say(&format!(
        "| {k} of {m} | {:.0} % | {:.1} | {:.3} | {:.3} |",
        100.0 * p,
        f64::from(n_lies) / n_histories,
        expected / n_histories,
        unnoticed / n_histories
    ));
    assert!((unnoticed - expected).abs() < 4.5 * variance.sqrt() + 1.0, "{unnoticed} instead of {expected}");
}

use siege::{Backing, Deed, Play, Presence, Siege};
use std::time::Duration;

const WORKER: Play = Play {
    claim: 1000,
    n_threads: 1,
    n_workers: 1,
    first: Deed::Count,
    again: Deed::Count,
    backing: Backing::All,
    presence: Presence::Always,
    most_lies: 0,
    lie_percent: 100,
    longest_lie: 1000,
    is_first: false,
    only_first: false,
    turns: u64::MAX,
    pauses: u64::MAX,
};

fn speeds(random: &mut Random, n: u64, base: f64) -> Vec<f64> {
    (0..n).map(|_| base * random.factor(2.0)).collect()
}

struct Attack {
    name: &'static str,
    base: f64,
    n_jobs: u32,
    spread: f64,
    plays: fn(u64) -> Vec<Play>,
}

fn liar_and(k: u64, liar: Play, friend: Play) -> Vec<Play> {
    let mut plays = vec![friend; k as usize];
    plays[0] = liar;
    plays
}

const FAKE: Deed = Deed::Fake(Duration::from_micros(1));
const SLOW: Deed = Deed::Fake(Duration::from_secs(1));

fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            name: "plain",
            base: 1000.0,
            n_jobs: 1,
            spread: 1.0,
            plays: |k| liar_and(k, Play { most_lies: 1, lie_percent: 30, ..WORKER }, WORKER),
        },
        Attack {
            name: "known",
            base: 1000.0,
            n_jobs: 1,
            spread: 2.0,
            plays: |k| {
                liar_and(
                    k,
                    Play { most_lies: 1, lie_percent: 30, ..WORKER },
                    Play {
                        claim: 10_000_000_000_000,
                        first: Deed::GiveBack,
                        again: Deed::GiveBack,
                        ..WORKER
                    },
                )
            },
        },
        Attack {
            name: "unequal",
            base: 1000.0,
            n_jobs: 1,
            spread: 2.0,
            plays: |k| liar_and(k, Play { most_lies: 1, lie_percent: 30, ..WORKER }, WORKER),
        },
        Attack {
            name: "fake friends",
            base: 1000.0,
            n_jobs: 1,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play { most_lies: 1, lie_percent: 30, ..WORKER },
                    Play { claim: 10_000_000_000_000, first: SLOW, again: FAKE, ..WORKER },
                )
            },
        },
        Attack {
            name: "first job",
            base: 1000.0,
            n_jobs: 1,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play {
                        most_lies: 1,
                        lie_percent: 30,
                        claim: 10_000_000_000_000,
                        first: FAKE,
                        n_threads: 1000,
                        ..WORKER
                    },
                    Play { claim: 10_000_000_000_000, first: FAKE, again: FAKE, n_threads: 1000, ..WORKER },
                )
            },
        },
        Attack {
            name: "busy honest",
            base: 100.0,
            n_jobs: 2,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play { most_lies: 1, lie_percent: 30, ..WORKER },
                    Play { first: Deed::GiveBack, again: FAKE, ..WORKER },
                )
            },
        },
        Attack {
            name: "busy honest, plain",
            base: 100.0,
            n_jobs: 2,
            spread: 1.0,
            plays: |k| liar_and(k, Play { most_lies: 1, lie_percent: 30, ..WORKER }, WORKER),
        },
        Attack {
            name: "hoard late",
            base: 1000.0,
            n_jobs: 1,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play { most_lies: 1, lie_percent: 30, ..WORKER },
                    Play { n_threads: 16, first: Deed::Late(Duration::from_secs(30)), again: FAKE, ..WORKER },
                )
            },
        },
        Attack {
            name: "many lies, each backs one",
            base: 1000.0,
            n_jobs: 1,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play { most_lies: 12, lie_percent: 60, ..WORKER },
                    Play { backing: Backing::Once, ..WORKER },
                )
            },
        },
        Attack {
            name: "many lies, all back",
            base: 1000.0,
            n_jobs: 1,
            spread: 1.0,
            plays: |k| liar_and(k, Play { most_lies: 12, lie_percent: 60, ..WORKER }, WORKER),
        },
        Attack {
            name: "all lie once",
            base: 1000.0,
            n_jobs: 1,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play { most_lies: 1, lie_percent: 30, ..WORKER },
                    Play { most_lies: 1, lie_percent: 30, ..WORKER },
                )
            },
        },
        Attack {
            name: "friends first",
            base: 1000.0,
            n_jobs: 1,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play {
                        claim: 10_000_000_000_000,
                        first: Deed::Share,
                        most_lies: 1,
                        is_first: true,
                        ..WORKER
                    },
                    Play { claim: 10_000_000_000_000, first: FAKE, again: FAKE, is_first: true, ..WORKER },
                )
            },
        },
        Attack {
            name: "lies in short records",
            base: 100.0,
            n_jobs: 2,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play { most_lies: 1, lie_percent: 100, longest_lie: 1, ..WORKER },
                    Play { first: SLOW, again: FAKE, ..WORKER },
                )
            },
        },
        Attack {
            name: "late honest",
            base: 1000.0,
            n_jobs: 2,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play { most_lies: 1, lie_percent: 50, longest_lie: 3, ..WORKER },
                    Play { again: FAKE, only_first: true, ..WORKER },
                )
            },
        },
        Attack {
            name: "late all",
            base: 1000.0,
            n_jobs: 4,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play { most_lies: 1, lie_percent: 100, longest_lie: 1, only_first: true, ..WORKER },
                    Play { again: FAKE, only_first: true, ..WORKER },
                )
            },
        },
        Attack {
            name: "many fast lies",
            base: 1000.0,
            n_jobs: 1,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play { first: SLOW, most_lies: 30, lie_percent: 80, ..WORKER },
                    Play { backing: Backing::Once, ..WORKER },
                )
            },
        },
        Attack {
            name: "stuck honest",
            base: 40.0,
            n_jobs: 1,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play { claim: 100, most_lies: 1, lie_percent: 30, ..WORKER },
                    Play {
                        claim: 100,
                        first: Deed::Fake(Duration::from_millis(21)),
                        again: FAKE,
                        pauses: from_environment("PAUSES").unwrap_or(5),
                        turns: from_environment("TURN").unwrap_or(100),
                        ..WORKER
                    },
                )
            },
        },
        Attack {
            name: "team",
            base: 1000.0,
            n_jobs: 1,
            spread: 1.0,
            plays: |k| {
                liar_and(
                    k,
                    Play {
                        most_lies: from_environment("LIES").unwrap_or(6) as usize,
                        lie_percent: 60,
                        ..WORKER
                    },
                    Play { backing: Backing::Once, ..WORKER },
                )
            },
        },
    ]
}

#[test]
fn best_play() {
    let n = from_environment("HISTORIES").unwrap_or(30);
    let only = std::env::var("ATTACK").ok();
    say(
        "| attack | k of m | share | s | computed | passes | wrong | honest blocked | slowest s | not over | friends' records | judged |",
    );
    for attack in attacks() {
        if only.as_ref().is_some_and(|only| !attack.name.contains(only)) {
            continue;
        }
        for (k, m) in [(1, 4), (2, 4), (2, 6), (3, 6), (5, 10)]
            .into_iter()
            .filter(|(_, m)| from_environment("M").is_none_or(|it| it == *m))
        {
            for share in shares() {
                let by_honest = f64::from(share) / 1e6 * (m - k) as f64 / (m - 1) as f64;
                let (mut computed, mut passes, mut wrong, mut s, mut counted) = (0.0, 0.0, 0.0, 0, 0.0_f64);
                let mut stalls = Vec::new();
                let (mut blocked, mut slowest, mut open, mut records, mut judged) = (0, 0.0_f64, 0, 0, 0);
                let mut first = None;
                for seed in from_environment("SEED").map_or(0..n, |seed| seed..seed + 1) {
                    let mut random = Random::new(9_000_000 + seed);
                    let honest: Vec<f64> =
                        (0..m - k).map(|_| attack.base * random.factor(attack.spread)).collect();
                    let outcome = Siege::new(seed, share, attack.n_jobs, &honest, &(attack.plays)(k), false)
                        .play(30_000.0);
                    blocked += outcome.n_honest_blocked;
                    slowest = slowest.max(outcome.seconds);
                    open += u64::from(!outcome.is_over);
                    if !outcome.is_over {
                        stalls.push(seed);
                    }
                    records += outcome.n_friends_records;
                    judged += outcome.n_judgements;
                    if outcome.n_lies == 0 {
                        continue;
                    }
                    counted += 1.0;
                    s += outcome.n_lies;
                    computed += (1.0 - by_honest).powi(outcome.n_lies);
                    passes += f64::from(u8::from(outcome.n_false == outcome.n_lies));
                    wrong += f64::from(u8::from(outcome.n_false > 0));
                    if outcome.n_false > 0 && outcome.is_noticed {
                        first.get_or_insert(seed);
                    }
                }
                let c = counted.max(1.0);
                say(&format!(
                    "| {} | {k} of {m} | {} % | {:.1} | {:.3} | {:.3} | {:.3} | {blocked} | {slowest:.0} | {open} | {} | {judged} | {n} {counted} {first:?} {stalls:?}",
                    attack.name,
                    share / 10_000,
                    f64::from(s) / c,
                    computed / c,
                    passes / c,
                    wrong / c,
                    records / n as usize
                ));
            }
        }
    }
}

fn shares() -> Vec<u32> {
    match from_environment("SHARE") {
        Some(share) => vec![share as u32],
        None => vec![50_000, 300_000, 1_000_000],
    }
}

fn random_play(random: &mut Random) -> Play {
    let late = Duration::from_secs(random.between(1, 40));
    let deeds = [
        Deed::Count,
        Deed::Count,
        FAKE,
        SLOW,
        Deed::Fake(Duration::from_secs(100)),
        Deed::GiveBack,
        Deed::Fail,
        Deed::Hold,
        Deed::Late(late),
        Deed::Share,
    ];
    let again = [Deed::Count, FAKE, Deed::GiveBack, Deed::Fail, Deed::Hold, Deed::Late(late)];
    Play {
        claim: 10_u64.pow(random.below(14) as u32),
        n_threads: 1 << random.below(12),
        n_workers: random.between(1, 3),
        first: random.pick(&deeds).expect("not empty"),
        again: random.pick(&again).expect("not empty"),
        backing: random.pick(&[Backing::All, Backing::Once, Backing::Nothing]).expect("not empty"),
        presence: random
            .pick(&[Presence::Always, Presence::Always, Presence::Late, Presence::Restless])
            .expect("not empty"),
        most_lies: random.between(0, 5) as usize,
        lie_percent: 50,
        is_first: random.percent(20),
        ..WORKER
    }
}

#[test]
fn random_adversaries_end() {
    let (mut worst, mut n_noticed, mut n_wrong) = ((0.0_f64, 0), 0, 0);
    let n = from_environment("HISTORIES").unwrap_or(30);
    for seed in from_environment("SEED").map_or(0..n, |seed| seed..seed + 1) {
        let mut random = Random::new(7_000_000 + seed);
        let (k, m) = random.pick(&[(1_u64, 4_u64), (2, 4), (2, 6), (3, 6), (5, 10)]).expect("not empty");
        let share = random.pick(&[50_000, 300_000, 1_000_000]).expect("not empty");
        let base = random.pick(&[100.0, 1000.0]).expect("not empty");
        let honest: Vec<f64> = (0..m - k).map(|_| base * random.factor(2.0)).collect();
        let plays: Vec<Play> = (0..k).map(|_| random_play(&mut random)).collect();
        let alone = Siege::new(seed, share, 1, &honest, &[], true).play(30_000.0);
        let outcome = Siege::new(seed, share, 1, &honest, &plays, true).play(30_000.0);
        let ratio = outcome.seconds / alone.seconds;
        if !outcome.is_over || !alone.is_over || outcome.n_honest_blocked > 0 || ratio > 6.0 {
            say(&format!(
                "seed {seed}: {k} of {m}, {share}: over {} {}, blocked {}, {:.0} s and {:.0} s alone, {plays:?}",
                outcome.is_over, alone.is_over, outcome.n_honest_blocked, outcome.seconds, alone.seconds
            ));
        }
        if ratio > worst.0 {
            worst = (ratio, seed);
        }
        if share == 1_000_000 && outcome.is_noticed {
            n_noticed += 1;
            if outcome.n_false > 0 {
                n_wrong += 1;
                say(&format!("seed {seed}: {k} of {m} noticed and wrong"));
            }
        }
    }
    say(&format!(
        "{n} histories: worst ratio and seed {worst:?}; noticed at 100 %: {n_noticed}, wrong {n_wrong}"
    ));
}
