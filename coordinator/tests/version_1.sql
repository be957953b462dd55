-- A directory of schema version 1, as the programs of 0.3.0 write it: jobs 1 (n = 6), 2 (n = 7) and 3 (n = 8, by halves) are
-- done, job 4 (n = 9) is paused and has a plan, job 5 is cancelled, and bert is blocked.
PRAGMA application_id = 1313959539;
PRAGMA user_version = 1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE blocked_worker (
    -- Workers that get no leases until an operator unblocks them.
    name   TEXT NOT NULL,                                          -- that an operator has blocked, or of who lost
    party  TEXT NOT NULL,                                          -- that has lost a dispute, all of it; empty: none
    reason TEXT NOT NULL,                                          -- why; empty if an operator decided it
    digest INTEGER NOT NULL,
    PRIMARY KEY (name, party)
) STRICT, WITHOUT ROWID;
INSERT INTO "blocked_worker" VALUES('bert','','',1895515568756890675);
CREATE TABLE coverage (
    -- The sum of each part's records: with the ranges, all that a starting coordinator reads of them.
    job         INTEGER NOT NULL,
    part       INTEGER NOT NULL,
    n_recorded  INTEGER NOT NULL CHECK (n_recorded >= 0),          -- recorded subproblems
    solutions   TEXT NOT NULL,                                     -- unweighted, decimal
    work        TEXT NOT NULL,                                     -- work, as of the records, decimal
    n_ranges    INTEGER NOT NULL CHECK (n_ranges >= 0),            -- its rows in coverage_range
    fingerprint INTEGER NOT NULL,                                  -- of all of those
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, part),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO "coverage" VALUES(1,0,1,'0','0',1,8311861578736502650,3385406125689103022);
INSERT INTO "coverage" VALUES(1,1,1,'0','0',1,8311861578736502650,-7894689527394200975);
INSERT INTO "coverage" VALUES(1,2,1,'0','0',1,8311861578736502650,-803151034876196100);
INSERT INTO "coverage" VALUES(1,3,1,'0','1',1,8311861578736502650,4482672685044124645);
INSERT INTO "coverage" VALUES(1,4,1,'0','0',1,8311861578736502650,-8471162583353433925);
INSERT INTO "coverage" VALUES(1,5,1,'1','0',1,8311861578736502650,5423605744957382363);
INSERT INTO "coverage" VALUES(2,0,1,'0','0',1,8311861578736502650,-6283634582118900946);
INSERT INTO "coverage" VALUES(2,1,1,'0','0',1,8311861578736502650,-5314871708725370037);
INSERT INTO "coverage" VALUES(2,2,1,'0','1',1,8311861578736502650,-6793467776161161036);
INSERT INTO "coverage" VALUES(2,3,1,'1','2',1,8311861578736502650,-6429298484341464469);
INSERT INTO "coverage" VALUES(2,4,1,'1','2',1,8311861578736502650,8376897827246108181);
INSERT INTO "coverage" VALUES(2,5,1,'0','0',1,8311861578736502650,-2860155118983872057);
INSERT INTO "coverage" VALUES(2,6,1,'1','1',1,8311861578736502650,2545923948372704845);
INSERT INTO "coverage" VALUES(2,7,1,'1','1',1,8311861578736502650,7501569337218108064);
INSERT INTO "coverage" VALUES(2,8,1,'0','0',1,8311861578736502650,-2054998307372020598);
INSERT INTO "coverage" VALUES(2,9,1,'0','0',1,8311861578736502650,-4475271918964744185);
INSERT INTO "coverage" VALUES(2,10,1,'0','0',1,8311861578736502650,-7216642836798778918);
INSERT INTO "coverage" VALUES(2,11,1,'1','2',1,8311861578736502650,8545563782785668475);
INSERT INTO "coverage" VALUES(2,12,1,'0','0',1,8311861578736502650,5462629708326468186);
INSERT INTO "coverage" VALUES(2,13,1,'0','0',1,8311861578736502650,-2138013356126231006);
INSERT INTO "coverage" VALUES(2,14,1,'0','0',1,8311861578736502650,5072085055465557700);
INSERT INTO "coverage" VALUES(2,15,1,'1','1',1,8311861578736502650,-6452495165861153236);
INSERT INTO "coverage" VALUES(2,16,1,'0','0',1,8311861578736502650,19628298246934554);
INSERT INTO "coverage" VALUES(2,17,1,'0','0',1,8311861578736502650,3343828869697079010);
INSERT INTO "coverage" VALUES(3,0,15,'26','22',1,-1274373341382357441,-7519225192490311640);
INSERT INTO "coverage" VALUES(3,1,20,'20','44',1,-6136429832033894090,-4382363307742234123);
CREATE TABLE coverage_range (
    -- The recorded subproblems of each part: ranges that do not touch.
    job       INTEGER NOT NULL,
    part     INTEGER NOT NULL,
    first     INTEGER NOT NULL CHECK (first >= 0),                 -- first subproblem
    until     INTEGER NOT NULL CHECK (until > first),              -- subproblem after the last
    digest    INTEGER NOT NULL,
    PRIMARY KEY (job, part, first),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO "coverage_range" VALUES(1,0,0,1,-8369259566533342436);
INSERT INTO "coverage_range" VALUES(1,1,0,1,7194916420067731356);
INSERT INTO "coverage_range" VALUES(1,2,0,1,-2896616596029802768);
INSERT INTO "coverage_range" VALUES(1,3,0,1,-1027192165710558671);
INSERT INTO "coverage_range" VALUES(1,4,0,1,1173480018161025442);
INSERT INTO "coverage_range" VALUES(1,5,0,1,8801003612188378972);
INSERT INTO "coverage_range" VALUES(2,0,0,1,4740172325340476760);
INSERT INTO "coverage_range" VALUES(2,1,0,1,8691091992407233025);
INSERT INTO "coverage_range" VALUES(2,2,0,1,3529709733217539713);
INSERT INTO "coverage_range" VALUES(2,3,0,1,-4981716583604984223);
INSERT INTO "coverage_range" VALUES(2,4,0,1,-6175162385292375263);
INSERT INTO "coverage_range" VALUES(2,5,0,1,9026583958523138551);
INSERT INTO "coverage_range" VALUES(2,6,0,1,-8656478801878872932);
INSERT INTO "coverage_range" VALUES(2,7,0,1,-2947869532094384126);
INSERT INTO "coverage_range" VALUES(2,8,0,1,3586724572003773776);
INSERT INTO "coverage_range" VALUES(2,9,0,1,9196400255917839483);
INSERT INTO "coverage_range" VALUES(2,10,0,1,4064085589551720270);
INSERT INTO "coverage_range" VALUES(2,11,0,1,351194285048146004);
INSERT INTO "coverage_range" VALUES(2,12,0,1,-7783659671986246478);
INSERT INTO "coverage_range" VALUES(2,13,0,1,-3349565304740888014);
INSERT INTO "coverage_range" VALUES(2,14,0,1,-9200732011839107907);
INSERT INTO "coverage_range" VALUES(2,15,0,1,-8461216714901344404);
INSERT INTO "coverage_range" VALUES(2,16,0,1,467202316957667408);
INSERT INTO "coverage_range" VALUES(2,17,0,1,-5134769796004562960);
INSERT INTO "coverage_range" VALUES(3,0,0,15,6247975881071628157);
INSERT INTO "coverage_range" VALUES(3,1,0,20,-1296099774252197509);
CREATE TABLE job (
    -- What is counted: Q(n), each job with a plan of its own.
    id            INTEGER PRIMARY KEY CHECK (id >= 0),
    identity      TEXT NOT NULL,                                   -- what no other job has: 32 hexadecimal digits
    n             INTEGER NOT NULL CHECK (n BETWEEN 0 AND 32),     -- rows and columns of the board
    decomposition INTEGER NOT NULL CHECK (decomposition >= 0),     -- version of the method's rules by which it is cut
    phase         TEXT NOT NULL,                                   -- planning, active, done or cancelled
    created_ms    INTEGER NOT NULL CHECK (created_ms >= 0),        -- milliseconds since 1970
    active_ms     INTEGER NOT NULL CHECK (active_ms >= 0),         -- milliseconds it has been counted
    n_verified    INTEGER NOT NULL CHECK (n_verified >= 0),        -- records a second count has confirmed
    n_disputed    INTEGER NOT NULL CHECK (n_disputed >= 0),        -- records a second count has contradicted
    n_parts     INTEGER CHECK (n_parts >= 0),                  -- its rows in plan_part; NULL: no plan yet
    -- Higher first, and what is equal in the order of submission.
    priority      INTEGER NOT NULL CHECK (priority BETWEEN -1000 AND 1000),
    paused        INTEGER NOT NULL CHECK (paused IN (0, 1)),       -- 1: an operator has stopped it for now
    plan_digest   INTEGER,                                         -- of all its rows in plan_part; NULL: no plan yet
    started_ms    INTEGER CHECK (started_ms >= 0),                 -- when it was first counted; NULL: not yet, or not known
    finished_ms   INTEGER CHECK (finished_ms >= 0),                -- when it was done or given up; NULL: not yet, or not known
    method        TEXT NOT NULL,                                   -- how it is counted: search or halves
    -- The only parts that are counted: from this one to that before the next column's. NULL: all.
    parts_from  INTEGER CHECK (parts_from >= 0),
    parts_to    INTEGER CHECK (parts_to > parts_from),
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
INSERT INTO "job" VALUES(1,'d3e2a98c7cf771f3bc4fd1502bd94501',6,2,'done',1795334184281,22,0,0,6,0,0,-8995061597677117881,1795334184289,1795334184312,'search',NULL,NULL,0,NULL,'cd613e30d8f16adf91b7584a2265b1f5',NULL,NULL,NULL,-8489572538834821880);
INSERT INTO "job" VALUES(2,'156051507600105962e21b702b612c1f',7,2,'done',1795334185856,10,0,0,18,5,0,5221482874267275092,1795356119851,1795356119862,'search',NULL,NULL,0,NULL,'1e2feb89414c343c1027c4d1c386bbc4',NULL,NULL,NULL,-2314348683540620637);
INSERT INTO "job" VALUES(3,'0a1d042b2185e3211a265f3c66b53d7e',8,1,'done',1795356119778,9,0,0,2,0,0,-497902511777719991,1795356119856,1795356119865,'halves',NULL,NULL,0,NULL,'78e510617311d8a3c2ce6f447ed4d57b',NULL,NULL,NULL,2943474163491073795);
INSERT INTO "job" VALUES(4,'03285bf841fbb1fbb8c2f44d764767e0',9,2,'active',1795356119795,0,0,0,72,0,1,2772946810755686902,NULL,NULL,'search',NULL,NULL,0,NULL,'35bf992dc9e9c616612e7696a6cecc1b',NULL,NULL,NULL,828545727640410692);
INSERT INTO "job" VALUES(5,'ea15751d5654f019dcdfb12d34a09fb9',5,2,'cancelled',1795356119806,0,0,0,NULL,0,0,NULL,NULL,1795356119817,'search',NULL,NULL,0,NULL,'e4b06ce60741c7a87ce42c8218072e8c',NULL,NULL,NULL,610680466268255993);
CREATE TABLE job_identity (
    -- The identity of each job once more, for when the job's row is damaged: it is part of the digests of all its rows.
    job      INTEGER PRIMARY KEY REFERENCES job (id),
    identity TEXT NOT NULL,
    digest   INTEGER NOT NULL
) STRICT;
INSERT INTO "job_identity" VALUES(1,'d3e2a98c7cf771f3bc4fd1502bd94501',-9098297182551051592);
INSERT INTO "job_identity" VALUES(2,'156051507600105962e21b702b612c1f',737143270302232273);
INSERT INTO "job_identity" VALUES(3,'0a1d042b2185e3211a265f3c66b53d7e',-2772047216777384731);
INSERT INTO "job_identity" VALUES(4,'03285bf841fbb1fbb8c2f44d764767e0',-8391370237634006666);
INSERT INTO "job_identity" VALUES(5,'ea15751d5654f019dcdfb12d34a09fb9',-1688010575845550315);
CREATE TABLE plan_part (
    -- What planning decided about each part.
    job           INTEGER NOT NULL REFERENCES job (id),
    number        INTEGER NOT NULL CHECK (number >= 0),            -- its place in the plan, from 0
    image         INTEGER NOT NULL CHECK (image BETWEEN 0 AND 7),  -- turned or mirrored board it is counted on
    n_subproblems INTEGER NOT NULL CHECK (n_subproblems >= 0),     -- they are numbered from 0
    work          TEXT NOT NULL,                                   -- estimated, of the whole part, decimal
    digest        INTEGER NOT NULL,
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO "plan_part" VALUES(1,0,0,1,'1',-6808232101884840594);
INSERT INTO "plan_part" VALUES(1,1,0,1,'1',-3967345563164264761);
INSERT INTO "plan_part" VALUES(1,2,0,1,'1',-7699108040090590685);
INSERT INTO "plan_part" VALUES(1,3,0,1,'1',-6294785981802739692);
INSERT INTO "plan_part" VALUES(1,4,0,1,'1',7944384947704627831);
INSERT INTO "plan_part" VALUES(1,5,0,1,'1',3416700317706000620);
INSERT INTO "plan_part" VALUES(2,0,0,1,'1',5856623298876790663);
INSERT INTO "plan_part" VALUES(2,1,0,1,'1',3272598811131336376);
INSERT INTO "plan_part" VALUES(2,2,0,1,'1',34217120223265682);
INSERT INTO "plan_part" VALUES(2,3,0,1,'1',-8791207970429798980);
INSERT INTO "plan_part" VALUES(2,4,0,1,'3',-6203044936797638832);
INSERT INTO "plan_part" VALUES(2,5,0,1,'1',-2759540581306213020);
INSERT INTO "plan_part" VALUES(2,6,0,1,'1',2207420358601551247);
INSERT INTO "plan_part" VALUES(2,7,0,1,'1',7219077308399227512);
INSERT INTO "plan_part" VALUES(2,8,0,1,'1',2175782690374811808);
INSERT INTO "plan_part" VALUES(2,9,0,1,'1',-8946437781879374032);
INSERT INTO "plan_part" VALUES(2,10,0,1,'1',9088032341942890949);
INSERT INTO "plan_part" VALUES(2,11,0,1,'1',-3382498942570876961);
INSERT INTO "plan_part" VALUES(2,12,0,1,'1',4187923873707597771);
INSERT INTO "plan_part" VALUES(2,13,0,1,'1',-7864634820887846641);
INSERT INTO "plan_part" VALUES(2,14,0,1,'1',-2358996236337015288);
INSERT INTO "plan_part" VALUES(2,15,0,1,'1',-7456789444732495104);
INSERT INTO "plan_part" VALUES(2,16,0,1,'1',5504771421235852946);
INSERT INTO "plan_part" VALUES(2,17,0,1,'1',-6364798485261657101);
INSERT INTO "plan_part" VALUES(3,0,0,15,'16',-6461010654839054061);
INSERT INTO "plan_part" VALUES(3,1,0,20,'50',-6775968453226142952);
INSERT INTO "plan_part" VALUES(4,0,0,1,'5',2088100375605042562);
INSERT INTO "plan_part" VALUES(4,1,0,1,'1',-8136979872027835367);
INSERT INTO "plan_part" VALUES(4,2,0,1,'2',-2062421188735968257);
INSERT INTO "plan_part" VALUES(4,3,0,1,'9',-1308153342300814892);
INSERT INTO "plan_part" VALUES(4,4,0,1,'2',1275051348239540850);
INSERT INTO "plan_part" VALUES(4,5,0,1,'2',-781918387824630808);
INSERT INTO "plan_part" VALUES(4,6,0,1,'2',195787889251327752);
INSERT INTO "plan_part" VALUES(4,7,0,1,'2',-6380181660415795772);
INSERT INTO "plan_part" VALUES(4,8,0,1,'10',-2123797067296719120);
INSERT INTO "plan_part" VALUES(4,9,0,1,'2',-3051355348913593817);
INSERT INTO "plan_part" VALUES(4,10,0,1,'9',-7762509176832290117);
INSERT INTO "plan_part" VALUES(4,11,0,1,'2',-3222365162588365224);
INSERT INTO "plan_part" VALUES(4,12,0,1,'3',-2650522571657235352);
INSERT INTO "plan_part" VALUES(4,13,0,1,'11',5866613698200633670);
INSERT INTO "plan_part" VALUES(4,14,0,1,'5',7723110811192720444);
INSERT INTO "plan_part" VALUES(4,15,0,1,'4',-2879796593451329895);
INSERT INTO "plan_part" VALUES(4,16,0,1,'4',7903614718192040354);
INSERT INTO "plan_part" VALUES(4,17,0,1,'5',-3695209577701176623);
INSERT INTO "plan_part" VALUES(4,18,0,1,'3',4431301304040827832);
INSERT INTO "plan_part" VALUES(4,19,0,1,'5',-9014262905740022602);
INSERT INTO "plan_part" VALUES(4,20,0,1,'2',6286677981197898925);
INSERT INTO "plan_part" VALUES(4,21,0,1,'2',948866195078431432);
INSERT INTO "plan_part" VALUES(4,22,0,1,'7',1011843912019379632);
INSERT INTO "plan_part" VALUES(4,23,0,1,'3',4807902653333834675);
INSERT INTO "plan_part" VALUES(4,24,0,1,'2',-1209892944655383399);
INSERT INTO "plan_part" VALUES(4,25,0,1,'5',-7846071974358943041);
INSERT INTO "plan_part" VALUES(4,26,0,1,'6',4536328114198580316);
INSERT INTO "plan_part" VALUES(4,27,0,1,'3',-2904448233760726541);
INSERT INTO "plan_part" VALUES(4,28,0,1,'4',-8717789818811611827);
INSERT INTO "plan_part" VALUES(4,29,0,1,'8',227004571332279481);
INSERT INTO "plan_part" VALUES(4,30,0,1,'3',-727097669011356146);
INSERT INTO "plan_part" VALUES(4,31,0,1,'4',-637549842217071051);
INSERT INTO "plan_part" VALUES(4,32,0,1,'1',2153449051146611680);
INSERT INTO "plan_part" VALUES(4,33,0,1,'13',679144507331933767);
INSERT INTO "plan_part" VALUES(4,34,0,1,'3',2849666954913211538);
INSERT INTO "plan_part" VALUES(4,35,0,1,'1',5661098361689214661);
INSERT INTO "plan_part" VALUES(4,36,0,1,'11',-7744304821270436637);
INSERT INTO "plan_part" VALUES(4,37,0,1,'5',1916490367721661198);
INSERT INTO "plan_part" VALUES(4,38,0,1,'10',443861888231987854);
INSERT INTO "plan_part" VALUES(4,39,0,1,'10',6957093661119375248);
INSERT INTO "plan_part" VALUES(4,40,0,1,'4',-7926673426849196443);
INSERT INTO "plan_part" VALUES(4,41,0,1,'2',6100033669467380713);
INSERT INTO "plan_part" VALUES(4,42,0,1,'5',8953858188613986398);
INSERT INTO "plan_part" VALUES(4,43,0,1,'5',2349204852485617325);
INSERT INTO "plan_part" VALUES(4,44,0,1,'4',-6787298070861040658);
INSERT INTO "plan_part" VALUES(4,45,0,1,'6',-1510289541731880429);
INSERT INTO "plan_part" VALUES(4,46,0,1,'3',8683799722367410530);
INSERT INTO "plan_part" VALUES(4,47,0,1,'3',2716655625194991668);
INSERT INTO "plan_part" VALUES(4,48,0,1,'12',2414404967902717557);
INSERT INTO "plan_part" VALUES(4,49,0,1,'3',1093825144276081992);
INSERT INTO "plan_part" VALUES(4,50,0,1,'2',-8880417831079315709);
INSERT INTO "plan_part" VALUES(4,51,0,1,'4',379351541567303072);
INSERT INTO "plan_part" VALUES(4,52,0,1,'1',-4129922380593202056);
INSERT INTO "plan_part" VALUES(4,53,0,1,'3',1826531168763700982);
INSERT INTO "plan_part" VALUES(4,54,0,1,'2',-368568032375465917);
INSERT INTO "plan_part" VALUES(4,55,0,1,'2',-5133548916402066486);
INSERT INTO "plan_part" VALUES(4,56,0,1,'3',-3378847147816102001);
INSERT INTO "plan_part" VALUES(4,57,0,1,'3',912672062694430342);
INSERT INTO "plan_part" VALUES(4,58,0,1,'9',-1698026536843761404);
INSERT INTO "plan_part" VALUES(4,59,0,1,'9',-6731548950549197251);
INSERT INTO "plan_part" VALUES(4,60,0,1,'4',-7312468604741693612);
INSERT INTO "plan_part" VALUES(4,61,0,1,'2',-175701258183991269);
INSERT INTO "plan_part" VALUES(4,62,0,1,'5',-6323752527154850353);
INSERT INTO "plan_part" VALUES(4,63,0,1,'5',261607908891113701);
INSERT INTO "plan_part" VALUES(4,64,0,1,'2',-3332153325404242336);
INSERT INTO "plan_part" VALUES(4,65,0,1,'3',338446804702311985);
INSERT INTO "plan_part" VALUES(4,66,0,1,'3',-1126719568078790049);
INSERT INTO "plan_part" VALUES(4,67,0,1,'3',-5589129594852185290);
INSERT INTO "plan_part" VALUES(4,68,0,1,'4',2554482706427523352);
INSERT INTO "plan_part" VALUES(4,69,0,1,'3',8291363435472946751);
INSERT INTO "plan_part" VALUES(4,70,0,1,'1',-5360146784974330123);
INSERT INTO "plan_part" VALUES(4,71,0,1,'4',9176886520567515940);
CREATE TABLE record (
    -- The evidence: spans counted once, which never overlap. The total of a job is the sum of
    -- solutions times the weight of the part.
    job         INTEGER NOT NULL,
    part       INTEGER NOT NULL,
    first       INTEGER NOT NULL CHECK (first >= 0),               -- first subproblem
    until       INTEGER NOT NULL CHECK (until > first),            -- subproblem after the last
    solutions   INTEGER NOT NULL CHECK (solutions >= 0),           -- unweighted
    work        INTEGER NOT NULL CHECK (nodes >= 0),               -- work: queens placed; of halves, units
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),         -- microseconds one thread took
    lease       INTEGER NOT NULL CHECK (lease >= 0),               -- token of the lease it was counted under
    source      INTEGER NOT NULL REFERENCES source (id),
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, part, first),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO "record" VALUES(1,0,0,1,0,0,772,3156342002354749440,1,3009224455823190325);
INSERT INTO "record" VALUES(1,1,0,1,0,0,5,3156342002354749440,1,-8688799923239240453);
INSERT INTO "record" VALUES(1,2,0,1,0,0,0,3156342002354749440,1,5218646992845727682);
INSERT INTO "record" VALUES(1,3,0,1,0,1,0,3156342002354749440,1,3479922491603932526);
INSERT INTO "record" VALUES(1,4,0,1,0,0,0,3156342002354749440,1,7691211611808959750);
INSERT INTO "record" VALUES(1,5,0,1,1,0,0,3156342002354749440,1,2510062644437138789);
INSERT INTO "record" VALUES(2,0,0,1,0,0,664,3156342006649716736,1,641290330864519754);
INSERT INTO "record" VALUES(2,1,0,1,0,0,0,3156342006649716736,1,7661191098861906610);
INSERT INTO "record" VALUES(2,2,0,1,0,1,1,3156342006649716736,1,-4330973398550669869);
INSERT INTO "record" VALUES(2,3,0,1,1,2,0,3156342006649716736,1,-759487152399435483);
INSERT INTO "record" VALUES(2,4,0,1,1,2,0,3156342006649716736,1,8889947412233124287);
INSERT INTO "record" VALUES(2,5,0,1,0,0,0,3156342006649716736,1,6115852584854451458);
INSERT INTO "record" VALUES(2,6,0,1,1,1,0,3156342006649716736,1,-2473267769848045475);
INSERT INTO "record" VALUES(2,7,0,1,1,1,0,3156342006649716736,1,-7673950906536618799);
INSERT INTO "record" VALUES(2,8,0,1,0,0,0,3156342006649716736,1,908967915020132750);
INSERT INTO "record" VALUES(2,9,0,1,0,0,0,3156342006649716736,1,2224703973562911443);
INSERT INTO "record" VALUES(2,10,0,1,0,0,0,3156342006649716736,1,4197526322310693406);
INSERT INTO "record" VALUES(2,11,0,1,1,2,0,3156342006649716736,1,-427387228072201626);
INSERT INTO "record" VALUES(2,12,0,1,0,0,0,3156342006649716736,1,-8840146355995181827);
INSERT INTO "record" VALUES(2,13,0,1,0,0,0,3156342006649716736,1,1920927362690671536);
INSERT INTO "record" VALUES(2,14,0,1,0,0,0,3156342006649716736,1,-6414195160030984485);
INSERT INTO "record" VALUES(2,15,0,1,1,1,0,3156342006649716736,1,1943619434711184917);
INSERT INTO "record" VALUES(2,16,0,1,0,0,0,3156342006649716736,1,3205414746548027913);
INSERT INTO "record" VALUES(2,17,0,1,0,0,0,3156342006649716736,1,5131670249024270464);
INSERT INTO "record" VALUES(3,0,0,15,26,22,52,3156342006649716737,1,3192957835803437295);
INSERT INTO "record" VALUES(3,1,0,20,20,44,57,3156342006649716737,1,4727315832352797058);
CREATE TABLE second_count (
    -- Further counts of recorded spans, each of a whole record, by others than who counted that.
    job         INTEGER NOT NULL,
    part       INTEGER NOT NULL,
    first       INTEGER NOT NULL CHECK (first >= 0),               -- first subproblem
    party       TEXT NOT NULL,                                     -- who counted it, as of its source
    until       INTEGER NOT NULL CHECK (until > first),            -- subproblem after the last
    solutions   INTEGER NOT NULL CHECK (solutions >= 0),           -- unweighted
    work        INTEGER NOT NULL CHECK (nodes >= 0),               -- work, as of records
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),         -- microseconds one thread took
    source      INTEGER NOT NULL REFERENCES source (id),
    at_ms       INTEGER NOT NULL CHECK (at_ms >= 0),               -- when it was reported, milliseconds since 1970
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, part, first, party),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
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
INSERT INTO "source" VALUES(1,'anna','0.1.0','avx512','c9dfab3e9e3c831c8d9083f5c9657950',-4845502092439638349);
CREATE TABLE verdict (
    -- Spans of which there were different counts, and on which two parties have agreed.
    job            INTEGER NOT NULL,
    part          INTEGER NOT NULL,
    first          INTEGER NOT NULL CHECK (first >= 0),            -- first subproblem
    number         INTEGER NOT NULL CHECK (number >= 0),           -- of the verdicts on this span, from 0
    until          INTEGER NOT NULL CHECK (until > first),         -- subproblem after the last
    at_ms          INTEGER NOT NULL CHECK (at_ms >= 0),            -- when it was found, milliseconds since 1970
    solutions      INTEGER NOT NULL CHECK (solutions >= 0),        -- what two parties have counted
    work           INTEGER NOT NULL CHECK (nodes >= 0),
    source         INTEGER NOT NULL REFERENCES source (id),        -- one of them
    lost_solutions INTEGER NOT NULL CHECK (lost_solutions >= 0),   -- what it was held against
    lost_work     INTEGER NOT NULL CHECK (lost_work >= 0),
    lost_source    INTEGER NOT NULL REFERENCES source (id),        -- who had counted that
    digest         INTEGER NOT NULL,
    PRIMARY KEY (job, part, first, number),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;
COMMIT;
