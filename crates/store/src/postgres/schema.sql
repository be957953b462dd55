-- The tables that only a server has. All others are made from those of SQLite.
--
-- The coordinator whose epoch stands in `lease` is the leader. Each of its transactions calls `hold`, which fails after
-- another leader was elected, and after an earlier state was restored.

CREATE TABLE lease (
    -- The leader lease. A new leader raises the epoch. Each writing transaction locks this row and compares the epoch, so
    -- a former leader can't commit.
    one     BIGINT PRIMARY KEY CHECK (one = 1),
    epoch   BIGINT NOT NULL UNIQUE, -- microseconds since 1970; in a key, so that changing it waits for all lock holders
    holder  TEXT NOT NULL,          -- the leader's address for operators and workers
    expires TIMESTAMPTZ NOT NULL,   -- by this server's clock
    pages   TEXT                    -- the address of its pages; NULL: it serves none
);
INSERT INTO lease VALUES (1, 0, '', '-infinity', NULL);

CREATE TABLE standby_contact (
    -- The last contact between a worker and a standby. A leader without workers resigns in favour of such a standby.
    one BIGINT PRIMARY KEY CHECK (one = 1),
    at  TIMESTAMPTZ NOT NULL        -- by this server's clock
);
INSERT INTO standby_contact VALUES (1, '-infinity');

CREATE TABLE state (
    -- A random number that each of the leader's transactions replaces. It reveals that an earlier state was restored.
    one    BIGINT PRIMARY KEY CHECK (one = 1),
    number BIGINT NOT NULL
);
INSERT INTO state VALUES (1, 0);

CREATE FUNCTION hold(mine BIGINT, before BIGINT, after BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
    -- Fails with QN001 if another leader was elected since the epoch `mine`; otherwise, none can be before the
    -- transaction ends. The lock permits changes of other columns, so the lease can be renewed meanwhile.
    -- Fails with QN002 unless the state has the number `before`; changes it to `after`.
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
    -- The schema version of all tables.
    one     BIGINT PRIMARY KEY CHECK (one = 1),
    version BIGINT NOT NULL
);
INSERT INTO version VALUES (1, 1);
