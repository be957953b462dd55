//! Parties that have taken part in counting, and the lottery that draws one of them to confirm a record.
//!
//! Nobody may choose what he confirms. So the party that recounts a record is drawn at random before it is known who is
//! idle, with a weight that grows with its measured speed, up to the median. Claims of speed or threads play no part,
//! nor does how much of the work others have left to it.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::time::Duration;

use queens_model::Party;
use queens_solver::Method;
use siphasher::sip::SipHasher24;

use crate::by_method::ByMethod;

/// The most parties whose proofs are kept. Without invitations, each name is a party.
const MOST_PARTIES: usize = 100_000;

/// The largest weight.
const MOST_WEIGHT: u64 = 1 << 32;

/// How often a drawn party that may not count a record is replaced by another draw, before the exact sum is made.
const MOST_REDRAWS: u32 = 16;

/// A party that was there for less than this is waited for no longer than before. Otherwise visits that are too short
/// for a draw would keep records waiting for ever.
const VISIT: Duration = Duration::from_secs(60);

/// For each party: whether it has taken part in counting, and its lapses.
#[derive(Debug, Default)]
pub(crate) struct Proofs(BTreeMap<Party, Proof>);

#[derive(Clone, Copy, Debug, Default)]
struct Proof {
    /// Whether it has counted something in this run, or was there while all of a job was counted.
    has_taken_part: ByMethod<bool>,
    /// The leases of recounts that it gave back, failed on or was late with, less those that it answered.
    n_lapses: u32,
    /// When the last worker left for whose sake it could be drawn; another may have come since.
    left: ByMethod<Option<Duration>>,
    /// The same, without short visits.
    away: ByMethod<Option<Duration>>,
    /// The estimated work of all that it has counted.
    work: ByMethod<u128>,
}

impl Proofs {
    /// Notes that a party has counted something, or was there while all of a job was counted: others may have left
    /// nothing to it.
    pub(crate) fn note_part(&mut self, party: Party, method: Method) {
        if let Some(proof) = self.entry(party) {
            *proof.has_taken_part.of_mut(method) = true;
        }
    }

    /// Notes that a party has counted this much estimated work.
    pub(crate) fn note_work(&mut self, party: Party, method: Method, work: u128) {
        if let Some(proof) = self.entry(party) {
            let sum = proof.work.of_mut(method);
            *sum = sum.saturating_add(work);
        }
    }

    /// Returns the estimated work of all that a party has counted.
    pub(crate) fn work(&self, party: Party) -> ByMethod<u128> {
        self.0.get(&party).map(|proof| proof.work).unwrap_or_default()
    }

    /// Notes that a party gave a recount back, failed on it or was late.
    pub(crate) fn note_lapse(&mut self, party: Party) {
        if let Some(proof) = self.entry(party) {
            proof.n_lapses = proof.n_lapses.saturating_add(1);
        }
    }

    /// Notes that a party has recounted a record.
    pub(crate) fn note_answer(&mut self, party: Party) {
        if let Some(proof) = self.0.get_mut(&party) {
            proof.n_lapses = proof.n_lapses.saturating_sub(1);
        }
    }

    /// Notes that a party is drawn for something, so that it will be known when it left.
    pub(crate) fn note_drawn(&mut self, party: Party) {
        self.entry(party);
    }

    /// Notes that the last worker of a party leaves for whose sake it could be drawn. It came at `came`.
    pub(crate) fn note_left(&mut self, party: Party, method: Method, came: Duration, now: Duration) {
        if let Some(proof) = self.0.get_mut(&party) {
            *proof.left.of_mut(method) = Some(now);
            let away = proof.away.of_mut(method);
            *away = away.filter(|_| now < came + VISIT).or(Some(now));
        }
    }

    /// Forgets that a party has taken part, because it was contradicted.
    pub(crate) fn forget(&mut self, party: Party) {
        self.0.remove(&party);
    }

    /// Whether a party has counted something by a method, or was there while others did.
    pub(crate) fn has_taken_part(&self, party: Party, method: Method) -> bool {
        self.0.get(&party).is_some_and(|proof| *proof.has_taken_part.of(method))
    }

    /// Returns how many lapses of a party its answers have not made up for.
    pub(crate) fn n_lapses(&self, party: Party) -> u32 {
        self.0.get(&party).map_or(0, |proof| proof.n_lapses)
    }

    /// Returns when the last worker of a party left for whose sake it could be drawn; another may have come since.
    pub(crate) fn left(&self, party: Party, method: Method) -> Option<Duration> {
        *self.0.get(&party)?.left.of(method)
    }

