//! The connections of a port: which ones wait, since when, and which one is evicted first.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Timeout of the TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// Timeout of the first request: the HTTP/2 greeting and the request's head.
const FIRST_REQUEST: Duration = Duration::from_secs(10);

/// How long a connection may then wait without a new request.
const IDLE: Duration = Duration::from_secs(60);

/// A connection that has waited for less is not evicted: its request is probably on the way. Otherwise a thousand
/// workers that connect at once would evict each other.
const GRACE: Duration = Duration::from_secs(1);

/// All connections of a port. The clock is passed in.
#[derive(Debug)]
pub(super) struct ConnectionTable {
    n_admitted: u64,
    entries: HashMap<u64, Entry>,
    /// Connections in their TLS handshake.
    shaking: ConnectionQueue,
    /// Connections that wait for a request.
    waiting: ConnectionQueue,
}

/// When a waiting connection is closed, and its number.
type Due = (Instant, u64);

/// Maximal connections in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueLimits {
    pub(super) in_all: usize,
    pub(super) of_address: usize,
}

/// Connections that wait for the same event, ordered by their deadlines.
#[derive(Debug)]
struct ConnectionQueue {
    room: QueueLimits,
    all: BTreeSet<Due>,
    /// The same by address, without empty entries.
    by_address: HashMap<IpAddr, BTreeSet<Due>>,
}

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    /// Cancelled to close the connection.
    close: CancellationToken,
    /// Answers in progress.
    n_at_work: usize,
    /// `None` if the connection is at work or closing.
    waits: Option<Waits>,
}

/// Since when a connection waits, its deadline, and its line.
#[derive(Clone, Copy, Debug)]
struct Waits {
    since: Instant,
    due: Due,
    is_shaking: bool,
}

/// The result of admitting a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Admitted {
    pub(super) number: u64,
    /// Whether another connection was evicted.
    pub(super) instead: bool,
}

/// How many connections were closed after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overdue {
    /// In the TLS handshake.
    pub(super) n_shaking: usize,
    /// Without a request.
    pub(super) n_waiting: usize,
}

impl ConnectionTable {
    /// Creates an empty table with the limits for handshakes and for waiting connections.
    pub(super) fn new(shaking: QueueLimits, waiting: QueueLimits) -> Self {
        Self {
            n_admitted: 0,
            entries: HashMap::new(),
            shaking: ConnectionQueue::new(shaking),
            waiting: ConnectionQueue::new(waiting),
        }
    }

