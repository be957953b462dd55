//! Limits how many people join campaigns: from one address within an hour, and in all within a minute.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::join::JoinRefusal;
use crate::net::neighbourhood;

/// The most people who may join from one IPv4 address, or one IPv6 network (/64), within an hour.
const MOST_OF_ADDRESS: u32 = 5;
const HOUR: Duration = Duration::from_secs(3600);

/// The most people who may join within a minute. So at most 18,000 joins of an hour are in memory.
const MOST_IN_MINUTE: usize = 300;
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
    by_address: HashMap<IpAddr, u32>,
}

impl JoinThrottle {
    pub(super) fn new(is_by_address: bool) -> Self {
        Self { is_by_address, recent: Mutex::default() }
    }

    /// Counts a join from an address. One too many is refused, and does not count.
    pub(super) fn begin(&self, peer: Option<IpAddr>) -> Result<(), JoinRefusal> {
        let now = Instant::now();
        let address = peer.filter(|_| self.is_by_address).map(neighbourhood);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.forget(now);
        let within = |(at, _): &(Instant, _)| now.duration_since(*at) >= MINUTE;
        if recent.joins.len() - recent.joins.partition_point(within) >= MOST_IN_MINUTE {
            return Err(JoinRefusal::RateLimit);
        }
        if let Some(address) = address {
            let n_of_address = recent.by_address.entry(address).or_default();
            if *n_of_address >= MOST_OF_ADDRESS {
                return Err(JoinRefusal::AddressLimit(*n_of_address));
            }
            *n_of_address += 1;
        }
        recent.joins.push_back((now, address));
        Ok(())
    }

    /// Takes back the latest join from an address, which has failed by no fault of the sender.
    pub(super) fn take_back(&self, peer: Option<IpAddr>) {
        let address = peer.filter(|_| self.is_by_address).map(neighbourhood);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = recent.joins.iter().rposition(|(_, of)| *of == address) {
            recent.joins.remove(at);
            recent.forget_one(address);
        }
    }
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
        let Some(address) = address else { return };
        if let Some(n_of_address) = self.by_address.get_mut(&address) {
            *n_of_address -= 1;
            if *n_of_address == 0 {
                self.by_address.remove(&address);
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
        assert_eq!(throttle.begin(other), Err(JoinRefusal::AddressLimit(MOST_OF_ADDRESS)), "one network");
        assert_eq!(throttle.begin(address("2001:db8:0:1::1")), Ok(()));
        throttle.take_back(other);
        assert_eq!(throttle.begin(one), Ok(()));
        tokio::time::advance(HOUR - Duration::from_secs(1)).await;
        assert_eq!(throttle.begin(one), Err(JoinRefusal::AddressLimit(MOST_OF_ADDRESS)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(throttle.begin(one), Ok(()));
        let recent = throttle.recent.lock().expect("unbroken");
        assert_eq!((recent.joins.len(), recent.by_address.len()), (1, 1), "nobody is kept for longer");
    }

    #[tokio::test(start_paused = true)]
    async fn a_minute_has_a_limit_and_memory_too() {
        let throttle = JoinThrottle::new(true);
        let mut n_joins = 0;
        for number in 0..100_000_u32 {
            n_joins += usize::from(throttle.begin(Some(IpAddr::V4(number.into()))).is_ok());
        }
        assert_eq!(n_joins, MOST_IN_MINUTE);
        assert_eq!(throttle.begin(address("10.0.0.1")), Err(JoinRefusal::RateLimit));
        assert_eq!(throttle.recent.lock().expect("unbroken").by_address.len(), MOST_IN_MINUTE);
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
}
