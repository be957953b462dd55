//! Links between workers and coordinators: in order each way, with delays, and with ends that notice a break late.

use std::time::Duration;

/// The connection of one session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) worker: queens_model::WorkerId,
    /// The host at its other end.
    pub(crate) host: usize,
    pub(crate) up: Lane,
    pub(crate) down: Lane,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lane {
    state: LaneState,
    /// When the last message arrives: no message overtakes another.
    last: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LaneState {
    #[default]
    Open,
    /// Nothing more is sent.
    Closed,
    /// Nothing more arrives either.
    Cut,
}

impl Lane {
    /// Returns when a message that is sent now and takes `latency` arrives; `None` if it is lost.
    pub(crate) fn send(&mut self, now: Duration, latency: Duration) -> Option<Duration> {
        (self.state == LaneState::Open).then(|| {
            self.last = self.last.max(now + latency);
            self.last
        })
    }

    pub(crate) fn arrives(self) -> bool {
        self.state != LaneState::Cut
    }

    /// Delays all later messages.
    pub(crate) fn hold(&mut self, until: Duration) {
        self.last = self.last.max(until);
    }

    /// Takes no more messages; those in flight arrive unless `at_once`. Returns when the last of them arrives.
    pub(crate) fn close(&mut self, at_once: bool) -> Duration {
        self.state = if at_once || self.state == LaneState::Cut { LaneState::Cut } else { LaneState::Closed };
        self.last
    }
}
