//! Row digests, which reveal damaged, misplaced and hand-edited rows when they are read.
//!
//! The last column of every table is a digest of the table's name and of all other columns of the row, its key
//! included. In the tables of a job's rows, it also covers the job's identity, board, method, decomposition, and
//! whether the job is a second pass. So a row of another job fails, even if both jobs have the same number. A flipped
//! bit, a row in the place of another, and a page of another file are detected. Counts and digests one level up detect
//! missing rows: of a plan in its job, of ranges in the coverage of their part. Digests are not signatures: an attacker
//! can compute them.
//!
//! The function is SipHash-1-3 with a key of zeros. Any change of the input changes half of its 64 bits, so damage
//! passes in one case of 2^64. It has a specification, so it never changes. It is fast for rows of fifty bytes, and its
//! crate is among our dependencies anyway. A CRC detects a few flipped bits for certain, but the CRCs of three rows
//! determine that of a fourth, so they can't be summed.

use std::fmt::{self, Display, Formatter};

use queens_ledger::store::JobEntry;
use queens_model::JobIdentity;
use queens_solver::{BoardSize, Choice, Method};
use rusqlite::types::{Value, ValueRef};
use siphasher::sip::SipHasher13;

use super::database::{Database, Row};
use super::fault::Fault;
use super::table::Table;

/// The table of jobs.
pub static JOB: Table = Table::new(
    "job",
    &[
        "id",
        "identity",
        "n",
        "decomposition",
        "phase",
        "created_ms",
        "active_ms",
        "n_verified",
        "n_disputed",
        "n_parts",
        "priority",
        "paused",
        "plan_digest",
        "started_ms",
        "finished_ms",
        "method",
        "parts_from",
        "parts_to",
        "recount",
        "second_of",
        "seed",
        "exported_ms",
        "recount_by",
        "invitation",
    ],
    1,
);
/// The second copies of job identities. If a job's row is damaged, its other rows can't be verified without them.
pub static JOB_IDENTITY: Table = Table::new("job_identity", &["job", "identity"], 1);
/// The table of plan parts.
pub static PLAN_PART: Table =
    Table::of_job("plan_part", &["job", "number", "image", "n_subproblems", "work"], 2);
/// The sums of each part's records.
pub static COVERAGE: Table = Table::of_job(
    "coverage",
    &["job", "part", "n_recorded", "solutions", "work", "n_ranges", "fingerprint"],
    2,
);
/// The recorded ranges of each part.
pub static COVERAGE_RANGE: Table = Table::of_job("coverage_range", &["job", "part", "first", "until"], 3);
/// The table of sources: worker, build, kernel and party.
pub static SOURCE: Table = Table::new("source", &["id", "worker", "build", "kernel", "party"], 1);
/// The table of records.
pub static RECORD: Table = Table::of_job(
    "record",
    &["job", "part", "first", "until", "solutions", "work", "duration_us", "lease", "source"],
    3,
);
/// The table of recounts.
pub static SECOND_COUNT: Table = Table::of_job(
    "second_count",
    &["job", "part", "first", "party", "until", "solutions", "work", "duration_us", "source", "at_ms"],
    4,
);
/// The table of verdicts on counts that differ.
pub static VERDICT: Table = Table::of_job(
    "verdict",
    &[
        "job",
        "part",
        "first",
        "number",
        "until",
        "at_ms",
        "solutions",
        "work",
        "source",
        "lost_solutions",
        "lost_work",
        "lost_source",
    ],
    4,
);
/// The table of blocked names and parties.
pub static BLOCKED_WORKER: Table = Table::new("blocked_worker", &["name", "party", "reason"], 2);

pub(crate) static CURVE: Table = Table::new("curve", &["job", "step_seconds", "points"], 1);
pub(crate) static PARTY_DAY: Table = Table::new("party_day", &["day", "party", "time_us"], 2);
pub(crate) static EVENT: Table = Table::new("event", &["number", "at_ms", "kind", "job", "text"], 1);

/// The digests of a second pass's rows also cover this text.
const SECOND: &str = "second";

/// The properties of a job that the digests of its rows cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    pub(crate) identity: JobIdentity,
    pub(crate) n: u8,
    pub(crate) method: Method,
    pub(crate) decomposition: u32,
    /// Whether the job is the second pass of another. Its parts are on other images, with other subproblems.
    pub(crate) is_second: bool,
}

impl Board {
    /// Returns the board of a job.
    pub fn of(job: &JobEntry) -> Self {
        let is_second = job.terms.second_of.is_some();
        let JobEntry { identity, method, decomposition, .. } = *job;
        Self { identity, n: job.n.get(), method, decomposition, is_second }
    }

    /// Iterates over the boards that a first pass with this identity may have.
    pub(crate) fn all(identity: JobIdentity) -> impl Iterator<Item = Self> {
        Method::ALL.into_iter().flat_map(move |method| {
            let decomposition = method.decomposition();
            (0..=BoardSize::MAX).map(move |n| Self { identity, n, method, decomposition, is_second: false })
        })
    }
}

impl Display for Table {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "table {}", self.name)
    }
}

