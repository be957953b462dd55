-- Version 2 of the schema: what operators decide, and whose lease tokens are whose.

ALTER TABLE job ADD COLUMN
    -- Higher first, and what is equal in the order of submission.
    priority INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -1000 AND 1000);

ALTER TABLE job ADD COLUMN
    -- 1: an operator has stopped it for now.
    paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1));

CREATE TABLE blocked_worker (
    -- Workers that get no leases until an operator unblocks them.
    name TEXT NOT NULL PRIMARY KEY                                 -- the worker's name
) STRICT, WITHOUT ROWID;

ALTER TABLE epoch ADD COLUMN
    -- What the first lease tokens began with. Every directory and every backup begins somewhere else, so that no
    -- token of one is taken for one of another, whose jobs have the same numbers and may be others.
    first INTEGER NOT NULL DEFAULT 0 CHECK (first BETWEEN 0 AND next);

UPDATE epoch SET next = random() & 0x3fffffff WHERE NOT EXISTS (SELECT * FROM job);
UPDATE epoch SET first = next WHERE NOT EXISTS (SELECT * FROM job);
