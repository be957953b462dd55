-- A directory of schema version 1, as the programs of 0.3.0 write it: jobs 1 (n = 6), 2 (n = 7) and 3 (n = 8, by halves) are
-- done, job 4 (n = 9) is paused and has a plan, job 5 is cancelled, and bert is blocked.
PRAGMA application_id = 1313959539;
PRAGMA user_version = 1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE epoch (
    one    INTEGER PRIMARY KEY CHECK (one = 1),                    -- there is one row
    -- What the lease tokens of the next coordinator begin with; they must stay below 2^63.
    next   INTEGER NOT NULL CHECK (next BETWEEN 0 AND 2147483647),
    -- What the first lease tokens began with. Every directory and every backup begins somewhere else, so that no
    -- token of one is taken for one of another, whose jobs have the same numbers and may be others.
    first  INTEGER NOT NULL CHECK (first BETWEEN 0 AND next),
    digest INTEGER NOT NULL                                        -- of the rest of the row, as in all tables
) STRICT;

CREATE TABLE job (
    -- What is counted: Q(n), each job with a plan of its own.
    id            INTEGER PRIMARY KEY CHECK (id >= 0),
    n             INTEGER NOT NULL CHECK (n BETWEEN 0 AND 32),     -- rows and columns of the board
    decomposition INTEGER NOT NULL CHECK (decomposition >= 0),     -- version of the method's rules by which it is cut
    phase         TEXT NOT NULL,                                   -- planning, active, done or cancelled
    created_ms    INTEGER NOT NULL CHECK (created_ms >= 0),        -- milliseconds since 1970
    active_ms     INTEGER NOT NULL CHECK (active_ms >= 0),         -- milliseconds it has been counted
    n_verified    INTEGER NOT NULL CHECK (n_verified >= 0),        -- records a second count has confirmed
    n_disputed    INTEGER NOT NULL CHECK (n_disputed >= 0),        -- records a second count has contradicted
    n_crosses     INTEGER CHECK (n_crosses >= 0),                  -- its rows in plan_cross; NULL: no plan yet
    -- Higher first, and what is equal in the order of submission.
    priority      INTEGER NOT NULL CHECK (priority BETWEEN -1000 AND 1000),
    paused        INTEGER NOT NULL CHECK (paused IN (0, 1)),       -- 1: an operator has stopped it for now
    plan_digest   INTEGER,                                         -- of all its rows in plan_cross; NULL: no plan yet
    started_ms    INTEGER CHECK (started_ms >= 0),                 -- when it was first counted; NULL: not yet, or not known
    finished_ms   INTEGER CHECK (finished_ms >= 0),                -- when it was done or given up; NULL: not yet, or not known
    method        TEXT NOT NULL,                                   -- how it is counted: search or halves
    -- The only crosses that are counted: from this one to that before the next column's. NULL: all.
    crosses_from  INTEGER CHECK (crosses_from >= 0),
    crosses_to    INTEGER CHECK (crosses_to > crosses_from),
    -- The share of its work that is counted again, in parts per million.
    recount       INTEGER NOT NULL CHECK (recount BETWEEN 0 AND 1000000),
    second_of     INTEGER REFERENCES job (id),                     -- the job of which this is the second pass
    -- What decides which records are counted again: 32 hexadecimal digits, drawn at random.
    seed          TEXT NOT NULL,
    exported_ms   INTEGER CHECK (exported_ms >= 0),                -- when it was first exported; NULL: it has not been
    -- The party that counts it again, and without which no two agree, 32 hexadecimal digits; NULL: any.
    recount_by    TEXT,
    invitation    INTEGER CHECK (invitation >= 0),                 -- the number of its invitation; NULL: it has none
    digest        INTEGER NOT NULL
) STRICT;

