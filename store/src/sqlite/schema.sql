-- The tables of schema version 1. After a release, each change of them needs a migration in schema.rs.
--
-- Comments stand inside the statements, so that `.schema` shows them in the database itself.
-- Numbers that may pass 2^63 are decimal text. Times are UTC. sql/digest.rs explains the digests.

CREATE TABLE job (
    -- What is counted: Q(n), each job with a plan of its own.
    id            INTEGER PRIMARY KEY CHECK (id >= 0),
    identity      TEXT NOT NULL,                                   -- what no other job has: 32 hexadecimal digits
    n             INTEGER NOT NULL CHECK (n BETWEEN 0 AND 32),     -- rows and columns of the board
    decomposition INTEGER NOT NULL CHECK (decomposition >= 0),     -- version of the method's rules by which it is cut
    phase         TEXT NOT NULL,                                   -- planning, active, done or cancelled
    created_ms    INTEGER NOT NULL CHECK (created_ms >= 0),        -- milliseconds since 1970
    active_ms     INTEGER NOT NULL CHECK (active_ms >= 0),         -- milliseconds it has been counted
    n_verified    INTEGER NOT NULL CHECK (n_verified >= 0),        -- records a second count has confirmed
    n_disputed    INTEGER NOT NULL CHECK (n_disputed >= 0),        -- records a second count has contradicted
    n_crosses     INTEGER CHECK (n_crosses >= 0),                  -- its rows in plan_cross; NULL: no plan yet
    -- Higher first, and what is equal in the order of submission.
    priority      INTEGER NOT NULL CHECK (priority BETWEEN -1000 AND 1000),
    paused        INTEGER NOT NULL CHECK (paused IN (0, 1)),       -- 1: an operator has stopped it for now
    plan_digest   INTEGER,                                         -- of all its rows in plan_cross; NULL: no plan yet
    started_ms    INTEGER CHECK (started_ms >= 0),                 -- when it was first counted; NULL: not yet, or not known
    finished_ms   INTEGER CHECK (finished_ms >= 0),                -- when it was done or given up; NULL: not yet, or not known
    method        TEXT NOT NULL,                                   -- how it is counted: search or halves
    -- The only crosses that are counted: from this one to that before the next column's. NULL: all.
    crosses_from  INTEGER CHECK (crosses_from >= 0),
    crosses_to    INTEGER CHECK (crosses_to > crosses_from),
    -- The share of its work that is counted again, in parts per million.
    recount       INTEGER NOT NULL CHECK (recount BETWEEN 0 AND 1000000),
    second_of     INTEGER REFERENCES job (id),                     -- the job of which this is the second pass
    -- What decides which records are counted again: 32 hexadecimal digits, drawn at random.
    seed          TEXT NOT NULL,
    exported_ms   INTEGER CHECK (exported_ms >= 0),                -- when it was first exported; NULL: it has not been
    -- The party that counts it again, and without which no two agree, 32 hexadecimal digits; NULL: any.
    recount_by    TEXT,
    invitation    INTEGER CHECK (invitation >= 0),                 -- the number of its invitation; NULL: it has none
    digest        INTEGER NOT NULL
) STRICT;

CREATE TABLE job_identity (
    -- The identity of each job once more, for when the job's row is damaged: it is part of the digests of all its rows.
    job      INTEGER PRIMARY KEY REFERENCES job (id),
    identity TEXT NOT NULL,
    digest   INTEGER NOT NULL
) STRICT;

