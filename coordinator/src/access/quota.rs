//! Limits each caller's concurrent requests, sessions and health streams, and submissions per minute.
//!
//! A quota belongs to an invitation, or to the address of a stranger. Without authentication there are no quotas.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;

use super::requirement::RequestKind;
use crate::net::neighbourhood;

/// Worker sessions for each name of an invitation: the session of a broken connection ends only after a while. The
/// second figure is added once per invitation.
const SESSIONS_OF_A_NAME: usize = 2;
const MORE_SESSIONS: usize = 4;

/// Health streams of one principal; they never end.
const MOST_WATCHES: usize = 8;

/// The period of the submission limit.
const MINUTE: Duration = Duration::from_secs(60);

/// Unused entries are removed at this many entries, or at twice as many as the last sweep left.
const FIRST_SWEEP: usize = 1024;

/// The quota of one principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QuotaLimits {
    /// Concurrent requests, without sessions. A page that receives live updates counts as one.
    pub(crate) n_requests: NonZeroUsize,
    /// Jobs that may be submitted per minute, at once or spread out.
    pub(crate) n_submissions: NonZeroU32,
}

impl Default for QuotaLimits {
    fn default() -> Self {
        const REQUESTS: NonZeroUsize = NonZeroUsize::new(128).unwrap();
        const SUBMISSIONS: NonZeroU32 = NonZeroU32::new(60).unwrap();
        Self { n_requests: REQUESTS, n_submissions: SUBMISSIONS }
    }
}

/// The owner of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum QuotaKey {
    /// An invitation's number.
    Invited(u64),
    /// A stranger's address.
    At(IpAddr),
}

/// Which limit a request exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum QuotaExceeded {
    #[error("{0} requests of yours are being answered: try again when some of them are")]
    Requests(NonZeroUsize),
    #[error(
        "{0} sessions of this invitation go on, and no more may: {SESSIONS_OF_A_NAME} for each of its names, and \
         {MORE_SESSIONS}; of connections that broke they end within a minute"
    )]
    WorkerSessions(usize),
    #[error("{MOST_WATCHES} streams of yours say already whether all is well")]
    Watches,
    #[error(
        "{0} jobs were submitted with this invitation, which are as many as are taken in a minute: try again soon"
    )]
    Submissions(NonZeroU32),
}

/// Held while a Hello of a caller's worker is put together from pieces: it may take megabytes.
pub(super) type HelloTurn = Arc<tokio::sync::Mutex<()>>;

/// The present usage of all quotas.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    quota: QuotaLimits,
    all: Mutex<UsageTable>,
}

#[derive(Debug, Default)]
struct UsageTable {
    by_person: HashMap<QuotaKey, Usage>,
    sweep_at: usize,
}

impl UsageTable {
    /// Removes unused entries. The amortised time per entry is constant.
    fn sweep(&mut self, now: Instant) {
        if self.by_person.len() >= self.sweep_at.max(FIRST_SWEEP) {
            self.by_person.retain(|_, usage| !usage.is_nothing(now));
            self.sweep_at = 2 * self.by_person.len();
        }
    }
}

/// The present usage of one quota.
#[derive(Debug, Default)]
struct Usage {
    n_requests: usize,
    n_sessions: usize,
    n_watches: usize,
    /// When the full number of submissions is allowed again; each submission postpones it.
    rested: Option<Instant>,
    hello_turn: HelloTurn,
}

impl Usage {
    fn is_nothing(&self, now: Instant) -> bool {
        let Self { n_requests, n_sessions, n_watches, .. } = *self;
        n_requests + n_sessions + n_watches == 0 && self.rested.is_none_or(|rested| rested <= now)
    }

    /// Returns the counter for a kind of request; `None` if the kind is not counted.
    fn n_of(&mut self, kind: RequestKind) -> Option<&mut usize> {
        match kind {
            RequestKind::Session => Some(&mut self.n_sessions),
            RequestKind::Watch => Some(&mut self.n_watches),
            RequestKind::Submission | RequestKind::Other => Some(&mut self.n_requests),
            RequestKind::Probe => None,
        }
    }
}

/// Quota that a request holds; released on drop.
#[derive(Debug)]
pub(super) struct Reservation {
    quotas: Arc<Quotas>,
    person: QuotaKey,
    kind: RequestKind,
    hello_turn: HelloTurn,
}

impl Reservation {
    pub(super) fn hello_turn(&self) -> HelloTurn {
        self.hello_turn.clone()
    }
}

impl QuotaKey {
    /// Returns the key for a stranger's address.
    pub(super) fn at(peer: IpAddr) -> Self {
        Self::At(neighbourhood(peer))
    }
}

impl Quotas {
    pub(super) fn new(quota: QuotaLimits) -> Self {
        Self { quota, all: Mutex::default() }
    }

