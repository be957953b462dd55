-- The tables of schema version 1, as in SQLite (sqlite/schema.sql), and those of its history.db. Only the names of
-- types differ. `cross` is a reserved word in PostgreSQL, and quoted.
--
-- Numbers that may pass 2^63 are decimal text. Times are UTC.

CREATE TABLE job (
    -- What is counted: Q(n), each job with a plan of its own.
    id            BIGINT PRIMARY KEY CHECK (id >= 0),
    identity      TEXT NOT NULL,                                    -- what no other job has: 32 hexadecimal digits
    n             BIGINT NOT NULL CHECK (n BETWEEN 0 AND 32),       -- rows and columns of the board
    decomposition BIGINT NOT NULL CHECK (decomposition >= 0),       -- version of the method's rules by which it is cut
    phase         TEXT NOT NULL,                                    -- planning, active, done or cancelled
    created_ms    BIGINT NOT NULL CHECK (created_ms >= 0),          -- milliseconds since 1970
    active_ms     BIGINT NOT NULL CHECK (active_ms >= 0),           -- milliseconds it has been counted
    n_verified    BIGINT NOT NULL CHECK (n_verified >= 0),          -- records a second count has confirmed
    n_disputed    BIGINT NOT NULL CHECK (n_disputed >= 0),          -- records a second count has contradicted
    n_crosses     BIGINT CHECK (n_crosses >= 0),                    -- its rows in plan_cross; NULL: no plan yet
    priority      BIGINT NOT NULL CHECK (priority BETWEEN -1000 AND 1000),
    paused        BIGINT NOT NULL CHECK (paused IN (0, 1)),         -- 1: an operator has stopped it for now
    plan_digest   BIGINT,                                           -- of all its rows in plan_cross
    started_ms    BIGINT CHECK (started_ms >= 0),                   -- when it was first counted
    finished_ms   BIGINT CHECK (finished_ms >= 0),                  -- when it was done or given up
    method        TEXT NOT NULL,                                    -- search or halves
    crosses_from  BIGINT CHECK (crosses_from >= 0),                 -- the only crosses that are counted; NULL: all
    crosses_to    BIGINT CHECK (crosses_to > crosses_from),
    recount       BIGINT NOT NULL CHECK (recount BETWEEN 0 AND 1000000), -- counted again, in parts per million
    second_of     BIGINT REFERENCES job (id),                       -- the job of which this is the second pass
    seed          TEXT NOT NULL,                                    -- decides what is counted again
    exported_ms   BIGINT CHECK (exported_ms >= 0),                  -- when it was first exported
    recount_by    TEXT,                                             -- the party that counts it again; NULL: any
    invitation    BIGINT CHECK (invitation >= 0),                   -- the number of its invitation; NULL: it has none
    digest        BIGINT NOT NULL
);

CREATE TABLE job_identity (
    -- The identity of each job once more, for when the job's row is damaged: it is part of the digests of all its rows.
    job      BIGINT PRIMARY KEY REFERENCES job (id),
    identity TEXT NOT NULL,
    digest   BIGINT NOT NULL
);

CREATE TABLE plan_cross (
    -- What planning decided about each cross.
    job           BIGINT NOT NULL REFERENCES job (id),
    number        BIGINT NOT NULL CHECK (number >= 0),              -- its place in the plan, from 0
    image         BIGINT NOT NULL CHECK (image BETWEEN 0 AND 7),    -- turned or mirrored board it is counted on
    n_subproblems BIGINT NOT NULL CHECK (n_subproblems >= 0),       -- they are numbered from 0
    work          TEXT NOT NULL,                                    -- estimated, of the whole part, decimal
    digest        BIGINT NOT NULL,
    PRIMARY KEY (job, number)
);

CREATE TABLE coverage (
    -- The sum of each cross's records: with the ranges, all that a starting coordinator reads of them.
    job         BIGINT NOT NULL,
    "cross"     BIGINT NOT NULL,
    n_recorded  BIGINT NOT NULL CHECK (n_recorded >= 0),            -- recorded subproblems
    solutions   TEXT NOT NULL,                                      -- unweighted, decimal
    nodes       TEXT NOT NULL,                                      -- work, as of the records, decimal
    n_ranges    BIGINT NOT NULL CHECK (n_ranges >= 0),              -- its rows in coverage_range
    fingerprint BIGINT NOT NULL,                                    -- of all of those
    digest      BIGINT NOT NULL,
    PRIMARY KEY (job, "cross"),
    FOREIGN KEY (job, "cross") REFERENCES plan_cross (job, number)
);

