-- Version 5 of the schema: what is agreed about a job, and what is counted again.
--
-- The rows of jobs and of blocked workers get new digests (migrate.rs).

ALTER TABLE job RENAME COLUMN digest TO digest_4;

ALTER TABLE job ADD COLUMN
    -- The only crosses that are counted: from this one to that before the next column's. NULL: all.
    crosses_from INTEGER CHECK (crosses_from >= 0);

ALTER TABLE job ADD COLUMN
    crosses_to INTEGER CHECK (crosses_to > crosses_from);

ALTER TABLE job ADD COLUMN
    -- The share of its work that is counted again, in parts per million.
    recount INTEGER NOT NULL DEFAULT 0 CHECK (recount BETWEEN 0 AND 1000000);

ALTER TABLE job ADD COLUMN
    -- The job of which this is the second pass; NULL: of none.
    second_of INTEGER REFERENCES job (id);

ALTER TABLE job ADD COLUMN
    -- What decides which records are counted again: 32 hexadecimal digits, drawn at random.
    seed TEXT NOT NULL DEFAULT '';

ALTER TABLE job ADD COLUMN
    -- When it was first exported, in milliseconds since 1970; NULL: it has not been.
    exported_ms INTEGER CHECK (exported_ms >= 0);

ALTER TABLE job ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;

UPDATE job SET seed = lower(hex(randomblob(16)));

ALTER TABLE blocked_worker RENAME COLUMN digest TO digest_4;

ALTER TABLE blocked_worker ADD COLUMN
    -- Why, if that was not an operator's decision; empty otherwise.
    reason TEXT NOT NULL DEFAULT '';

ALTER TABLE blocked_worker ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;

CREATE TABLE second_count (
    -- Further counts of recorded spans, each of a whole record, by others than who counted that.
    job         INTEGER NOT NULL,
    cross       INTEGER NOT NULL,
    first       INTEGER NOT NULL CHECK (first >= 0),               -- first subproblem
    name        TEXT NOT NULL,                                     -- the worker's, as of its source
    until       INTEGER NOT NULL CHECK (until > first),            -- subproblem after the last
    solutions   INTEGER NOT NULL CHECK (solutions >= 0),           -- unweighted
    nodes       INTEGER NOT NULL CHECK (nodes >= 0),               -- work, as of records
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),         -- microseconds one thread took
    source      INTEGER NOT NULL REFERENCES source (id),
    at_ms       INTEGER NOT NULL CHECK (at_ms >= 0),               -- when it was reported, milliseconds since 1970
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, cross, first, name),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdict (
    -- Spans of which there were different counts, and on which two names have agreed.
    job            INTEGER NOT NULL,
    cross          INTEGER NOT NULL,
    first          INTEGER NOT NULL CHECK (first >= 0),            -- first subproblem
    number         INTEGER NOT NULL CHECK (number >= 0),           -- of the verdicts on this span, from 0
    until          INTEGER NOT NULL CHECK (until > first),         -- subproblem after the last
    at_ms          INTEGER NOT NULL CHECK (at_ms >= 0),            -- when it was found, milliseconds since 1970
    solutions      INTEGER NOT NULL CHECK (solutions >= 0),        -- what two names have counted
    nodes          INTEGER NOT NULL CHECK (nodes >= 0),
    source         INTEGER NOT NULL REFERENCES source (id),        -- one of them
    lost_solutions INTEGER NOT NULL CHECK (lost_solutions >= 0),   -- what it was held against
    lost_nodes     INTEGER NOT NULL CHECK (lost_nodes >= 0),
    lost_source    INTEGER NOT NULL REFERENCES source (id),        -- who had counted that
    digest         INTEGER NOT NULL,
    PRIMARY KEY (job, cross, first, number),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;