CREATE TABLE plan_cross (
    -- What planning decided about each cross.
    job           INTEGER NOT NULL REFERENCES job (id),
    number        INTEGER NOT NULL CHECK (number >= 0),            -- its place in the plan, from 0
    image         INTEGER NOT NULL CHECK (image BETWEEN 0 AND 7),  -- turned or mirrored board it is counted on
    n_subproblems INTEGER NOT NULL CHECK (n_subproblems >= 0),     -- they are numbered from 0
    work          TEXT NOT NULL,                                   -- estimated, of the whole part, decimal
    digest        INTEGER NOT NULL,
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE coverage (
    -- The sum of each cross's records: with the ranges, all that a starting coordinator reads of them.
    job         INTEGER NOT NULL,
    cross       INTEGER NOT NULL,
    n_recorded  INTEGER NOT NULL CHECK (n_recorded >= 0),          -- recorded subproblems
    solutions   TEXT NOT NULL,                                     -- unweighted, decimal
    nodes       TEXT NOT NULL,                                     -- work, as of the records, decimal
    n_ranges    INTEGER NOT NULL CHECK (n_ranges >= 0),            -- its rows in coverage_range
    fingerprint INTEGER NOT NULL,                                  -- of all of those
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, cross),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE coverage_range (
    -- The recorded subproblems of each cross: ranges that do not touch.
    job       INTEGER NOT NULL,
    cross     INTEGER NOT NULL,
    first     INTEGER NOT NULL CHECK (first >= 0),                 -- first subproblem
    until     INTEGER NOT NULL CHECK (until > first),              -- subproblem after the last
    digest    INTEGER NOT NULL,
    PRIMARY KEY (job, cross, first),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE source (
    -- Who counted, and with what. Records share these rows.
    id     INTEGER PRIMARY KEY,
    worker TEXT NOT NULL,                                          -- the worker's name
    build  TEXT NOT NULL,                                          -- version of its program
    kernel TEXT NOT NULL,                                          -- e.g. "avx512"
    -- Who runs it, 32 hexadecimal digits: that of the invitation, or of the name where nobody is asked for one.
    party  TEXT NOT NULL,
    digest INTEGER NOT NULL,
    UNIQUE (worker, build, kernel, party)
) STRICT;

CREATE TABLE record (
    -- The evidence: spans counted once, which never overlap. The total of a job is the sum of
    -- solutions times the weight of the cross.
    job         INTEGER NOT NULL,
    cross       INTEGER NOT NULL,
    first       INTEGER NOT NULL CHECK (first >= 0),               -- first subproblem
    until       INTEGER NOT NULL CHECK (until > first),            -- subproblem after the last
    solutions   INTEGER NOT NULL CHECK (solutions >= 0),           -- unweighted
    nodes       INTEGER NOT NULL CHECK (nodes >= 0),               -- work: queens placed; of halves, units
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),         -- microseconds one thread took
    lease       INTEGER NOT NULL CHECK (lease >= 0),               -- token of the lease it was counted under
    source      INTEGER NOT NULL REFERENCES source (id),
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, cross, first),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE blocked_worker (
    -- Workers that get no leases until an operator unblocks them.
    name   TEXT NOT NULL,                                          -- that an operator has blocked, or of who lost
    party  TEXT NOT NULL,                                          -- that has lost a dispute, all of it; empty: none
    reason TEXT NOT NULL,                                          -- why; empty if an operator decided it
    digest INTEGER NOT NULL,
    PRIMARY KEY (name, party)
) STRICT, WITHOUT ROWID;

CREATE TABLE second_count (
    -- Further counts of recorded spans, each of a whole record, by others than who counted that.
    job         INTEGER NOT NULL,
    cross       INTEGER NOT NULL,
    first       INTEGER NOT NULL CHECK (first >= 0),               -- first subproblem
    party       TEXT NOT NULL,                                     -- who counted it, as of its source
    until       INTEGER NOT NULL CHECK (until > first),            -- subproblem after the last
    solutions   INTEGER NOT NULL CHECK (solutions >= 0),           -- unweighted
    nodes       INTEGER NOT NULL CHECK (nodes >= 0),               -- work, as of records
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),         -- microseconds one thread took
    source      INTEGER NOT NULL REFERENCES source (id),
    at_ms       INTEGER NOT NULL CHECK (at_ms >= 0),               -- when it was reported, milliseconds since 1970
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, cross, first, party),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdict (
    -- Spans of which there were different counts, and on which two parties have agreed.
    job            INTEGER NOT NULL,
    cross          INTEGER NOT NULL,
    first          INTEGER NOT NULL CHECK (first >= 0),            -- first subproblem
    number         INTEGER NOT NULL CHECK (number >= 0),           -- of the verdicts on this span, from 0
    until          INTEGER NOT NULL CHECK (until > first),         -- subproblem after the last
    at_ms          INTEGER NOT NULL CHECK (at_ms >= 0),            -- when it was found, milliseconds since 1970
    solutions      INTEGER NOT NULL CHECK (solutions >= 0),        -- what two parties have counted
    nodes          INTEGER NOT NULL CHECK (nodes >= 0),
    source         INTEGER NOT NULL REFERENCES source (id),        -- one of them
    lost_solutions INTEGER NOT NULL CHECK (lost_solutions >= 0),   -- what it was held against
    lost_nodes     INTEGER NOT NULL CHECK (lost_nodes >= 0),
    lost_source    INTEGER NOT NULL REFERENCES source (id),        -- who had counted that
    digest         INTEGER NOT NULL,
    PRIMARY KEY (job, cross, first, number),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;