    /// Adds a waiting connection, which begins with a handshake on a TLS port. At the limit, it evicts the connection
    /// that has waited longest. If that one is too recent, the new one is not admitted.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        peer: IpAddr,
        close: CancellationToken,
        shakes: bool,
    ) -> Option<Admitted> {
        let address = neighbourhood(peer);
        let instead = self.have_room(now, address, shakes)?;
        self.n_admitted += 1;
        let number = self.n_admitted;
        self.entries.insert(number, Entry { address, close, n_at_work: 0, waits: None });
        let patience = if shakes { HANDSHAKE } else { FIRST_REQUEST };
        self.wait(number, now, now + patience, shakes);
        Some(Admitted { number, instead })
    }

    /// Moves a connection from its handshake to waiting for its first request; `false` at the limit.
    pub(super) fn end_handshake(&mut self, now: Instant, number: u64) -> bool {
        if !self.stop_waiting(number) {
            return false;
        }
        let address = self.entries.get(&number).map(|entry| entry.address);
        let has_room = address.and_then(|address| self.have_room(now, address, false)).is_some();
        if has_room {
            self.wait(number, now, now + FIRST_REQUEST, false);
        }
        has_room
    }

    /// Evicts the connection that has waited longest; `false` if it is too recent.
    pub(super) fn make_room(&mut self, now: Instant) -> bool {
        let longest = [self.shaking.all.first(), self.waiting.all.first()].map(|due| due.copied());
        longest.into_iter().flatten().any(|due| self.close_for_another(now, due))
    }

    /// Closes connections whose deadline has passed.
    pub(super) fn close_overdue(&mut self, now: Instant) -> Overdue {
        let mut overdue = Overdue { n_shaking: 0, n_waiting: 0 };
        while let Some(&due) = self.shaking.all.first().filter(|due| due.0 <= now) {
            self.close(due);
            overdue.n_shaking += 1;
        }
        while let Some(&due) = self.waiting.all.first().filter(|due| due.0 <= now) {
            self.close(due);
            overdue.n_waiting += 1;
        }
        overdue
    }

    /// Notes a request on a connection.
    pub(super) fn ask(&mut self, now: Instant, number: u64) {
        if self.stop_waiting(number) {
            self.wait(number, now, now + IDLE, false);
        }
    }

    /// Notes that an answer is in progress.
    pub(super) fn begin_work(&mut self, number: u64) {
        self.stop_waiting(number);
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.n_at_work += 1;
        }
    }

    /// Notes that an answer has ended.
    pub(super) fn end_work(&mut self, now: Instant, number: u64) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        entry.n_at_work = entry.n_at_work.saturating_sub(1);
        if entry.n_at_work == 0 {
            self.wait(number, now, now + IDLE, false);
        }
    }

    pub(super) fn leave(&mut self, number: u64) {
        self.stop_waiting(number);
        self.entries.remove(&number);
    }

    /// Makes room for one more connection of an address in a line. Returns whether another one was evicted, or `None`
    /// if there is no room.
    fn have_room(&mut self, now: Instant, address: IpAddr, shaking: bool) -> Option<bool> {
        match self.line(shaking).in_the_way(address) {
            Some(due) => self.close_for_another(now, due).then_some(true),
            None => Some(false),
        }
    }

    fn close_for_another(&mut self, now: Instant, due: Due) -> bool {
        let since = self.entries.get(&due.1).and_then(|entry| entry.waits).map(|waits| waits.since);
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

    fn line(&mut self, shaking: bool) -> &mut ConnectionQueue {
        if shaking { &mut self.shaking } else { &mut self.waiting }
    }

    fn wait(&mut self, number: u64, now: Instant, until: Instant, is_shaking: bool) {
        let Some(entry) = self.entries.get_mut(&number).filter(|entry| !entry.close.is_cancelled()) else {
            return;
        };
        let due = (until, number);
        entry.waits = Some(Waits { since: now, due, is_shaking });
        let address = entry.address;
        self.line(is_shaking).enter(address, due);
    }

    /// Removes a connection from its line; `false` if it was in none.
    fn stop_waiting(&mut self, number: u64) -> bool {
        let Some(entry) = self.entries.get_mut(&number) else { return false };
        let Some(Waits { due, is_shaking, .. }) = entry.waits.take() else { return false };
        let address = entry.address;
        self.line(is_shaking).leave(address, due);
        true
    }
}

impl ConnectionQueue {
    fn new(room: QueueLimits) -> Self {
        Self { room, all: BTreeSet::new(), by_address: HashMap::new() }
    }

    /// Returns the connection to evict before another one of this address can enter, if any.
    fn in_the_way(&self, address: IpAddr) -> Option<Due> {
        let of_address = self.by_address.get(&address).filter(|line| line.len() >= self.room.of_address);
        let all = Some(&self.all).filter(|line| line.len() >= self.room.in_all);
        of_address.or(all).and_then(|line| line.first().copied())
    }

    fn enter(&mut self, address: IpAddr, due: Due) {
        self.all.insert(due);
        self.by_address.entry(address).or_default().insert(due);
    }

    fn leave(&mut self, address: IpAddr, due: Due) {
        self.all.remove(&due);
        if let Some(line) = self.by_address.get_mut(&address) {
            line.remove(&due);
            if line.is_empty() {
                self.by_address.remove(&address);
            }
        }
    }
}

