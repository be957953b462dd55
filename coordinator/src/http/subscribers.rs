//! The subscribers of the stream of summaries. Their number is limited: a new one replaces another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A subscriber that has not read for this long is replaced first.
const UNREAD: Duration = Duration::from_secs(10);

/// All subscribers, up to the limit.
#[derive(Debug)]
pub(super) struct Subscribers {
    n_places: usize,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    n_admitted: u64,
    /// When each has last read.
    read: BTreeMap<u64, Instant>,
}

/// A subscription, which ends when it is dropped.
#[derive(Debug)]
pub(super) struct Subscriber {
    subscribers: Arc<Subscribers>,
    number: u64,
}

impl Subscribers {
    pub(super) fn new(n_places: usize) -> Self {
        Self { n_places: n_places.max(1), list: Mutex::default() }
    }

    /// Adds a subscriber. At the limit, it replaces the one that has not read for [`UNREAD`], or else the oldest.
    pub(super) fn subscribe(self: &Arc<Self>) -> Subscriber {
        let now = Instant::now();
        let mut list = self.list();
        if list.read.len() >= self.n_places {
            let reads = |read: &Instant| now.duration_since(*read) < UNREAD;
            let first = list.read.iter().min_by_key(|(number, read)| (reads(read), **number));
            let first = first.map(|(number, _)| *number);
            first.and_then(|number| list.read.remove(&number));
        }
        list.n_admitted += 1;
        let number = list.n_admitted;
        list.read.insert(number, now);
        Subscriber { subscribers: self.clone(), number }
    }

    fn list(&self) -> MutexGuard<'_, List> {
        // No update of the list can panic half way.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber {
    /// Records that the subscriber reads; `false` if it has been replaced.
    pub(super) fn reads(&self) -> bool {
        let mut list = self.subscribers.list();
        let read = list.read.get_mut(&self.number);
        read.map(|read| *read = Instant::now()).is_some()
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.subscribers.list().read.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_makes_room_and_else_who_came_first() {
        let subscribers = Arc::new(Subscribers::new(3));
        let [first, second, third] = [(); 3].map(|()| subscribers.subscribe());
        tokio::time::advance(UNREAD).await;
        assert!(first.reads() && third.reads());
        let fourth = subscribers.subscribe();
        assert_eq!([&first, &second, &third, &fourth].map(Subscriber::reads), [true, false, true, true]);
        let fifth = subscribers.subscribe();
        assert_eq!([&first, &third, &fourth, &fifth].map(Subscriber::reads), [false, true, true, true]);
        drop((third, second));
        let sixth = subscribers.subscribe();
        assert_eq!([&fourth, &fifth, &sixth].map(Subscriber::reads), [true, true, true]);
    }
}