    /// Returns the parties that have taken part by a method and have left, at `since` at the earliest. Some may be back.
    pub(crate) fn away(&self, method: Method, since: Duration) -> impl Iterator<Item = Party> {
        let is_away = move |proof: &Proof| {
            proof.away.of(method).is_some_and(|away| away >= since) && *proof.has_taken_part.of(method)
        };
        self.0.iter().filter(move |(_, proof)| is_away(proof)).map(|(party, _)| *party)
    }

    fn entry(&mut self, party: Party) -> Option<&mut Proof> {
        if self.0.len() >= MOST_PARTIES && !self.0.contains_key(&party) {
            return None;
        }
        Some(self.0.entry(party).or_default())
    }
}

/// A party that may be drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) party: Party,
    pub(crate) has_taken_part: bool,
    /// Its measured speed, if it was measured.
    pub(crate) speed: Option<u128>,
    pub(crate) n_lapses: u32,
}

/// Draws parties at random by their weights. Building it takes O(m log m) for m candidates, a draw O(log m).
///
/// A party's weight is its measured speed, but between a quarter of the median of all candidates and that median. Who
/// invents counts is as fast as he likes. As long as at most half of the parties collude, the lower median is at most
/// that of an honest party, so inventing counts wins little. A party that was not measured weighs as much as the
/// median. If that is most of them, as after a restart or where some have counted everything before others could begin,
/// all weigh the same.
///
/// Each lapse lowers the weight: after k lapses it is a (k + 1)-th.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lottery {
    /// The candidates with the sums of the weights up to theirs.
    tickets: Vec<(Party, u64)>,
    /// Candidates that have not taken part while most have. They are drawn only if none of the others may count a
    /// record.
    others: Vec<(Party, u64)>,
}

impl Lottery {
    /// Creates one with these candidates, while so many other parties that have taken part are away for a short time.
    pub(crate) fn new(candidates: &[Candidate], n_away: usize) -> Self {
        let mut speeds: Vec<u128> = candidates.iter().map(|it| it.speed.unwrap_or_default()).collect();
        speeds.sort_unstable();
        let middle = candidates.len().saturating_sub(1) / 2;
        let median = speeds.get(middle).copied().unwrap_or_default();
        let weight = |it: &Candidate| {
            let speed = it.speed.unwrap_or(median).clamp(median / 4, median);
            let share = (speed.saturating_mul(MOST_WEIGHT.into())).checked_div(median);
            let most = share.and_then(|share| u64::try_from(share).ok()).unwrap_or(MOST_WEIGHT).max(1);
            (most / (u64::from(it.n_lapses) + 1)).max(1)
        };
        let n_others = candidates.iter().filter(|it| !it.has_taken_part).count();
        let are_few = n_others <= (candidates.len() + n_away).saturating_sub(1) / 2;
        let (others, drawn): (Vec<&Candidate>, Vec<_>) =
            candidates.iter().partition(|it| !it.has_taken_part && are_few);
        Self {
            tickets: summed(drawn.into_iter().map(|it| (it.party, weight(it)))),
            others: summed(others.into_iter().map(|it| (it.party, 1))),
        }
    }

    /// Draws a party that has taken part; `None` if all of those are excluded.
    pub(crate) fn draw(&self, ticket: Ticket, is_excluded: impl Fn(Party) -> bool) -> Option<Party> {
        draw(&self.tickets, ticket, is_excluded)
    }

    /// Draws a party that has not taken part, each with the same probability; `None` if all of those are excluded.
    pub(crate) fn draw_another(&self, ticket: Ticket, is_excluded: impl Fn(Party) -> bool) -> Option<Party> {
        draw(&self.others, ticket, is_excluded)
    }
}

/// What a draw depends on, besides the weights: nobody can predict it without the seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    /// The secret seed of the job.
    pub(crate) seed: u128,
    /// The part and the first subproblem of what is drawn for.
    pub(crate) key: (u32, u64),
    /// How often a party was drawn for it before.
    pub(crate) n_draws: u32,
}

impl Ticket {
    fn hash(self, redraw: u32) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.seed.to_le_bytes());
        // Whether a record is recounted at all is decided by a hash of other bytes.
        hasher.write(b"who counts");
        hasher.write(&self.key.0.to_le_bytes());
        hasher.write(&self.key.1.to_le_bytes());
        hasher.write(&self.n_draws.to_le_bytes());
        hasher.write(&redraw.to_le_bytes());
        hasher.finish()
    }
}

fn summed(weights: impl Iterator<Item = (Party, u64)>) -> Vec<(Party, u64)> {
    let mut sum = 0;
    let summed = weights.filter(|(_, weight)| *weight > 0).map(|(party, weight)| {
        // Fewer than 2^17 candidates of at most 2^32.
        sum += weight;
        (party, sum)
    });
    summed.collect()
}

