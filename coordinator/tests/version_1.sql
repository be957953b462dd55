-- A directory of schema version 1, as the programs of 0.3.0 write it: jobs 1 (n = 6), 2 (n = 7) and 3 (n = 8, by halves) are
-- done, job 4 (n = 9) is paused and has a plan, job 5 is cancelled, and bert is blocked.
PRAGMA application_id = 1313959539;
PRAGMA user_version = 1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE job (
    -- The jobs: each counts Q(n) by a plan of its own.
    id            INTEGER PRIMARY KEY CHECK (id >= 0),
    identity      TEXT NOT NULL,                                   -- unique among all jobs: 32 hexadecimal digits
    n             INTEGER NOT NULL CHECK (n BETWEEN 0 AND 32),     -- rows and columns of the board
    decomposition INTEGER NOT NULL CHECK (decomposition >= 0),     -- version of the method's decomposition rules
    phase         TEXT NOT NULL,                                   -- planning, active, done or cancelled
    created_ms    INTEGER NOT NULL CHECK (created_ms >= 0),        -- milliseconds since 1970
    active_ms     INTEGER NOT NULL CHECK (active_ms >= 0),         -- milliseconds of counting so far
    n_verified    INTEGER NOT NULL CHECK (n_verified >= 0),        -- records that a recount has confirmed
    n_disputed    INTEGER NOT NULL CHECK (n_disputed >= 0),        -- records that a recount has contradicted
    n_parts       INTEGER CHECK (n_parts >= 0),                    -- its rows in plan_part; NULL: no plan yet
    -- Higher first; equal ones in the order of submission.
    priority      INTEGER NOT NULL CHECK (priority BETWEEN -1000 AND 1000),
    paused        INTEGER NOT NULL CHECK (paused IN (0, 1)),       -- 1: an operator has paused it
    plan_digest   INTEGER,                                         -- of all its rows in plan_part; NULL: no plan yet
    started_ms    INTEGER CHECK (started_ms >= 0),                 -- start of counting; NULL: not yet, or unknown
    finished_ms   INTEGER CHECK (finished_ms >= 0),                -- done or cancelled; NULL: not yet, or unknown
    method        TEXT NOT NULL,                                   -- counting method: search or halves
    -- Only these parts are counted: from the first number to before the second. NULL: all.
    parts_from    INTEGER CHECK (parts_from >= 0),
    parts_to      INTEGER CHECK (parts_to > parts_from),
    -- The share of its work that is recounted, in parts per million.
    recount       INTEGER NOT NULL CHECK (recount BETWEEN 0 AND 1000000),
    second_of     INTEGER REFERENCES job (id),                     -- the job whose second pass this is
    -- The seed that decides which records are recounted: 32 hexadecimal digits, drawn at random.
    seed          TEXT NOT NULL,
    exported_ms   INTEGER CHECK (exported_ms >= 0),                -- first export; NULL: not exported
    -- The party that must be one of any two that agree, 32 hexadecimal digits; NULL: any.
    recount_by    TEXT,
    invitation    INTEGER CHECK (invitation >= 0),                 -- number of that party's invitation; NULL: none
    digest        INTEGER NOT NULL
) STRICT;
INSERT INTO job VALUES(1,'ceb54a54a2c2966d03fd7c0184b5d117',6,2,'done',1795616278890,4,0,0,6,0,0,-545701178225807316,1795616279034,1795616279038,'search',NULL,NULL,0,NULL,'45ef1cc676f1f1eec41a741cd89c1b5c',NULL,NULL,NULL,-422409262729453239);
INSERT INTO job VALUES(2,'e8cd6214ea608ea2c51a496114c788f4',7,2,'done',1795616278913,4,0,0,18,5,0,-7968199720249191193,1795616279034,1795616279038,'search',NULL,NULL,0,NULL,'fc43be2f28456ab48ff8f975cf057f5e',NULL,NULL,NULL,2089207395662769307);
INSERT INTO job VALUES(3,'403cf28fa13f296353a38448dddfaaa1',8,1,'done',1795616278929,4,0,0,2,0,0,100495288602404164,1795616279038,1795616279043,'halves',NULL,NULL,0,NULL,'31896e30c96ee2051efbc2a7b7a73dc6',NULL,NULL,NULL,8294384891976916257);
INSERT INTO job VALUES(4,'36aacd4fca45dc5f374f91b1972eb685',9,2,'active',1795616278965,0,0,0,72,0,1,273613400056246687,NULL,NULL,'search',NULL,NULL,0,NULL,'245a7d5f276d07b2be1153c690ab3e94',NULL,NULL,NULL,-6999550146159326040);
INSERT INTO job VALUES(5,'7b0ebbf735ff0064bcf5e7eef9e65705',5,2,'cancelled',1795616282033,0,0,0,3,0,0,-3601370972153090394,NULL,1795616282054,'search',NULL,NULL,0,NULL,'b6ec1d7c9229e82080dfcea98dbce2af',NULL,NULL,NULL,-1857512893322706985);
CREATE TABLE job_identity (
    -- A second copy of each job's identity, in case the job's row is damaged: the digests of all its rows cover it.
    job      INTEGER PRIMARY KEY REFERENCES job (id),
    identity TEXT NOT NULL,
    digest   INTEGER NOT NULL
) STRICT;
INSERT INTO job_identity VALUES(1,'ceb54a54a2c2966d03fd7c0184b5d117',4666366489031512636);
INSERT INTO job_identity VALUES(2,'e8cd6214ea608ea2c51a496114c788f4',6040485453038592929);
INSERT INTO job_identity VALUES(3,'403cf28fa13f296353a38448dddfaaa1',-8558477143013882281);
INSERT INTO job_identity VALUES(4,'36aacd4fca45dc5f374f91b1972eb685',2828639037751963934);
INSERT INTO job_identity VALUES(5,'7b0ebbf735ff0064bcf5e7eef9e65705',-2724225844494708081);
CREATE TABLE plan_part (
    -- The parts of each plan.
    job           INTEGER NOT NULL REFERENCES job (id),
    number        INTEGER NOT NULL CHECK (number >= 0),            -- index in the plan, from 0
    image         INTEGER NOT NULL CHECK (image BETWEEN 0 AND 7),  -- rotated or mirrored board it is counted on
    n_subproblems INTEGER NOT NULL CHECK (n_subproblems >= 0),     -- numbered from 0
    work          TEXT NOT NULL,                                   -- estimated, of the whole part, decimal
    digest        INTEGER NOT NULL,
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO plan_part VALUES(1,0,0,1,'1',2548755661791569009);
INSERT INTO plan_part VALUES(1,1,0,1,'1',6745370318426084428);
INSERT INTO plan_part VALUES(1,2,0,1,'1',-1328489596562482080);
INSERT INTO plan_part VALUES(1,3,0,1,'1',-3046017238747055426);
INSERT INTO plan_part VALUES(1,4,0,1,'1',-7933096170384719749);
INSERT INTO plan_part VALUES(1,5,0,1,'1',-2880384703493043758);
INSERT INTO plan_part VALUES(2,0,0,1,'1',1234718858129558457);
INSERT INTO plan_part VALUES(2,1,0,1,'1',114013461440304034);
INSERT INTO plan_part VALUES(2,2,0,1,'1',4856502650500377307);
INSERT INTO plan_part VALUES(2,3,0,1,'1',-2509962577247459034);
INSERT INTO plan_part VALUES(2,4,0,1,'3',1248480388692063045);
INSERT INTO plan_part VALUES(2,5,0,1,'1',-8816781714333757427);
INSERT INTO plan_part VALUES(2,6,0,1,'1',-2944575137009622515);
INSERT INTO plan_part VALUES(2,7,0,1,'1',-3454342773702897314);
INSERT INTO plan_part VALUES(2,8,0,1,'1',-8334185820722450732);
INSERT INTO plan_part VALUES(2,9,0,1,'1',-42206891692922842);
INSERT INTO plan_part VALUES(2,10,0,1,'1',-3016941907149903777);
INSERT INTO plan_part VALUES(2,11,0,1,'1',-84031754653536353);
INSERT INTO plan_part VALUES(2,12,0,1,'1',-7114822695349441043);
INSERT INTO plan_part VALUES(2,13,0,1,'1',-6176760509241272669);
INSERT INTO plan_part VALUES(2,14,0,1,'1',7193233903590325334);
INSERT INTO plan_part VALUES(2,15,0,1,'1',2761642787696923760);
INSERT INTO plan_part VALUES(2,16,0,1,'1',-6174967132628814466);
INSERT INTO plan_part VALUES(2,17,0,1,'1',-1470979145081215897);
INSERT INTO plan_part VALUES(3,0,0,15,'16',-2966310592231143203);
INSERT INTO plan_part VALUES(3,1,0,20,'50',-184549453143031523);
INSERT INTO plan_part VALUES(4,0,0,1,'5',-6967580615650177278);
INSERT INTO plan_part VALUES(4,1,0,1,'1',-5811760245533115739);
INSERT INTO plan_part VALUES(4,2,0,1,'2',-31722892290809922);
INSERT INTO plan_part VALUES(4,3,0,1,'9',-198437525896737167);
INSERT INTO plan_part VALUES(4,4,0,1,'2',-7040041205915523853);
INSERT INTO plan_part VALUES(4,5,0,1,'2',-9119906735587231763);
INSERT INTO plan_part VALUES(4,6,0,1,'2',5274427929399346946);
INSERT INTO plan_part VALUES(4,7,0,1,'2',4683728876147253820);
INSERT INTO plan_part VALUES(4,8,0,1,'10',3528894178166001975);
INSERT INTO plan_part VALUES(4,9,0,1,'2',-1795496860499469825);
INSERT INTO plan_part VALUES(4,10,0,1,'9',4450609989930002654);
INSERT INTO plan_part VALUES(4,11,0,1,'2',-647833258376209302);
INSERT INTO plan_part VALUES(4,12,0,1,'3',-7952885624031166568);
INSERT INTO plan_part VALUES(4,13,0,1,'11',4393499680957346327);
INSERT INTO plan_part VALUES(4,14,0,1,'5',4949125861374545716);
INSERT INTO plan_part VALUES(4,15,0,1,'4',6193586680802926698);
INSERT INTO plan_part VALUES(4,16,0,1,'4',-410927194075824399);
INSERT INTO plan_part VALUES(4,17,0,1,'5',4481397322220798033);
INSERT INTO plan_part VALUES(4,18,0,1,'3',5287597438195961940);
INSERT INTO plan_part VALUES(4,19,0,1,'5',5401205439510640563);
INSERT INTO plan_part VALUES(4,20,0,1,'2',5028912400554573970);
INSERT INTO plan_part VALUES(4,21,0,1,'2',-2956059511996039909);
INSERT INTO plan_part VALUES(4,22,0,1,'7',1018488995878241928);
INSERT INTO plan_part VALUES(4,23,0,1,'3',-5332117449701487802);
INSERT INTO plan_part VALUES(4,24,0,1,'2',1459785198598203090);
INSERT INTO plan_part VALUES(4,25,0,1,'5',203628163020090697);
INSERT INTO plan_part VALUES(4,26,0,1,'6',7007391325274984835);
INSERT INTO plan_part VALUES(4,27,0,1,'3',-7897499740710404668);
INSERT INTO plan_part VALUES(4,28,0,1,'4',3201218665301509212);
INSERT INTO plan_part VALUES(4,29,0,1,'8',8710883423300818849);
INSERT INTO plan_part VALUES(4,30,0,1,'3',-6298195964556390964);
INSERT INTO plan_part VALUES(4,31,0,1,'4',-1034609587800367676);
INSERT INTO plan_part VALUES(4,32,0,1,'1',4538171676985579185);
INSERT INTO plan_part VALUES(4,33,0,1,'13',8699360501648395024);
INSERT INTO plan_part VALUES(4,34,0,1,'3',-7416370128189152467);
INSERT INTO plan_part VALUES(4,35,0,1,'1',5287124466123175214);
INSERT INTO plan_part VALUES(4,36,0,1,'11',-6906087028243798984);
INSERT INTO plan_part VALUES(4,37,0,1,'5',-4917921840624150070);
INSERT INTO plan_part VALUES(4,38,0,1,'10',402063478596799032);
INSERT INTO plan_part VALUES(4,39,0,1,'10',8494435121890822034);
INSERT INTO plan_part VALUES(4,40,0,1,'4',8125835986379827220);
INSERT INTO plan_part VALUES(4,41,0,1,'2',3708956892323962485);
INSERT INTO plan_part VALUES(4,42,0,1,'5',-4649149334855195256);
INSERT INTO plan_part VALUES(4,43,0,1,'5',4098577820265020339);
INSERT INTO plan_part VALUES(4,44,0,1,'4',3358062205828626093);
INSERT INTO plan_part VALUES(4,45,0,1,'6',-365783469378299295);
INSERT INTO plan_part VALUES(4,46,0,1,'3',-105710179024385579);
INSERT INTO plan_part VALUES(4,47,0,1,'3',4734248315413577489);
INSERT INTO plan_part VALUES(4,48,0,1,'12',-4528259383787239401);
INSERT INTO plan_part VALUES(4,49,0,1,'3',-7357862134643355438);
INSERT INTO plan_part VALUES(4,50,0,1,'2',-1299389013887469254);
INSERT INTO plan_part VALUES(4,51,0,1,'4',-1718641176470406162);
INSERT INTO plan_part VALUES(4,52,0,1,'1',-211187466043230908);
INSERT INTO plan_part VALUES(4,53,0,1,'3',5046466195957785298);
INSERT INTO plan_part VALUES(4,54,0,1,'2',4456447240305280015);
INSERT INTO plan_part VALUES(4,55,0,1,'2',-2652309277301030639);
INSERT INTO plan_part VALUES(4,56,0,1,'3',1017684959587519043);
INSERT INTO plan_part VALUES(4,57,0,1,'3',6292827057345088070);
INSERT INTO plan_part VALUES(4,58,0,1,'9',5743947636071118080);
INSERT INTO plan_part VALUES(4,59,0,1,'9',8474348455073950243);
INSERT INTO plan_part VALUES(4,60,0,1,'4',8984272869548776746);
INSERT INTO plan_part VALUES(4,61,0,1,'2',8769063932876370924);
INSERT INTO plan_part VALUES(4,62,0,1,'5',-2824413219614718957);
INSERT INTO plan_part VALUES(4,63,0,1,'5',-4579512025703300134);
INSERT INTO plan_part VALUES(4,64,0,1,'2',3880411677417876181);
INSERT INTO plan_part VALUES(4,65,0,1,'3',4001000084999793776);
INSERT INTO plan_part VALUES(4,66,0,1,'3',7068150450390139514);
INSERT INTO plan_part VALUES(4,67,0,1,'3',3089580018230682343);
INSERT INTO plan_part VALUES(4,68,0,1,'4',-5330778770682588272);
INSERT INTO plan_part VALUES(4,69,0,1,'3',-6474667543080703418);
INSERT INTO plan_part VALUES(4,70,0,1,'1',-7905222405371363883);
INSERT INTO plan_part VALUES(4,71,0,1,'4',-6907103854130344965);
INSERT INTO plan_part VALUES(5,0,0,1,'1',8637539951301676081);
INSERT INTO plan_part VALUES(5,1,0,1,'1',-7802125358838096369);
INSERT INTO plan_part VALUES(5,2,0,1,'1',1600410578461293945);
CREATE TABLE coverage (
    -- The sums of each part's records. A starting coordinator reads only these and the ranges.
    job         INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    n_recorded  INTEGER NOT NULL CHECK (n_recorded >= 0),          -- recorded subproblems
    solutions   TEXT NOT NULL,                                     -- unweighted, decimal
    work        TEXT NOT NULL,                                     -- work of the records, decimal
    n_ranges    INTEGER NOT NULL CHECK (n_ranges >= 0),            -- its rows in coverage_range
    fingerprint INTEGER NOT NULL,                                  -- of all those rows
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, part),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO coverage VALUES(1,0,1,'0','0',1,8311861578736502650,3411065596506583162);
INSERT INTO coverage VALUES(1,1,1,'0','0',1,8311861578736502650,6215741285185572335);
INSERT INTO coverage VALUES(1,2,1,'0','0',1,8311861578736502650,-4749173807152868053);
INSERT INTO coverage VALUES(1,3,1,'0','1',1,8311861578736502650,-7931097715214701463);
INSERT INTO coverage VALUES(1,4,1,'0','0',1,8311861578736502650,2302851126251496000);
INSERT INTO coverage VALUES(1,5,1,'1','0',1,8311861578736502650,214873773746419772);
INSERT INTO coverage VALUES(2,0,1,'0','0',1,8311861578736502650,-3189205779025434744);
INSERT INTO coverage VALUES(2,1,1,'0','0',1,8311861578736502650,8276087579778603520);
INSERT INTO coverage VALUES(2,2,1,'0','1',1,8311861578736502650,1178376284897419827);
INSERT INTO coverage VALUES(2,3,1,'1','2',1,8311861578736502650,-7640830145846019503);
INSERT INTO coverage VALUES(2,4,1,'1','2',1,8311861578736502650,-6358352594919928778);
INSERT INTO coverage VALUES(2,5,1,'0','0',1,8311861578736502650,5943178667828407028);
INSERT INTO coverage VALUES(2,6,1,'1','1',1,8311861578736502650,-7552229335661691708);
INSERT INTO coverage VALUES(2,7,1,'1','1',1,8311861578736502650,5723793487814781676);
INSERT INTO coverage VALUES(2,8,1,'0','0',1,8311861578736502650,8407009060000841565);
INSERT INTO coverage VALUES(2,9,1,'0','0',1,8311861578736502650,629295619623418300);
INSERT INTO coverage VALUES(2,10,1,'0','0',1,8311861578736502650,4658154727967939048);
INSERT INTO coverage VALUES(2,11,1,'1','2',1,8311861578736502650,4369319390553245117);
INSERT INTO coverage VALUES(2,12,1,'0','0',1,8311861578736502650,-3157870048393155245);
INSERT INTO coverage VALUES(2,13,1,'0','0',1,8311861578736502650,8394311125464312416);
INSERT INTO coverage VALUES(2,14,1,'0','0',1,8311861578736502650,3332764968325142864);
INSERT INTO coverage VALUES(2,15,1,'1','1',1,8311861578736502650,-1011803933808315221);
INSERT INTO coverage VALUES(2,16,1,'0','0',1,8311861578736502650,-3104780928724066888);
INSERT INTO coverage VALUES(2,17,1,'0','0',1,8311861578736502650,7829626243995791159);
INSERT INTO coverage VALUES(3,0,15,'26','22',1,-1274373341382357441,-6704151621562025497);
INSERT INTO coverage VALUES(3,1,20,'20','44',1,-6136429832033894090,-5943097421331817974);
CREATE TABLE coverage_range (
    -- The recorded subproblems of each part, as ranges that do not touch.
    job    INTEGER NOT NULL,
    part   INTEGER NOT NULL,
    first  INTEGER NOT NULL CHECK (first >= 0),                    -- first subproblem
    until  INTEGER NOT NULL CHECK (until > first),                 -- subproblem after the last
    digest INTEGER NOT NULL,
    PRIMARY KEY (job, part, first),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO coverage_range VALUES(1,0,0,1,-5510970229562222908);
INSERT INTO coverage_range VALUES(1,1,0,1,8985422841023366833);
INSERT INTO coverage_range VALUES(1,2,0,1,8309626885999829384);
INSERT INTO coverage_range VALUES(1,3,0,1,-1653733214842790554);
INSERT INTO coverage_range VALUES(1,4,0,1,2727640705301285032);
INSERT INTO coverage_range VALUES(1,5,0,1,-9067041125088848913);
INSERT INTO coverage_range VALUES(2,0,0,1,-7255512785351157051);
INSERT INTO coverage_range VALUES(2,1,0,1,5719463895323658464);
INSERT INTO coverage_range VALUES(2,2,0,1,453791982111242890);
INSERT INTO coverage_range VALUES(2,3,0,1,-2340250952783932691);
INSERT INTO coverage_range VALUES(2,4,0,1,5050868767346931793);
INSERT INTO coverage_range VALUES(2,5,0,1,9213574339219401475);
INSERT INTO coverage_range VALUES(2,6,0,1,7055795292897625436);
INSERT INTO coverage_range VALUES(2,7,0,1,4026136768333566164);
INSERT INTO coverage_range VALUES(2,8,0,1,-5692412946975242391);
INSERT INTO coverage_range VALUES(2,9,0,1,455134652512293329);
INSERT INTO coverage_range VALUES(2,10,0,1,-2741199364099124264);
INSERT INTO coverage_range VALUES(2,11,0,1,7240773045165674644);
INSERT INTO coverage_range VALUES(2,12,0,1,-7085907403526479422);
INSERT INTO coverage_range VALUES(2,13,0,1,6410321157661219347);
INSERT INTO coverage_range VALUES(2,14,0,1,-432884685445307421);
INSERT INTO coverage_range VALUES(2,15,0,1,6103944921664610263);
INSERT INTO coverage_range VALUES(2,16,0,1,-601668457586232401);
INSERT INTO coverage_range VALUES(2,17,0,1,-5813646469190108545);
INSERT INTO coverage_range VALUES(3,0,0,15,2325119060585332719);
INSERT INTO coverage_range VALUES(3,1,0,20,8806210233343578140);
CREATE TABLE source (
    -- The workers that counted, with build, kernel and party. Records share these rows.
    id     INTEGER PRIMARY KEY,
    worker TEXT NOT NULL,                                          -- the worker's name
    build  TEXT NOT NULL,                                          -- version of its program
    kernel TEXT NOT NULL,                                          -- e.g. "avx512"
    -- The party that runs it, 32 hexadecimal digits: that of the invitation, or of the name if none is required.
    party  TEXT NOT NULL,
    digest INTEGER NOT NULL,
    UNIQUE (worker, build, kernel, party)
) STRICT;
INSERT INTO source VALUES(1,'anna','0.3.0','avx512','c9dfab3e9e3c831c8d9083f5c9657950',-2338347248535632141);
CREATE TABLE record (
    -- The evidence: spans counted once, which never overlap. A job's total is the sum of solutions times the weight of
    -- the part.
    job         INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    first       INTEGER NOT NULL CHECK (first >= 0),               -- first subproblem
    until       INTEGER NOT NULL CHECK (until > first),            -- subproblem after the last
    solutions   INTEGER NOT NULL CHECK (solutions >= 0),           -- unweighted
    work        INTEGER NOT NULL CHECK (work >= 0),                -- work: queens placed by search, units by halves
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),         -- microseconds of one thread
    lease       INTEGER NOT NULL CHECK (lease >= 0),               -- token of its lease
    source      INTEGER NOT NULL REFERENCES source (id),
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, part, first),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;
INSERT INTO record VALUES(1,0,0,1,0,0,0,58184155709554750,1,-2769465134921647953);
INSERT INTO record VALUES(1,1,0,1,0,0,3,58184155709554750,1,4393582154162697046);
INSERT INTO record VALUES(1,2,0,1,0,0,0,58184155709554750,1,-3170246637009810982);
INSERT INTO record VALUES(1,3,0,1,0,1,0,58184155709554750,1,6063820696539659237);
INSERT INTO record VALUES(1,4,0,1,0,0,0,58184155709554750,1,3277294231771079226);
INSERT INTO record VALUES(1,5,0,1,1,0,0,58184155709554750,1,3096871285865279777);
INSERT INTO record VALUES(2,0,0,1,0,0,1083,58184155709554749,1,8991415647362780127);
INSERT INTO record VALUES(2,1,0,1,0,0,1,58184155709554749,1,-5687308055162095865);
INSERT INTO record VALUES(2,2,0,1,0,1,2,58184155709554749,1,-5191211875289118160);
INSERT INTO record VALUES(2,3,0,1,1,2,0,58184155709554749,1,-5983299925625735512);
INSERT INTO record VALUES(2,4,0,1,1,2,0,58184155709554749,1,-4672392920771340066);
INSERT INTO record VALUES(2,5,0,1,0,0,0,58184155709554749,1,5697010804971039026);
INSERT INTO record VALUES(2,6,0,1,1,1,0,58184155709554749,1,1809503589424632980);
INSERT INTO record VALUES(2,7,0,1,1,1,0,58184155709554749,1,7387518268755254391);
INSERT INTO record VALUES(2,8,0,1,0,0,0,58184155709554749,1,-5319014748041748940);
INSERT INTO record VALUES(2,9,0,1,0,0,0,58184155709554749,1,5409371175244312266);
INSERT INTO record VALUES(2,10,0,1,0,0,0,58184155709554749,1,-3741242237191536496);
INSERT INTO record VALUES(2,11,0,1,1,2,0,58184155709554749,1,-1433266919328638016);
INSERT INTO record VALUES(2,12,0,1,0,0,0,58184155709554749,1,1939185413404705964);
INSERT INTO record VALUES(2,13,0,1,0,0,0,58184155709554749,1,4864788902335803236);
INSERT INTO record VALUES(2,14,0,1,0,0,0,58184155709554749,1,7856297298704386266);
INSERT INTO record VALUES(2,15,0,1,1,1,0,58184155709554749,1,8519621397658074823);
INSERT INTO record VALUES(2,16,0,1,0,0,0,58184155709554749,1,-3972242945999161854);
INSERT INTO record VALUES(2,17,0,1,0,0,0,58184155709554749,1,-7315629076038565890);
INSERT INTO record VALUES(3,0,0,15,26,22,61,58184155709554751,1,1159826983120528627);
INSERT INTO record VALUES(3,1,0,20,20,44,78,58184155709554751,1,-7905653273706025063);
CREATE TABLE blocked_worker (
    -- Workers that get no leases until an operator unblocks them.
    name   TEXT NOT NULL,                                          -- blocked by an operator, or loser of a dispute
    party  TEXT NOT NULL,                                          -- blocked as a whole for a lost dispute; empty: none
    reason TEXT NOT NULL,                                          -- why; empty if an operator blocked it
    digest INTEGER NOT NULL,
    PRIMARY KEY (name, party)
) STRICT, WITHOUT ROWID;
INSERT INTO blocked_worker VALUES('bert','','',1895515568756890675);
CREATE TABLE second_count (
    -- Recounts of recorded spans, each of a whole record, by a party that did not count it.
    job         INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    first       INTEGER NOT NULL CHECK (first >= 0),               -- first subproblem
    party       TEXT NOT NULL,                                     -- the party of its source
    until       INTEGER NOT NULL CHECK (until > first),            -- subproblem after the last
    solutions   INTEGER NOT NULL CHECK (solutions >= 0),           -- unweighted
    work        INTEGER NOT NULL CHECK (work >= 0),                -- work, as in records
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),         -- microseconds of one thread
    source      INTEGER NOT NULL REFERENCES source (id),
    at_ms       INTEGER NOT NULL CHECK (at_ms >= 0),               -- time of the report, milliseconds since 1970
    digest      INTEGER NOT NULL,
    PRIMARY KEY (job, part, first, party),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE verdict (
    -- Spans with different counts, on which two parties have agreed.
    job            INTEGER NOT NULL,
    part           INTEGER NOT NULL,
    first          INTEGER NOT NULL CHECK (first >= 0),            -- first subproblem
    number         INTEGER NOT NULL CHECK (number >= 0),           -- index among the verdicts on this span, from 0
    until          INTEGER NOT NULL CHECK (until > first),         -- subproblem after the last
    at_ms          INTEGER NOT NULL CHECK (at_ms >= 0),            -- time of the verdict, milliseconds since 1970
    solutions      INTEGER NOT NULL CHECK (solutions >= 0),        -- the count of two parties
    work           INTEGER NOT NULL CHECK (work >= 0),
    source         INTEGER NOT NULL REFERENCES source (id),        -- the source of one of them
    lost_solutions INTEGER NOT NULL CHECK (lost_solutions >= 0),   -- the count that it contradicts
    lost_work      INTEGER NOT NULL CHECK (lost_work >= 0),
    lost_source    INTEGER NOT NULL REFERENCES source (id),        -- the source of that count
    digest         INTEGER NOT NULL,
    PRIMARY KEY (job, part, first, number),
    FOREIGN KEY (job, part) REFERENCES plan_part (job, number)
) STRICT, WITHOUT ROWID;
COMMIT;
