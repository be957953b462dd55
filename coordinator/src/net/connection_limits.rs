//! How many connections a port has, in all and of one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// File descriptors reserved for everything but connections, mostly for the database.
const FILES_KEPT: u64 = 32;

/// Maximal connections to the pages; also at most a quarter of all.
const MOST_TO_PAGES: usize = 1024;

/// Limits on connections that the operator has set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    /// In total, of all ports.
    pub(crate) connections: Option<NonZeroUsize>,
    /// Of one address, for each port.
    pub(crate) of_address: Option<NonZeroUsize>,
}

impl ConnectionLimits {
    /// Returns how many connections `n_files` file descriptors allow, if that is below the set limit.
    pub(crate) fn too_many(self, n_files: u64) -> Option<usize> {
        let allowed = allowed(n_files);
        self.connections.filter(|most| most.get() > allowed).map(|_| allowed)
    }
}

/// Returns how many connections `n_files` file descriptors allow.
fn allowed(n_files: u64) -> usize {
    let n_files = n_files - FILES_KEPT.min(n_files / 2);
    usize::try_from(n_files).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
}

/// The connection limits of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// In total.
    pub(crate) n_connections: usize,
    /// Of one address.
    n_of_address: usize,
}

impl Limits {
    /// Divides the file descriptors between the port for workers and operators, and the port for pages if there is one.
    pub(crate) fn share(n_files: u64, with_pages: bool, most: ConnectionLimits) -> (Self, Self) {
        let n_connections = allowed(n_files).min(most.connections.map_or(usize::MAX, NonZeroUsize::get));
        let n_pages = if with_pages { (n_connections / 4).min(MOST_TO_PAGES) } else { 0 };
        (Self::of(n_connections - n_pages, most), Self::of(n_pages, most))
    }

    fn of(n_connections: usize, most: ConnectionLimits) -> Self {
        let n_connections = n_connections.max(1);
        let n_of_address = most.of_address.map_or(n_connections.div_ceil(2), NonZeroUsize::get);
        Self { n_connections, n_of_address }
    }
}

/// The places of a port for connections.
#[derive(Debug)]
pub(super) struct Places {
    all: Arc<Semaphore>,
    most_of_address: usize,
    /// Those that addresses hold, without addresses that hold none.
    of_address: Mutex<HashMap<IpAddr, usize>>,
}

impl Places {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        let all = Arc::new(Semaphore::new(limits.n_connections));
        Arc::new(Self { all, most_of_address: limits.n_of_address, of_address: Mutex::default() })
    }

    /// Takes a place for a connection, which counts for the address of its peer if there is one.
    ///
    /// # Errors
    /// Which limit is reached.
    pub(super) fn take(self: &Arc<Self>, peer: Option<IpAddr>) -> Result<Place, &'static str> {
        let permit = self.all.clone().try_acquire_owned().map_err(|_| "there is no room for more")?;
        let address = peer.map(neighbourhood);
        if let Some(address) = address {
            let mut of_address = self.of_address.lock();
            let n = of_address.entry(address).or_default();
            if *n >= self.most_of_address {
                return Err("its address has too many");
            }
            *n += 1;
        }
        Ok(Place { places: self.clone(), address, _permit: permit })
    }
}

/// A connection's place at its port; released on drop.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    address: Option<IpAddr>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(address) = self.address else { return };
        let mut of_address = self.places.of_address.lock();
        if let Some(n) = of_address.get_mut(&address) {
            *n -= 1;
            if *n == 0 {
                of_address.remove(&address);
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

    #[test]
    fn a_part_of_all_files_is_kept_and_pages_get_a_quarter_of_the_rest() {
        let n_connections = |n_files, with_pages| {
            let (workers, pages) = Limits::share(n_files, with_pages, ConnectionLimits::default());
            (workers.n_connections, pages.n_connections)
        };
        assert_eq!(n_connections(64, true), (24, 8));
        assert_eq!(n_connections(1024, true), (744, 248));
        assert_eq!(n_connections(20_000, true), (18_944, 1024));
        assert_eq!(n_connections(20_000, false).0, 19_968);
        assert_eq!(n_connections(0, true), (1, 1));
        assert_eq!(n_connections(u64::MAX, true), (Semaphore::MAX_PERMITS - MOST_TO_PAGES, MOST_TO_PAGES));
    }

    #[test]
    fn what_was_said_is_the_most_as_far_as_files_go() {
        let some = |number| NonZeroUsize::new(number);
        let most = ConnectionLimits { connections: some(100), of_address: some(7) };
        let (workers, pages) = Limits::share(1024, true, most);
        assert_eq!(workers, Limits { n_connections: 75, n_of_address: 7 });
        assert_eq!(pages, Limits { n_connections: 25, n_of_address: 7 });
        assert_eq!(most.too_many(1024), None);
        let most = ConnectionLimits { connections: some(1000), ..ConnectionLimits::default() };
        assert_eq!(most.too_many(1024), Some(992));
        assert_eq!(Limits::share(1024, false, most).0, Limits { n_connections: 992, n_of_address: 496 });
    }

    #[test]
    fn one_address_does_not_take_all_places() {
        let places = Places::new(Limits { n_connections: 6, n_of_address: 2 });
        let take = |address: &str| places.take(Some(address.parse().expect("an address")));
        let held = ["10.0.0.1", "::ffff:10.0.0.1", "2001:db8::1", "2001:db8::2"].map(take);
        assert!(held.iter().all(Result::is_ok));
        for address in ["10.0.0.1", "2001:db8::ffff"] {
            assert_eq!(take(address).expect_err("many"), "its address has too many");
        }
        let others = [take("10.0.0.2"), take("2001:db8:0:1::")];
        assert!(others.iter().all(Result::is_ok));
        assert_eq!(places.take(None).expect_err("full"), "there is no room for more");
        drop((held, others));
        assert!(places.of_address.lock().is_empty());
        assert!((0..6).map(|_| places.take(None)).all(|place| place.is_ok()), "each is dropped at once");
    }
}
