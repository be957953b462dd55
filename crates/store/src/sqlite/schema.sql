-- The tables of schema version 1. After a release, each change of them needs a migration in schema.rs.
--
-- Comments stand inside the statements, so that `.schema` shows them in the database itself.
-- Numbers that may pass 2^63 are decimal text. Times are UTC. sql/digest.rs explains the digests.

CREATE TABLE job (
    -- The jobs: each counts Q(n) by a plan of its own.
    id            INTEGER PRIMARY KEY CHECK (id >= 0),
    identity      TEXT NOT NULL,                                   -- unique among all jobs: 32 hexadecimal digits
    n             INTEGER NOT NULL CHECK (n BETWEEN 0 AND 32),     -- rows and columns of the board
    decomposition INTEGER NOT NULL CHECK (decomposition >= 0),     -- version of the method's decomposition rules
    phase         TEXT NOT NULL,                                   -- planning, active, done or cancelled
    created_ms    INTEGER NOT NULL CHECK (created_ms >= 0),        -- milliseconds since 1970
    active_ms     INTEGER NOT NULL CHECK (active_ms >= 0),         -- milliseconds of counting so far
    n_verified    INTEGER NOT NULL CHECK (n_verified >= 0),        -- records that a recount has confirmed
    n_disputed    INTEGER NOT NULL CHECK (n_disputed >= 0),        -- records that a recount has contradicted
    n_parts       INTEGER CHECK (n_parts >= 0),                    -- its rows in plan_part; NULL: no plan yet
    -- Higher first; equal ones in the order of submission.
    priority      INTEGER NOT NULL CHECK (priority BETWEEN -1000 AND 1000),
    paused        INTEGER NOT NULL CHECK (paused IN (0, 1)),       -- 1: an operator has paused it
    plan_digest   INTEGER,                                         -- of all its rows in plan_part; NULL: no plan yet
    started_ms    INTEGER CHECK (started_ms >= 0),                 -- start of counting; NULL: not yet, or unknown
    finished_ms   INTEGER CHECK (finished_ms >= 0),                -- done or cancelled; NULL: not yet, or unknown
    method        TEXT NOT NULL,                                   -- counting method: search or halves
    -- Only these parts are counted: from the first number to before the second. NULL: all.
    parts_from    INTEGER CHECK (parts_from >= 0),
    parts_to      INTEGER CHECK (parts_to > parts_from),
    -- The share of its work that is recounted, in parts per million.
    recount       INTEGER NOT NULL CHECK (recount BETWEEN 0 AND 1000000),
    second_of     INTEGER REFERENCES job (id),                     -- the job whose second pass this is
    -- The seed that decides which records are recounted: 32 hexadecimal digits, drawn at random.
    seed          TEXT NOT NULL,
    exported_ms   INTEGER CHECK (exported_ms >= 0),                -- first export; NULL: not exported
    -- The party that must be one of any two that agree, 32 hexadecimal digits; NULL: any.
    recount_by    TEXT,
    invitation    INTEGER CHECK (invitation >= 0),                 -- number of that party's invitation; NULL: none
    digest        INTEGER NOT NULL
) STRICT;

CREATE TABLE job_identity (
    -- A second copy of each job's identity, in case the job's row is damaged: the digests of all its rows cover it.
    job      INTEGER PRIMARY KEY REFERENCES job (id),
    identity TEXT NOT NULL,
    digest   INTEGER NOT NULL
) STRICT;

