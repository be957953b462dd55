-- A database of schema version 3, as written by the program of that time: job 1 (n = 6) is done, job 2 (n = 7), which is paused,
-- has priority 5 and a plan, and bert is blocked.
PRAGMA application_id = 1313959539;
PRAGMA user_version = 3;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE epoch (
    one     INTEGER PRIMARY KEY CHECK (one = 1), -- there is one row
    -- What the lease tokens of the next coordinator begin with; they must stay below 2^63.
    next    INTEGER NOT NULL CHECK (next BETWEEN 0 AND 2147483647)
, first INTEGER NOT NULL DEFAULT 0 CHECK (first BETWEEN 0 AND next), digest INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO epoch VALUES(1,734893141,734893140,9080705380683637581);
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
, priority INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -1000 AND 1000), paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)), plan_digest INTEGER, started_ms INTEGER CHECK (started_ms >= 0), finished_ms INTEGER CHECK (finished_ms >= 0), digest INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO job VALUES(1,6,2,'done',1795334184281,22,0,0,6,0,0,-1447374277948582171,1795334184289,1795334184312,7328335153743174445);
INSERT INTO job VALUES(2,7,2,'active',1795334185856,0,0,0,18,5,1,2357000534140717833,NULL,NULL,1614216783207517355);
CREATE TABLE plan_cross (
    -- What planning decided about each cross.
    job           INTEGER NOT NULL REFERENCES job (id),
    number        INTEGER NOT NULL CHECK (number >= 0),            -- its place in the plan, from 0
    image         INTEGER NOT NULL CHECK (image BETWEEN 0 AND 7),  -- turned or mirrored board it is counted on
    n_subproblems INTEGER NOT NULL CHECK (n_subproblems >= 0),     -- they are numbered from 0
    work          TEXT NOT NULL, digest INTEGER NOT NULL DEFAULT 0,                                   -- estimated nodes of the whole cross, decimal
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO plan_cross VALUES(1,0,0,1,'1',-3179923304210622907);
INSERT INTO plan_cross VALUES(1,1,0,1,'1',6857140724535530062);
INSERT INTO plan_cross VALUES(1,2,0,1,'1',6208942887811587465);
INSERT INTO plan_cross VALUES(1,3,0,1,'1',2832423332992010128);
INSERT INTO plan_cross VALUES(1,4,0,1,'1',5161330101290166157);
INSERT INTO plan_cross VALUES(1,5,0,1,'1',1764245470630095843);
INSERT INTO plan_cross VALUES(2,0,0,1,'1',3536393483441316716);
INSERT INTO plan_cross VALUES(2,1,0,1,'1',6902328479923950191);
INSERT INTO plan_cross VALUES(2,2,0,1,'1',5051044554629105576);
INSERT INTO plan_cross VALUES(2,3,0,1,'1',8330523271605631682);
INSERT INTO plan_cross VALUES(2,4,0,1,'3',4585831360586513639);
INSERT INTO plan_cross VALUES(2,5,0,1,'1',-7215196622254255197);
INSERT INTO plan_cross VALUES(2,6,0,1,'1',-4109835414466667532);
INSERT INTO plan_cross VALUES(2,7,0,1,'1',6560342888444456585);
INSERT INTO plan_cross VALUES(2,8,0,1,'1',7196976723184344301);
INSERT INTO plan_cross VALUES(2,9,0,1,'1',-6436914810277426731);
INSERT INTO plan_cross VALUES(2,10,0,1,'1',-4873680241290273722);
INSERT INTO plan_cross VALUES(2,11,0,1,'1',-430429027855400933);
INSERT INTO plan_cross VALUES(2,12,0,1,'1',4683839791224406677);
INSERT INTO plan_cross VALUES(2,13,0,1,'1',7107903640269780397);
INSERT INTO plan_cross VALUES(2,14,0,1,'1',7837601039465644738);
INSERT INTO plan_cross VALUES(2,15,0,1,'1',-818973175827707049);
INSERT INTO plan_cross VALUES(2,16,0,1,'1',-1634303040061086023);
INSERT INTO plan_cross VALUES(2,17,0,1,'1',-3356935087219149563);
CREATE TABLE source (
    -- Who counted, and with what. Records share these rows.
    id     INTEGER PRIMARY KEY,
    worker TEXT NOT NULL,                                          -- the worker's name
    build  TEXT NOT NULL,                                          -- version of its program
    kernel TEXT NOT NULL, digest INTEGER NOT NULL DEFAULT 0,                                          -- e.g. "avx512"
    UNIQUE (worker, build, kernel)
) STRICT;
INSERT INTO source VALUES(1,'anna','0.1.0','avx512',4020634496569442772);
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
    source      INTEGER NOT NULL REFERENCES source (id), digest INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, cross, first),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO record VALUES(1,0,0,1,0,0,772,3156342002354749440,1,5953483168085300823);
INSERT INTO record VALUES(1,1,0,1,0,0,5,3156342002354749440,1,-3462458909507702396);
INSERT INTO record VALUES(1,2,0,1,0,0,0,3156342002354749440,1,-260128624376057402);
INSERT INTO record VALUES(1,3,0,1,0,1,0,3156342002354749440,1,-2469889181234431845);
INSERT INTO record VALUES(1,4,0,1,0,0,0,3156342002354749440,1,-7446570145939417112);
INSERT INTO record VALUES(1,5,0,1,1,0,0,3156342002354749440,1,2457997893693494298);
CREATE TABLE blocked_worker (
    -- Workers that get no leases until an operator unblocks them.
    name TEXT NOT NULL PRIMARY KEY                                 -- the worker's name
, digest INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO blocked_worker VALUES('bert',-6294673260900734949);
CREATE TABLE coverage (
    -- The sum of each cross's records: with the ranges, all that a starting coordinator reads of them.
    job         INTEGER NOT NULL,
    cross       INTEGER NOT NULL,
    n_recorded  INTEGER NOT NULL CHECK (n_recorded >= 0),          -- recorded subproblems
    solutions   TEXT NOT NULL,                                     -- unweighted, decimal
    nodes       TEXT NOT NULL,                                     -- decimal
    n_ranges    INTEGER NOT NULL CHECK (n_ranges >= 0),            -- its rows in coverage_range
    fingerprint INTEGER NOT NULL,                                  -- of all of those
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, cross),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO coverage VALUES(1,0,1,'0','0',1,8311861578736502650,2587795210601714017);
INSERT INTO coverage VALUES(1,1,1,'0','0',1,8311861578736502650,7695329659749833720);
INSERT INTO coverage VALUES(1,2,1,'0','0',1,8311861578736502650,-7276387221827451902);
INSERT INTO coverage VALUES(1,3,1,'0','1',1,8311861578736502650,-2158007076675109974);
INSERT INTO coverage VALUES(1,4,1,'0','0',1,8311861578736502650,-4137366579801404909);
INSERT INTO coverage VALUES(1,5,1,'1','0',1,8311861578736502650,-5145880318529940125);
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
INSERT INTO coverage_range VALUES(1,0,0,1,8745391735310130426);
INSERT INTO coverage_range VALUES(1,1,0,1,-7498177739777905981);
INSERT INTO coverage_range VALUES(1,2,0,1,7803576823474269666);
INSERT INTO coverage_range VALUES(1,3,0,1,-8676720430702916046);
INSERT INTO coverage_range VALUES(1,4,0,1,5775004638470101819);
INSERT INTO coverage_range VALUES(1,5,0,1,5455921182252021724);
COMMIT;
