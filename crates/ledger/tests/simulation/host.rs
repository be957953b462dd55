//! A machine on which a coordinator runs, or waits for the lead.

use std::time::Duration;

use super::contents::Contents;
use super::coordinator::Coordinator;
use super::witness::Witness;

#[derive(Debug, Default)]
pub(crate) struct Host {
    /// The coordinator, once it leads, until its process ends.
    pub(crate) coordinator: Option<Coordinator>,
    pub(crate) witness: Witness,
    /// The number of its process, which changes when that ends: events for another process are ignored.
    pub(crate) start: u64,
    /// When the coordinator was started, and how far its clock has jumped since.
    pub(crate) started: Duration,
    pub(crate) ahead: Duration,
    pub(crate) behind: Duration,
    /// Until when the host is stopped, and whether its coordinator was in the middle of a step.
    pub(crate) frozen_until: Duration,
    pub(crate) is_in_a_step: bool,
    /// Until when the store can't be reached from here.
    pub(crate) cut_off_until: Duration,
    /// The epoch of the lead that it has taken.
    pub(crate) epoch: u64,
    /// The durable contents when another took the lead, if the coordinator here goes on.
    pub(crate) past: Option<Contents>,
    /// Whether an earlier state of the store was restored under the coordinator here.
    pub(crate) has_gone_back: bool,
}

impl Host {
    /// Returns the time since its start, by its coordinator's clock.
    pub(crate) fn clock(&self, now: Duration) -> Duration {
        (now - self.started + self.ahead).saturating_sub(self.behind)
    }

    pub(crate) fn is_frozen(&self, now: Duration) -> bool {
        self.frozen_until > now
    }

    pub(crate) fn is_cut_off(&self, now: Duration) -> bool {
        self.cut_off_until > now
    }

    /// Whether its coordinator goes on though another one leads.
    pub(crate) fn is_superseded(&self) -> bool {
        self.coordinator.is_some() && self.past.is_some()
    }
}