    /// Reserves quota for a request of a principal with `n_names` worker names, or returns the exceeded limit.
    pub(super) fn begin(
        self: &Arc<Self>,
        person: QuotaKey,
        kind: RequestKind,
        n_names: usize,
    ) -> Result<Reservation, QuotaExceeded> {
        let now = Instant::now();
        let mut all = self.all();
        all.sweep(now);
        let usage = all.by_person.entry(person).or_default();
        match kind {
            RequestKind::Session => {
                let most = SESSIONS_OF_A_NAME.saturating_mul(n_names).saturating_add(MORE_SESSIONS);
                if usage.n_sessions >= most {
                    return Err(QuotaExceeded::WorkerSessions(most));
                }
            }
            RequestKind::Watch if usage.n_watches >= MOST_WATCHES => return Err(QuotaExceeded::Watches),
            RequestKind::Watch | RequestKind::Probe => {}
            RequestKind::Submission | RequestKind::Other => {
                let QuotaLimits { n_requests, n_submissions } = self.quota;
                if usage.n_requests >= n_requests.get() {
                    return Err(QuotaExceeded::Requests(n_requests));
                }
                if kind == RequestKind::Submission {
                    let one_more = MINUTE / n_submissions.get();
                    let rested = usage.rested.map_or(now, |rested| rested.max(now)) + one_more;
                    if rested > now + one_more * n_submissions.get() {
                        return Err(QuotaExceeded::Submissions(n_submissions));
                    }
                    usage.rested = Some(rested);
                }
            }
        }
        usage.n_of(kind).into_iter().for_each(|n| *n += 1);
        let hello_turn = usage.hello_turn.clone();
        Ok(Reservation { quotas: self.clone(), person, kind, hello_turn })
    }

    fn all(&self) -> MutexGuard<'_, UsageTable> {
        // A panic leaves no inconsistent state: each operation changes one counter.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut all = self.quotas.all();
        let Some(usage) = all.by_person.get_mut(&self.person) else { return };
        usage.n_of(self.kind).into_iter().for_each(|n| *n = n.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: QuotaKey = QuotaKey::Invited(1);
    const BERT: QuotaKey = QuotaKey::Invited(2);

    #[tokio::test(start_paused = true)]
    async fn nobody_takes_more_than_a_portion_and_others_lose_nothing() {
        let quotas = Arc::new(Quotas::default());
        let begin = |person, kind| quotas.begin(person, kind, 3);
        let n_requests = quotas.quota.n_requests;
        let requests: Vec<_> =
            (0..n_requests.get()).map(|_| begin(ANN, RequestKind::Other).expect("a few")).collect();
        assert_eq!(begin(ANN, RequestKind::Other).expect_err("many"), QuotaExceeded::Requests(n_requests));
        assert_eq!(
            begin(ANN, RequestKind::Submission).expect_err("many"),
            QuotaExceeded::Requests(n_requests)
        );
        _ = begin(BERT, RequestKind::Other).expect("another person");
        drop(requests);
        let sessions: Vec<_> = (0..10).map(|_| begin(ANN, RequestKind::Session).expect("a few")).collect();
        assert_eq!(begin(ANN, RequestKind::Session).expect_err("many"), QuotaExceeded::WorkerSessions(10));
        _ = begin(ANN, RequestKind::Other).expect("sessions don't count");
        let watches: Vec<_> =
            (0..MOST_WATCHES).map(|_| begin(ANN, RequestKind::Watch).expect("a few")).collect();
        assert_eq!(begin(ANN, RequestKind::Watch).expect_err("many"), QuotaExceeded::Watches);
        _ = [begin(ANN, RequestKind::Other), begin(ANN, RequestKind::Probe)]
            .map(|reservation| reservation.expect("nothing else is lost"));
        drop((sessions, watches));
        for number in 0..100_000 {
            _ = begin(QuotaKey::Invited(number), RequestKind::Other).expect("a few");
        }
        assert!(quotas.all().by_person.len() <= FIRST_SWEEP, "nobody is kept for long who takes nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn submissions_come_back_one_after_the_other() {
        let n_submissions = NonZeroU32::new(20).expect("some");
        let quotas = Arc::new(Quotas::new(QuotaLimits { n_submissions, ..QuotaLimits::default() }));
        let submit = |person| quotas.begin(person, RequestKind::Submission, 0).map(drop);
        let excess = Err(QuotaExceeded::Submissions(n_submissions));
        (0..20).for_each(|_| submit(ANN).expect("a few"));
        assert_eq!(submit(ANN), excess);
        submit(BERT).expect("another person");
        tokio::time::advance(Duration::from_secs(3)).await;
        submit(ANN).expect("one more");
        assert_eq!(submit(ANN), excess);
        tokio::time::advance(MINUTE).await;
        (0..20).for_each(|_| submit(ANN).expect("rested"));
    }

    #[test]
    fn an_address_is_one_person() {
        let at = |text: &str| QuotaKey::at(text.parse().expect("an address"));
        assert_eq!(at("2001:db8::1"), at("2001:db8::2"));
        assert_ne!(at("10.0.0.1"), at("10.0.0.2"));
    }
}