CREATE TABLE coverage_range (
    -- The recorded subproblems of each cross: ranges that do not touch.
    job       BIGINT NOT NULL,
    "cross"   BIGINT NOT NULL,
    first     BIGINT NOT NULL CHECK (first >= 0),                   -- first subproblem
    until     BIGINT NOT NULL CHECK (until > first),                -- subproblem after the last
    digest    BIGINT NOT NULL,
    PRIMARY KEY (job, "cross", first),
    FOREIGN KEY (job, "cross") REFERENCES plan_cross (job, number)
);

CREATE TABLE source (
    -- Who counted, and with what. Records share these rows.
    id     BIGINT PRIMARY KEY,
    worker TEXT NOT NULL,                                           -- the worker's name
    build  TEXT NOT NULL,                                           -- version of its program
    kernel TEXT NOT NULL,                                           -- e.g. "avx512"
    party  TEXT NOT NULL,                                           -- who runs it: 32 hexadecimal digits
    digest BIGINT NOT NULL,
    UNIQUE (worker, build, kernel, party)
);

CREATE TABLE record (
    -- The evidence: spans counted once, which never overlap. The total of a job is the sum of solutions times the
    -- weight of the cross.
    job         BIGINT NOT NULL,
    "cross"     BIGINT NOT NULL,
    first       BIGINT NOT NULL CHECK (first >= 0),                 -- first subproblem
    until       BIGINT NOT NULL CHECK (until > first),              -- subproblem after the last
    solutions   BIGINT NOT NULL CHECK (solutions >= 0),             -- unweighted
    nodes       BIGINT NOT NULL CHECK (nodes >= 0),                 -- work: queens placed; of halves, units
    duration_us BIGINT NOT NULL CHECK (duration_us >= 0),           -- microseconds one thread took
    lease       BIGINT NOT NULL CHECK (lease >= 0),                 -- token of the lease it was counted under
    source      BIGINT NOT NULL REFERENCES source (id),
    digest      BIGINT NOT NULL,
    PRIMARY KEY (job, "cross", first),
    FOREIGN KEY (job, "cross") REFERENCES plan_cross (job, number)
);

CREATE TABLE blocked_worker (
    -- Workers that get no leases until an operator unblocks them.
    name   TEXT COLLATE "C" NOT NULL,                               -- that an operator has blocked, or of who lost
    party  TEXT COLLATE "C" NOT NULL,                               -- that has lost a dispute, all of it; empty: none
    reason TEXT NOT NULL,                                           -- why, if that was not an operator's decision
    digest BIGINT NOT NULL,
    PRIMARY KEY (name, party)
);

CREATE TABLE second_count (
    -- Further counts of recorded spans, each of a whole record, by others than who counted that.
    job         BIGINT NOT NULL,
    "cross"     BIGINT NOT NULL,
    first       BIGINT NOT NULL CHECK (first >= 0),
    party       TEXT COLLATE "C" NOT NULL,                          -- who counted it, as of its source
    until       BIGINT NOT NULL CHECK (until > first),
    solutions   BIGINT NOT NULL CHECK (solutions >= 0),
    nodes       BIGINT NOT NULL CHECK (nodes >= 0),
    duration_us BIGINT NOT NULL CHECK (duration_us >= 0),
    source      BIGINT NOT NULL REFERENCES source (id),
    at_ms       BIGINT NOT NULL CHECK (at_ms >= 0),                 -- when it was reported, milliseconds since 1970
    digest      BIGINT NOT NULL,
    PRIMARY KEY (job, "cross", first, party),
    FOREIGN KEY (job, "cross") REFERENCES plan_cross (job, number)
);

CREATE TABLE verdict (
    -- Spans of which there were different counts, and on which two parties have agreed.
    job            BIGINT NOT NULL,
    "cross"        BIGINT NOT NULL,
    first          BIGINT NOT NULL CHECK (first >= 0),
    number         BIGINT NOT NULL CHECK (number >= 0),             -- of the verdicts on this span, from 0
    until          BIGINT NOT NULL CHECK (until > first),
    at_ms          BIGINT NOT NULL CHECK (at_ms >= 0),              -- when it was found, milliseconds since 1970
    solutions      BIGINT NOT NULL CHECK (solutions >= 0),          -- what two parties have counted
    nodes          BIGINT NOT NULL CHECK (nodes >= 0),
    source         BIGINT NOT NULL REFERENCES source (id),          -- one of them
    lost_solutions BIGINT NOT NULL CHECK (lost_solutions >= 0),     -- what it was held against
    lost_nodes     BIGINT NOT NULL CHECK (lost_nodes >= 0),
    lost_source    BIGINT NOT NULL REFERENCES source (id),          -- who had counted that
    digest         BIGINT NOT NULL,
    PRIMARY KEY (job, "cross", first, number),
    FOREIGN KEY (job, "cross") REFERENCES plan_cross (job, number)
);

