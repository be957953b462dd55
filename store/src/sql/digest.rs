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
pub const JOB: Table = Table {
    name: "job",
    columns: &[
        "id",
        "identity",
        "n",
        "decomposition",
        "phase",
        "created_ms",
        "active_ms",
        "n_verified",
        "n_disputed",
        "n_crosses",
        "priority",
        "paused",
        "plan_digest",
        "started_ms",
        "finished_ms",
        "method",
        "crosses_from",
        "crosses_to",
        "recount",
        "second_of",
        "seed",
        "exported_ms",
        "recount_by",
        "invitation",
    ],
    n_key: 1,
    is_of_job: false,
    put: "INSERT INTO job (id, identity, n, decomposition, phase, created_ms, active_ms, n_verified, \
          n_disputed, n_crosses, priority, paused, plan_digest, started_ms, finished_ms, method, \
          crosses_from, crosses_to, recount, second_of, seed, exported_ms, recount_by, invitation, digest) \
          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
          ?19, ?20, ?21, ?22, ?23, ?24, ?25) \
          ON CONFLICT (id) DO UPDATE SET identity = excluded.identity, n = excluded.n, decomposition = excluded.decomposition, \
          phase = excluded.phase, created_ms = excluded.created_ms, active_ms = \
          excluded.active_ms, n_verified = excluded.n_verified, n_disputed = \
          excluded.n_disputed, n_crosses = excluded.n_crosses, priority = excluded.priority, \
          paused = excluded.paused, plan_digest = excluded.plan_digest, started_ms = \
          excluded.started_ms, finished_ms = excluded.finished_ms, method = excluded.method, \
          crosses_from = excluded.crosses_from, crosses_to = excluded.crosses_to, recount = \
          excluded.recount, second_of = excluded.second_of, seed = excluded.seed, exported_ms = \
          excluded.exported_ms, recount_by = excluded.recount_by, invitation = \
          excluded.invitation, digest = excluded.digest",
};
/// The second copies of job identities. If a job's row is damaged, its other rows can't be verified without them.
pub const JOB_IDENTITY: Table = Table {
    name: "job_identity",
    columns: &["job", "identity"],
    n_key: 1,
    is_of_job: false,
    put: "INSERT INTO job_identity (job, identity, digest) \
          VALUES (?1, ?2, ?3) \
          ON CONFLICT (job) DO UPDATE SET identity = excluded.identity, digest = excluded.digest",
};
/// The table of plan parts.
pub const PLAN_CROSS: Table = Table {
    name: "plan_cross",
    columns: &["job", "number", "image", "n_subproblems", "work"],
    n_key: 2,
    is_of_job: true,
    put: "INSERT INTO plan_cross (job, number, image, n_subproblems, work, digest) \
          VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
          ON CONFLICT (job, number) DO UPDATE SET image = excluded.image, n_subproblems = \
          excluded.n_subproblems, work = excluded.work, digest = excluded.digest",
};
/// The sums of each part's records.
pub const COVERAGE: Table = Table {
    name: "coverage",
    columns: &["job", "cross", "n_recorded", "solutions", "nodes", "n_ranges", "fingerprint"],
    n_key: 2,
    is_of_job: true,
    put: "INSERT INTO coverage (job, cross, n_recorded, solutions, nodes, n_ranges, fingerprint, \
          digest) \
          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
          ON CONFLICT (job, cross) DO UPDATE SET n_recorded = excluded.n_recorded, solutions = \
          excluded.solutions, nodes = excluded.nodes, n_ranges = excluded.n_ranges, fingerprint \
          = excluded.fingerprint, digest = excluded.digest",
};
/// The recorded ranges of each part.
pub const COVERAGE_RANGE: Table = Table {
    name: "coverage_range",
    columns: &["job", "cross", "first", "until"],
    n_key: 3,
    is_of_job: true,
    put: "INSERT INTO coverage_range (job, cross, first, until, digest) \
          VALUES (?1, ?2, ?3, ?4, ?5) \
          ON CONFLICT (job, cross, first) DO UPDATE SET until = excluded.until, digest = \
          excluded.digest",
};
/// The table of sources: worker, build, kernel and party.
pub const SOURCE: Table = Table {
    name: "source",
    columns: &["id", "worker", "build", "kernel", "party"],
    n_key: 1,
    is_of_job: false,
    put: "INSERT INTO source (id, worker, build, kernel, party, digest) \
          VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
          ON CONFLICT (id) DO UPDATE SET worker = excluded.worker, build = excluded.build, \
          kernel = excluded.kernel, party = excluded.party, digest = excluded.digest",
};
/// The table of records.
pub const RECORD: Table = Table {
    name: "record",
    columns: &["job", "cross", "first", "until", "solutions", "nodes", "duration_us", "lease", "source"],
    n_key: 3,
    is_of_job: true,
    put: "INSERT INTO record (job, cross, first, until, solutions, nodes, duration_us, lease, \
          source, digest) \
          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
          ON CONFLICT (job, cross, first) DO UPDATE SET until = excluded.until, solutions = \
          excluded.solutions, nodes = excluded.nodes, duration_us = excluded.duration_us, lease \
          = excluded.lease, source = excluded.source, digest = excluded.digest",
};
/// The table of recounts.
pub const SECOND_COUNT: Table = Table {
    name: "second_count",
    columns: &[
        "job",
        "cross",
        "first",
        "party",
        "until",
        "solutions",
        "nodes",
        "duration_us",
        "source",
        "at_ms",
    ],
    n_key: 4,
    is_of_job: true,
    put: "INSERT INTO second_count (job, cross, first, party, until, solutions, nodes, duration_us, \
          source, at_ms, digest) \
          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
          ON CONFLICT (job, cross, first, party) DO UPDATE SET until = excluded.until, solutions = \
          excluded.solutions, nodes = excluded.nodes, duration_us = excluded.duration_us, source \
          = excluded.source, at_ms = excluded.at_ms, digest = excluded.digest",
};
/// The table of verdicts on counts that differ.
pub const VERDICT: Table = Table {
    name: "verdict",
    columns: &[
        "job",
        "cross",
        "first",
        "number",
        "until",
        "at_ms",
        "solutions",
        "nodes",
        "source",
        "lost_solutions",
        "lost_nodes",
        "lost_source",
    ],
    n_key: 4,
    is_of_job: true,
    put: "INSERT INTO verdict (job, cross, first, number, until, at_ms, solutions, nodes, source, \
          lost_solutions, lost_nodes, lost_source, digest) \
          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
          ON CONFLICT (job, cross, first, number) DO UPDATE SET until = excluded.until, at_ms = \
          excluded.at_ms, solutions = excluded.solutions, nodes = excluded.nodes, source = \
          excluded.source, lost_solutions = excluded.lost_solutions, lost_nodes = \
          excluded.lost_nodes, lost_source = excluded.lost_source, digest = excluded.digest",
};
/// The table of blocked names and parties.
pub const BLOCKED_WORKER: Table = Table {
    name: "blocked_worker",
    columns: &["name", "party", "reason"],
    n_key: 2,
    is_of_job: false,
    put: "INSERT INTO blocked_worker (name, party, reason, digest) \
          VALUES (?1, ?2, ?3, ?4) \
          ON CONFLICT (name, party) DO UPDATE SET reason = excluded.reason, digest = excluded.digest",
};

