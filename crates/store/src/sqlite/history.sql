-- History for people: progress curves, events and the days of parties. No count depends on it.
--
-- Times are UTC. The digests are those of queens.db.

CREATE TABLE IF NOT EXISTS curve (
    -- The progress of a job or of the fleet over time, in at most 512 points. A full curve doubles its step.
    job          INTEGER PRIMARY KEY, -- from 2^62 on: the fleet's by search, by halves, and milliseconds of its workers
    step_seconds INTEGER NOT NULL,    -- time of a point
    points       BLOB NOT NULL,       -- little-endian, each: 64 bits of milliseconds since 1970, of measured
                                      -- milliseconds and of work; 32 bits of the recorded share in billionths
    digest       INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS event (
    number INTEGER PRIMARY KEY,
    at_ms  INTEGER NOT NULL,         -- milliseconds since 1970
    kind   TEXT NOT NULL,            -- job, lease, failure, store or worker
    job    INTEGER,                  -- job of the event, if there is one
    text   TEXT NOT NULL,
    digest INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS party_day (
    -- The thread time of each party at the end of a day. A day without change has no row.
    day     INTEGER NOT NULL,        -- days since 1970, UTC
    party   TEXT NOT NULL,           -- 32 hexadecimal digits, as in queens.db
    time_us INTEGER NOT NULL,        -- of all its records and recounts until then, in microseconds
    digest  INTEGER NOT NULL,
    PRIMARY KEY (day, party)
) STRICT, WITHOUT ROWID;
