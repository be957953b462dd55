//! How long a leader lease is valid without renewal.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

/// The validity of a leader's lease, shared by all its users. It ends when the term expires, when another leader is
/// found, or when it is given up. It never begins again.
/// The term is measured by the local clock from the start of the renewal request, so it never ends later than by the
/// server's clock.
#[derive(Clone, Debug)]
pub struct LeaderLease(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    term: Mutex<Term>,
    ended: CancellationToken,
}

#[derive(Debug)]
struct Term {
    until: Instant,
    has_standby_contact: bool,
}

impl LeaderLease {
    pub(super) fn until(until: Instant) -> Self {
        let term = Mutex::new(Term { until, has_standby_contact: false });
        Self(Arc::new(Shared { term, ended: CancellationToken::new() }))
    }

    /// Extends the lease, unless it has ended.
    pub(super) fn renew(&self, until: Instant, has_standby_contact: bool) {
        if !self.has_ended() {
            self.with(|term| *term = Term { until, has_standby_contact });
        }
    }

    /// Returns whether workers have asked a standby in the last seconds.
    #[must_use]
    pub fn has_standby_contact(&self) -> bool {
        self.with(|term| term.has_standby_contact)
    }

    /// Returns whether this coordinator has stopped leading.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        if self.with(|term| term.until) <= Instant::now() {
            self.end();
        }
        self.0.ended.is_cancelled()
    }

    /// Gives up the lease.
    pub fn end(&self) {
        self.0.ended.cancel();
    }

    /// Waits until the lease has ended.
    pub async fn ended(&self) {
        while !self.has_ended() {
            let until = self.with(|term| term.until);
            tokio::select! {
                () = self.0.ended.cancelled() => {}
                () = tokio::time::sleep_until(until.into()) => {}
            }
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut Term) -> T) -> T {
        // A panic leaves no inconsistent state: the value is replaced as a whole.
        look(&mut self.0.term.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn lasts_as_long_as_it_is_renewed_and_no_longer() {
        let now = Instant::now();
        let lease = LeaderLease::until(now + Duration::from_secs(60));
        assert!(!lease.has_ended() && !lease.has_standby_contact());
        lease.renew(now + Duration::from_secs(90), true);
        assert!(!lease.has_ended() && lease.has_standby_contact());
        lease.renew(now, false);
        assert!(lease.has_ended());
        lease.renew(now + Duration::from_secs(60), false);
        assert!(lease.has_ended(), "it does not begin again");
    }

    #[tokio::test]
    async fn whoever_waits_for_its_end_learns_of_it() {
        let lease = LeaderLease::until(Instant::now() + Duration::from_millis(20));
        lease.ended().await;
        let lease = LeaderLease::until(Instant::now() + Duration::from_secs(600));
        let (ended, ()) = tokio::join!(lease.ended(), async { lease.end() });
        assert!(lease.has_ended(), "{ended:?}");
    }
}
