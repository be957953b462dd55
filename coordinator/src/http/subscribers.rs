//! Who follows the summaries. There is always a place for one more: another loses it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Who has not read for this long loses its place first.
const UNREAD: Duration = Duration::from_secs(10);

/// All followers, as many as there are places at most.
#[derive(Debug)]
pub(super) struct Followers {
    n_places: usize,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    n_admitted: u64,
    /// When each has last read.
    read: BTreeMap<u64, Instant>,
}

/// A follower, from when it comes to when it is dropped.
#[derive(Debug)]
pub(super) struct Follower {
    followers: Arc<Followers>,
    number: u64,
}

impl Followers {
    pub(super) fn new(n_places: usize) -> Self {
        Self { n_places: n_places.max(1), list: Mutex::default() }
    }

    /// Admits one more. If all places are taken, the place is that of somebody who has not read for some time, or else
    /// of who has been there longest.
    pub(super) fn authorize(self: &Arc<Self>) -> Follower {
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
        Follower { followers: self.clone(), number }
    }

    fn list(&self) -> MutexGuard<'_, List> {
        // Nothing is left half done in there.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Follower {
    /// Notes that it reads; `false` if it has lost its place.
    pub(super) fn reads(&self) -> bool {
        let mut list = self.followers.list();
        let read = list.read.get_mut(&self.number);
        read.map(|read| *read = Instant::now()).is_some()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.followers.list().read.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_makes_room_and_else_who_came_first() {
        let followers = Arc::new(Followers::new(3));
        let [first, second, third] = [(); 3].map(|()| followers.authorize());
        tokio::time::advance(UNREAD).await;
        assert!(first.reads() && third.reads());
        let fourth = followers.authorize();
        assert_eq!([&first, &second, &third, &fourth].map(Follower::reads), [true, false, true, true]);
        let fifth = followers.authorize();
        assert_eq!([&first, &third, &fourth, &fifth].map(Follower::reads), [false, true, true, true]);
        drop((third, second));
        let sixth = followers.authorize();
        assert_eq!([&fourth, &fifth, &sixth].map(Follower::reads), [true, true, true]);
    }
}