pub(crate) const POINT: Table = Table {
    name: "point",
    columns: &["step", "number", "job", "end_ms", "measured_ms", "nodes", "billionths"],
    n_key: 3,
    is_of_job: false,
    put: "INSERT INTO point (step, number, job, end_ms, measured_ms, nodes, billionths, digest) \
          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
          ON CONFLICT (step, number, job) DO UPDATE SET end_ms = excluded.end_ms, measured_ms = \
          excluded.measured_ms, nodes = excluded.nodes, billionths = excluded.billionths, digest = \
          excluded.digest",
};
pub(crate) const EVENT: Table = Table {
    name: "event",
    columns: &["number", "at_ms", "kind", "job", "text"],
    n_key: 1,
    is_of_job: false,
    put: "INSERT INTO event (number, at_ms, kind, job, text, digest) \
          VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
          ON CONFLICT (number) DO UPDATE SET at_ms = excluded.at_ms, kind = excluded.kind, job = \
          excluded.job, text = excluded.text, digest = excluded.digest",
};

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
        let mut bytes = Vec::with_capacity(128);
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
        &self,
        database: &dyn Database,
        board: Option<Board>,
        mut values: Vec<Value>,
    ) -> Result<(), Fault> {
        values.push(Value::Integer(self.digest(board, values.iter().map(ValueRef::from))));
        database.put(*self, values)
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

    #[test]
    fn a_row_is_written_by_its_columns() {
        let of_jobs =
            [JOB, JOB_IDENTITY, PLAN_CROSS, COVERAGE, COVERAGE_RANGE, RECORD, SECOND_COUNT, VERDICT];
        let tables = of_jobs.into_iter().chain([SOURCE, BLOCKED_WORKER, POINT, EVENT]);
        for table in tables {
            let columns = table.columns.iter().chain(&["digest"]);
            let set = columns.clone().skip(table.n_key).map(|column| format!("{column} = excluded.{column}"));
            let expected = format!(
                "INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {}",
                table.name,
                table.all(),
                (1..=columns.count()).map(|i| format!("?{i}")).collect::<Vec<_>>().join(", "),
                table.columns[..table.n_key].join(", "),
                set.collect::<Vec<_>>().join(", "),
            );
            assert_eq!(table.put, expected);
        }
    }
}
