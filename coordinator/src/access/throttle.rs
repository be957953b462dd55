//! Slows down strangers, by their addresses: delays the answers to invalid credentials, and limits how many people join
//! campaigns.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::join::JoinRefusal;
use crate::net::{Network, neighbourhood};

/// The delay after the first failure, and the maximal delay.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(2);

/// When an address without further failures is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Maximal addresses that are remembered, and answers that are delayed at a time.
const MOST_ADDRESSES: usize = 4096;
const MOST_WAITING: usize = 1024;

/// Recent failures of each address.
#[derive(Debug)]
pub(super) struct FailureDelay {
    by_address: Mutex<HashMap<IpAddr, (u32, Instant)>>,
    waiting: Arc<Semaphore>,
}

impl FailureDelay {
    pub(super) fn new() -> Self {
        Self { by_address: Mutex::default(), waiting: Arc::new(Semaphore::new(MOST_WAITING)) }
    }

    /// Counts a failure and delays its answer. Valid tokens are never delayed.
    pub(super) async fn delay_after_failure(&self, peer: IpAddr) {
        let wait = self.note(peer);
        // Beyond the limit, an immediate answer discloses nothing.
        if let Ok(_place) = self.waiting.try_acquire() {
            tokio::time::sleep(wait).await;
        }
    }

    fn note(&self, peer: IpAddr) -> Duration {
        let now = Instant::now();
        let mut all = self.by_address.lock();
        if all.len() >= MOST_ADDRESSES {
            all.retain(|_, (_, last)| now.duration_since(*last) < FORGOTTEN);
            if all.len() >= MOST_ADDRESSES {
                all.clear();
            }
        }
        let (n_failures, last) = all.entry(neighbourhood(peer)).or_insert((0, now));
        if now.duration_since(*last) >= FORGOTTEN {
            *n_failures = 0;
        }
        *last = now;
        let wait = SHORTEST.saturating_mul(1 << (*n_failures).min(10)).min(LONGEST);
        *n_failures = n_failures.saturating_add(1);
        wait
    }
}

/// The limit of joins in an hour from one network, by the length of its prefix. DNS servers limit by /24 and /56, which
/// a household gets, and Let's Encrypt by /48, which a site gets.
const MOST_OF_IPV4: &[(u32, u32)] = &[(32, 5), (24, 20)];
const MOST_OF_IPV6: &[(u32, u32)] = &[(64, 5), (56, 10), (48, 20)];
const HOUR: Duration = Duration::from_secs(3600);

/// The limit of joins in a minute from all networks: fifty times that of one network in an hour. A thousand joins take
/// a second. At most 60,000 joins of an hour are in memory.
const MOST_IN_MINUTE: usize = 1000;
const MINUTE: Duration = Duration::from_secs(60);

/// Recent joins.
#[derive(Debug)]
pub(super) struct JoinThrottle {
    /// Whether addresses tell people apart. They don't behind a proxy, whose address all requests have.
    is_by_address: bool,
    recent: Mutex<Recent>,
}

/// The joins of the last hour.
#[derive(Debug, Default)]
struct Recent {
    /// In the order of time.
    joins: VecDeque<(Instant, Option<IpAddr>)>,
    by_network: HashMap<Network, u32>,
}

impl JoinThrottle {
    pub(super) fn new(is_by_address: bool) -> Self {
        Self { is_by_address, recent: Mutex::default() }
    }

    /// Counts a join from an address. One too many is refused, and does not count.
    pub(super) fn begin(&self, peer: Option<IpAddr>) -> Result<(), JoinRefusal> {
        let now = Instant::now();
        let address = self.address(peer);
        let mut recent = self.recent.lock();
        recent.forget(now);
        let within = |(at, _): &(Instant, _)| now.duration_since(*at) >= MINUTE;
        if recent.joins.len() - recent.joins.partition_point(within) >= MOST_IN_MINUTE {
            return Err(JoinRefusal::RateLimit);
        }
        let is_full = |(network, most): &_| recent.by_network.get(network).is_some_and(|n| n >= most);
        if let Some((_, most)) = networks(address).find(is_full) {
            return Err(JoinRefusal::AddressLimit(most));
        }
        networks(address).for_each(|(network, _)| *recent.by_network.entry(network).or_default() += 1);
        recent.joins.push_back((now, address));
        Ok(())
    }

    /// Takes back the latest join from an address, which has failed by no fault of the sender.
    pub(super) fn take_back(&self, peer: Option<IpAddr>) {
        let address = self.address(peer);
        let mut recent = self.recent.lock();
        if let Some(at) = recent.joins.iter().rposition(|(_, of)| *of == address) {
            recent.joins.remove(at);
            recent.forget_one(address);
        }
    }