fn draw(tickets: &[(Party, u64)], ticket: Ticket, is_excluded: impl Fn(Party) -> bool) -> Option<Party> {
    let total = tickets.last()?.1;
    for redraw in 0..MOST_REDRAWS {
        let at = scaled(ticket.hash(redraw), total);
        let (party, _) = tickets[tickets.partition_point(|(_, sum)| *sum <= at)];
        if !is_excluded(party) {
            return Some(party);
        }
    }
    let mut before = 0;
    let left = tickets.iter().map(|&(party, sum)| (party, sum - std::mem::replace(&mut before, sum)));
    let left = summed(left.filter(|(party, _)| !is_excluded(*party)));
    let at = scaled(ticket.hash(MOST_REDRAWS), left.last()?.1);
    left.get(left.partition_point(|(_, sum)| *sum <= at)).map(|(party, _)| *party)
}

/// Returns a number below `total` for a random one of 64 bits.
fn scaled(random: u64, total: u64) -> u64 {
    u64::try_from((u128::from(random) * u128::from(total)) >> 64).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has taken part, but was not measured.
    const UNMEASURED: u128 = u128::MAX;

    fn party(number: usize) -> Party {
        Party::from_bytes((number as u128 + 1).to_be_bytes())
    }

    /// Draws for many records, with the speed and lapses of each party, and compares the shares of the parties. Without
    /// a speed it has not taken part.
    #[track_caller]
    fn check(parties: &[(u128, u32)], excluded: &[usize], expected: &[f64]) {
        let candidates: Vec<Candidate> = (0..)
            .zip(parties)
            .map(|(number, &(speed, n_lapses))| Candidate {
                party: party(number),
                has_taken_part: speed > 0,
                speed: Some(speed).filter(|speed| ![0, UNMEASURED].contains(speed)),
                n_lapses,
            })
            .collect();
        let lottery = Lottery::new(&candidates, 0);
        let mut n_drawn = vec![0_u32; parties.len()];
        let n_records = 20_000;
        for first in 0..n_records {
            let ticket = Ticket { seed: 7, key: (3, first), n_draws: 0 };
            let is_excluded = |party: Party| excluded.iter().any(|&number| self::party(number) == party);
            let drawn =
                lottery.draw(ticket, is_excluded).or_else(|| lottery.draw_another(ticket, is_excluded));
            if let Some(drawn) = drawn {
                n_drawn[(0..).find(|&number| party(number) == drawn).expect("a candidate")] += 1;
            }
        }
        for ((n_drawn, expected), party) in n_drawn.iter().zip(expected).zip(parties) {
            let share = f64::from(*n_drawn) / n_records as f64;
            assert!((share - expected).abs() < 0.02, "{share} instead of {expected} for {party:?}");
        }
    }

    #[test]
    fn parties_are_drawn_by_their_speed_up_to_the_median() {
        check(&[(5, 0), (5, 0), (5, 0), (5, 0)], &[0], &[0.0, 0.333, 0.333, 0.333]);
        // Invented speed wins nothing while at most half of the parties invent it.
        check(&[(5, 0), (5, 0), (1 << 90, 0), (1 << 90, 0)], &[2], &[0.333, 0.333, 0.0, 0.333]);
        // The slower of three honest ones is drawn less often.
        check(&[(1, 0), (4, 0), (4, 0)], &[1], &[0.2, 0.0, 0.8]);
        check(&[(1, 0), (400, 0), (400, 0)], &[1], &[0.2, 0.0, 0.8]);
        // A party that has not taken part is not drawn, unless most have not.
        check(&[(1, 0), (0, 0), (1 << 90, 0)], &[2], &[1.0, 0.0, 0.0]);
        check(&[(0, 0), (0, 0), (9, 0)], &[2], &[0.5, 0.5, 0.0]);
        // Friends have counted everything before others could begin; and only friends were measured since a restart.
        check(&[(0, 0), (0, 0), (9, 0), (9, 0)], &[2], &[0.333, 0.333, 0.0, 0.333]);
        check(&[(UNMEASURED, 0), (UNMEASURED, 0), (9, 0), (9, 0)], &[2], &[0.333, 0.333, 0.0, 0.333]);
        check(&[(UNMEASURED, 0), (4, 0), (4, 0), (9, 0)], &[3], &[0.333, 0.333, 0.333, 0.0]);
        check(&[(0, 0), (0, 0), (0, 0)], &[], &[0.333, 0.333, 0.333]);
        // Three lapses leave a quarter.
        check(&[(5, 0), (5, 3), (5, 0)], &[2], &[0.8, 0.2, 0.0]);
        check(&[(5, 0)], &[0], &[0.0]);
        check(&[], &[], &[]);
    }

    #[test]
    fn a_party_that_is_almost_all_there_is_can_be_excluded() {
        let mut parties = vec![(1_u128 << 60, 0); 3];
        parties.extend([(1, 0)]);
        check(&parties, &[0, 1, 2], &[0.0, 0.0, 0.0, 1.0]);
    }
}
