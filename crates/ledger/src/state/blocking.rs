//! Blocks workers from getting leases, and unblocks them.

use queens_model::{Name, Party};

use crate::state::State;
use crate::workers::worker_table::Suspicion;

impl State {
    /// Blocks a name. Returns whether that is new.
    pub(crate) fn block(&mut self, name: &Name) -> bool {
        self.workers.block(self.now, name)
    }

    /// Blocks a party under all its names. Returns whether that is new.
    pub(crate) fn suspect(&mut self, party: Party, suspicion: Suspicion) -> bool {
        self.workers.suspect(self.now, party, suspicion)
    }

    /// Unblocks a name. Returns whether it was blocked.
    pub(crate) fn unblock(&mut self, name: &Name) -> bool {
        self.workers.unblock(self.now, name)
    }

    /// Clears a suspect party. Returns the suspicion.
    pub(crate) fn clear(&mut self, party: Party) -> Option<Suspicion> {
        self.workers.clear(self.now, party)
    }
}
