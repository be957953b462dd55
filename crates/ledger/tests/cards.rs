//! Cards and processors count one job in simulated time: hardly any of their time is idle, and they end together.
//!
//! `cargo bench -p queens-ledger --bench cards` prints more.

#[path = "cards/mod.rs"]
mod cards;

use self::cards::cluster::Cluster;
use self::cards::outcome::Outcome;
use self::cards::{CLUSTERS, core_seconds, plan};

const SEED: u64 = 1;

/// The most spans of a lease.
const MOST_SPANS: u64 = 4096;

/// Counts a board by a cluster. At most this share of the time may be idle, and the tail may take this long.
#[track_caller]
fn check(n: u8, cluster: usize, most_idle: f64, longest_tail: f64) {
    let (name, teams) = &CLUSTERS[cluster];
    let outcome: Outcome = Cluster::new(&plan(n), core_seconds(n), teams, SEED).run();
    let idle = outcome.cards.idle_share(outcome.seconds).max(outcome.processors.idle_share(outcome.seconds));
    assert!(idle <= most_idle, "n = {n}, {name}: {idle:.4} of the time is idle: {outcome:#?}");
    assert!(outcome.idle_share() <= idle, "n = {n}, {name}: {outcome:#?}");
    assert!(outcome.tail_seconds <= longest_tail, "n = {n}, {name}: a long tail: {outcome:#?}");
    assert!(outcome.most_spans_of_a_lease <= MOST_SPANS, "n = {n}, {name}: a long message: {outcome:#?}");
}

#[test]
fn a_card_and_a_processor_end_together() {
    check(22, 2, 0.01, 0.5);
}

/// The job takes a second or two, in which nobody knows how fast a card is.
#[test]
fn a_short_job_of_many_ends_within_seconds() {
    check(22, 0, 1.0, 3.0);
    check(22, 1, 1.0, 1.0);
}

#[test]
fn eight_cards_and_processors_end_together() {
    check(24, 1, 0.01, 0.5);
}

/// The job takes a minute, and its last leases a second or two.
#[test]
fn eight_cards_and_a_thousand_processors_end_together() {
    check(24, 0, 0.025, 2.5);
}