/// Returns the address by which clients are counted. For IPv6 that is the /64 prefix: every client has 2^64 addresses.
pub(crate) fn neighbourhood(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST_WAITING: usize = 3;
    const WAITING: QueueLimits = QueueLimits { in_all: usize::MAX, of_address: MOST_WAITING };
    const SHAKING: QueueLimits = QueueLimits { in_all: 3, of_address: 2 };

    /// A connection table and its connections.
    struct Played {
        table: ConnectionTable,
        now: Instant,
        closed: HashMap<u64, CancellationToken>,
    }

    impl Played {
        fn new() -> Self {
            Self {
                table: ConnectionTable::new(SHAKING, WAITING),
                now: Instant::now(),
                closed: HashMap::new(),
            }
        }

        fn admit(&mut self, address: &str) -> Option<u64> {
            self.admit_to(address, false)
        }

        /// Admits a connection that begins with a handshake.
        fn shake(&mut self, address: &str) -> Option<u64> {
            self.admit_to(address, true)
        }

        fn admit_to(&mut self, address: &str, shakes: bool) -> Option<u64> {
            let close = CancellationToken::new();
            let peer = address.parse().expect("an address");
            let Admitted { number, instead } = self.table.admit(self.now, peer, close.clone(), shakes)?;
            assert!(!instead || !self.closed().is_empty());
            self.closed.insert(number, close);
            Some(number)
        }

        /// Advances the clock; returns the numbers of all closed connections.
        fn pass(&mut self, seconds: u64) -> Vec<u64> {
            self.now += Duration::from_secs(seconds);
            self.table.close_overdue(self.now);
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
        played.table.ask(played.now, asking);
        played.table.begin_work(working);
        assert_eq!(played.pass(1), [silent]);
        assert_eq!(played.pass(58), [silent]);
        assert_eq!(played.pass(1), [silent, asking]);
        assert_eq!(played.pass(100_000), [silent, asking]);
        played.table.end_work(played.now, working);
        assert_eq!(played.pass(59), [silent, asking]);
        assert_eq!(played.pass(1), [silent, asking, working]);
        // Events of closing connections have no effect.
        played.table.ask(played.now, asking);
        played.table.begin_work(working);
        played.table.end_work(played.now, working);
        for number in [silent, asking, working] {
            played.table.leave(number);
        }
        assert!(played.table.entries.is_empty() && played.table.waiting.all.is_empty());
        assert!(played.table.waiting.by_address.is_empty());
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
        played.table.begin_work(first[1]);
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
        assert!(!played.table.make_room(played.now));
        played.table.begin_work(first.expect("room"));
        played.pass(2);
        assert!(played.table.make_room(played.now));
        assert_eq!(played.closed(), [second.expect("room")]);
        assert!(!played.table.make_room(played.now), "the other is at work");
    }

    #[test]
    fn handshakes_have_a_line_of_their_own_in_which_nobody_stays() {
        let mut played = Played::new();
        let waiting: Vec<_> = (0..MOST_WAITING).map(|_| played.admit("10.0.0.1").expect("room")).collect();
        let first = played.shake("10.0.0.1").expect("who waits for something else is not in its way");
        let second = played.shake("10.0.0.1").expect("room");
        assert_eq!(played.shake("10.0.0.1"), None, "too many of its address");
        played.shake("10.0.0.2").expect("room");
        assert_eq!(played.shake("10.0.0.3"), None, "too many in all");
        played.pass(1);
        played.shake("10.0.0.3").expect("room is made");
        assert_eq!(played.closed(), [first]);
        assert!(!played.table.end_handshake(played.now, first), "it is being closed");
        // It evicts the connection that has waited longest for a request.
        assert!(played.table.end_handshake(played.now, second));
        assert_eq!(played.closed(), [waiting[0], first]);
        assert_eq!(played.pass(4).len(), 3, "the one of 10.0.0.2 took too long");
        assert!(!played.closed().contains(&second));
        played.pass(100);
        assert!(played.table.shaking.all.is_empty() && played.table.shaking.by_address.is_empty());
        assert!(played.closed().contains(&second));
    }
}
