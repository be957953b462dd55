//! Log-in sessions of the web pages, identified by cookie.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use parking_lot::Mutex;
use queens_auth::Secret;
use queens_model::Party;
use tokio::time::Instant;

/// How long a log-in session lasts, and how long without requests.
pub(crate) const LOGIN_LIFETIME: Duration = Duration::from_secs(12 * 3600);
const IDLE: Duration = Duration::from_secs(3600);

/// Maximal log-in sessions, in total and per invitation. A new one ends the one that has been idle longest.
const MOST: usize = 4096;
const MOST_OF_ONE: usize = 64;

/// All log-in sessions by the hash of their cookie. Cookies are not kept, and nothing is on disk.
#[derive(Debug, Default)]
pub(super) struct LoginSessions(Mutex<HashMap<[u8; 32], LoginSession>>);

#[derive(Clone, Copy, Debug)]
struct LoginSession {
    /// The owner. A number would not do: another invitation may have got it since.
    party: Party,
    began: Instant,
    used: Instant,
}

impl LoginSession {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.began) >= LOGIN_LIFETIME || now.duration_since(self.used) >= IDLE
    }
}

impl LoginSessions {
    /// Starts a session for a party; returns its cookie.
    pub(super) fn begin(&self, party: Party) -> io::Result<Secret> {
        let (secret, now) = (Secret::random()?, Instant::now());
        let mut all = self.0.lock();
        all.retain(|_, session| !session.is_over(now));
        let idlest = |all: &HashMap<[u8; 32], LoginSession>, of: &dyn Fn(&LoginSession) -> bool| {
            let those = all.iter().filter(|(_, session)| of(session));
            those.min_by_key(|(_, session)| session.used).map(|(hash, _)| *hash)
        };
        let n_own = all.values().filter(|session| session.party == party).count();
        let goes = if n_own >= MOST_OF_ONE {
            idlest(&all, &|session| session.party == party)
        } else if all.len() >= MOST {
            idlest(&all, &|_| true)
        } else {
            None
        };
        if let Some(hash) = goes {
            all.remove(&hash);
        }
        all.insert(secret.hash(), LoginSession { party, began: now, used: now });
        Ok(secret)
    }

    /// Returns the party of a session that has not ended.
    pub(super) fn find(&self, secret: &Secret) -> Option<Party> {
        let now = Instant::now();
        let mut all = self.0.lock();
        let session = all.get_mut(&secret.hash()).filter(|session| !session.is_over(now))?;
        session.used = now;
        Some(session.party)
    }

    pub(super) fn end(&self, secret: &Secret) {
        self.0.lock().remove(&secret.hash());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(number: u8) -> Party {
        Party::from_bytes([number; 16])
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_stays_logged_in_for_ever() {
        let sessions = LoginSessions::default();
        let idle = sessions.begin(party(1)).expect("random");
        let busy = sessions.begin(party(2)).expect("random");
        for _ in 0..12 {
            assert_eq!(sessions.find(&busy), Some(party(2)));
            tokio::time::advance(IDLE - Duration::from_secs(1)).await;
            assert_eq!(sessions.find(&busy), Some(party(2)));
        }
        assert_eq!(sessions.find(&idle), None);
        tokio::time::advance(Duration::from_secs(12)).await;
        assert_eq!(sessions.find(&busy), None, "12 hours have passed");
        let other = sessions.begin(party(3)).expect("random");
        assert_eq!(sessions.0.lock().len(), 1, "expired sessions are dropped");
        sessions.end(&other);
        assert_eq!(sessions.find(&other), None);
    }

    #[tokio::test(start_paused = true)]
    async fn one_token_logs_so_many_in_and_no_more() {
        let sessions = LoginSessions::default();
        let first = sessions.begin(party(1)).expect("random");
        let others = sessions.begin(party(2)).expect("random");
        for _ in 0..MOST_OF_ONE {
            tokio::time::advance(Duration::from_secs(1)).await;
            _ = sessions.begin(party(1)).expect("random");
        }
        assert_eq!((sessions.find(&first), sessions.find(&others)), (None, Some(party(2))));
        assert_eq!(sessions.0.lock().len(), MOST_OF_ONE + 1);
    }
}
