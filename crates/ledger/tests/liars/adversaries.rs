//! Plays of colluders that once had beaten the formula for detection, or are likely to, and random ones.

use std::time::Duration;

use super::play::{Action, Backing, FAKE, Play, SLOW_FAKE};
use super::random::Random;
use super::siege::Siege;
use super::{from_environment, say};

/// Histories of each play, number of parties, and share of recounts.
const HISTORIES: u64 = 16;

const RANDOM_HISTORIES: u64 = 100;

/// The simulated time in which a history must end. It takes less than a minute to simulate.
const MOST: Duration = Duration::from_secs(200_000);

/// What a liar and his friends do, against honest workers of these speeds.
struct NamedPlay {
    name: &'static str,
    n_jobs: u32,
    /// The honest workers' speed in work units per second, and the factor by which it varies.
    speed: f64,
    spread: f64,
    liar: Play,
    friend: Play,
}

const PLAIN: NamedPlay = NamedPlay {
    name: "plain",
    n_jobs: 1,
    speed: 1000.0,
    spread: 1.0,
    liar: Play::LIAR,
    friend: Play::WORKER,
};

/// Plays that do no better than the formula.
const MENDED: &[NamedPlay] = &[
    PLAIN,
    NamedPlay { name: "unequal speeds", spread: 2.0, ..PLAIN },
    NamedPlay {
        name: "friends claim to be slow after a fast start",
        friend: Play { claim: 10_000_000_000_000, first: SLOW_FAKE, again: FAKE, ..Play::WORKER },
        ..PLAIN
    },
    NamedPlay {
        name: "friends wait while honest workers are busy",
        n_jobs: 2,
        speed: 100.0,
        friend: Play { first: Action::GiveBack, again: FAKE, ..Play::WORKER },
        ..PLAIN
    },
    NamedPlay {
        name: "friends hold many leases",
        friend: Play {
            n_threads: 16,
            first: Action::Late(Duration::from_secs(30)),
            again: FAKE,
            ..Play::WORKER
        },
        ..PLAIN
    },
    NamedPlay {
        name: "lies in records of one subproblem",
        n_jobs: 2,
        speed: 100.0,
        liar: Play { lie_percent: 100, longest_lie: 1, ..Play::LIAR },
        friend: Play { first: SLOW_FAKE, again: FAKE, ..Play::WORKER },
        ..PLAIN
    },
    NamedPlay {
        name: "friends become fast while honest workers are busy",
        speed: 40.0,
        liar: Play { claim: 100, ..Play::LIAR },
        friend: Play {
            claim: 100,
            first: Action::Fake(Duration::from_millis(21)),
            again: FAKE,
            pauses_until: Some(200),
            ..Play::WORKER
        },
        ..PLAIN
    },
    NamedPlay {
        name: "two names each",
        liar: Play { n_workers: 2, ..Play::LIAR },
        friend: Play { n_workers: 2, ..Play::WORKER },
        ..PLAIN
    },
    // Two of three or more colluders can confirm a lie after the liar is noticed, so that some of the lies remain.
    NamedPlay {
        name: "many lies, each friend repeats one",
        liar: Play { most_lies: 12, lie_percent: 60, ..Play::LIAR },
        friend: Play { backing: Backing::One, ..Play::WORKER },
        ..PLAIN
    },
];

/// Plays that still beat the formula.
const UNMENDED: &[NamedPlay] = &[
    // Friends who record everything before the honest workers connect mostly confirm the lie too.
    NamedPlay {
        name: "friends come first",
        liar: Play {
            claim: 10_000_000_000_000,
            first: Action::FirstSpan,
            lie_percent: 100,
            is_first: true,
            ..Play::LIAR
        },
        friend: Play { claim: 10_000_000_000_000, first: FAKE, again: FAKE, is_first: true, ..Play::WORKER },
        ..PLAIN
    },
    // With two colluders of six and everything recounted, 40 % of 50 lies passed, not 20 %.
    NamedPlay {
        name: "all claim to be fast in the first job",
        liar: Play { claim: 10_000_000_000_000, first: FAKE, n_threads: 1000, ..Play::LIAR },
        friend: Play { claim: 10_000_000_000_000, first: FAKE, again: FAKE, n_threads: 1000, ..Play::WORKER },
        ..PLAIN
    },
];

