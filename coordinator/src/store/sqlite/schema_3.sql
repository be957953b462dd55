-- Version 3 of the schema: a row that is not what was written is noticed, and what is recorded of a cross is kept range
-- by range, so that a report changes few rows however many there are.
--
-- The digests are filled in by digest.rs, where it stands how they are made.

ALTER TABLE epoch ADD COLUMN
    -- Of the rest of the row, as in all tables.
    digest INTEGER NOT NULL DEFAULT 0;

ALTER TABLE job ADD COLUMN
    -- Of all its rows in plan_cross; NULL: no plan yet.
    plan_digest INTEGER;

ALTER TABLE job ADD COLUMN
    -- When it was first counted, in milliseconds since 1970; NULL: it has not been, or nobody has kept it.
    started_ms INTEGER CHECK (started_ms >= 0);

ALTER TABLE job ADD COLUMN
    -- When it was done or given up; NULL: it is not, or nobody has kept it.
    finished_ms INTEGER CHECK (finished_ms >= 0);

ALTER TABLE job ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plan_cross ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE source ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE record ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE blocked_worker ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;

ALTER TABLE coverage RENAME TO coverage_2;

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