CREATE TABLE plan_cross (
    -- What planning decided about each cross.
    job           INTEGER NOT NULL REFERENCES job (id),
    number        INTEGER NOT NULL CHECK (number >= 0),            -- its place in the plan, from 0
    image         INTEGER NOT NULL CHECK (image BETWEEN 0 AND 7),  -- turned or mirrored board it is counted on
    n_subproblems INTEGER NOT NULL CHECK (n_subproblems >= 0),     -- they are numbered from 0
    work          TEXT NOT NULL,                                   -- estimated, of the whole part, decimal
    digest        INTEGER NOT NULL,
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE source (
    -- Who counted, and with what. Records share these rows.
    id     INTEGER PRIMARY KEY,
    worker TEXT NOT NULL,                                          -- the worker's name
    build  TEXT NOT NULL,                                          -- version of its program
    kernel TEXT NOT NULL,                                          -- e.g. "avx512"
    -- Who runs it, 32 hexadecimal digits: that of the invitation, or of the name where nobody is asked for one.
    party  TEXT NOT NULL,
    digest INTEGER NOT NULL,
    UNIQUE (worker, build, kernel, party)
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
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, cross, first),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE blocked_worker (
    -- Workers that get no leases until an operator unblocks them.
    name   TEXT NOT NULL,                                          -- that an operator has blocked, or of who lost
    party  TEXT NOT NULL,                                          -- that has lost a dispute, all of it; empty: none
    reason TEXT NOT NULL,                                          -- why; empty if an operator decided it
    digest INTEGER NOT NULL,
    PRIMARY KEY (name, party)
) STRICT, WITHOUT ROWID;

CREATE TABLE second_count (
    -- Further counts of recorded spans, each of a whole record, by others than who counted that.
    job         INTEGER NOT NULL,
    cross       INTEGER NOT NULL,
    first       INTEGER NOT NULL CHECK (first >= 0),               -- first subproblem
    party       TEXT NOT NULL,                                     -- who counted it, as of its source
    until       INTEGER NOT NULL CHECK (until > first),            -- subproblem after the last
    solutions   INTEGER NOT NULL CHECK (solutions >= 0),           -- unweighted
    nodes       INTEGER NOT NULL CHECK (nodes >= 0),               -- work, as of records
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),         -- microseconds one thread took
    source      INTEGER NOT NULL REFERENCES source (id),
    at_ms       INTEGER NOT NULL CHECK (at_ms >= 0),               -- when it was reported, milliseconds since 1970
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, cross, first, party),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdict (
    -- Spans of which there were different counts, and on which two parties have agreed.
    job            INTEGER NOT NULL,
    cross          INTEGER NOT NULL,
    first          INTEGER NOT NULL CHECK (first >= 0),            -- first subproblem
    number         INTEGER NOT NULL CHECK (number >= 0),           -- of the verdicts on this span, from 0
    until          INTEGER NOT NULL CHECK (until > first),         -- subproblem after the last
    at_ms          INTEGER NOT NULL CHECK (at_ms >= 0),            -- when it was found, milliseconds since 1970
    solutions      INTEGER NOT NULL CHECK (solutions >= 0),        -- what two parties have counted
    nodes          INTEGER NOT NULL CHECK (nodes >= 0),
    source         INTEGER NOT NULL REFERENCES source (id),        -- one of them
    lost_solutions INTEGER NOT NULL CHECK (lost_solutions >= 0),   -- what it was held against
    lost_nodes     INTEGER NOT NULL CHECK (lost_nodes >= 0),
    lost_source    INTEGER NOT NULL REFERENCES source (id),        -- who had counted that
    digest         INTEGER NOT NULL,
    PRIMARY KEY (job, cross, first, number),
    FOREIGN KEY (job, cross) REFERENCES plan_cross (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO epoch VALUES(1,734893142,734893140,4358990982651403773);
INSERT INTO job VALUES(1,6,2,'done',1795334184281,22,0,0,6,0,0,-2850037889171083017,1795334184289,1795334184312,'search',NULL,NULL,0,NULL,'cd613e30d8f16adf91b7584a2265b1f5',NULL,NULL,NULL,-1751137528054629278);
INSERT INTO job VALUES(2,7,2,'done',1795334185856,10,0,0,18,5,0,4246458305903638869,1795356119851,1795356119862,'search',NULL,NULL,0,NULL,'1e2feb89414c343c1027c4d1c386bbc4',NULL,NULL,NULL,8802276442383078919);
INSERT INTO job VALUES(3,8,1,'done',1795356119778,9,0,0,2,0,0,2148462238911186560,1795356119856,1795356119865,'halves',NULL,NULL,0,NULL,'78e510617311d8a3c2ce6f447ed4d57b',NULL,NULL,NULL,8507213134928727283);
INSERT INTO job VALUES(4,9,2,'active',1795356119795,0,0,0,72,0,1,1584473539897380750,NULL,NULL,'search',NULL,NULL,0,NULL,'35bf992dc9e9c616612e7696a6cecc1b',NULL,NULL,NULL,6108238035345379149);
INSERT INTO job VALUES(5,5,2,'cancelled',1795356119806,0,0,0,NULL,0,0,NULL,NULL,1795356119817,'search',NULL,NULL,0,NULL,'e4b06ce60741c7a87ce42c8218072e8c',NULL,NULL,NULL,4210836696805711234);
INSERT INTO plan_cross VALUES(1,0,0,1,'1',-8436544151625840756);
INSERT INTO plan_cross VALUES(1,1,0,1,'1',6806762802874900777);
INSERT INTO plan_cross VALUES(1,2,0,1,'1',-809953491079496065);
INSERT INTO plan_cross VALUES(1,3,0,1,'1',3692537562794302324);
INSERT INTO plan_cross VALUES(1,4,0,1,'1',7472001196291990614);
INSERT INTO plan_cross VALUES(1,5,0,1,'1',-2835501610964965765);
INSERT INTO plan_cross VALUES(2,0,0,1,'1',971260825672268080);
INSERT INTO plan_cross VALUES(2,1,0,1,'1',181594658739018525);
INSERT INTO plan_cross VALUES(2,2,0,1,'1',-7538259080331400331);
INSERT INTO plan_cross VALUES(2,3,0,1,'1',-2465251197331780341);
INSERT INTO plan_cross VALUES(2,4,0,1,'3',-191784557076885474);
INSERT INTO plan_cross VALUES(2,5,0,1,'1',-3276841242271067759);
INSERT INTO plan_cross VALUES(2,6,0,1,'1',6530970773396607979);
INSERT INTO plan_cross VALUES(2,7,0,1,'1',3977765607392215524);
INSERT INTO plan_cross VALUES(2,8,0,1,'1',-1472778095266527653);
INSERT INTO plan_cross VALUES(2,9,0,1,'1',-8672806240648843123);
INSERT INTO plan_cross VALUES(2,10,0,1,'1',7368171711463512285);
INSERT INTO plan_cross VALUES(2,11,0,1,'1',-7987461728040031298);
INSERT INTO plan_cross VALUES(2,12,0,1,'1',-5246089345116332821);
INSERT INTO plan_cross VALUES(2,13,0,1,'1',4051071650576339143);
INSERT INTO plan_cross VALUES(2,14,0,1,'1',-3790850376227501979);
INSERT INTO plan_cross VALUES(2,15,0,1,'1',7142439624528567871);
INSERT INTO plan_cross VALUES(2,16,0,1,'1',-6624556121928616730);
INSERT INTO plan_cross VALUES(2,17,0,1,'1',-3875457375458567505);
INSERT INTO plan_cross VALUES(3,0,0,15,'16',3537477387446735094);
INSERT INTO plan_cross VALUES(3,1,0,20,'50',-3169547518019781255);
INSERT INTO plan_cross VALUES(4,0,0,1,'5',3805929131379970811);
INSERT INTO plan_cross VALUES(4,1,0,1,'1',635238067628449813);
INSERT INTO plan_cross VALUES(4,2,0,1,'2',-3793164209690033356);
INSERT INTO plan_cross VALUES(4,3,0,1,'9',-1817859693489610787);
INSERT INTO plan_cross VALUES(4,4,0,1,'2',7978390712495198470);
INSERT INTO plan_cross VALUES(4,5,0,1,'2',-2155141639847524236);
INSERT INTO plan_cross VALUES(4,6,0,1,'2',-1103945542667124010);
INSERT INTO plan_cross VALUES(4,7,0,1,'2',-6715220555023494424);
INSERT INTO plan_cross VALUES(4,8,0,1,'10',-3032910760555389169);
INSERT INTO plan_cross VALUES(4,9,0,1,'2',7486223977755630302);
INSERT INTO plan_cross VALUES(4,10,0,1,'9',-3302688132932694666);
INSERT INTO plan_cross VALUES(4,11,0,1,'2',3897227126090322985);
INSERT INTO plan_cross VALUES(4,12,0,1,'3',-6291600110334723728);
INSERT INTO plan_cross VALUES(4,13,0,1,'11',3448136240090931810);
INSERT INTO plan_cross VALUES(4,14,0,1,'5',-4114940119657791923);
INSERT INTO plan_cross VALUES(4,15,0,1,'4',5407603459513287979);
INSERT INTO plan_cross VALUES(4,16,0,1,'4',1192873093917677716);
INSERT INTO plan_cross VALUES(4,17,0,1,'5',5024410591716112217);
INSERT INTO plan_cross VALUES(4,18,0,1,'3',-1566004031147671973);
INSERT INTO plan_cross VALUES(4,19,0,1,'5',7849425784225517665);
INSERT INTO plan_cross VALUES(4,20,0,1,'2',-477595189892996714);
INSERT INTO plan_cross VALUES(4,21,0,1,'2',5780681720407772350);
INSERT INTO plan_cross VALUES(4,22,0,1,'7',5202374036475923688);
INSERT INTO plan_cross VALUES(4,23,0,1,'3',-5943102121503974519);
INSERT INTO plan_cross VALUES(4,24,0,1,'2',2527662064923511028);
INSERT INTO plan_cross VALUES(4,25,0,1,'5',496783902738218990);
INSERT INTO plan_cross VALUES(4,26,0,1,'6',6599630351564607021);
INSERT INTO plan_cross VALUES(4,27,0,1,'3',8460531447814503868);
INSERT INTO plan_cross VALUES(4,28,0,1,'4',-3215700394452292467);
INSERT INTO plan_cross VALUES(4,29,0,1,'8',-6729958640626315232);
INSERT INTO plan_cross VALUES(4,30,0,1,'3',8512668035208490295);
INSERT INTO plan_cross VALUES(4,31,0,1,'4',-4123033892534920612);
INSERT INTO plan_cross VALUES(4,32,0,1,'1',3429116607896619239);
INSERT INTO plan_cross VALUES(4,33,0,1,'13',-257769496701489002);
INSERT INTO plan_cross VALUES(4,34,0,1,'3',-4374461979941951449);
INSERT INTO plan_cross VALUES(4,35,0,1,'1',-9109633452262751301);
INSERT INTO plan_cross VALUES(4,36,0,1,'11',7892974715897222685);
INSERT INTO plan_cross VALUES(4,37,0,1,'5',-557509868965911023);
INSERT INTO plan_cross VALUES(4,38,0,1,'10',594773838476986654);
INSERT INTO plan_cross VALUES(4,39,0,1,'10',-3518590825856508585);
INSERT INTO plan_cross VALUES(4,40,0,1,'4',2399836864814152282);
INSERT INTO plan_cross VALUES(4,41,0,1,'2',907064287962586719);
INSERT INTO plan_cross VALUES(4,42,0,1,'5',-7364039725477303613);
INSERT INTO plan_cross VALUES(4,43,0,1,'5',4883769030331895133);
INSERT INTO plan_cross VALUES(4,44,0,1,'4',-4766700945162202343);
INSERT INTO plan_cross VALUES(4,45,0,1,'6',7532568488494221410);
INSERT INTO plan_cross VALUES(4,46,0,1,'3',-2668096617299139824);
INSERT INTO plan_cross VALUES(4,47,0,1,'3',5754434541796724656);
INSERT INTO plan_cross VALUES(4,48,0,1,'12',-7269098985673451043);
INSERT INTO plan_cross VALUES(4,49,0,1,'3',5670194809617019389);
INSERT INTO plan_cross VALUES(4,50,0,1,'2',4015461447828168761);
INSERT INTO plan_cross VALUES(4,51,0,1,'4',-223723681536597852);
INSERT INTO plan_cross VALUES(4,52,0,1,'1',5286524373959753838);
INSERT INTO plan_cross VALUES(4,53,0,1,'3',7024154821848406962);
INSERT INTO plan_cross VALUES(4,54,0,1,'2',-256749869043045848);
INSERT INTO plan_cross VALUES(4,55,0,1,'2',6674192274661593817);
INSERT INTO plan_cross VALUES(4,56,0,1,'3',1214065414850353501);
INSERT INTO plan_cross VALUES(4,57,0,1,'3',3758454154627867248);
INSERT INTO plan_cross VALUES(4,58,0,1,'9',-5163773619367250170);
INSERT INTO plan_cross VALUES(4,59,0,1,'9',-2878926258113444861);
INSERT INTO plan_cross VALUES(4,60,0,1,'4',-7100435175941507524);
INSERT INTO plan_cross VALUES(4,61,0,1,'2',2726105451863560835);
INSERT INTO plan_cross VALUES(4,62,0,1,'5',8653386178932079814);
INSERT INTO plan_cross VALUES(4,63,0,1,'5',-5866256082092974672);
INSERT INTO plan_cross VALUES(4,64,0,1,'2',4655825188146697094);
INSERT INTO plan_cross VALUES(4,65,0,1,'3',3876477996378216344);
INSERT INTO plan_cross VALUES(4,66,0,1,'3',-7237796936986006013);
INSERT INTO plan_cross VALUES(4,67,0,1,'3',1293115140702618346);
INSERT INTO plan_cross VALUES(4,68,0,1,'4',6219716817906031398);
INSERT INTO plan_cross VALUES(4,69,0,1,'3',524593042324461449);
INSERT INTO plan_cross VALUES(4,70,0,1,'1',8929401197902780524);
INSERT INTO plan_cross VALUES(4,71,0,1,'4',1859740657097599620);
INSERT INTO coverage VALUES(1,0,1,'0','0',1,8311861578736502650,4374339550730139946);
INSERT INTO coverage VALUES(1,1,1,'0','0',1,8311861578736502650,6119210459386069662);
INSERT INTO coverage VALUES(1,2,1,'0','0',1,8311861578736502650,2439016167627634395);
INSERT INTO coverage VALUES(1,3,1,'0','1',1,8311861578736502650,-2318195477540967315);
INSERT INTO coverage VALUES(1,4,1,'0','0',1,8311861578736502650,6715169475212690639);
INSERT INTO coverage VALUES(1,5,1,'1','0',1,8311861578736502650,7529550103926090607);
INSERT INTO coverage VALUES(2,0,1,'0','0',1,8311861578736502650,7055154586189633776);
INSERT INTO coverage VALUES(2,1,1,'0','0',1,8311861578736502650,8806724602957318267);
INSERT INTO coverage VALUES(2,2,1,'0','1',1,8311861578736502650,-8409085069650560102);
INSERT INTO coverage VALUES(2,3,1,'1','2',1,8311861578736502650,-1448186790699646094);
INSERT INTO coverage VALUES(2,4,1,'1','2',1,8311861578736502650,3146474729891942947);
INSERT INTO coverage VALUES(2,5,1,'0','0',1,8311861578736502650,5556245986170886123);
INSERT INTO coverage VALUES(2,6,1,'1','1',1,8311861578736502650,-1048560404977387889);
INSERT INTO coverage VALUES(2,7,1,'1','1',1,8311861578736502650,2165311364236728998);
INSERT INTO coverage VALUES(2,8,1,'0','0',1,8311861578736502650,5572727349119646824);
INSERT INTO coverage VALUES(2,9,1,'0','0',1,8311861578736502650,-6882441294887397373);
INSERT INTO coverage VALUES(2,10,1,'0','0',1,8311861578736502650,1246222693974210698);
INSERT INTO coverage VALUES(2,11,1,'1','2',1,8311861578736502650,-2691765206499407002);
INSERT INTO coverage VALUES(2,12,1,'0','0',1,8311861578736502650,-3198264493687319505);
INSERT INTO coverage VALUES(2,13,1,'0','0',1,8311861578736502650,2369582616468115263);
INSERT INTO coverage VALUES(2,14,1,'0','0',1,8311861578736502650,-2392145217344571826);
INSERT INTO coverage VALUES(2,15,1,'1','1',1,8311861578736502650,-1942278020238511288);
INSERT INTO coverage VALUES(2,16,1,'0','0',1,8311861578736502650,-1978211370974085685);
INSERT INTO coverage VALUES(2,17,1,'0','0',1,8311861578736502650,367990380841008937);
INSERT INTO coverage VALUES(3,0,15,'26','22',1,-1274373341382357441,5197143898106447032);
INSERT INTO coverage VALUES(3,1,20,'20','44',1,-6136429832033894090,-2001550043264415552);
INSERT INTO coverage_range VALUES(1,0,0,1,8260866798278088830);
INSERT INTO coverage_range VALUES(1,1,0,1,-7836446635244270047);
INSERT INTO coverage_range VALUES(1,2,0,1,-1158264641799007160);
INSERT INTO coverage_range VALUES(1,3,0,1,2082065446942862914);
INSERT INTO coverage_range VALUES(1,4,0,1,2020135713406020038);
INSERT INTO coverage_range VALUES(1,5,0,1,7346517045877221950);
INSERT INTO coverage_range VALUES(2,0,0,1,4597094774181992127);
INSERT INTO coverage_range VALUES(2,1,0,1,-794015291869508606);
INSERT INTO coverage_range VALUES(2,2,0,1,2129976644909687653);
INSERT INTO coverage_range VALUES(2,3,0,1,8115329624827521761);
INSERT INTO coverage_range VALUES(2,4,0,1,3302648717413944844);
INSERT INTO coverage_range VALUES(2,5,0,1,-69873455687000994);
INSERT INTO coverage_range VALUES(2,6,0,1,-997274426388296422);
INSERT INTO coverage_range VALUES(2,7,0,1,-6811107160942693979);
INSERT INTO coverage_range VALUES(2,8,0,1,3319813403513523055);
INSERT INTO coverage_range VALUES(2,9,0,1,-7785133046816698618);
INSERT INTO coverage_range VALUES(2,10,0,1,-7504865067802640874);
INSERT INTO coverage_range VALUES(2,11,0,1,-7129202478698869816);
INSERT INTO coverage_range VALUES(2,12,0,1,-8492328592792427043);
INSERT INTO coverage_range VALUES(2,13,0,1,-318480725529109634);
INSERT INTO coverage_range VALUES(2,14,0,1,3721116953256157617);
INSERT INTO coverage_range VALUES(2,15,0,1,-6939856483089300991);
INSERT INTO coverage_range VALUES(2,16,0,1,-2445394306340646341);
INSERT INTO coverage_range VALUES(2,17,0,1,-1122951040142604602);
INSERT INTO coverage_range VALUES(3,0,0,15,7394576210727180846);
INSERT INTO coverage_range VALUES(3,1,0,20,-8206621845389441285);
INSERT INTO source VALUES(1,'anna','0.1.0','avx512','c9dfab3e9e3c831c8d9083f5c9657950',-4845502092439638349);
INSERT INTO record VALUES(1,0,0,1,0,0,772,3156342002354749440,1,3339525357467267523);
INSERT INTO record VALUES(1,1,0,1,0,0,5,3156342002354749440,1,-245999512165914978);
INSERT INTO record VALUES(1,2,0,1,0,0,0,3156342002354749440,1,6225787954492381542);
INSERT INTO record VALUES(1,3,0,1,0,1,0,3156342002354749440,1,-9071308225780441350);
INSERT INTO record VALUES(1,4,0,1,0,0,0,3156342002354749440,1,5975261710010954838);
INSERT INTO record VALUES(1,5,0,1,1,0,0,3156342002354749440,1,-114948771117915161);
INSERT INTO record VALUES(2,0,0,1,0,0,664,3156342006649716736,1,-2884609451490795996);
INSERT INTO record VALUES(2,1,0,1,0,0,0,3156342006649716736,1,4452259741170910616);
INSERT INTO record VALUES(2,2,0,1,0,1,1,3156342006649716736,1,-4738844575821958244);
INSERT INTO record VALUES(2,3,0,1,1,2,0,3156342006649716736,1,5015655204761966009);
INSERT INTO record VALUES(2,4,0,1,1,2,0,3156342006649716736,1,6729452226218023073);
INSERT INTO record VALUES(2,5,0,1,0,0,0,3156342006649716736,1,-5186145527676439622);
INSERT INTO record VALUES(2,6,0,1,1,1,0,3156342006649716736,1,5840726615495745725);
INSERT INTO record VALUES(2,7,0,1,1,1,0,3156342006649716736,1,-2763879075435443299);
INSERT INTO record VALUES(2,8,0,1,0,0,0,3156342006649716736,1,-763669563564678824);
INSERT INTO record VALUES(2,9,0,1,0,0,0,3156342006649716736,1,5362652313882472265);
INSERT INTO record VALUES(2,10,0,1,0,0,0,3156342006649716736,1,-5426145429921229329);
INSERT INTO record VALUES(2,11,0,1,1,2,0,3156342006649716736,1,-4016447741330574611);
INSERT INTO record VALUES(2,12,0,1,0,0,0,3156342006649716736,1,8401044860137500453);
INSERT INTO record VALUES(2,13,0,1,0,0,0,3156342006649716736,1,6640459822098421238);
INSERT INTO record VALUES(2,14,0,1,0,0,0,3156342006649716736,1,7451109210770698346);
INSERT INTO record VALUES(2,15,0,1,1,1,0,3156342006649716736,1,-6473933226739699989);
INSERT INTO record VALUES(2,16,0,1,0,0,0,3156342006649716736,1,-7541875805977527396);
INSERT INTO record VALUES(2,17,0,1,0,0,0,3156342006649716736,1,-4097265683894758671);
INSERT INTO record VALUES(3,0,0,15,26,22,52,3156342006649716737,1,5715466154240547022);
INSERT INTO record VALUES(3,1,0,20,20,44,57,3156342006649716737,1,8608849956384626559);
INSERT INTO blocked_worker VALUES('bert','','',1895515568756890675);
COMMIT;
