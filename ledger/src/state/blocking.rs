//! Who gets no leases.

use queens_model::{Name, Party};

use crate::state::State;
use crate::workers::worker_table::Suspicion;

impl State {
    /// Workers of a name get no leases from now on. Returns whether that is new.
    pub(crate) fn block(&mut self, name: &Name) -> bool {
        self.workers.block(self.now, name)
    }

    /// Workers of a party get no leases from now on, whatever their names. Returns whether that is new.
    pub(crate) fn suspect(&mut self, party: Party, suspicion: Suspicion) -> bool {
        self.workers.suspect(self.now, party, suspicion)
    }

    /// Workers of a name are not blocked by it any more. Returns whether they were.
    pub(crate) fn unblock(&mut self, name: &Name) -> bool {
        self.workers.unblock(self.now, name)
    }

    /// A party is not suspect any more. Returns why it was.
    pub(crate) fn clear(&mut self, party: Party) -> Option<Suspicion> {
        self.workers.clear(self.now, party)
    }
}
