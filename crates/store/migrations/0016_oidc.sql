-- OpenID Connect. A client is a program that signs its users in here. `registration` is what it was registered with, as JSON; `secret`
-- is the SHA-256 of its secret, and `old_secret` that of the one before, which counts until `old_secret_until`. `ends_grants` is 1
-- while what it got is being ended, a part at a time. A client that was removed stays until it was told of every end.
CREATE TABLE oidc_client (
    id                TEXT   NOT NULL PRIMARY KEY,
    registration      TEXT   NOT NULL,
    secret            TEXT,
    old_secret        TEXT,
    old_secret_until  BIGINT,
    created_at        BIGINT NOT NULL,
    created_by_corp   TEXT,
    created_by_key    TEXT,
    disabled_at       BIGINT,
    removed_at        BIGINT,
    ends_grants       BIGINT NOT NULL DEFAULT 0
);

-- The keys that sign ID tokens and logout tokens. The private key is sealed under a key that is not in the database.
CREATE TABLE oidc_key (
    kid           TEXT   NOT NULL PRIMARY KEY,
    algorithm     TEXT   NOT NULL,
    public_jwk    TEXT   NOT NULL,
    sealed        TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    active_from   BIGINT NOT NULL,
    withdrawn_at  BIGINT
);

-- What a client got: it belongs to one session, by the digest of its token, and one client, and ends with either. `sid` identifies both
-- to the client, `code` is the digest of the code that it was made from, `roles` are those that it depends on: it ends when one of them
-- is revoked. A grant that ended alone stays until its session ends: its user was asked about the client.
CREATE TABLE oidc_grant (
    id            TEXT   NOT NULL PRIMARY KEY,
    session       TEXT   NOT NULL,
    client_id     TEXT   NOT NULL,
    corp_id       TEXT   NOT NULL,
    employee_key  TEXT   NOT NULL,
    subject       TEXT   NOT NULL,
    sid           TEXT   NOT NULL,
    scopes        TEXT   NOT NULL,
    roles         TEXT   NOT NULL,
    address       TEXT   NOT NULL,
    code          TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    ended_at      BIGINT
);

CREATE INDEX oidc_grant_of_session ON oidc_grant (session, client_id);
CREATE INDEX oidc_grant_live_of_client ON oidc_grant (client_id, id) WHERE ended_at IS NULL;
CREATE INDEX oidc_grant_of_employee ON oidc_grant (corp_id, employee_key);
CREATE INDEX oidc_grant_by_code ON oidc_grant (code);
CREATE INDEX oidc_grant_by_sid ON oidc_grant (sid);
CREATE INDEX oidc_grant_by_end ON oidc_grant (expires_at);
CREATE INDEX oidc_grant_live_by_end ON oidc_grant (expires_at) WHERE ended_at IS NULL;

-- The access and refresh tokens of a grant, by their SHA-256. A refresh token that was used stays, to recognise its second use.
CREATE TABLE oidc_token (
    digest      TEXT   NOT NULL PRIMARY KEY,
    grant_id    TEXT   NOT NULL,
    kind        TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    used_at     BIGINT
);

CREATE INDEX oidc_token_of_grant ON oidc_token (grant_id);
CREATE INDEX oidc_token_by_end ON oidc_token (expires_at);

-- The browsers that a session was used in for a client, by the SHA-256 of their single sign-on cookie.
CREATE TABLE oidc_browser (
    digest      TEXT   NOT NULL PRIMARY KEY,
    session     TEXT   NOT NULL,
    expires_at  BIGINT NOT NULL
);

CREATE INDEX oidc_browser_by_end ON oidc_browser (expires_at);

-- The clients that are to be told that a session ended, by `sid`; written with the end, kept until it is delivered or too old.
CREATE TABLE oidc_logout (
    sid        TEXT   NOT NULL PRIMARY KEY,
    client_id  TEXT   NOT NULL,
    subject    TEXT   NOT NULL,
    at         BIGINT NOT NULL,
    tries      BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,
    status     TEXT   NOT NULL DEFAULT ''
);

CREATE INDEX oidc_logout_of_client ON oidc_logout (client_id, due_at);

-- The identifier by which clients know an employee: random, given once, never reused. `email_source` says who entered the address:
-- `platform` or `operator`.
ALTER TABLE employee ADD COLUMN subject TEXT;
ALTER TABLE employee ADD COLUMN email TEXT;
ALTER TABLE employee ADD COLUMN email_source TEXT;
