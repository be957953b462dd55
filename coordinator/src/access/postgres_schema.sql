-- The tables of the invitation store that only a server has.

CREATE TABLE place (
    -- Each coordinator writes its address, the pin of its key and the URL of its pages when it starts. Operators
    -- remove old rows by hand. The address is empty if a coordinator does not know its own, as behind a proxy.
    url   TEXT COLLATE "C" PRIMARY KEY,
    pin   TEXT,
    pages TEXT
);

CREATE TABLE invitation_store (
    -- The version of these tables, and a random number that each change of campaigns, invitations or names replaces,
    -- also one by hand. Coordinators reload them only when it differs. As it is random, it also differs after an earlier
    -- state was restored and changed.
    one     BIGINT PRIMARY KEY CHECK (one = 1),
    version BIGINT NOT NULL,
    mark    BIGINT NOT NULL
);
INSERT INTO invitation_store VALUES (1, 1, floor(random() * 9007199254740992)::bigint);

CREATE FUNCTION invitations_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE queens.invitation_store SET mark = floor(random() * 9007199254740992)::bigint;
        RETURN NULL;
    END
$$;
CREATE TRIGGER invitations_changed BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON invitation
    FOR EACH STATEMENT EXECUTE FUNCTION invitations_changed();
CREATE TRIGGER invitations_changed BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON name
    FOR EACH STATEMENT EXECUTE FUNCTION invitations_changed();
CREATE TRIGGER invitations_changed BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON campaign
    FOR EACH STATEMENT EXECUTE FUNCTION invitations_changed();
