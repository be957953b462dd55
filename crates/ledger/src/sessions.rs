//! The open sessions of workers.

use std::collections::HashMap;

use queens_model::WorkerId;

/// A session of a worker, which may have had others before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Session {
    worker: WorkerId,
    number: u64,
}

impl Session {
    /// Returns the worker.
    #[must_use]
    pub const fn worker(self) -> WorkerId {
        self.worker
    }
}

/// The open sessions, at most one for each worker. A worker that connects again gets a new session, and the end of its
/// old one has no effect.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: HashMap<WorkerId, u64>,
    n_sessions: u64,
    closed: Vec<Session>,
    /// Sessions that ended with a goodbye that is not answered yet.
    left: Vec<Session>,
}

impl Sessions {
    /// Opens a session, in place of any older one.
    pub(crate) fn open(&mut self, worker: WorkerId) -> Session {
        self.close_of(worker);
        self.n_sessions += 1;
        self.open.insert(worker, self.n_sessions);
        Session { worker, number: self.n_sessions }
    }

    /// Returns a worker's open session.
    pub(crate) fn session(&self, worker: WorkerId) -> Option<Session> {
        self.open.get(&worker).map(|&number| Session { worker, number })
    }

    pub(crate) fn is_open(&self, session: Session) -> bool {
        self.session(session.worker) == Some(session)
    }

    /// Closes a session. Returns `false` if it was not open.
    pub(crate) fn close(&mut self, session: Session) -> bool {
        let is_open = self.is_open(session);
        if is_open {
            self.close_of(session.worker);
        }
        is_open
    }

    /// Closes a session after a goodbye, which will be answered. Returns `false` if it was not open.
    pub(crate) fn leave(&mut self, session: Session) -> bool {
        let is_open = self.is_open(session);
        if is_open {
            self.open.remove(&session.worker);
            self.left.push(session);
        }
        is_open
    }

    /// Takes the sessions that ended with a goodbye since the last call.
    pub(crate) fn take_left(&mut self) -> Vec<Session> {
        std::mem::take(&mut self.left)
    }

    /// Closes a worker's session, if it has one.
    pub(crate) fn close_of(&mut self, worker: WorkerId) {
        let session = self.session(worker);
        self.open.remove(&worker);
        self.closed.extend(session);
    }

    /// Takes the sessions that were closed since the last call.
    pub(crate) fn take_closed(&mut self) -> Vec<Session> {
        std::mem::take(&mut self.closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_old_session_does_not_end_the_new_one() {
        let mut sessions = Sessions::default();
        let old = sessions.open(WorkerId(1));
        let new = sessions.open(WorkerId(1));
        assert_eq!(sessions.take_closed(), [old]);
        assert!(!sessions.close(old));
        assert_eq!((sessions.session(WorkerId(1)), sessions.take_closed()), (Some(new), Vec::new()));
        assert!(sessions.close(new) && !sessions.close(new));
        assert_eq!((sessions.session(WorkerId(1)), sessions.take_closed()), (None, vec![new]));
    }
}
