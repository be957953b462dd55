//! Indexes of the workers that can count by one method: those with capacity, and those with waiting leases.
//!
//! The indexes follow every change of a worker, so that each query takes time logarithmic in the number of workers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queens_model::{Party, WorkerId};
use queens_solver::Method;

use crate::clock::later;
use crate::workers::speed::MeasuredSpeed;
use crate::workers::worker::Worker;

/// While no speed is known, a thread is expected to count this many work units a second.
pub(crate) const UNKNOWN_SPEED: f64 = 1e7;

/// A worker whose speed was never measured is believed to take this long for its work, if it claims to be so slow. By
/// then it was measured, unless it hangs.
const LONGEST_CLAIMED_SECONDS: f64 = 60.0;

/// A worker may be this many times slower than is usual before it is late, or take this long.
const SLOWER_THAN_USUAL: f64 = 4.0;
const LONGEST_MEASURED_SECONDS: f64 = 300.0;

/// The indexes of the workers that can count by one method, each updated when it changes.
#[derive(Debug)]
pub(crate) struct Readiness {
    method: Method,
    /// Workers that are able to count, and those of them that may get leases.
    pub(crate) able: BTreeSet<WorkerId>,
    pub(crate) useful: BTreeSet<WorkerId>,
    /// Useful workers that may hold more leases, by party. Doubted workers are in a map of their own and are served last.
    has_capacity: BTreeMap<Party, BTreeSet<WorkerId>>,
    doubted: BTreeMap<Party, BTreeSet<WorkerId>>,
    /// Useful workers, and those of them that may hold more leases, by party.
    useful_parties: BTreeMap<Party, BTreeSet<WorkerId>>,
    recounters: BTreeMap<Party, BTreeSet<WorkerId>>,
    /// Workers whose parties may be drawn, by party: useful ones, and stuck ones.
    candidates: BTreeMap<Party, BTreeSet<WorkerId>>,
    /// The measured speed of all threads of each party's candidates, and their number, if there are any.
    party_speeds: BTreeMap<Party, (u128, u64)>,
    /// The median of the speeds of a thread of each party, as it was last computed.
    pub(crate) usual_speed: Option<f64>,
    /// Useful workers with idle threads, the fastest first.
    idle: BTreeSet<(Reverse<u64>, WorkerId)>,
    /// Workers with waiting leases of the method that may be cut, by the expected end of the last one.
    queue_ends: BTreeSet<(Duration, WorkerId)>,
    /// The current index keys of each worker, which change with time and speed.
    keys: BTreeMap<WorkerId, Keys>,
    pub(crate) power: Power,
}

/// The combined speed of all connected workers that can count by one method.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Power {
    n_threads: u64,
    /// Estimated work units per second.
    speed: u128,
}

#[derive(Clone, Copy, Debug, Default)]
struct Keys {
    idle: Option<u64>,
    queue_end: Option<Duration>,
    power: Power,
    /// The measured speed of all threads, and their number, if the worker is a candidate and was measured.
    measured: (u128, u64),
    memberships: Memberships,
}

/// The sets that a worker is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Memberships {
    able: bool,
    useful: bool,
    has_capacity: bool,
    doubted: bool,
    candidate: bool,
}

impl Power {
    /// Returns how long all workers together take for some work; `None` without workers.
    pub(crate) fn seconds(self, work: u128) -> Option<f64> {
        (self.speed > 0).then(|| work as f64 / self.speed as f64)
    }

    /// Whether there are no workers.
    pub(crate) fn is_none(self) -> bool {
        self.n_threads == 0
    }

    pub(crate) fn n_threads(self) -> f64 {
        self.n_threads as f64
    }
}

impl Readiness {
    /// Creates indexes without workers.
    pub(crate) fn new(method: Method) -> Self {
        Self {
            method,
            able: BTreeSet::new(),
            useful: BTreeSet::new(),
            has_capacity: BTreeMap::new(),
            doubted: BTreeMap::new(),
            useful_parties: BTreeMap::new(),
            recounters: BTreeMap::new(),
            candidates: BTreeMap::new(),
            party_speeds: BTreeMap::new(),
            usual_speed: None,
            idle: BTreeSet::new(),
            queue_ends: BTreeSet::new(),
            keys: BTreeMap::new(),
            power: Power::default(),
        }
    }

