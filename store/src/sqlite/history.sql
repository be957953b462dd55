-- History for people: progress curves and events. No count depends on it.
--
-- Times are UTC. The digests are those of queens.db.

CREATE TABLE point (
    -- The progress of jobs in steps of several lengths. Longer steps are kept longer.
    step        INTEGER NOT NULL,    -- its length in seconds
    number      INTEGER NOT NULL,    -- number of the step since 1970
    job         INTEGER NOT NULL,    -- from 2^62 on: the fleet's by search, by halves, and milliseconds of its workers
    end_ms      INTEGER NOT NULL,    -- last measurement, in milliseconds after the start of the step
    measured_ms INTEGER NOT NULL,    -- measured milliseconds; in the rest, nobody counted or nobody measured
    work        INTEGER NOT NULL,    -- work recorded in that time: nodes by search, units by halves
    billionths  INTEGER NOT NULL,    -- recorded share of the job's work at the end
    digest      INTEGER NOT NULL,
    PRIMARY KEY (step, number, job)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    number INTEGER PRIMARY KEY,
    at_ms  INTEGER NOT NULL,         -- milliseconds since 1970
    kind   TEXT NOT NULL,            -- job, lease, failure, store or worker
    job    INTEGER,                  -- job of the event, if there is one
    text   TEXT NOT NULL,
    digest INTEGER NOT NULL
) STRICT;
