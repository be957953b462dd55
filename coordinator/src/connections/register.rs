//! The list of a port's connections: which of them wait, since when, and which has to go first.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a new connection may take until its first request is there: its greeting and the request's head.
const FIRST_REQUEST: Duration = Duration::from_secs(10);

/// How long a connection may wait after that without a new request.
const IDLE: Duration = Duration::from_secs(60);

/// A connection that has waited for less is not closed to make room: it is about to ask. Without this, a thousand
/// workers that come at once would push each other out.
const GRACE: Duration = Duration::from_secs(1);

/// All connections of a port. Time is passed in.
#[derive(Debug)]
pub(super) struct Register {
    most_waiting: usize,
    n_admitted: u64,
    entries: HashMap<u64, Entry>,
    /// Those that wait, by when they are closed.
    waiting: BTreeSet<Due>,
    /// The same for each address; none is empty.
    by_address: HashMap<IpAddr, BTreeSet<Due>>,
}

/// When a connection is closed unless something becomes of it, and its number.
type Due = (Instant, u64);

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    /// Cancelled to close it.
    close: CancellationToken,
    /// Answers to it that go on.
    n_at_work: usize,
    /// Since when it waits, and when it is closed for that; `None` if it is at work or is being closed.
    waits: Option<(Instant, Due)>,
}

/// A connection that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Admitted {
    /// Its number.
    pub(super) number: u64,
    /// Whether another one of its address is closed for it.
    pub(super) instead: bool,
}

impl Register {
    /// An empty one, in which so many connections of one address may wait.
    pub(super) fn new(most_waiting: usize) -> Self {
        Self {
            most_waiting,
            n_admitted: 0,
            entries: HashMap::new(),
            waiting: BTreeSet::new(),
            by_address: HashMap::new(),
        }
    }

    /// Adds a connection, which waits. If too many of its address wait, the one that has waited longest is closed for
    /// it, or it is not admitted because none has waited for some time.
    pub(super) fn admit(&mut self, now: Instant, peer: IpAddr, close: CancellationToken) -> Option<Admitted> {
        let address = neighbourhood(peer);
        let waiting = self.by_address.get(&address).filter(|waiting| waiting.len() >= self.most_waiting);
        let longest = waiting.and_then(|waiting| waiting.first().copied());
        if longest.is_some_and(|due| !self.close_for_another(now, due)) {
            return None;
        }
        self.n_admitted += 1;
        let number = self.n_admitted;
        self.entries.insert(number, Entry { address, close, n_at_work: 0, waits: None });
        self.wait(number, now, now + FIRST_REQUEST);
        Some(Admitted { number, instead: longest.is_some() })
    }

    /// Closes the connection that has waited longest, so that there is room for another; `false` if none has waited for
    /// some time.
    pub(super) fn make_room(&mut self, now: Instant) -> bool {
        self.waiting.first().copied().is_some_and(|due| self.close_for_another(now, due))
    }

    /// Closes those that have waited too long; how many.
    pub(super) fn close_overdue(&mut self, now: Instant) -> usize {
        let mut n_closed = 0;
        while let Some(&due) = self.waiting.first().filter(|due| due.0 <= now) {
            self.close(due);
            n_closed += 1;
        }
        n_closed
    }

    /// A request has come on a connection.
    pub(super) fn ask(&mut self, now: Instant, number: u64) {
        if self.stop_waiting(number) {
            self.wait(number, now, now + IDLE);
        }
    }

    /// An answer on a connection goes on from now.
    pub(super) fn begin_work(&mut self, number: u64) {
        self.stop_waiting(number);
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.n_at_work += 1;
        }
    }

    /// An answer has ended.
    pub(super) fn end_work(&mut self, now: Instant, number: u64) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        entry.n_at_work = entry.n_at_work.saturating_sub(1);
        if entry.n_at_work == 0 {
            self.wait(number, now, now + IDLE);
        }
    }

    /// A connection is gone.
    pub(super) fn leave(&mut self, number: u64) {
        self.stop_waiting(number);
        self.entries.remove(&number);
    }

    fn close_for_another(&mut self, now: Instant, due: Due) -> bool {
        let since = self.entries.get(&due.1).and_then(|entry| entry.waits).map(|(since, _)| since);
        let is_old = since.is_some_and(|since| now.saturating_duration_since(since) >= GRACE);
        if is_old {
            self.close(due);
        }
        is_old
    }

    fn close(&mut self, (_, number): Due) {
        self.stop_waiting(number);
        if let Some(entry) = self.entries.get(&number) {
            entry.close.cancel();
        }
    }

    fn wait(&mut self, number: u64, now: Instant, until: Instant) {
        let Some(entry) = self.entries.get_mut(&number).filter(|entry| !entry.close.is_cancelled()) else {
            return;
        };
        let due = (until, number);
        entry.waits = Some((now, due));
        self.waiting.insert(due);
        self.by_address.entry(entry.address).or_default().insert(due);
    }

    /// Takes a connection off the list of those that wait; `false` if it did not.
    fn stop_waiting(&mut self, number: u64) -> bool {
        let Some(entry) = self.entries.get_mut(&number) else { return false };
        let Some((_, due)) = entry.waits.take() else { return false };
        self.waiting.remove(&due);
        if let Some(waiting) = self.by_address.get_mut(&entry.address) {
            waiting.remove(&due);
            if waiting.is_empty() {
                self.by_address.remove(&entry.address);
            }
        }
        true
    }
}

