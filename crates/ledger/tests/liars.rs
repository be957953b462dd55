//! Plays random histories with workers that lie, alone or together, and with memory that flips bits.
//!
//! Some jobs recount everything, or count all parts twice. They end with the right total as long as no two parties tell
//! the same lie, under however many names. No honest worker is blocked. In jobs that recount a share, lies pass
//! unnoticed as often as the formula says. The coordinator crashes at any commit, before or after it is durable.
//! `QUEENS_SIMULATION_HISTORIES` is the number of histories; `QUEENS_SIMULATION_SEED` plays one alone. Friends play as
//! often as `QUEENS_SIMULATION_PLAYS` says, in each setting of each play; `QUEENS_SIMULATION_PLAY` plays one of the
//! named ones.

#[path = "liars/adversaries.rs"]
mod adversaries;
#[path = "liars/nature.rs"]
mod nature;
#[path = "liars/play.rs"]
mod play;
#[allow(dead_code, reason = "the other simulation uses all of it")]
#[path = "simulation/random.rs"]
mod random;
#[path = "liars/schemes.rs"]
mod schemes;
#[path = "liars/siege.rs"]
mod siege;
#[allow(dead_code, reason = "the coordinator's test uses all of it")]
#[path = "liars/stories.rs"]
mod stories;
#[path = "liars/world.rs"]
mod world;

use std::io::Write as _;

use nature::Nature;
use queens_model::JobState;
use random::Random;
use world::World;

/// This many take seconds with little optimisation.
const HISTORIES: u64 = 200;

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
    let n_histories = from_environment("HISTORIES").unwrap_or(100).min(300);
    for share in [10_000, 50_000, 200_000] {
        let p = f64::from(share) / 1e6;
        let (mut expected, mut variance, mut noticed, mut n_lies) = (0.0, 0.0, 0.0, 0);
        for seed in 0..n_histories {
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
            "of {n_histories} liars with {n_lies} false records in all, recounts of {} % noticed {noticed}; expected \
             {expected:.1}, give or take {:.1}",
            100.0 * p,
            variance.sqrt()
        ));
        assert!((noticed - expected).abs() < 4.5 * variance.sqrt() + 1.0, "{noticed} instead of {expected}");
    }
}
