//! Pagination of lists that may exceed a message; each page names the next.

use std::fmt;
use std::str::FromStr;

use prost::Message;
use thiserror::Error;

use queens_model::{Name, WorkerId};

/// The most bytes of a page's entries. By default, a message holds at most 4 MiB.
pub const MOST_BYTES: usize = 3 << 20;

/// The most bytes that a list adds to an entry: its field and its length.
const OVERHEAD: usize = 8;

/// Takes as many of `entries` as fit and reduces `room`; returns them, and whether there are more. The first entry
/// always fits.
pub fn fill<M: Message>(room: &mut usize, entries: impl IntoIterator<Item = M>) -> (Vec<M>, bool) {
    let mut taken = Vec::new();
    for entry in entries {
        let size = entry.encoded_len() + OVERHEAD;
        if size > *room && *room < MOST_BYTES {
            return (taken, true);
        }
        *room = room.saturating_sub(size);
        taken.push(entry);
    }
    (taken, false)
}

/// The error for a page name that no coordinator gave out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no such page of the list: take the name of the next page from the answer before")]
pub struct UnknownPage;

/// A page of the list of workers, followed by the blocked names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkersPage {
    /// The first page.
    First,
    /// The page begins after this worker.
    AfterWorker(WorkerId),
    /// The page begins after this blocked name, and holds no workers.
    AfterBlocked(Name),
}

impl fmt::Display for WorkersPage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => Ok(()),
            Self::AfterWorker(worker) => write!(formatter, "worker:{}", worker.0),
            Self::AfterBlocked(name) => write!(formatter, "blocked:{name}"),
        }
    }
}

impl FromStr for WorkersPage {
    type Err = UnknownPage;

    fn from_str(name: &str) -> Result<Self, UnknownPage> {
        if name.is_empty() {
            return Ok(Self::First);
        }
        match name.split_once(':').ok_or(UnknownPage)? {
            ("worker", id) => id.parse().map(|id| Self::AfterWorker(WorkerId(id))).map_err(|_| UnknownPage),
            ("blocked", name) => name.parse().map(Self::AfterBlocked).map_err(|_| UnknownPage),
            _ => Err(UnknownPage),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_what_fits_and_says_whether_there_is_more() {
        let entry = "a".repeat(MOST_BYTES / 2 - 2 * OVERHEAD);
        let page = |n_entries| {
            let mut room = MOST_BYTES;
            let (taken, more) = fill(&mut room, vec![entry.clone(); n_entries]);
            (taken.len(), more, room)
        };
        assert_eq!((page(0), page(2).0, page(2).1), ((0, false, MOST_BYTES), 2, false));
        assert_eq!((page(3).0, page(3).1), (2, true));
        let mut room = MOST_BYTES;
        assert_eq!(fill(&mut room, ["a".repeat(MOST_BYTES), "b".to_owned()]).0.len(), 1);
        assert_eq!(fill(&mut room, ["c".to_owned()]), (vec![], true));
    }

    #[test]
    fn the_names_of_pages_lead_back_to_them() {
        for page in [
            WorkersPage::First,
            WorkersPage::AfterWorker(WorkerId(0)),
            WorkersPage::AfterWorker(WorkerId(u64::MAX)),
            WorkersPage::AfterBlocked(Name::of_any("a: b")),
        ] {
            assert_eq!(page.to_string().parse(), Ok(page));
        }
        for name in [
            "x",
            "0",
            "-1",
            "18446744073709551616",
            "worker:",
            "worker:x",
            "job:1",
            "blocked:",
            "blocked:\u{1b}",
        ] {
            assert_eq!(name.parse::<WorkersPage>(), Err(UnknownPage));
        }
    }
}
