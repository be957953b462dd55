//! Whose a worker is.

use std::sync::Arc;

use queens_messages::Party;

use crate::store::Source;

/// Who a worker is to everybody, whatever number it has: a party, and a name of it.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) party: Party,
    pub(crate) source: Arc<Source>,
}

impl Owner {
    /// Whether two workers differ in nothing but their numbers.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.party == other.party && self.source.name == other.source.name
    }
}