    /// Returns useful workers that may hold more leases, the doubted ones or all others, by party, without empty parties.
    pub(crate) fn has_capacity(&self, is_doubted: bool) -> &BTreeMap<Party, BTreeSet<WorkerId>> {
        if is_doubted { &self.doubted } else { &self.has_capacity }
    }

    /// Returns useful workers by party, without empty parties.
    pub(crate) fn useful_parties(&self) -> &BTreeMap<Party, BTreeSet<WorkerId>> {
        &self.useful_parties
    }

    /// Returns workers whose parties may be drawn, by party, without empty parties.
    pub(crate) fn candidates(&self) -> &BTreeMap<Party, BTreeSet<WorkerId>> {
        &self.candidates
    }

    /// Returns workers with capacity by party, without empty parties.
    pub(crate) fn recounters(&self) -> &BTreeMap<Party, BTreeSet<WorkerId>> {
        &self.recounters
    }

    /// Returns the measured speed of all threads of a party's candidates; `None` if none was measured.
    pub(crate) fn measured_speed(&self, party: Party) -> Option<u128> {
        self.party_speeds.get(&party).map(|(speed, _)| *speed)
    }

    /// Returns the speed to expect of a thread that was not measured.
    pub(crate) fn expected_speed(&self) -> f64 {
        self.usual_speed.unwrap_or(UNKNOWN_SPEED)
    }

    /// Returns how long threads of these speeds are expected to take for some work before they are late: by their own
    /// speed, as measured, but at most some minutes, or a multiple of the usual time if half of the parties were measured.
    /// Before, claims are believed, as others may have invented what they counted; but only for a minute.
    pub(crate) fn seconds_of_due(
        &self,
        threads: impl IntoIterator<Item = (MeasuredSpeed, u32)>,
        work: f64,
    ) -> Option<f64> {
        let (mut speed, mut n_threads, mut is_measured) = (0.0, 0, false);
        for (of_thread, n) in threads {
            let claimed = || of_thread.work_per_second.min(self.expected_speed());
            speed += f64::from(n) * of_thread.measured().unwrap_or_else(claimed);
            n_threads += n;
            is_measured |= of_thread.measured().is_some();
        }
        let usual = self.usual_speed.filter(|_| 2 * self.party_speeds.len() >= self.candidates.len());
        let usual = usual.map_or(0.0, |usual| SLOWER_THAN_USUAL * work / (usual * f64::from(n_threads)));
        let most = if is_measured { usual.max(LONGEST_MEASURED_SECONDS) } else { LONGEST_CLAIMED_SECONDS };
        (n_threads > 0).then(|| (work / speed).min(most))
    }

    /// Computes the usual speed. Takes O(m log m) for m parties.
    pub(crate) fn update_usual_speed(&mut self) {
        let mut speeds: Vec<f64> =
            self.party_speeds.values().map(|&(speed, n_threads)| speed as f64 / n_threads as f64).collect();
        speeds.sort_by(f64::total_cmp);
        self.usual_speed = speeds.get(speeds.len().saturating_sub(1) / 2).copied();
    }

    /// Returns the fastest worker with an idle thread.
    pub(crate) fn first_idle(&self) -> Option<WorkerId> {
        self.idle.first().map(|&(_, worker)| worker)
    }

    /// Returns the worker whose waiting leases are expected to end last.
    pub(crate) fn last_queue_end(&self) -> Option<(Duration, WorkerId)> {
        self.queue_ends.last().copied()
    }

    /// Returns the worker whose waiting leases are, or were, expected to end first.
    pub(crate) fn first_queue_end(&self) -> Option<(Duration, WorkerId)> {
        self.queue_ends.first().copied()
    }

