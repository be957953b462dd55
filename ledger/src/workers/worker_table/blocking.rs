//! Who gets no leases: names that operators have blocked, and parties that have lost a dispute.

use std::sync::Arc;
use std::time::Duration;

use queens_model::{Name, Party, WorkerId};

use crate::workers::worker::Worker;
use crate::workers::worker_table::{Suspicion, Workers};

impl Workers {
    /// Workers of a name get no leases from now on. Returns whether that is new.
    pub(crate) fn block(&mut self, now: Duration, name: &Name) -> bool {
        let is_new = self.blocked.insert(name.clone());
        self.tell_blocked(now, self.named(name));
        is_new
    }

    /// Workers of a party get no leases from now on, whatever their names. Returns whether that is new.
    pub(crate) fn suspect(&mut self, now: Duration, party: Party, suspicion: Suspicion) -> bool {
        if !Arc::make_mut(&mut self.suspects).insert(party) {
            return false;
        }
        self.suspicions.insert(party, suspicion);
        self.tell_blocked(now, self.parties.get(&party).into_iter().flatten().copied().collect());
        true
    }

    /// A name is not blocked any more. Returns whether it was.
    pub(crate) fn unblock(&mut self, now: Duration, name: &Name) -> bool {
        let was_blocked = self.blocked.remove(name);
        self.tell_blocked(now, self.named(name));
        was_blocked
    }

    /// A party is not suspect any more. Returns why it was.
    pub(crate) fn clear(&mut self, now: Duration, party: Party) -> Option<Suspicion> {
        let suspicion = self.suspicions.remove(&party)?;
        Arc::make_mut(&mut self.suspects).remove(&party);
        self.tell_blocked(now, self.parties.get(&party).into_iter().flatten().copied().collect());
        Some(suspicion)
    }

    /// The suspect parties that a text means: a party itself, or all that lost a dispute by this name or have a worker of
    /// this name here.
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

    /// Looks again whether each of these workers is blocked.
    fn tell_blocked(&mut self, now: Duration, workers: Vec<WorkerId>) {
        for id in workers {
            let is_blocked = self.all.get(&id).is_some_and(|worker| self.is_blocked(worker));
            self.change(now, id, |worker| worker.set_blocked(is_blocked));
        }
    }
}
