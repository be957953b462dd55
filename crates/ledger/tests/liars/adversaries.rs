//! Plays of colluders that once had beaten the formula for detection, or are likely to, and random ones.

use std::time::Duration;

use super::play::{Action, Backing, FAKE, Play, SLOW_FAKE, Scheme};
use super::random::Random;
use super::siege::{Check, Siege};
use super::{from_environment, say};

/// Histories of each play, number of parties, and share of recounts.
const HISTORIES: u64 = 2;

const RANDOM_HISTORIES: u64 = 50;

/// From so many histories of a play on, all rows together may differ by two standard errors at most.
const MANY: u32 = 10_000;

/// The simulated time in which a history must end. It takes less than a minute to simulate.
pub(crate) const MOST: Duration = Duration::from_secs(200_000);

/// The longest delay by each colluder, beyond a multiple of the time that the honest workers need alone.
const MOST_DELAY: Duration = Duration::from_mins(25);

/// What a liar and his friends do, against honest workers of these speeds.
struct NamedPlay {
    name: &'static str,
    n_jobs: u32,
    /// The honest workers' speed in work units per second, and the factor by which it varies.
    speed: f64,
    spread: f64,
    liar: Play,
    friend: Play,
    scheme: Scheme,
}

const PLAIN: NamedPlay = NamedPlay {
    name: "plain",
    n_jobs: 1,
    speed: 1000.0,
    spread: 1.0,
    liar: Play::LIAR,
    friend: Play::WORKER,
    scheme: NOTHING_MORE,
};

pub(crate) const NOTHING_MORE: Scheme = Scheme {
    dodges: false,
    restart: None,
    adopts: false,
    slow: None,
    halves: None,
    late_lies: false,
    uptime: 0,
};

const PLAYS: &[NamedPlay] = &[
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
    NamedPlay {
        name: "all claim to be fast in the first job",
        liar: Play { claim: 10_000_000_000_000, first: FAKE, n_threads: 1000, ..Play::LIAR },
        friend: Play { claim: 10_000_000_000_000, first: FAKE, again: FAKE, n_threads: 1000, ..Play::WORKER },
        ..PLAIN
    },
    NamedPlay {
        name: "friends come back first after a restart",
        friend: Play { again: FAKE, ..Play::WORKER },
        scheme: Scheme { restart: Some(Duration::from_secs(8)), ..NOTHING_MORE },
        ..PLAIN
    },
    NamedPlay {
        name: "a friend takes over parts after a restart",
        speed: 100.0,
        scheme: Scheme { dodges: true, restart: Some(Duration::ZERO), adopts: true, ..NOTHING_MORE },
        ..PLAIN
    },
    NamedPlay {
        name: "a friend avoids the part with the lie",
        speed: 100.0,
        scheme: Scheme { dodges: true, ..NOTHING_MORE },
        ..PLAIN
    },
    NamedPlay {
        name: "honest workers are at a job by halves",
        liar: Play { first: SLOW_FAKE, again: FAKE, ..Play::LIAR },
        friend: Play { first: SLOW_FAKE, again: FAKE, ..Play::WORKER },
        scheme: Scheme { halves: Some(200), ..NOTHING_MORE },
        ..PLAIN
    },
    // Honest workers are stuck when all is counted, as their first subproblem takes long.
    NamedPlay {
        name: "friends count all while honest workers are silent",
        speed: 40.0,
        liar: Play { first: Action::Fake(Duration::from_millis(25)), lie_percent: 100, ..Play::LIAR },
        friend: Play { first: Action::Fake(Duration::from_millis(25)), again: FAKE, ..Play::WORKER },
        ..PLAIN
    },
    NamedPlay {
        name: "honest workers have long queues after a restart",
        speed: 10.0,
        liar: Play { lie_percent: 100, ..Play::LIAR },
        friend: Play { again: FAKE, ..Play::WORKER },
        scheme: Scheme { restart: Some(Duration::ZERO), late_lies: true, ..NOTHING_MORE },
        ..PLAIN
    },
    NamedPlay {
        name: "honest workers have queues of several jobs",
        n_jobs: 4,
        speed: 300.0,
        liar: Play { first: SLOW_FAKE, again: FAKE, lie_percent: 100, ..Play::LIAR },
        friend: Play { first: SLOW_FAKE, again: FAKE, ..Play::WORKER },
        scheme: Scheme { late_lies: true, ..NOTHING_MORE },
        ..PLAIN
    },
];

