//! How much of a coordinator one person may take: requests at a time, sessions at a time, and submissions a minute.
//!
//! A person is whoever comes with one invitation, or a stranger of one address. Where nobody is asked who they are,
//! everybody may do everything, and this too.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;

use super::permits::Kind;
use crate::connections::neighbourhood;

/// Requests of one person that are answered at the same time, sessions aside: a page that is told news is one.
pub(super) const MOST_REQUESTS: usize = 128;

/// Sessions of workers for each name that an invitation has: that of a connection that broke ends only after a while.
/// And as many more for them all.
const SESSIONS_OF_A_NAME: usize = 2;
const MORE_SESSIONS: usize = 4;

/// Jobs that one person may submit at once, and how often one more.
pub(super) const MOST_SUBMISSIONS: u32 = 60;
const ONE_MORE: Duration = Duration::from_secs(1);

/// When those are looked for who take nothing any more: at so many, or twice as many as were left the last time.
const FIRST_SWEEP: usize = 1024;

/// Whom a request is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Person {
    /// Whoever comes with this invitation.
    Invited(u64),
    /// A stranger from there.
    At(IpAddr),
}

/// What a person has too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum Excess {
    /// Requests at a time.
    #[error("{MOST_REQUESTS} requests of yours are being answered: try again when some of them are")]
    Requests,
    /// Sessions at a time, of which so many are allowed.
    #[error(
        "{0} sessions of this invitation go on, and no more may: {SESSIONS_OF_A_NAME} for each of its names, and \
         {MORE_SESSIONS}; of connections that broke they end within a minute"
    )]
    Sessions(usize),
    /// Submissions lately.
    #[error("{MOST_SUBMISSIONS} jobs were submitted with this invitation: one more is taken every second")]
    Submissions,
}

/// What everybody takes at present.
#[derive(Debug, Default)]
pub(super) struct Portions(Mutex<All>);

#[derive(Debug, Default)]
struct All {
    by_person: HashMap<Person, Portion>,
    sweep_at: usize,
}

impl All {
    /// Forgets those who take nothing. Takes constant time for each person, as it is done seldom.
    fn sweep(&mut self, now: Instant) {
        if self.by_person.len() >= self.sweep_at.max(FIRST_SWEEP) {
            self.by_person.retain(|_, portion| !portion.is_nothing(now));
            self.sweep_at = 2 * self.by_person.len();
        }
    }
}

/// What one person takes.
#[derive(Debug, Default)]
struct Portion {
    n_requests: usize,
    n_sessions: usize,
    /// When all submissions are allowed again; each puts it off.
    rested: Option<Instant>,
}

impl Portion {
    fn is_nothing(&self, now: Instant) -> bool {
        self.n_requests == 0 && self.n_sessions == 0 && self.rested.is_none_or(|rested| rested <= now)
    }
}

/// A request that goes on; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    portions: Arc<Portions>,
    person: Person,
    is_session: bool,
}

impl Person {
    /// Whoever comes from an address.
    pub(super) fn at(peer: IpAddr) -> Self {
        Self::At(neighbourhood(peer))
    }
}

impl Portions {
    /// Begins a request of a person who may use so many names as a worker, or says what there is too much of.
    pub(super) fn begin(
        self: &Arc<Self>,
        person: Person,
        kind: Kind,
        n_names: usize,
    ) -> Result<Share, Excess> {
        let now = Instant::now();
        let mut all = self.all();
        all.sweep(now);
        let portion = all.by_person.entry(person).or_default();
        match kind {
            Kind::Session => {
                let most = SESSIONS_OF_A_NAME.saturating_mul(n_names).saturating_add(MORE_SESSIONS);
                if portion.n_sessions >= most {
                    return Err(Excess::Sessions(most));
                }
                portion.n_sessions += 1;
            }
            Kind::Submission | Kind::Other => {
                if portion.n_requests >= MOST_REQUESTS {
                    return Err(Excess::Requests);
                }
                if kind == Kind::Submission {
                    let rested = portion.rested.map_or(now, |rested| rested.max(now)) + ONE_MORE;
                    if rested > now + ONE_MORE * MOST_SUBMISSIONS {
                        return Err(Excess::Submissions);
                    }
                    portion.rested = Some(rested);
                }
                portion.n_requests += 1;
            }
        }
        Ok(Share { portions: self.clone(), person, is_session: kind == Kind::Session })
    }

    fn all(&self) -> MutexGuard<'_, All> {
        // Nothing is left half done in there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut all = self.portions.all();
        let Some(portion) = all.by_person.get_mut(&self.person) else { return };
        let n = if self.is_session { &mut portion.n_sessions } else { &mut portion.n_requests };
        *n = n.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: Person = Person::Invited(1);
    const BERT: Person = Person::Invited(2);

    #[tokio::test(start_paused = true)]
    async fn nobody_takes_more_than_a_portion_and_others_lose_nothing() {
        let portions = Arc::new(Portions::default());
        let begin = |person, kind| portions.begin(person, kind, 3);
        let requests: Vec<_> = (0..MOST_REQUESTS).map(|_| begin(ANN, Kind::Other).expect("a few")).collect();
        assert_eq!(begin(ANN, Kind::Other).expect_err("many"), Excess::Requests);
        assert_eq!(begin(ANN, Kind::Submission).expect_err("many"), Excess::Requests);
        _ = begin(BERT, Kind::Other).expect("another person");
        drop(requests);
        let sessions: Vec<_> = (0..10).map(|_| begin(ANN, Kind::Session).expect("a few")).collect();
        assert_eq!(begin(ANN, Kind::Session).expect_err("many"), Excess::Sessions(10));
        _ = begin(ANN, Kind::Other).expect("sessions don't count");
        drop(sessions);
        for number in 0..100_000 {
            _ = begin(Person::Invited(number), Kind::Other).expect("a few");
        }
        assert!(portions.all().by_person.len() <= FIRST_SWEEP, "nobody is kept for long who takes nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn submissions_come_back_one_after_the_other() {
        let portions = Arc::new(Portions::default());
        let submit = |person| portions.begin(person, Kind::Submission, 0).map(drop);
        (0..MOST_SUBMISSIONS).for_each(|_| submit(ANN).expect("a few"));
        assert_eq!(submit(ANN), Err(Excess::Submissions));
        submit(BERT).expect("another person");
        tokio::time::advance(ONE_MORE).await;
        submit(ANN).expect("one more");
        assert_eq!(submit(ANN), Err(Excess::Submissions));
        tokio::time::advance(ONE_MORE * MOST_SUBMISSIONS).await;
        (0..MOST_SUBMISSIONS).for_each(|_| submit(ANN).expect("rested"));
    }

    #[test]
    fn an_address_is_one_person() {
        let at = |text: &str| Person::at(text.parse().expect("an address"));
        assert_eq!(at("2001:db8::1"), at("2001:db8::2"));
        assert_ne!(at("10.0.0.1"), at("10.0.0.2"));
    }
}
