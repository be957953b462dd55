//! The keys of `queens top`, for the help and the last line.

/// A view in which a key works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Jobs,
    Workers,
    /// One job on the whole screen.
    Page,
}

/// A key, or several keys with the same effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) key: &'static str,
    /// A word for the last line; empty if the key is not shown there.
    pub(super) short: &'static str,
    /// A description for the help.
    pub(super) long: &'static str,
    pub(super) places: &'static [View],
    /// Whether it changes something, so that only operators may use it.
    pub(super) decides: bool,
    /// If the last line is too narrow, keys of the highest rank are left out first.
    pub(super) rank: u8,
}

const fn key(key: &'static str, short: &'static str, long: &'static str) -> Key {
    Key { key, short, long, places: &[View::Jobs, View::Workers, View::Page], decides: false, rank: 0 }
}

const fn of(places: &'static [View], rank: u8, decides: bool, key: Key) -> Key {
    Key { places, rank, decides, ..key }
}

const TABLES: &[View] = &[View::Jobs, View::Workers];
const JOBS: &[View] = &[View::Jobs, View::Page];
const WORKERS: &[View] = &[View::Workers];
const PAGE: &[View] = &[View::Page];

pub(super) const KEYS: [Key; 14] = [
    of(PAGE, 1, false, key("Esc", "back", "go back; close the open view")),
    of(TABLES, 1, false, key("Enter", "look", "show one job: parts, contributions, events")),
    of(TABLES, 3, true, key("s", "submit", "submit a job")),
    of(JOBS, 2, true, key("p", "pause/resume", "pause the job, or have it go on; retries what failed")),
    of(JOBS, 5, true, key("u", "priority", "say how urgent the job is")),
    of(JOBS, 4, true, key("c", "cancel", "give the job up for good")),
    of(WORKERS, 2, true, key("d", "drain", "send the workers of this name home")),
    of(WORKERS, 2, true, key("b", "block/unblock", "block the workers of this name, or unblock them")),
    of(TABLES, 6, false, key("/", "filter", "show only what these words are found in")),
    of(&[View::Jobs], 7, false, key("Tab", "workers", "go to the other table (also ← →)")),
    of(WORKERS, 7, false, key("Tab", "jobs", "")),
    key("↑ ↓", "", "choose (also j k, PgUp PgDn, Home End)"),
    key("?", "help", "these keys"),
    key("q", "quit", "quit (also Ctrl-C); the coordinator goes on"),
];
