-- A database of schema version 2, as written by the program of that time: job 1 (n = 6) is done, of job 2 (n = 7), which is
-- paused, two thirds are recorded, and bert is blocked.
PRAGMA application_id = 1313959539;
PRAGMA user_version = 2;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE epoch (
    one     INTEGER PRIMARY KEY CHECK (one = 1), -- there is one row
    -- What the lease tokens of the next coordinator begin with; they must stay below 2^63.
    next    INTEGER NOT NULL CHECK (next BETWEEN 0 AND 2147483647)
, first INTEGER NOT NULL DEFAULT 0 CHECK (first BETWEEN 0 AND next)) STRICT;
INSERT INTO epoch VALUES(1,130477046,130477045);
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
, priority INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -1000 AND 1000), paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1))) STRICT;
INSERT INTO job VALUES(1,6,2,'done',1795298112765,2,0,0,6,0,0);
INSERT INTO job VALUES(2,7,2,'active',1795298112829,4,0,0,18,5,1);
CREATE TABLE plan_cross (
    -- What planning decided about each cross.
    job           INTEGER NOT NULL REFERENCES job (id),
    number        INTEGER NOT NULL CHECK (number >= 0),            -- its place in the plan, from 0
    image         INTEGER NOT NULL CHECK (image BETWEEN 0 AND 7),  -- turned or mirrored board it is counted on
    n_subproblems INTEGER NOT NULL CHECK (n_subproblems >= 0),     -- they are numbered from 0
    work          TEXT NOT NULL,                                   -- estimated nodes of the whole cross, decimal
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO plan_cross VALUES(1,0,0,1,'1');
INSERT INTO plan_cross VALUES(1,1,0,1,'1');
INSERT INTO plan_cross VALUES(1,2,0,1,'1');
INSERT INTO plan_cross VALUES(1,3,0,1,'1');
INSERT INTO plan_cross VALUES(1,4,0,1,'1');
INSERT INTO plan_cross VALUES(1,5,0,1,'1');
INSERT INTO plan_cross VALUES(2,0,0,1,'1');
INSERT INTO plan_cross VALUES(2,1,0,1,'1');
INSERT INTO plan_cross VALUES(2,2,0,1,'1');
INSERT INTO plan_cross VALUES(2,3,0,1,'1');
INSERT INTO plan_cross VALUES(2,4,0,1,'3');
INSERT INTO plan_cross VALUES(2,5,0,1,'1');
INSERT INTO plan_cross VALUES(2,6,0,1,'1');
INSERT INTO plan_cross VALUES(2,7,0,1,'1');
INSERT INTO plan_cross VALUES(2,8,0,1,'1');
INSERT INTO plan_cross VALUES(2,9,0,1,'1');
INSERT INTO plan_cross VALUES(2,10,0,1,'1');
INSERT INTO plan_cross VALUES(2,11,0,1,'1');
INSERT INTO plan_cross VALUES(2,12,0,1,'1');
INSERT INTO plan_cross VALUES(2,13,0,1,'1');
INSERT INTO plan_cross VALUES(2,14,0,1,'1');
INSERT INTO plan_cross VALUES(2,15,0,1,'1');
INSERT INTO plan_cross VALUES(2,16,0,1,'1');
INSERT INTO plan_cross VALUES(2,17,0,1,'1');
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
INSERT INTO coverage VALUES(1,0,'0..1','0','0');
INSERT INTO coverage VALUES(1,1,'0..1','0','0');
INSERT INTO coverage VALUES(1,2,'0..1','0','0');
INSERT INTO coverage VALUES(1,3,'0..1','0','1');
INSERT INTO coverage VALUES(1,4,'0..1','0','0');
INSERT INTO coverage VALUES(1,5,'0..1','1','0');
INSERT INTO coverage VALUES(2,1,'0..1','0','0');
INSERT INTO coverage VALUES(2,2,'0..1','0','1');
INSERT INTO coverage VALUES(2,4,'0..1','1','2');
INSERT INTO coverage VALUES(2,5,'0..1','0','0');
INSERT INTO coverage VALUES(2,7,'0..1','1','1');
INSERT INTO coverage VALUES(2,8,'0..1','0','0');
INSERT INTO coverage VALUES(2,10,'0..1','0','0');
INSERT INTO coverage VALUES(2,11,'0..1','1','2');
INSERT INTO coverage VALUES(2,13,'0..1','0','0');
INSERT INTO coverage VALUES(2,14,'0..1','0','0');
INSERT INTO coverage VALUES(2,16,'0..1','0','0');
INSERT INTO coverage VALUES(2,17,'0..1','0','0');
CREATE TABLE source (
    -- Who counted, and with what. Records share these rows.
    id     INTEGER PRIMARY KEY,
    worker TEXT NOT NULL,                                          -- the worker's name
    build  TEXT NOT NULL,                                          -- version of its program
    kernel TEXT NOT NULL,                                          -- e.g. "avx512"
    UNIQUE (worker, build, kernel)
) STRICT;
INSERT INTO source VALUES(1,'local','0.1.0','avx512');
CREATE TABLE record (
    -- The evidence: spans counted once, which never overlap. The total of a job is the sum of
    -- solutions times the weight of the cross.
    job         INTEGER NOT NULL,
    cross       INTEGER NOT NULL,
    first       INTEGER NOT NULL CHECK (first >= 0),               -- first subproblem
    until       INTEGER NOT NULL CHECK (until > first),            -- subproblem after the last
    solutions   INTEGER NOT NULL CHECK (solutions >= 0),           -- unweighted
    nodes       INTEGER NOT NULL CHECK (nodes >= 0),               -- queens placed below the prefixes
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),         -- microseconds one thread took
    lease       INTEGER NOT NULL CHECK (lease >= 0),               -- token of the lease it was counted under
    source      INTEGER NOT NULL REFERENCES source (id),
    PRIMARY KEY (job, cross, first),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO record VALUES(1,0,0,1,0,0,676,560394641153720320,1);
INSERT INTO record VALUES(1,1,0,1,0,0,5,560394641153720320,1);
INSERT INTO record VALUES(1,2,0,1,0,0,0,560394641153720320,1);
INSERT INTO record VALUES(1,3,0,1,0,1,0,560394641153720320,1);
INSERT INTO record VALUES(1,4,0,1,0,0,0,560394641153720320,1);
INSERT INTO record VALUES(1,5,0,1,1,0,0,560394641153720320,1);
INSERT INTO record VALUES(2,1,0,1,0,0,0,779535438942568448,1);
INSERT INTO record VALUES(2,2,0,1,0,1,1,779535438942568448,1);
INSERT INTO record VALUES(2,4,0,1,1,2,0,779535438942568448,1);
INSERT INTO record VALUES(2,5,0,1,0,0,0,779535438942568448,1);
INSERT INTO record VALUES(2,7,0,1,1,1,0,779535438942568448,1);
INSERT INTO record VALUES(2,8,0,1,0,0,0,779535438942568448,1);
INSERT INTO record VALUES(2,10,0,1,0,0,0,779535438942568448,1);
INSERT INTO record VALUES(2,11,0,1,1,2,0,779535438942568448,1);
INSERT INTO record VALUES(2,13,0,1,0,0,0,779535438942568448,1);
INSERT INTO record VALUES(2,14,0,1,0,0,0,779535438942568448,1);
INSERT INTO record VALUES(2,16,0,1,0,0,0,779535438942568448,1);
INSERT INTO record VALUES(2,17,0,1,0,0,0,779535438942568448,1);
CREATE TABLE blocked_worker (
    -- Workers that get no leases until an operator unblocks them.
    name TEXT NOT NULL PRIMARY KEY                                 -- the worker's name
) STRICT, WITHOUT ROWID;
INSERT INTO blocked_worker VALUES('bert');
COMMIT;