impl Table {
    /// Computes the digest of a row from its values, in the order of [`columns`](Self::columns). In a table of jobs'
    /// rows, it also covers the board of the job.
    pub(crate) fn digest<'a>(
        &self,
        board: Option<Board>,
        values: impl IntoIterator<Item = ValueRef<'a>>,
    ) -> i64 {
        let mut bytes = Vec::with_capacity(256);
        put(&mut bytes, ValueRef::Text(self.name.as_bytes()));
        if let Some(board) = board.filter(|_| self.is_of_job) {
            put(&mut bytes, ValueRef::Blob(&board.identity.to_bytes()));
            put(&mut bytes, ValueRef::Integer(board.n.into()));
            put(&mut bytes, ValueRef::Integer(board.decomposition.into()));
            put(&mut bytes, ValueRef::Text(board.method.name().as_bytes()));
            if board.is_second {
                put(&mut bytes, ValueRef::Text(SECOND.as_bytes()));
            }
        }
        values.into_iter().for_each(|value| put(&mut bytes, value));
        hash(&bytes)
    }

    /// Checks that a row, with all columns in order, has the right digest.
    pub fn verify(&self, row: &Row<'_>, board: Option<Board>, place: &dyn Display) -> Result<(), Fault> {
        let values = (0..self.columns.len()).map(|i| row.value(i)).collect::<Result<Vec<_>, _>>()?;
        let expected = self.digest(board, values);
        if row.value(self.columns.len())? == ValueRef::Integer(expected) {
            Ok(())
        } else {
            Err(Fault::Damaged(format!("{place}: its digest is not that of its content")))
        }
    }

    /// Returns all columns and the digest, as a list for SQL.
    pub(crate) fn all(&self) -> String {
        self.columns.join(", ") + ", digest"
    }

    /// Writes a row with its digest; replaces the row with the same key.
    pub fn put(
        &'static self,
        database: &dyn Database,
        board: Option<Board>,
        mut values: Vec<Value>,
    ) -> Result<(), Fault> {
        values.push(Value::Integer(self.digest(board, values.iter().map(ValueRef::from))));
        database.put(self, values)
    }
}

/// Computes the digest of a whole plan: of all choices, in order.
pub(crate) fn plan_digest(board: Board, choices: &[Choice]) -> i64 {
    let mut bytes = Vec::with_capacity(32 * (choices.len() + 1));
    bytes.extend(board.identity.to_bytes());
    bytes.extend([board.n]);
    bytes.extend(board.decomposition.to_le_bytes());
    bytes.extend(board.method.name().as_bytes());
    bytes.extend(if board.is_second { SECOND } else { "" }.as_bytes());
    for Choice { image, n_subproblems, work } in choices {
        bytes.extend([image.index()]);
        bytes.extend(n_subproblems.to_le_bytes());
        bytes.extend(work.to_le_bytes());
    }
    hash(&bytes)
}

/// Appends a value such that different lists of values give different bytes.
fn put(bytes: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => bytes.push(0),
        ValueRef::Integer(integer) => {
            bytes.push(1);
            bytes.extend(integer.to_le_bytes());
        }
        ValueRef::Real(real) => {
            bytes.push(2);
            bytes.extend(real.to_bits().to_le_bytes());
        }
        ValueRef::Text(content) | ValueRef::Blob(content) => {
            bytes.push(if matches!(value, ValueRef::Text(_)) { 3 } else { 4 });
            bytes.extend((content.len() as u64).to_le_bytes());
            bytes.extend(content);
        }
    }
}

fn hash(bytes: &[u8]) -> i64 {
    SipHasher13::new().hash(bytes).cast_signed()
}

#[cfg(test)]
mod tests {
    use queens_solver::Symmetry;

    use super::*;

    /// Expects the digests that SipHash-1-3 specifies: with others, every existing database would look damaged.
    #[test]
    fn digests_are_what_they_were_when_they_were_stored() {
        let board = Board {
            identity: JobIdentity(1),
            n: 17,
            method: Method::Search,
            decomposition: 2,
            is_second: false,
        };
        let text = |text: &'static str| ValueRef::Text(text.as_bytes());
        let party = text("000102030405060708090a0b0c0d0e0f");
        let source = [ValueRef::Integer(1), text("anna"), text("0.1.0"), text("portable"), party];
        assert_eq!(SOURCE.digest(None, source), 318_978_711_402_589_216);
        let range = [3, 5, 0, 20].map(ValueRef::Integer);
        assert_eq!(COVERAGE_RANGE.digest(Some(board), range), 1_960_969_595_428_207_374);
        let choice = |image, n_subproblems, work| Choice {
            image: Symmetry::from_index(image).expect("one of eight"),
            n_subproblems,
            work,
        };
        let choices = [choice(1, 100, 5), choice(0, 1, 1 << 70)];
        assert_eq!(plan_digest(board, &choices), 910_602_476_989_399_806);
    }

    /// A row of one method never verifies for the other, whatever the versions of the two.
    #[test]
    fn digests_tell_methods_apart() {
        let board = |method| {
            Some(Board { identity: JobIdentity(1), n: 17, method, decomposition: 2, is_second: false })
        };
        let range = || [3, 5, 0, 20].map(ValueRef::Integer);
        let [search, halves] = Method::ALL.map(|method| COVERAGE_RANGE.digest(board(method), range()));
        assert_ne!(search, halves);
        let [search, halves] = Method::ALL.map(|method| plan_digest(board(method).expect("a board"), &[]));
        assert_ne!(search, halves);
    }

    /// A row of a job never verifies for a later job with the same number.
    #[test]
    fn digests_tell_jobs_apart() {
        let board = |identity| Board {
            identity: JobIdentity(identity),
            n: 17,
            method: Method::Search,
            decomposition: 2,
            is_second: false,
        };
        let range = || [3, 5, 0, 20].map(ValueRef::Integer);
        assert_ne!(
            COVERAGE_RANGE.digest(Some(board(1)), range()),
            COVERAGE_RANGE.digest(Some(board(2)), range())
        );
        assert_ne!(plan_digest(board(1), &[]), plan_digest(board(2), &[]));
    }
}
