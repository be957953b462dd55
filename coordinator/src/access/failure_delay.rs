//! Delays the answers to invalid tokens: each further failure from an address waits longer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::net::neighbourhood;

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
        let mut all = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(failures.by_address.lock().expect("unbroken").len() <= MOST_ADDRESSES);
    }
}