    fn address(&self, peer: Option<IpAddr>) -> Option<IpAddr> {
        peer.filter(|_| self.is_by_address).map(|peer| peer.to_canonical())
    }
}

/// Returns the networks of an address, and the most joins from each.
fn networks(address: Option<IpAddr>) -> impl Iterator<Item = (Network, u32)> {
    address.into_iter().flat_map(|address| {
        let limits = if address.is_ipv4() { MOST_OF_IPV4 } else { MOST_OF_IPV6 };
        limits.iter().map(move |&(length, most)| (Network::around(address, length), most))
    })
}

impl Recent {
    fn forget(&mut self, now: Instant) {
        while let Some((at, address)) = self.joins.front().copied() {
            if now.duration_since(at) < HOUR {
                break;
            }
            self.joins.pop_front();
            self.forget_one(address);
        }
    }

    fn forget_one(&mut self, address: Option<IpAddr>) {
        for (network, _) in networks(address) {
            if let Entry::Occupied(mut n_joins) = self.by_network.entry(network) {
                *n_joins.get_mut() -= 1;
                if *n_joins.get() == 0 {
                    n_joins.remove();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().expect("an address"))
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_has_few_joins_an_hour_and_others_lose_nothing() {
        let throttle = JoinThrottle::new(true);
        let (one, other) = (address("2001:db8::1"), address("2001:db8::2"));
        for peer in [one, other, one, other, one] {
            assert_eq!(throttle.begin(peer), Ok(()));
        }
        assert_eq!(throttle.begin(other), Err(JoinRefusal::AddressLimit(5)), "one network");
        assert_eq!(throttle.begin(address("2001:db8:0:1::1")), Ok(()));
        throttle.take_back(other);
        assert_eq!(throttle.begin(one), Ok(()));
        tokio::time::advance(HOUR - Duration::from_secs(1)).await;
        assert_eq!(throttle.begin(one), Err(JoinRefusal::AddressLimit(5)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(throttle.begin(one), Ok(()));
        let recent = throttle.recent.lock();
        assert_eq!((recent.joins.len(), recent.by_network.len()), (1, 3), "nobody is kept for longer");
    }

    #[tokio::test(start_paused = true)]
    async fn a_network_keeps_out_only_itself() {
        let throttle = JoinThrottle::new(true);
        let joins = |addresses: &mut dyn Iterator<Item = String>| {
            let joined = addresses.filter(|peer| throttle.begin(address(peer)).is_ok());
            joined.count()
        };
        assert_eq!(joins(&mut (1..=253).map(|host| format!("192.0.2.{host}"))), 20);
        assert_eq!(joins(&mut (0..=0xff).map(|link| format!("2001:db8:0:{link:x}::1"))), 10);
        assert_eq!(joins(&mut (0..=0xffff).map(|link| format!("2001:db8:1:{link:x}::1"))), 20);
        let others = ["192.0.3.1", "2001:db8:0:100::1", "2001:db8:2::1"].map(str::to_owned);
        assert_eq!(joins(&mut others.into_iter()), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_minute_has_a_limit_and_memory_too() {
        let throttle = JoinThrottle::new(true);
        let mut n_joins = 0;
        for number in 0..100_000_u32 {
            n_joins += usize::from(throttle.begin(Some(IpAddr::V4((number << 8).into()))).is_ok());
        }
        assert_eq!(n_joins, MOST_IN_MINUTE);
        assert_eq!(throttle.begin(address("10.0.0.1")), Err(JoinRefusal::RateLimit));
        assert_eq!(throttle.recent.lock().by_network.len(), 2 * MOST_IN_MINUTE);
        tokio::time::advance(MINUTE).await;
        assert_eq!(throttle.begin(address("10.0.0.1")), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn behind_a_proxy_all_have_one_address() {
        let throttle = JoinThrottle::new(false);
        for _ in 0..MOST_IN_MINUTE {
            assert_eq!(throttle.begin(address("127.0.0.1")), Ok(()));
        }
        assert_eq!(throttle.begin(address("127.0.0.1")), Err(JoinRefusal::RateLimit));
        throttle.take_back(address("127.0.0.1"));
        assert_eq!(throttle.begin(address("127.0.0.1")), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn the_more_often_the_longer_and_others_do_not_wait() {
        let failures = FailureDelay::new();
        let [one, other] = ["10.0.0.1", "10.0.0.2"].map(|peer| peer.parse().expect("an address"));
        let waits: Vec<_> = (0..7).map(|_| failures.note(one).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 2000, 2000]);
        assert_eq!(failures.note(other), SHORTEST);
        tokio::time::advance(FORGOTTEN).await;
        assert_eq!(failures.note(one), SHORTEST);
        for number in 0..100_000_u32 {
            failures.note(IpAddr::V4(number.into()));
        }
        assert!(failures.by_address.lock().len() <= MOST_ADDRESSES);
    }
}