CREATE TABLE point (
    -- How fast jobs were counted, in steps of several lengths; the longer they are, the longer they are kept.
    step        BIGINT NOT NULL,    -- its length in seconds
    number      BIGINT NOT NULL,    -- so many of them lie between it and 1970
    job         BIGINT NOT NULL,    -- from 2^62 on: the fleet's by search, by halves, and milliseconds of its workers
    end_ms      BIGINT NOT NULL,    -- when it was last measured, in milliseconds after the beginning of the step
    measured_ms BIGINT NOT NULL,    -- for how long it was measured
    nodes       BIGINT NOT NULL,    -- work that was recorded in that time: nodes, or units of halves
    billionths  BIGINT NOT NULL,    -- the recorded share of the work at the end
    digest      BIGINT NOT NULL,
    PRIMARY KEY (step, number, job)
);

CREATE TABLE event (
    number BIGINT PRIMARY KEY,
    at_ms  BIGINT NOT NULL,         -- milliseconds since 1970
    kind   TEXT NOT NULL,           -- job, lease, failure, store or worker
    job    BIGINT,                  -- the job it is about, if it is about one
    text   TEXT NOT NULL,
    digest BIGINT NOT NULL
);

CREATE TABLE lease (
    -- Who leads: the only coordinator that may write. Whoever takes the lead makes the epoch higher, and every
    -- transaction that writes holds this row and its own epoch: none of an earlier leader commits after that.
    one     BIGINT PRIMARY KEY CHECK (one = 1),
    epoch   BIGINT NOT NULL UNIQUE, -- microseconds since 1970; part of a key: who changes it waits for all that hold the row
    holder  TEXT NOT NULL,          -- where operators and workers reach it
    expires TIMESTAMPTZ NOT NULL,   -- by this server's clock, which is the only one that counts
    pages   TEXT                    -- where its pages are, if it has any
);
INSERT INTO lease VALUES (1, 0, '', '-infinity', NULL);

CREATE TABLE standby_contact (
    -- When workers have last asked a coordinator that stands by: one that leads and has none hands over to it.
    one BIGINT PRIMARY KEY CHECK (one = 1),
    at  TIMESTAMPTZ NOT NULL        -- by this server's clock
);
INSERT INTO standby_contact VALUES (1, '-infinity');

CREATE TABLE state (
    -- Which state these tables are in: each transaction of the leader finds the number that its last one has left, and
    -- leaves another, drawn at random. Whoever puts an earlier state back puts its number back.
    one    BIGINT PRIMARY KEY CHECK (one = 1),
    number BIGINT NOT NULL
);
INSERT INTO state VALUES (1, 0);

CREATE FUNCTION hold(mine BIGINT, before BIGINT, after BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
    -- Fails if somebody else leads than who has this epoch; if not, nobody else can before the transaction ends. The row
    -- is held against changes of its keys alone: the lead can be renewed while a transaction waits for something.
    -- Fails, too, unless the tables are in the state with the number before; then they are in that with the number after.
    DECLARE
        leader RECORD;
    BEGIN
        SELECT epoch, holder INTO STRICT leader FROM queens.lease WHERE one = 1 FOR KEY SHARE;
        IF leader.epoch > mine THEN
            RAISE EXCEPTION '%', leader.holder USING ERRCODE = 'QN001';
        END IF;
        IF after = before THEN
            PERFORM 1 FROM queens.state WHERE number = before;
        ELSE
            UPDATE queens.state SET number = after WHERE number = before;
        END IF;
        IF NOT FOUND OR leader.epoch < mine THEN
            RAISE EXCEPTION 'an earlier state was put back' USING ERRCODE = 'QN002';
        END IF;
        RETURN mine;
    END
$$;

CREATE TABLE version (
    -- Of these tables.
    one     BIGINT PRIMARY KEY CHECK (one = 1),
    version BIGINT NOT NULL
);
INSERT INTO version VALUES (1, 1);