    /// Updates the indexes for a changed worker.
    pub(crate) fn update(&mut self, now: Duration, id: WorkerId, worker: &Worker) {
        let Some(speed) = worker.whole_speed(self.method).map(whole) else {
            return self.remove(id, worker.party());
        };
        let power = match worker.is_connected() {
            true => Power { n_threads: worker.n_threads().into(), speed: speed.into() },
            false => Power::default(),
        };
        let queue_end = worker
            .held
            .largest_tail(self.method)
            .map(|_| later(now, worker.seconds_before_waiting(now) + worker.waiting_seconds()));
        let is_of_use = worker.is_of_use();
        let has_capacity = is_of_use && !worker.is_full() && !worker.is_resting(now);
        let is_doubted = worker.is_doubted();
        // Tails go to the fastest first. A doubted worker may claim any speed, so it comes last.
        let idle = (has_capacity && !worker.is_busy()).then_some(if is_doubted { 0 } else { speed });
        let memberships = Memberships {
            able: worker.could_count(),
            useful: is_of_use,
            has_capacity: has_capacity && !is_doubted,
            doubted: has_capacity && is_doubted,
            candidate: worker.is_candidate(),
        };
        let n_threads = u64::from(worker.n_threads());
        let measured = worker.estimated(self.method).and_then(MeasuredSpeed::measured);
        let measured = measured.filter(|_| worker.is_candidate());
        let measured = measured.map(|speed| (u128::from(whole(speed)) * u128::from(n_threads), n_threads));
        let measured = measured.unwrap_or_default();
        self.move_to(id, worker.party(), Keys { idle, queue_end, power, measured, memberships });
    }

    /// Removes a worker of this party.
    pub(crate) fn remove(&mut self, id: WorkerId, party: Party) {
        self.move_to(id, party, Keys::default());
        self.keys.remove(&id);
    }

    /// Ignores a worker's waiting leases until something about it changes.
    pub(crate) fn forget_queue_end(&mut self, id: WorkerId) {
        if let Some(keys) = self.keys.get_mut(&id) {
            keys.queue_end.take().map(|end| self.queue_ends.remove(&(end, id)));
        }
    }

    fn enter(&mut self, id: WorkerId, party: Party, sets: Memberships) {
        let has_capacity = sets.has_capacity || sets.doubted;
        set_member(&mut self.useful_parties, id, party, sets.useful);
        set_member(&mut self.recounters, id, party, has_capacity);
        set_member(&mut self.candidates, id, party, sets.candidate);
        set_member(&mut self.has_capacity, id, party, sets.has_capacity);
        set_member(&mut self.doubted, id, party, sets.doubted);
        for (set, is_member) in [(&mut self.able, sets.able), (&mut self.useful, sets.useful)] {
            if is_member {
                set.insert(id)
            } else {
                set.remove(&id)
            };
        }
    }

    fn move_to(&mut self, id: WorkerId, party: Party, keys: Keys) {
        let before = self.keys.insert(id, keys).unwrap_or_default();
        if before.memberships != keys.memberships {
            self.enter(id, party, keys.memberships);
        }
        if before.measured != keys.measured {
            let (speed, n_threads) = self.party_speeds.get(&party).copied().unwrap_or_default();
            let speed = speed + keys.measured.0 - before.measured.0;
            let n_threads = n_threads + keys.measured.1 - before.measured.1;
            match n_threads {
                0 => self.party_speeds.remove(&party),
                _ => self.party_speeds.insert(party, (speed, n_threads)),
            };
        }
        if before.idle != keys.idle {
            before.idle.map(|speed| self.idle.remove(&(Reverse(speed), id)));
            self.idle.extend(keys.idle.map(|speed| (Reverse(speed), id)));
        }
        if before.queue_end != keys.queue_end {
            before.queue_end.map(|end| self.queue_ends.remove(&(end, id)));
            self.queue_ends.extend(keys.queue_end.map(|end| (end, id)));
        }
        self.power.n_threads = self.power.n_threads + keys.power.n_threads - before.power.n_threads;
        self.power.speed = self.power.speed + keys.power.speed - before.power.speed;
    }
}

fn set_member(
    parties: &mut BTreeMap<Party, BTreeSet<WorkerId>>,
    id: WorkerId,
    party: Party,
    is_member: bool,
) {
    if is_member {
        parties.entry(party).or_default().insert(id);
    } else if let Some(members) = parties.get_mut(&party) {
        members.remove(&id);
        if members.is_empty() {
            parties.remove(&party);
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, as it should"
)]
fn whole(speed: f64) -> u64 {
    speed as u64
}
