-- People and what they may act as. A person is named by corporation and identifier; `employee_key` is the identifier in
-- the spelling we compare by, `employee_id` the one the corporation writes.
CREATE TABLE employee (
    corp_id        TEXT   NOT NULL,
    employee_key   TEXT   NOT NULL,
    employee_id    TEXT   NOT NULL,
    name           TEXT   NOT NULL,
    department     TEXT   NOT NULL,
    avatar         TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    disabled_at    BIGINT,
    last_login_at  BIGINT,
    last_login_ip  TEXT,
    PRIMARY KEY (corp_id, employee_key)
);

CREATE TABLE role (
    id    BIGINT NOT NULL PRIMARY KEY,
    name  TEXT   NOT NULL UNIQUE
);

INSERT INTO role (id, name) VALUES (1, 'admin'), (2, 'agent'), (3, 'user'), (4, 'supervisor'), (5, 'security');

CREATE TABLE user_role (
    corp_id       TEXT   NOT NULL,
    employee_key  TEXT   NOT NULL,
    role_id       BIGINT NOT NULL REFERENCES role (id),
    PRIMARY KEY (corp_id, employee_key, role_id),
    FOREIGN KEY (corp_id, employee_key) REFERENCES employee (corp_id, employee_key)
);

-- Support staff. The role is the one they act in when none was assigned to them.
CREATE TABLE agent (
    corp_id       TEXT   NOT NULL,
    employee_key  TEXT   NOT NULL,
    role_id       BIGINT NOT NULL REFERENCES role (id),
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (corp_id, employee_key),
    FOREIGN KEY (corp_id, employee_key) REFERENCES employee (corp_id, employee_key)
);

-- One row per live token, found by the token's SHA-256; the token itself is nowhere.
CREATE TABLE session (
    digest        TEXT   NOT NULL PRIMARY KEY,
    corp_id       TEXT   NOT NULL,
    employee_key  TEXT   NOT NULL,
    role_id       BIGINT NOT NULL,
    login_method  TEXT   NOT NULL,
    login_source  TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL
);

CREATE INDEX session_of_employee ON session (corp_id, employee_key, created_at);
CREATE INDEX session_by_end ON session (expires_at);

-- Tokens that were ended before their time, kept for a token's lifetime.
CREATE TABLE denied_token (
    digest  TEXT   NOT NULL PRIMARY KEY,
    reason  TEXT   NOT NULL,
    until   BIGINT NOT NULL
);

CREATE INDEX denied_token_by_end ON denied_token (until);

-- What happened at the desk. Identifiers begin with the time, so the primary key is the order of events.
CREATE TABLE login_log (
    id            TEXT   NOT NULL PRIMARY KEY,
    at            BIGINT NOT NULL,
    event         TEXT   NOT NULL,
    corp_id       TEXT   NOT NULL,
    employee_key  TEXT   NOT NULL,
    role_id       BIGINT NOT NULL,
    login_method  TEXT   NOT NULL,
    login_source  TEXT   NOT NULL,
    ip_address    TEXT   NOT NULL,
    peer_address  TEXT   NOT NULL,
    user_agent    TEXT   NOT NULL
);

-- Whether this is data to play with. Decided when it is made: anyone can sign in as anyone in development mode, so its
-- people and sessions must never count in production.
CREATE TABLE desk (mode TEXT NOT NULL);

-- One row that readiness overwrites: only a store that takes writes is ready.
CREATE TABLE probe (at BIGINT NOT NULL);

INSERT INTO probe (at) VALUES (0);