/// Sums over the histories of a play, to compare them with the formulas.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: u32,
    computed: f64,
    variance: f64,
    unnoticed: f64,
    noticed: f64,
    /// The noticed liars of whose lies some are left.
    stayed: f64,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.n += other.n;
        self.computed += other.computed;
        self.variance += other.variance;
        self.unnoticed += other.unnoticed;
        self.noticed += other.noticed;
        self.stayed += other.stayed;
    }

    fn check(&self, name: &str, n_errors: f64) {
        let Self { n, computed, unnoticed, .. } = self;
        let most = computed + n_errors * self.variance.sqrt() + 1.0;
        assert!(*unnoticed <= most, "{name}: of {n}, {unnoticed} pass unnoticed, not {computed:.1}");
    }
}

/// Returns the computed probability that a lie of `n_lies` records passes unnoticed. The liar's friends are drawn for
/// at most this share of the checks. After a restart, records that nobody has recounted are drawn for again.
pub(crate) fn passes(check: Check, of_friends: f64, n_restarts: i32, n_lies: i32) -> f64 {
    let share = match check {
        Check::Recounts(share) => f64::from(share) / 1e6,
        Check::SecondPass => 1.0,
    };
    (1.0 - share * (1.0 - of_friends).powi(1 + n_restarts)).powi(n_lies)
}

/// Returns the share of the checks of a liar's records that his `k - 1` friends are drawn for at most. Their weight is
/// the median of all, as they may invent any work; that of honest parties is their speed, within the limits of the
/// lottery.
fn share_of_friends(k: usize, honest: &[f64]) -> f64 {
    let mut sorted = honest.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.resize(k + honest.len(), f64::MAX);
    let median = sorted[(sorted.len() - 1) / 2];
    let weights = honest.iter().map(|speed| (speed / median).clamp(0.25, 1.0));
    let of_friends = (k - 1) as f64;
    of_friends / (of_friends + weights.sum::<f64>())
}

/// Returns the highest probability that some lies are left after the liar is noticed: two friends have to confirm a lie
/// of his, and each friend has one try.
fn stays(k: usize, m: usize) -> f64 {
    1.0 - (2..k).map(|i| (m - k) as f64 / (m - i) as f64).product::<f64>()
}

/// Plays the histories of a play with `k` colluders of `m` parties.
fn sums_of(play: &NamedPlay, k: usize, m: usize, check: Check) -> Sums {
    let mut sums = Sums::default();
    for seed in seeds(HISTORIES) {
        let mut random = Random::new(9_000_000 + seed);
        let honest: Vec<f64> = (k..m).map(|_| play.speed * random.factor(play.spread)).collect();
        let mut plays = vec![play.friend; k];
        plays[0] = play.liar;
        let outcome = Siege::new(seed, check, (play.n_jobs, play.scheme), &honest, &plays).play(MOST);
        let at = format!("{}, {k} of {m}, {check:?}, seed {seed}", play.name);
        assert!(outcome.is_over, "{at}: no end in sight");
        assert_eq!(outcome.n_honest_blocked, 0, "{at}: honest parties are blocked");
        let checks_all = !matches!(check, Check::Recounts(..1_000_000));
        if checks_all && k <= 2 && outcome.is_noticed {
            assert_eq!(outcome.n_false, 0, "{at}: the total is wrong though the lie is noticed");
        }
        if outcome.n_lies > 0 {
            let n_restarts = i32::from(play.scheme.restart.is_some());
            let computed = passes(check, share_of_friends(k, &honest), n_restarts, outcome.n_lies);
            let one_if = |it| f64::from(u8::from(it));
            sums.add(&Sums {
                n: 1,
                computed,
                variance: computed * (1.0 - computed),
                unnoticed: one_if(outcome.n_false == outcome.n_lies),
                noticed: one_if(outcome.is_noticed),
                stayed: one_if(outcome.is_noticed && outcome.n_false > 0),
            });
        }
    }
    sums
}

pub(crate) fn seeds(n: u64) -> std::ops::Range<u64> {
    match from_environment("SEED") {
        Some(seed) => seed..seed + 1,
        // Rules that are broken on purpose show in twice as many.
        None if from_environment("HISTORIES").is_some() => 0..from_environment("PLAYS").unwrap_or(2 * n),
        None => 0..from_environment("PLAYS").unwrap_or(n),
    }
}

