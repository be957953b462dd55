//! The list of a port's connections: which of them wait, since when, and which has to go first.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a new connection may take until it is encrypted.
const HANDSHAKE: Duration = Duration::from_secs(5);

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
    n_admitted: u64,
    entries: HashMap<u64, Entry>,
    /// Those that are not encrypted yet.
    shaking: Line,
    /// Those that wait, and are encrypted if they have to be.
    waiting: Line,
}

/// When a connection is closed unless something becomes of it, and its number.
type Due = (Instant, u64);

/// How many may be in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) in_all: usize,
    pub(super) of_address: usize,
}

/// Connections that wait for the same, by when they are closed.
#[derive(Debug)]
struct Line {
    room: Room,
    all: BTreeSet<Due>,
    /// The same for each address; none is empty.
    by_address: HashMap<IpAddr, BTreeSet<Due>>,
}

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    /// Cancelled to close it.
    close: CancellationToken,
    /// Answers to it that go on.
    n_at_work: usize,
    /// `None` if it is at work or is being closed.
    waits: Option<Waits>,
}

/// Since when a connection waits, when it is closed for that, and in which line it is.
#[derive(Clone, Copy, Debug)]
struct Waits {
    since: Instant,
    due: Due,
    is_shaking: bool,
}

/// A connection that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Admitted {
    /// Its number.
    pub(super) number: u64,
    /// Whether another one is closed for it.
    pub(super) instead: bool,
}

/// How many connections were closed because they took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overdue {
    /// To be encrypted.
    pub(super) n_shaking: usize,
    /// To ask for something.
    pub(super) n_waiting: usize,
}

impl Register {
    /// An empty one, with room for so many connections that are not encrypted yet, and for so many that wait.
    pub(super) fn new(shaking: Room, waiting: Room) -> Self {
        Self {
            n_admitted: 0,
            entries: HashMap::new(),
            shaking: Line::new(shaking),
            waiting: Line::new(waiting),
        }
    }

    /// Adds a connection, which waits, for a handshake first if it has to be encrypted. If there is no room for it, the
    /// one that has waited longest is closed for it, or it is not admitted because none has waited for some time.
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

    /// A connection is encrypted now, and waits for its first request; `false` if there is no room for it.
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

    /// Closes the connection that has waited longest, so that there is room for another; `false` if none has waited for
    /// some time.
    pub(super) fn make_room(&mut self, now: Instant) -> bool {
        let longest = [self.shaking.all.first(), self.waiting.all.first()].map(|due| due.copied());
        longest.into_iter().flatten().any(|due| self.close_for_another(now, due))
    }

    /// Closes those that have waited too long.
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

    /// A request has come on a connection.
    pub(super) fn ask(&mut self, now: Instant, number: u64) {
        if self.stop_waiting(number) {
            self.wait(number, now, now + IDLE, false);
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
            self.wait(number, now, now + IDLE, false);
        }
    }

    /// A connection is gone.
    pub(super) fn leave(&mut self, number: u64) {
        self.stop_waiting(number);
        self.entries.remove(&number);
    }

    /// Sees to it that there is room for one more of an address in a line; whether another is closed for it, or `None`
    /// if there is none.
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

    fn line(&mut self, shaking: bool) -> &mut Line {
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

    /// Takes a connection out of its line; `false` if it was in none.
    fn stop_waiting(&mut self, number: u64) -> bool {
        let Some(entry) = self.entries.get_mut(&number) else { return false };
        let Some(Waits { due, is_shaking, .. }) = entry.waits.take() else { return false };
        let address = entry.address;
        self.line(is_shaking).leave(address, due);
        true
    }
}

impl Line {
    fn new(room: Room) -> Self {
        Self { room, all: BTreeSet::new(), by_address: HashMap::new() }
    }

    /// The connection that has to go before another of this address can come, if one has to.
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

/// What counts as one address: of IPv6, everybody has 2^64 of them.
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
    const WAITING: Room = Room { in_all: usize::MAX, of_address: MOST_WAITING };
    const SHAKING: Room = Room { in_all: 3, of_address: 2 };

    /// A register and the connections that were admitted to it.
    struct Played {
        register: Register,
        now: Instant,
        closed: HashMap<u64, CancellationToken>,
    }

    impl Played {
        fn new() -> Self {
            Self { register: Register::new(SHAKING, WAITING), now: Instant::now(), closed: HashMap::new() }
        }

        fn admit(&mut self, address: &str) -> Option<u64> {
            self.admit_to(address, false)
        }

        /// One that has to be encrypted first.
        fn shake(&mut self, address: &str) -> Option<u64> {
            self.admit_to(address, true)
        }

        fn admit_to(&mut self, address: &str, shakes: bool) -> Option<u64> {
            let close = CancellationToken::new();
            let peer = address.parse().expect("an address");
            let Admitted { number, instead } = self.register.admit(self.now, peer, close.clone(), shakes)?;
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
        assert!(played.register.entries.is_empty() && played.register.waiting.all.is_empty());
        assert!(played.register.waiting.by_address.is_empty());
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
        assert!(!played.register.end_handshake(played.now, first), "it is being closed");
        // In the line of those that wait, the one that has waited longest goes for it.
        assert!(played.register.end_handshake(played.now, second));
        assert_eq!(played.closed(), [waiting[0], first]);
        assert_eq!(played.pass(4).len(), 3, "the one of 10.0.0.2 took too long");
        assert!(!played.closed().contains(&second));
        played.pass(100);
        assert!(played.register.shaking.all.is_empty() && played.register.shaking.by_address.is_empty());
        assert!(played.closed().contains(&second));
    }
}
