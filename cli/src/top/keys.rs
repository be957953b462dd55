//! The keys there are, for help and for the last line.

/// Where a key does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Jobs,
    Workers,
    /// One job on the whole screen.
    Page,
}

/// A key, or several that do the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) key: &'static str,
    /// For the last line, in a word; empty if it is not named there.
    pub(super) short: &'static str,
    /// For help.
    pub(super) long: &'static str,
    pub(super) places: &'static [View],
    /// Whether it changes something, which takes an operator.
    pub(super) decides: bool,
    /// Those of the highest rank go first when the last line has no room.
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

/// All of them.
pub(super) const KEYS: [Key; 14] = [
    of(PAGE, 1, false, key("Esc", "back", "go back; close what is open")),
    of(TABLES, 1, false, key("Enter", "look", "look at one job: parts, who counted, events")),
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