/// Of each row of a play, the simulated frequency is at most 4.5 standard errors above the computed one.
#[test]
fn no_known_play_beats_the_formulas() {
    say(
        "| play | k of m | check | histories | computed | simulated | lies left of noticed liars, at most | simulated |",
    );
    say("|---|---|---|---|---|---|---|---|");
    let is_wanted = |number: u64| from_environment("PLAY").is_none_or(|wanted| wanted == number);
    for (_, play) in (0..).zip(PLAYS).filter(|(number, _)| is_wanted(*number)) {
        let mut all = Sums::default();
        for (k, m) in [(2, 4), (2, 6), (3, 6), (5, 10)] {
            let checks = [50_000, 300_000, 1_000_000].map(Check::Recounts);
            for check in checks.into_iter().chain([Check::SecondPass]) {
                let sums = sums_of(play, k, m, check);
                let (n, n_noticed) = (f64::from(sums.n.max(1)), sums.noticed.max(1.0));
                say(&format!(
                    "| {} | {k} of {m} | {check} | {} | {:.3} | {:.3} | {:.3} | {:.3} |",
                    play.name,
                    sums.n,
                    sums.computed / n,
                    sums.unnoticed / n,
                    stays(k, m),
                    sums.stayed / n_noticed,
                ));
                sums.check(play.name, 4.5);
                let most = stays(k, m);
                let most_left = most * n_noticed + 4.5 * (most * (1.0 - most) * n_noticed).sqrt();
                assert!(
                    sums.stayed <= most_left,
                    "{}: lies of {} noticed liars are left",
                    play.name,
                    sums.stayed
                );
                all.add(&sums);
            }
        }
        let n_errors = if all.n > MANY { 2.0 } else { 4.5 };
        all.check(play.name, n_errors);
    }
}

#[test]
fn jobs_end_against_any_adversaries() {
    for seed in seeds(RANDOM_HISTORIES) {
        let mut random = Random::new(7_000_000 + seed);
        let (k, m) = random.pick(&[(1, 4), (2, 4), (2, 6), (3, 6), (5, 10)]).expect("not empty");
        let shares = [50_000, 300_000, 1_000_000].map(Check::Recounts);
        let check = random.pick(&shares).expect("not empty");
        let speed = random.pick(&[100.0, 1000.0]).expect("not empty");
        let honest: Vec<f64> = (k..m).map(|_| speed * random.factor(2.0)).collect();
        let plays: Vec<Play> = (0..k).map(|_| Play::random(&mut random)).collect();
        let outcome = Siege::new(seed, check, (1, NOTHING_MORE), &honest, &plays).with_breaks().play(MOST);
        assert!(outcome.is_over, "seed {seed}: no end in sight against {plays:?}");
        assert_eq!(outcome.n_honest_blocked, 0, "seed {seed}: honest parties are blocked, against {plays:?}");
        let alone = Siege::new(seed, check, (1, NOTHING_MORE), &honest, &[]).play(MOST).duration;
        let most = 6 * alone + MOST_DELAY * u32::try_from(k).expect("few");
        assert!(outcome.duration <= most, "seed {seed}: {:?}, {alone:?} alone: {plays:?}", outcome.duration);
    }
}

/// A party that claims to be slow, by a report on a lease that has ended, delays a job hardly longer than one that is.
#[test]
fn nobody_is_waited_for_because_it_claims_to_be_slow() {
    let check = Check::Recounts(1_000_000);
    for seed in seeds(HISTORIES) {
        let play = Play { again: Action::Hold, ..Play::WORKER };
        let times = [Duration::from_secs(1), Duration::from_secs(1_000_000)].map(|slow| {
            let scheme = Scheme { slow: Some(slow), ..NOTHING_MORE };
            Siege::new(seed, check, (1, scheme), &[1000.0; 3], &[play]).play(MOST).duration
        });
        assert!(times[1] <= 2 * times[0], "seed {seed}: {times:?}");
    }
}

/// One dispute exposes a liar. The coordinator does not recount its other records itself.
#[test]
fn the_coordinator_does_not_count_again_all_that_a_liar_invents() {
    for seed in seeds(HISTORIES) {
        let liar = Play {
            most_lies: usize::MAX,
            lie_percent: 100,
            first: SLOW_FAKE,
            n_threads: 1000,
            ..Play::WORKER
        };
        let siege = Siege::new(seed, Check::Recounts(1_000_000), (1, NOTHING_MORE), &[1000.0; 3], &[liar]);
        let outcome = siege.play(MOST);
        assert!(
            outcome.is_over && outcome.n_false == 0 && outcome.n_judged <= 3,
            "seed {seed}: {}",
            outcome.n_judged
        );
    }
}