CREATE TABLE plan_part (
    -- The parts of each plan.
    job           INTEGER NOT NULL REFERENCES job (id),
    number        INTEGER NOT NULL CHECK (number >= 0),            -- index in the plan, from 0
    image         INTEGER NOT NULL CHECK (image BETWEEN 0 AND 7),  -- rotated or mirrored board it is counted on
    n_subproblems INTEGER NOT NULL CHECK (n_subproblems >= 0),     -- numbered from 0
    work          TEXT NOT NULL,                                   -- estimated, of the whole part, decimal
    digest        INTEGER NOT NULL,
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE coverage (
    -- The sums of each part's records. A starting coordinator reads only these and the ranges.
    job         INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    n_recorded  INTEGER NOT NULL CHECK (n_recorded >= 0),          -- recorded subproblems
    solutions   TEXT NOT NULL,                                     -- unweighted, decimal
    work        TEXT NOT NULL,                                     -- work of the records, decimal
    n_ranges    INTEGER NOT NULL CHECK (n_ranges >= 0),            -- its rows in coverage_range
    fingerprint INTEGER NOT NULL,                                  -- of all those rows
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, part),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE coverage_range (
    -- The recorded subproblems of each part, as ranges that do not touch.
    job    INTEGER NOT NULL,
    part   INTEGER NOT NULL,
    first  INTEGER NOT NULL CHECK (first >= 0),                    -- first subproblem
    until  INTEGER NOT NULL CHECK (until > first),                 -- subproblem after the last
    digest INTEGER NOT NULL,
    PRIMARY KEY (job, part, first),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE source (
    -- The workers that counted, with build, kernel and party. Records share these rows.
    id     INTEGER PRIMARY KEY,
    worker TEXT NOT NULL,                                          -- the worker's name
    build  TEXT NOT NULL,                                          -- version of its program
    kernel TEXT NOT NULL,                                          -- e.g. "avx512"
    -- The party that runs it, 32 hexadecimal digits: that of the invitation, or of the name if none is required.
    party  TEXT NOT NULL,
    digest INTEGER NOT NULL,
    UNIQUE (worker, build, kernel, party)
) STRICT;

CREATE TABLE record (
    -- The evidence: spans counted once, which never overlap. A job's total is the sum of solutions times the weight of
    -- the part.
    job         INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    first       INTEGER NOT NULL CHECK (first >= 0),               -- first subproblem
    until       INTEGER NOT NULL CHECK (until > first),            -- subproblem after the last
    solutions   INTEGER NOT NULL CHECK (solutions >= 0),           -- unweighted
    work        INTEGER NOT NULL CHECK (work >= 0),                -- work: queens placed by search, units by halves
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),         -- microseconds of one thread
    lease       INTEGER NOT NULL CHECK (lease >= 0),               -- token of its lease
    source      INTEGER NOT NULL REFERENCES source (id),
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, part, first),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE blocked_worker (
    -- Workers that get no leases until an operator unblocks them.
    name   TEXT NOT NULL,                                          -- blocked by an operator, or loser of a dispute
    party  TEXT NOT NULL,                                          -- blocked as a whole for a lost dispute; empty: none
    reason TEXT NOT NULL,                                          -- why; empty if an operator blocked it
    digest INTEGER NOT NULL,
    PRIMARY KEY (name, party)
) STRICT, WITHOUT ROWID;

CREATE TABLE second_count (
    -- Recounts of recorded spans, each of a whole record, by a party that did not count it.
    job         INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    first       INTEGER NOT NULL CHECK (first >= 0),               -- first subproblem
    party       TEXT NOT NULL,                                     -- the party of its source
    until       INTEGER NOT NULL CHECK (until > first),            -- subproblem after the last
    solutions   INTEGER NOT NULL CHECK (solutions >= 0),           -- unweighted
    work        INTEGER NOT NULL CHECK (work >= 0),                -- work, as in records
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),         -- microseconds of one thread
    source      INTEGER NOT NULL REFERENCES source (id),
    at_ms       INTEGER NOT NULL CHECK (at_ms >= 0),               -- time of the report, milliseconds since 1970
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, part, first, party),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdict (
    -- Spans with different counts, on which two parties have agreed.
    job            INTEGER NOT NULL,
    part           INTEGER NOT NULL,
    first          INTEGER NOT NULL CHECK (first >= 0),            -- first subproblem
    number         INTEGER NOT NULL CHECK (number >= 0),           -- index among the verdicts on this span, from 0
    until          INTEGER NOT NULL CHECK (until > first),         -- subproblem after the last
    at_ms          INTEGER NOT NULL CHECK (at_ms >= 0),            -- time of the verdict, milliseconds since 1970
    solutions      INTEGER NOT NULL CHECK (solutions >= 0),        -- the count of two parties
    work           INTEGER NOT NULL CHECK (work >= 0),
    source         INTEGER NOT NULL REFERENCES source (id),        -- the source of one of them
    lost_solutions INTEGER NOT NULL CHECK (lost_solutions >= 0),   -- the count that it contradicts
    lost_work      INTEGER NOT NULL CHECK (lost_work >= 0),
    lost_source    INTEGER NOT NULL REFERENCES source (id),        -- the source of that count
    digest         INTEGER NOT NULL,
    PRIMARY KEY (job, part, first, number),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;
