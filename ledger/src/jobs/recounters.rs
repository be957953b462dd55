//! The parties that may count some records again.

use std::collections::BTreeSet;

use queens_model::Party;

/// The parties that may count some records again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recounters {
    /// All but these, which have counted them or failed to.
    AllBut(BTreeSet<Party>),
    /// The trusted party, which has not counted them yet.
    Only(Party),
}

/// All parties.
pub(crate) static EVERYBODY: Recounters = Recounters::AllBut(BTreeSet::new());

impl Recounters {
    /// Returns who may count records that these parties may not, if `arbiter` has to be one of those that agree.
    pub(crate) fn new(excluded: BTreeSet<Party>, arbiter: Option<Party>) -> Self {
        arbiter.filter(|arbiter| !excluded.contains(arbiter)).map_or(Self::AllBut(excluded), Self::Only)
    }
}
