//! The state of a standby coordinator: the known leader, and whether workers have tried to connect.

use std::fmt::{self, Display, Formatter};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::leader_election::Contact;

/// What a standby coordinator knows of the leader. It is sent to unauthenticated clients, so it contains only public
/// information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaderView {
    /// Another coordinator leads; its address.
    Led(Contact),
    /// No leader is known, for this reason.
    Unled(&'static str),
}

impl Display for LeaderView {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let why: &dyn Display = match self {
            Self::Led(leader) => {
                return write!(formatter, "this coordinator stands by: {} leads", leader.url);
            }
            Self::Unled(why) => why,
        };
        write!(formatter, "this coordinator stands by: {why}")
    }
}

/// Shared state of a standby coordinator's servers and its leader election.
#[derive(Clone, Debug)]
pub struct Standby(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    leader: Mutex<LeaderView>,
    has_standby_contact: AtomicBool,
}

impl Standby {
    /// Creates the state.
    #[must_use]
    pub fn new(leader: LeaderView) -> Self {
        Self(Arc::new(Shared { leader: Mutex::new(leader), has_standby_contact: AtomicBool::new(false) }))
    }

    /// Sets the leader; returns whether it is another one.
    pub fn set_leader(&self, leader: LeaderView) -> bool {
        // A panic leaves no inconsistent state: the value is replaced as a whole.
        let mut told = self.0.leader.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = *told != leader;
        *told = leader;
        is_news
    }

    /// Returns whether workers have asked for a session since the last call.
    #[must_use]
    pub fn take_contact(&self) -> bool {
        self.0.has_standby_contact.swap(false, Ordering::Relaxed)
    }

    /// Returns the known leader, or why none is known.
    #[must_use]
    pub fn leader(&self) -> LeaderView {
        self.0.leader.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that a worker has asked for a session.
    pub fn note_standby_contact(&self) {
        self.0.has_standby_contact.store(true, Ordering::Relaxed);
    }
}
