//! Which workers have a session.

use std::collections::HashMap;

use queens_model::WorkerId;

/// A session of a worker, which may have had others before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Session {
    worker: WorkerId,
    number: u64,
}

impl Session {
    /// Whose session it is.
    #[must_use]
    pub const fn worker(self) -> WorkerId {
        self.worker
    }
}

/// The open sessions, at most one for each worker. A worker that connects again gets a new one, and the end of its old
/// one does not matter any more.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: HashMap<WorkerId, u64>,
    n_sessions: u64,
    closed: Vec<Session>,
    /// Those whose workers have said goodbye, which nobody has answered.
    left: Vec<Session>,
}

impl Sessions {
    /// A new session, in place of any older one.
    pub(crate) fn open(&mut self, worker: WorkerId) -> Session {
        self.close_of(worker);
        self.n_sessions += 1;
        self.open.insert(worker, self.n_sessions);
        Session { worker, number: self.n_sessions }
    }

    /// The open session of a worker.
    pub(crate) fn session(&self, worker: WorkerId) -> Option<Session> {
        self.open.get(&worker).map(|&number| Session { worker, number })
    }

    pub(crate) fn is_open(&self, session: Session) -> bool {
        self.session(session.worker) == Some(session)
    }

    /// Closes a session; `false` if it was not open.
    pub(crate) fn close(&mut self, session: Session) -> bool {
        let is_open = self.is_open(session);
        if is_open {
            self.close_of(session.worker);
        }
        is_open
    }

    /// Closes a session whose worker has said goodbye, and is to be told that it was heard; `false` if it was not open.
    pub(crate) fn leave(&mut self, session: Session) -> bool {
        let is_open = self.is_open(session);
        if is_open {
            self.open.remove(&session.worker);
            self.left.push(session);
        }
        is_open
    }

    /// The sessions whose workers have said goodbye since the last call.
    pub(crate) fn take_left(&mut self) -> Vec<Session> {
        std::mem::take(&mut self.left)
    }

    /// Closes the session of a worker, if it has one.
    pub(crate) fn close_of(&mut self, worker: WorkerId) {
        let session = self.session(worker);
        self.open.remove(&worker);
        self.closed.extend(session);
    }

    /// The sessions that were closed since the last call.
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