/// Sums over histories, to compare them with the formula.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: u32,
    computed: f64,
    variance: f64,
    unnoticed: f64,
}

impl Sums {
    fn check(&self, name: &str) {
        let Self { n, computed, unnoticed, .. } = self;
        let most = computed + 4.5 * self.variance.sqrt() + 1.0;
        assert!(*unnoticed <= most, "{name}: of {n}, {unnoticed} pass unnoticed, not {computed:.1}");
    }
}

/// Plays the histories of a play with `k` colluders of `m` parties.
fn sums_of(play: &NamedPlay, k: usize, m: usize, share: u32) -> Sums {
    let p = f64::from(share) / 1e6 * (m - k) as f64 / (m - 1) as f64;
    let mut sums = Sums::default();
    for seed in seeds(HISTORIES) {
        let mut random = Random::new(9_000_000 + seed);
        let honest: Vec<f64> = (k..m).map(|_| play.speed * random.factor(play.spread)).collect();
        let mut plays = vec![play.friend; k];
        plays[0] = play.liar;
        let outcome = Siege::new(seed, share, play.n_jobs, &honest, &plays).play(MOST);
        let at = format!("{}, {k} of {m}, {share} ppm, seed {seed}", play.name);
        assert!(outcome.is_over, "{at}: no end in sight");
        assert_eq!(outcome.n_honest_blocked, 0, "{at}: honest parties are blocked");
        if share == 1_000_000 && k <= 2 && outcome.is_noticed {
            assert_eq!(outcome.n_false, 0, "{at}: the total is wrong though the lie is noticed");
        }
        if outcome.n_lies > 0 {
            let computed = (1.0 - p).powi(outcome.n_lies);
            sums.n += 1;
            sums.computed += computed;
            sums.variance += computed * (1.0 - computed);
            sums.unnoticed += f64::from(u8::from(outcome.n_false == outcome.n_lies));
        }
    }
    sums
}

fn seeds(n: u64) -> std::ops::Range<u64> {
    match from_environment("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..from_environment("HISTORIES").unwrap_or(n),
    }
}

#[test]
fn no_known_play_beats_the_formula() {
    say("| play | k of m | share | histories | computed | simulated |");
    say("|---|---|---|---|---|---|");
    for (number, play) in MENDED.iter().chain(UNMENDED).enumerate() {
        for (k, m) in [(2, 4), (2, 6), (5, 10)] {
            for share in [50_000, 300_000, 1_000_000] {
                let sums = sums_of(play, k, m, share);
                let n = f64::from(sums.n.max(1));
                say(&format!(
                    "| {} | {k} of {m} | {} % | {} | {:.3} | {:.3} |",
                    play.name,
                    share / 10_000,
                    sums.n,
                    sums.computed / n,
                    sums.unnoticed / n
                ));
                if number < MENDED.len() {
                    sums.check(play.name);
                }
            }
        }
    }
}

#[test]
fn jobs_end_against_any_adversaries() {
    for seed in seeds(RANDOM_HISTORIES) {
        let mut random = Random::new(7_000_000 + seed);
        let (k, m) = random.pick(&[(1, 4), (2, 4), (2, 6), (3, 6), (5, 10)]).expect("not empty");
        let share = random.pick(&[50_000, 300_000, 1_000_000]).expect("not empty");
        let speed = random.pick(&[100.0, 1000.0]).expect("not empty");
        let honest: Vec<f64> = (k..m).map(|_| speed * random.factor(2.0)).collect();
        let plays: Vec<Play> = (0..k).map(|_| Play::random(&mut random)).collect();
        let outcome = Siege::new(seed, share, 1, &honest, &plays).with_breaks().play(MOST);
        assert!(outcome.is_over, "seed {seed}: no end in sight against {plays:?}");
        assert_eq!(outcome.n_honest_blocked, 0, "seed {seed}: honest parties are blocked, against {plays:?}");
    }
}
