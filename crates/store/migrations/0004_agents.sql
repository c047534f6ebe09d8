-- What agents prove themselves with when the platform cannot. A password is kept as its hash. The secret of a one-time-password
-- device is sealed with a key that is not in the database, and opens for its agent alone; so is the one that waits to be bound.
-- `otp_step` is the last time step a code was accepted for, `otp_proven` whether the platform had vouched for whoever bound it.
-- `password_set_at` decides nothing: operators look at it.
ALTER TABLE agent ADD COLUMN disabled_at BIGINT;
ALTER TABLE agent ADD COLUMN password_hash TEXT;
ALTER TABLE agent ADD COLUMN password_set_at BIGINT;
ALTER TABLE agent ADD COLUMN otp_secret TEXT;
ALTER TABLE agent ADD COLUMN otp_bound_at BIGINT;
ALTER TABLE agent ADD COLUMN otp_proven BIGINT NOT NULL DEFAULT 0;
ALTER TABLE agent ADD COLUMN otp_verified_at BIGINT;
ALTER TABLE agent ADD COLUMN otp_step BIGINT NOT NULL DEFAULT 0;
ALTER TABLE agent ADD COLUMN otp_pending TEXT;
ALTER TABLE agent ADD COLUMN otp_pending_until BIGINT;

-- The digest of the code with which an agent may set a password without an old one, and how long it counts.
ALTER TABLE agent ADD COLUMN setup_code TEXT;
ALTER TABLE agent ADD COLUMN setup_code_until BIGINT;

-- What stands in for a lost device: digests under the same key, each good once.
CREATE TABLE recovery_code (
    corp_id       TEXT   NOT NULL,
    employee_key  TEXT   NOT NULL,
    digest        TEXT   NOT NULL,
    PRIMARY KEY (corp_id, employee_key, digest),
    FOREIGN KEY (corp_id, employee_key) REFERENCES agent (corp_id, employee_key)
);

-- Guesses at passwords and one-time passwords, counted before they are looked at. Also for names that nobody bears: otherwise
-- a stranger could tell which names somebody does.
CREATE TABLE guess (
    corp_id       TEXT   NOT NULL,
    employee_key  TEXT   NOT NULL,
    trial         TEXT   NOT NULL,
    recent        BIGINT NOT NULL,
    in_a_row      BIGINT NOT NULL,
    last_at       BIGINT NOT NULL,
    PRIMARY KEY (corp_id, employee_key, trial)
);

CREATE INDEX guess_by_time ON guess (last_at);

-- Sign-ins that have a right password and no one-time password yet, found by the SHA-256 of their token.
CREATE TABLE half_session (
    digest        TEXT   NOT NULL PRIMARY KEY,
    corp_id       TEXT   NOT NULL,
    employee_key  TEXT   NOT NULL,
    expires_at    BIGINT NOT NULL,
    FOREIGN KEY (corp_id, employee_key) REFERENCES agent (corp_id, employee_key)
);

CREATE INDEX half_session_of_employee ON half_session (corp_id, employee_key);
CREATE INDEX half_session_by_end ON half_session (expires_at);

-- Browsers in which an agent has signed in: their guesses are counted apart, so that strangers cannot use up an agent's.
CREATE TABLE known_browser (
    digest        TEXT   NOT NULL,
    corp_id       TEXT   NOT NULL,
    employee_key  TEXT   NOT NULL,
    expires_at    BIGINT NOT NULL,
    PRIMARY KEY (digest, corp_id, employee_key),
    FOREIGN KEY (corp_id, employee_key) REFERENCES agent (corp_id, employee_key)
);

CREATE INDEX known_browser_of_employee ON known_browser (corp_id, employee_key);
CREATE INDEX known_browser_by_end ON known_browser (expires_at);

-- What agents are to be told through the platform, written with what happened, kept until it is delivered or too old.
CREATE TABLE notice (
    id            TEXT   NOT NULL PRIMARY KEY,
    corp_id       TEXT   NOT NULL,
    employee_key  TEXT   NOT NULL,
    subject       TEXT   NOT NULL,
    ip_address    TEXT   NOT NULL,
    at            BIGINT NOT NULL,
    tries         BIGINT NOT NULL,
    due_at        BIGINT NOT NULL
);

CREATE INDEX notice_by_time ON notice (due_at);

-- A fixed text under the key outside the database, to tell whether that is the one it was before.
ALTER TABLE desk ADD COLUMN key_check TEXT;
