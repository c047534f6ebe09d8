-- The log tells of refusals and of what administrators change, too. `employee_key` is empty where nobody is known, `role_id` 0 and
-- method and source empty where there is none; `actor` is who did it to somebody else. A row is the `seq`th of its chain, and its
-- hash is made from the one before with a key that is not in the database. Rows from before are in no chain.
ALTER TABLE login_log ADD COLUMN actor_corp_id TEXT;
ALTER TABLE login_log ADD COLUMN actor_key TEXT;
ALTER TABLE login_log ADD COLUMN reason TEXT;
ALTER TABLE login_log ADD COLUMN detail TEXT;
ALTER TABLE login_log ADD COLUMN chain BIGINT;
ALTER TABLE login_log ADD COLUMN seq BIGINT;
ALTER TABLE login_log ADD COLUMN hash TEXT;

CREATE UNIQUE INDEX login_log_by_chain ON login_log (chain, seq);
CREATE INDEX login_log_of_corp ON login_log (corp_id, id);
CREATE INDEX login_log_of_employee ON login_log (corp_id, employee_key, id);
CREATE INDEX login_log_by_event ON login_log (corp_id, event, id);
CREATE INDEX login_log_by_address ON login_log (corp_id, ip_address, id);

-- Where each chain ends, and up to where it was pruned for its age; `pruned_mac` is made with the same key as the hashes.
CREATE TABLE log_chain (
    chain        BIGINT NOT NULL PRIMARY KEY,
    seq          BIGINT NOT NULL,
    hash         TEXT   NOT NULL,
    pruned_seq   BIGINT NOT NULL,
    pruned_hash  TEXT   NOT NULL,
    pruned_mac   TEXT   NOT NULL
);

-- Where a session began and when it was last used, to within some minutes, so that people can tell theirs apart.
ALTER TABLE session ADD COLUMN ip_address TEXT;
ALTER TABLE session ADD COLUMN user_agent TEXT;
ALTER TABLE session ADD COLUMN seen_at BIGINT;

CREATE INDEX session_by_birth ON session (corp_id, created_at, digest);

-- What people are found by. A term is in hexadecimal, so that every collation orders terms by their bytes. `terms_of` is the name
-- that somebody's terms were made of; without it they have none yet.
ALTER TABLE employee ADD COLUMN terms_of TEXT;

CREATE TABLE employee_term (
    corp_id       TEXT NOT NULL,
    term          TEXT NOT NULL,
    employee_key  TEXT NOT NULL,
    PRIMARY KEY (corp_id, term, employee_key)
);

CREATE INDEX employee_term_of_employee ON employee_term (corp_id, employee_key, term);
CREATE INDEX employee_without_terms ON employee (corp_id, employee_key) WHERE terms_of IS NULL;

-- The orders that lists come in.
CREATE INDEX employee_by_name ON employee (corp_id, name, employee_key);
CREATE INDEX employee_by_login ON employee (corp_id, COALESCE(last_login_at, 0), employee_key);
CREATE INDEX employee_by_department ON employee (corp_id, department, employee_key);
CREATE INDEX user_role_by_role ON user_role (corp_id, role_id, employee_key);

-- The networks from which a role may be active. A role without any may be from everywhere.
CREATE TABLE ip_rule (
    role_id  BIGINT NOT NULL REFERENCES role (id),
    network  TEXT   NOT NULL,
    PRIMARY KEY (role_id, network)
);

-- What other services identify themselves with, found by the SHA-256 of the value; `scopes` are words with blanks between.
CREATE TABLE service_key (
    id               TEXT   NOT NULL PRIMARY KEY,
    digest           TEXT   NOT NULL UNIQUE,
    name             TEXT   NOT NULL,
    scopes           TEXT   NOT NULL,
    created_at       BIGINT NOT NULL,
    created_by_corp  TEXT,
    created_by_key   TEXT,
    expires_at       BIGINT NOT NULL,
    revoked_at       BIGINT
);
