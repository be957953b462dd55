//! What a coordinator that stands by knows, and what it has heard.

use std::fmt::{self, Display, Formatter};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::store::postgres::Contact;

/// How a coordinator stands that does not lead. Whoever asks it is told, without being asked who they are: so there is
/// nothing in it that is not meant for everybody who reaches the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Somebody else leads, who is reached there.
    Led(Contact),
    /// Nobody is known to lead, for this reason.
    Unled(&'static str),
}

impl Display for Standing {
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

/// What is shared by those who answer for a coordinator that stands by, and whoever wants it to lead.
#[derive(Clone, Debug)]
pub struct Standby(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    standing: Mutex<Standing>,
    has_standby_contact: AtomicBool,
}

impl Standby {
    /// Begins to stand by.
    #[must_use]
    pub fn new(standing: Standing) -> Self {
        Self(Arc::new(Shared { standing: Mutex::new(standing), has_standby_contact: AtomicBool::new(false) }))
    }

    /// From now on it is so; whether it was another way before.
    pub fn tell(&self, standing: Standing) -> bool {
        // Nothing is left half done in there.
        let mut told = self.0.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = *told != standing;
        *told = standing;
        is_news
    }

    /// Whether workers have asked for a session since this was last called.
    #[must_use]
    pub fn take_contact(&self) -> bool {
        self.0.has_standby_contact.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn standing(&self) -> Standing {
        self.0.standing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A worker has asked for a session.
    pub(crate) fn note_standby_contact(&self) {
        self.0.has_standby_contact.store(true, Ordering::Relaxed);
    }
}
