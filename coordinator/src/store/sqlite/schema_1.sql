-- Version 1 of the schema. A later version is a further step of schema.rs: what was released is never edited.
--
-- Comments stand inside the statements, so that `.schema` shows them in the database itself.
-- Numbers that may pass 2^63 are decimal text. Times are UTC.

CREATE TABLE epoch (
    one     INTEGER PRIMARY KEY CHECK (one = 1), -- there is one row
    -- What the lease tokens of the next coordinator begin with; they must stay below 2^63.
    next    INTEGER NOT NULL CHECK (next BETWEEN 0 AND 2147483647)
) STRICT;

INSERT INTO epoch VALUES (1, 0);

CREATE TABLE job (
    -- What is counted: Q(n), each job with a plan of its own.
    id            INTEGER PRIMARY KEY CHECK (id >= 0),
    n             INTEGER NOT NULL CHECK (n BETWEEN 0 AND 32),     -- rows and columns of the board
    decomposition INTEGER NOT NULL CHECK (decomposition >= 0),     -- version of the rules by which it is cut
    phase         TEXT NOT NULL,                                   -- planning, active, done or cancelled
    created_ms    INTEGER NOT NULL CHECK (created_ms >= 0),        -- milliseconds since 1970
    active_ms     INTEGER NOT NULL CHECK (active_ms >= 0),         -- milliseconds it has been counted
    n_verified    INTEGER NOT NULL CHECK (n_verified >= 0),        -- records a second count has confirmed
    n_disputed    INTEGER NOT NULL CHECK (n_disputed >= 0),        -- records a second count has contradicted
    n_crosses     INTEGER CHECK (n_crosses >= 0)                   -- its rows in plan_cross; NULL: no plan yet
) STRICT;

CREATE TABLE plan_cross (
    -- What planning decided about each cross.
    job           INTEGER NOT NULL REFERENCES job (id),
    number        INTEGER NOT NULL CHECK (number >= 0),            -- its place in the plan, from 0
    image         INTEGER NOT NULL CHECK (image BETWEEN 0 AND 7),  -- turned or mirrored board it is counted on
    n_subproblems INTEGER NOT NULL CHECK (n_subproblems >= 0),     -- they are numbered from 0
    work          TEXT NOT NULL,                                   -- estimated, of the whole part, decimal
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE coverage (
    -- The sum of each cross's records: all that a starting coordinator reads of them.
    job       INTEGER NOT NULL,
    cross     INTEGER NOT NULL,
    recorded  TEXT NOT NULL,                                       -- subproblems, e.g. "0..20 30..40", ends excluded
    solutions TEXT NOT NULL,                                       -- unweighted, decimal
    nodes     TEXT NOT NULL,                                       -- decimal
    PRIMARY KEY (job, cross),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE source (
    -- Who counted, and with what. Records share these rows.
    id     INTEGER PRIMARY KEY,
    worker TEXT NOT NULL,                                          -- the worker's name
    build  TEXT NOT NULL,                                          -- version of its program
    kernel TEXT NOT NULL,                                          -- e.g. "avx512"
    UNIQUE (worker, build, kernel)
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
    PRIMARY KEY (job, cross, first),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;
