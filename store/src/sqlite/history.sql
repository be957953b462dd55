-- History: what has happened, for people. No count depends on it.
--
-- Times are UTC. The digests are made as in queens.db.

CREATE TABLE point (
    -- How fast jobs were counted, in steps of several lengths; the longer they are, the longer they are kept.
    step        INTEGER NOT NULL,    -- its length in seconds
    number      INTEGER NOT NULL,    -- so many of them lie between it and 1970
    job         INTEGER NOT NULL,    -- from 2^62 on: the fleet's by search, by halves, and milliseconds of its workers
    end_ms      INTEGER NOT NULL,    -- when it was last measured, in milliseconds after the beginning of the step
    measured_ms INTEGER NOT NULL,    -- for how long it was measured; at other times nobody counted, or nobody looked
    nodes       INTEGER NOT NULL,    -- work that was recorded in that time: nodes, or units of halves
    billionths  INTEGER NOT NULL,    -- the recorded share of the work at the end
    digest      INTEGER NOT NULL,
    PRIMARY KEY (step, number, job)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    number INTEGER PRIMARY KEY,
    at_ms  INTEGER NOT NULL,         -- milliseconds since 1970
    kind   TEXT NOT NULL,            -- job, lease, failure, store or worker
    job    INTEGER,                  -- the job it is about, if it is about one
    text   TEXT NOT NULL,
    digest INTEGER NOT NULL
) STRICT;