/// What counts as one address: of IPv6, everybody has 2^64 of them.
fn neighbourhood(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST_WAITING: usize = 3;

    /// A register and the connections that were admitted to it.
    struct Played {
        register: Register,
        now: Instant,
        closed: HashMap<u64, CancellationToken>,
    }

    impl Played {
        fn new() -> Self {
            Self { register: Register::new(MOST_WAITING), now: Instant::now(), closed: HashMap::new() }
        }

        fn admit(&mut self, address: &str) -> Option<u64> {
            let close = CancellationToken::new();
            let peer = address.parse().expect("an address");
            let Admitted { number, instead } = self.register.admit(self.now, peer, close.clone())?;
            assert!(!instead || !self.closed().is_empty());
            self.closed.insert(number, close);
            Some(number)
        }

        /// Lets time pass; the numbers of all that are closed after it.
        fn pass(&mut self, seconds: u64) -> Vec<u64> {
            self.now += Duration::from_secs(seconds);
            self.register.close_overdue(self.now);
            self.closed()
        }

        fn closed(&self) -> Vec<u64> {
            let mut closed: Vec<_> =
                self.closed.iter().filter(|(_, close)| close.is_cancelled()).map(|(&n, _)| n).collect();
            closed.sort_unstable();
            closed
        }
    }

    #[test]
    fn who_asks_for_nothing_is_closed() {
        let mut played = Played::new();
        let silent = played.admit("10.0.0.1").expect("room");
        let asking = played.admit("10.0.0.1").expect("room");
        let working = played.admit("10.0.0.1").expect("room");
        assert!(played.pass(9).is_empty());
        played.register.ask(played.now, asking);
        played.register.begin_work(working);
        assert_eq!(played.pass(1), [silent]);
        assert_eq!(played.pass(58), [silent]);
        assert_eq!(played.pass(1), [silent, asking]);
        assert_eq!(played.pass(100_000), [silent, asking]);
        played.register.end_work(played.now, working);
        assert_eq!(played.pass(59), [silent, asking]);
        assert_eq!(played.pass(1), [silent, asking, working]);
        // What comes of those that are being closed changes nothing.
        played.register.ask(played.now, asking);
        played.register.begin_work(working);
        played.register.end_work(played.now, working);
        for number in [silent, asking, working] {
            played.register.leave(number);
        }
        assert!(played.register.entries.is_empty() && played.register.waiting.is_empty());
        assert!(played.register.by_address.is_empty());
    }

    #[test]
    fn one_address_has_so_many_places_to_wait() {
        let mut played = Played::new();
        let first: Vec<_> = (0..MOST_WAITING).map(|_| played.admit("10.0.0.1").expect("room")).collect();
        assert_eq!(played.admit("10.0.0.1"), None, "nobody has waited for long");
        assert_eq!(played.admit("::ffff:10.0.0.1"), None, "it is the same address");
        assert!(played.admit("10.0.0.2").is_some());
        played.pass(1);
        assert!(played.admit("10.0.0.1").is_some());
        assert_eq!(played.closed(), [first[0]]);
        played.register.begin_work(first[1]);
        assert!(played.admit("10.0.0.1").is_some(), "who is at work does not wait");
        for place in 0..MOST_WAITING {
            assert!(played.admit(&format!("2001:db8::{place}")).is_some());
        }
        assert_eq!(played.admit("2001:db8::ffff"), None);
        assert!(played.admit("2001:db8:0:1::").is_some());
    }

    #[test]
    fn room_is_made_by_who_has_waited_longest() {
        let mut played = Played::new();
        let (first, second) = (played.admit("10.0.0.1"), played.admit("10.0.0.2"));
        assert!(!played.register.make_room(played.now));
        played.register.begin_work(first.expect("room"));
        played.pass(2);
        assert!(played.register.make_room(played.now));
        assert_eq!(played.closed(), [second.expect("room")]);
        assert!(!played.register.make_room(played.now), "the other is at work");
    }
}
