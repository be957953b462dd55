//! For how long a coordinator may take itself for the leader.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

/// How long the lead of a coordinator lasts, for all who have to know. It ends when its term has run out unrenewed, by
/// this machine's own clock from when the renewal was asked for, which is never later than by the server's; when
/// somebody else is found to lead; and when it is given up. It never begins again.
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

    /// Lasts until then, if it has not ended yet.
    pub(super) fn renew(&self, until: Instant, has_standby_contact: bool) {
        if !self.has_ended() {
            self.with(|term| *term = Term { until, has_standby_contact });
        }
    }

    /// Whether workers have asked a coordinator that stands by in the last seconds.
    #[must_use]
    pub fn has_standby_contact(&self) -> bool {
        self.with(|term| term.has_standby_contact)
    }

    /// Whether this coordinator leads no more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        if self.with(|term| term.until) <= Instant::now() {
            self.end();
        }
        self.0.ended.is_cancelled()
    }

    /// Gives the lead up.
    pub fn end(&self) {
        self.0.ended.cancel();
    }

    /// Returns when this coordinator leads no more.
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
        // Nothing is left half done in there.
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
