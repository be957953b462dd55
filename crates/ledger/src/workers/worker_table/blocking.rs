//! Blocks: names that operators have blocked, and parties that have lost a dispute. Their workers get no leases.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{Name, Party, WorkerId};

use crate::workers::worker::Worker;
use crate::workers::worker_table::{Suspicion, Workers};

impl Workers {
    /// Blocks a name. Returns whether that is new.
    pub(crate) fn block(&mut self, now: Duration, name: &Name) -> bool {
        let is_new = self.blocked.insert(name.clone());
        self.tell_blocked(now, self.named(name));
        is_new
    }

    /// Blocks a party under all its names. Returns whether that is new.
    pub(crate) fn suspect(&mut self, now: Duration, party: Party, suspicion: Suspicion) -> bool {
        if !Arc::make_mut(&mut self.suspects).insert(party) {
            return false;
        }
        self.suspicions.insert(party, suspicion);
        self.tell_blocked(now, self.parties.get(&party).into_iter().flatten().copied().collect());
        true
    }

    /// Unblocks a name. Returns whether it was blocked.
    pub(crate) fn unblock(&mut self, now: Duration, name: &Name) -> bool {
        let was_blocked = self.blocked.remove(name);
        self.tell_blocked(now, self.named(name));
        was_blocked
    }

    /// Clears a suspect party. Returns the suspicion.
    pub(crate) fn clear(&mut self, now: Duration, party: Party) -> Option<Suspicion> {
        let suspicion = self.suspicions.remove(&party)?;
        Arc::make_mut(&mut self.suspects).remove(&party);
        self.tell_blocked(now, self.parties.get(&party).into_iter().flatten().copied().collect());
        Some(suspicion)
    }

    /// Returns the suspect parties that a name refers to. That is the party with this identifier, and all that lost a
    /// dispute by this name or have a worker of this name here.
    pub(crate) fn suspects_of(&self, name: &Name) -> Vec<Party> {
        let itself: Option<Party> = name.as_str().parse().ok();
        let is_meant = |(party, suspicion): &(&Party, &Suspicion)| {
            let members = self.parties.get(party).into_iter().flatten();
            let mut names = members.filter_map(|id| self.all.get(id)).map(Worker::name);
            Some(**party) == itself || suspicion.name == *name || names.any(|other| other == name)
        };
        self.suspicions.iter().filter(is_meant).map(|(party, _)| *party).collect()
    }

    pub(super) fn is_blocked(&self, worker: &Worker) -> bool {
        self.blocked.contains(worker.name()) || self.suspects.contains(&worker.party())
    }

    /// Updates whether each of these workers is blocked.
    fn tell_blocked(&mut self, now: Duration, workers: Vec<WorkerId>) {
        for id in workers {
            let is_blocked = self.all.get(&id).is_some_and(|worker| self.is_blocked(worker));
            self.change(now, id, |worker| worker.set_blocked(is_blocked));
        }
    }
}
