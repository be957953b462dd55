-- Version 4 of the schema: a job says by which method it is counted.
--
-- The digests of rows that belong to a job are also of its method, but as they were if that is the search: so only the
-- rows of jobs get new ones (migrate.rs).

ALTER TABLE job RENAME COLUMN digest TO digest_3;

ALTER TABLE job ADD COLUMN
    -- How it is counted: search or halves. Of this method's rules, decomposition is the version.
    method TEXT NOT NULL DEFAULT 'search';

ALTER TABLE job ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
