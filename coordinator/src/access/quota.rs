//! Limits each caller's concurrent requests, sessions and health streams, and submissions per minute.
//!
//! An invitation has a quota, and the address of a stranger has one. Without authentication there are no quotas.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::Instant;

use super::requirement::RequestKind;
use crate::net::neighbourhood;

/// Worker sessions for each name of an invitation: the session of a broken connection ends only after a while. The
/// second figure is added once per invitation.
const SESSIONS_OF_A_NAME: usize = 2;
const MORE_SESSIONS: usize = 4;

/// Health streams of one caller; they never end.
const MOST_WATCHES: usize = 8;

/// The period of the submission limit.
const MINUTE: Duration = Duration::from_secs(60);

/// Unused addresses are removed at this many, or at twice as many as the last sweep left.
const FIRST_SWEEP: usize = 1024;

/// The limits of each caller.
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

/// What an invitation, the callers from one address, or all callers of an open coordinator use at present.
#[derive(Debug, Default)]
pub(super) struct Usage {
    counts: Mutex<Counts>,
    /// Held while a Hello of a worker is put together from pieces: it may take megabytes.
    pub(super) hello_turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct Counts {
    n_requests: usize,
    n_sessions: usize,
    n_watches: usize,
    /// When the full number of submissions is allowed again; each submission postpones it.
    rested: Option<Instant>,
}

impl Counts {
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

impl Usage {
    /// Reserves quota for a request of a caller with `n_names` worker names, or returns the exceeded limit.
    pub(super) fn begin(
        self: &Arc<Self>,
        kind: RequestKind,
        limits: QuotaLimits,
        n_names: usize,
    ) -> Result<Reservation, QuotaExceeded> {
        let QuotaLimits { n_requests, n_submissions } = limits;
        let mut counts = self.counts.lock();
        match kind {
            RequestKind::Session => {
                let most = SESSIONS_OF_A_NAME.saturating_mul(n_names).saturating_add(MORE_SESSIONS);
                if counts.n_sessions >= most {
                    return Err(QuotaExceeded::WorkerSessions(most));
                }
            }
            RequestKind::Watch if counts.n_watches >= MOST_WATCHES => return Err(QuotaExceeded::Watches),
            RequestKind::Watch | RequestKind::Probe => {}
            RequestKind::Submission | RequestKind::Other => {
                if counts.n_requests >= n_requests.get() {
                    return Err(QuotaExceeded::Requests(n_requests));
                }
                if kind == RequestKind::Submission {
                    let (now, one_more) = (Instant::now(), MINUTE / n_submissions.get());
                    let rested = counts.rested.map_or(now, |rested| rested.max(now)) + one_more;
                    if rested > now + one_more * n_submissions.get() {
                        return Err(QuotaExceeded::Submissions(n_submissions));
                    }
                    counts.rested = Some(rested);
                }
            }
        }
        counts.n_of(kind).into_iter().for_each(|n| *n += 1);
        Ok(Reservation { usage: self.clone(), kind })
    }
}

/// Quota that a request holds; released on drop.
#[derive(Debug)]
pub(super) struct Reservation {
    usage: Arc<Usage>,
    kind: RequestKind,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.usage.counts.lock().n_of(self.kind).into_iter().for_each(|n| *n = n.saturating_sub(1));
    }
}

/// What strangers use, by their address.
#[derive(Debug, Default)]
pub(super) struct StrangerUsage(Mutex<UsageByAddress>);

#[derive(Debug, Default)]
struct UsageByAddress {
    usages: HashMap<IpAddr, Arc<Usage>>,
    sweep_at: usize,
}

impl StrangerUsage {
    /// Returns what callers from this address use. Removes unused addresses; the amortised time for each is constant.
    pub(super) fn at(&self, peer: IpAddr) -> Arc<Usage> {
        let mut all = self.0.lock();
        if all.usages.len() >= all.sweep_at.max(FIRST_SWEEP) {
            all.usages.retain(|_, usage| Arc::strong_count(usage) > 1);
            all.sweep_at = 2 * all.usages.len();
        }
        all.usages.entry(neighbourhood(peer)).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nobody_takes_more_than_a_portion_and_others_lose_nothing() {
        let (ann, bert) = (Arc::<Usage>::default(), Arc::<Usage>::default());
        let begin = |usage: &Arc<Usage>, kind| usage.begin(kind, QuotaLimits::default(), 3);
        let n_requests = QuotaLimits::default().n_requests;
        let requests: Vec<_> =
            (0..n_requests.get()).map(|_| begin(&ann, RequestKind::Other).expect("a few")).collect();
        for kind in [RequestKind::Other, RequestKind::Submission] {
            assert_eq!(begin(&ann, kind).expect_err("many"), QuotaExceeded::Requests(n_requests));
        }
        _ = begin(&bert, RequestKind::Other).expect("another person");
        drop(requests);
        let sessions: Vec<_> = (0..10).map(|_| begin(&ann, RequestKind::Session).expect("a few")).collect();
        assert_eq!(begin(&ann, RequestKind::Session).expect_err("many"), QuotaExceeded::WorkerSessions(10));
        _ = begin(&ann, RequestKind::Other).expect("sessions don't count");
        let watches: Vec<_> =
            (0..MOST_WATCHES).map(|_| begin(&ann, RequestKind::Watch).expect("a few")).collect();
        assert_eq!(begin(&ann, RequestKind::Watch).expect_err("many"), QuotaExceeded::Watches);
        _ = [begin(&ann, RequestKind::Other), begin(&ann, RequestKind::Probe)]
            .map(|reservation| reservation.expect("nothing else is lost"));
        drop((sessions, watches));
    }

    #[tokio::test(start_paused = true)]
    async fn submissions_come_back_one_after_the_other() {
        let n_submissions = NonZeroU32::new(20).expect("some");
        let (ann, bert) = (Arc::<Usage>::default(), Arc::<Usage>::default());
        let limits = QuotaLimits { n_submissions, ..QuotaLimits::default() };
        let submit = |usage: &Arc<Usage>| usage.begin(RequestKind::Submission, limits, 0).map(drop);
        let excess = Err(QuotaExceeded::Submissions(n_submissions));
        (0..20).for_each(|_| submit(&ann).expect("a few"));
        assert_eq!(submit(&ann), excess);
        submit(&bert).expect("another person");
        tokio::time::advance(Duration::from_secs(3)).await;
        submit(&ann).expect("one more");
        assert_eq!(submit(&ann), excess);
        tokio::time::advance(MINUTE).await;
        (0..20).for_each(|_| submit(&ann).expect("rested"));
    }

    #[test]
    fn an_address_is_one_stranger_and_is_kept_as_long_as_it_takes_something() {
        let strangers = StrangerUsage::default();
        let at = |text: &str| strangers.at(text.parse().expect("an address"));
        let held = at("2001:db8::1");
        assert!(Arc::ptr_eq(&held, &at("2001:db8::2")));
        assert!(!Arc::ptr_eq(&at("10.0.0.1"), &at("10.0.0.2")));
        for number in 0..100_000_u32 {
            _ = strangers.at(IpAddr::V4(number.into()));
        }
        assert!(Arc::ptr_eq(&held, &at("2001:db8::1")));
        assert!(strangers.0.lock().usages.len() <= FIRST_SWEEP);
    }
}
