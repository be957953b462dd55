-- History for people: progress curves, events and the days of parties. No count depends on it.
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

CREATE TABLE party_day (
    -- The thread time of each party at the end of a day. A day without change has no row.
    day     INTEGER NOT NULL,        -- days since 1970, UTC
    party   TEXT NOT NULL,           -- 32 hexadecimal digits, as in queens.db
    time_us INTEGER NOT NULL,        -- of all its records and recounts until then, in microseconds
    digest  INTEGER NOT NULL,
    PRIMARY KEY (day, party)
) STRICT, WITHOUT ROWID;
