-- The tables of the invitation store that both databases have. A server gets them with its own types.

CREATE TABLE campaign (
    -- Campaigns that strangers may join by a link, open or closed.
    number      INTEGER PRIMARY KEY AUTOINCREMENT, -- its name for people; never reused
    hash        BLOB NOT NULL UNIQUE CHECK (length(hash) = 32), -- SHA-256 of the join code, which is not stored
    job         INTEGER,                          -- the job that its page shows; NULL: none
    made_ms     INTEGER NOT NULL,                 -- milliseconds since 1970
    expires_ms  INTEGER NOT NULL,                 -- milliseconds since 1970; then nobody joins any more
    closed      INTEGER NOT NULL CHECK (closed IN (0, 1)),
    most_people INTEGER NOT NULL,                 -- how many invitations it may make
    n_names     INTEGER NOT NULL,                 -- the number of names that workers of each may use
    approve     INTEGER NOT NULL CHECK (approve IN (0, 1)) -- 1: an operator has to approve each invitation
) STRICT;

CREATE TABLE invitation (
    number     INTEGER PRIMARY KEY AUTOINCREMENT, -- its name for people; never reused
    -- 128 random bits that identify the invited party, also in the job store and in copies of this database
    party      BLOB NOT NULL UNIQUE CHECK (length(party) = 16),
    role       TEXT NOT NULL,                     -- viewer, operator or worker
    label      TEXT,                              -- a name of the invited party, for people
    made_ms    INTEGER NOT NULL,                  -- milliseconds since 1970
    expires_ms INTEGER,                           -- milliseconds since 1970; NULL: never
    revoked    INTEGER NOT NULL CHECK (revoked IN (0, 1)),
    n_names    INTEGER NOT NULL,                  -- the number of names that its workers may use
    salt       BLOB,                              -- of the token, which is not stored; NULL with a key
    hash       BLOB,                              -- SHA-256 of salt and token; NULL with a key
    key        TEXT,                              -- the pin of the key, if a TLS certificate identifies the party
    campaign   INTEGER REFERENCES campaign (number), -- by which the party joined; NULL: an operator made the invitation
    waiting    INTEGER NOT NULL CHECK (waiting IN (0, 1)), -- 1: it is refused until an operator approves it
    CHECK ((hash IS NULL) <> (key IS NULL) AND (hash IS NULL) = (salt IS NULL))
) STRICT;
CREATE INDEX invitation_of_key ON invitation (key) WHERE key IS NOT NULL;
CREATE INDEX invitation_of_label ON invitation (label) WHERE label IS NOT NULL;
CREATE INDEX invitation_of_campaign ON invitation (campaign) WHERE campaign IS NOT NULL;

CREATE TABLE name (
    -- Names of workers. Other invitations may not use them.
    name  TEXT PRIMARY KEY,
    party BLOB NOT NULL REFERENCES invitation (party)
) STRICT, WITHOUT ROWID;
CREATE INDEX name_of_party ON name (party, name);

CREATE TABLE audit (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    refusal INTEGER NOT NULL CHECK (refusal IN (0, 1)), -- 0: an action of an authenticated caller; 1: a refused request
    at_ms   INTEGER NOT NULL,                     -- milliseconds since 1970
    who     TEXT NOT NULL,                        -- invitation and label of the caller, or 'a stranger'
    party   BLOB,                                 -- of that invitation, as numbers may differ between copies; NULL: a stranger
    role    TEXT NOT NULL,
    peer    TEXT NOT NULL,                        -- the address of the caller
    what    TEXT NOT NULL,
    outcome TEXT NOT NULL
) STRICT;
CREATE INDEX audit_kind ON audit (refusal, number);
