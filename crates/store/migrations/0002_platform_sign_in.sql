-- Whether the platform vouched for the person when the session began. Sessions from before then have no such word.
ALTER TABLE session ADD COLUMN proven BIGINT NOT NULL DEFAULT 0;

-- The role that was lent to somebody for the session, since nobody had given them one when it began.
ALTER TABLE session ADD COLUMN lent_role_id BIGINT;

-- That the platform identified somebody of a connected corporation: good for one binding, for a short while, found by the
-- SHA-256 of the value its holder has. `attempts` counts the bindings it was refused for.
CREATE TABLE bind_proof (
    digest      TEXT   NOT NULL PRIMARY KEY,
    corp_id     TEXT   NOT NULL,
    user_id     TEXT   NOT NULL,
    expires_at  BIGINT NOT NULL,
    attempts    BIGINT NOT NULL,
    used_at     BIGINT
);

CREATE INDEX bind_proof_by_end ON bind_proof (expires_at);

-- Who of a connected corporation may act as which employee: approved by an administrator for exactly this pair, and in use
-- from the first binding on.
CREATE TABLE link (
    corp_id         TEXT   NOT NULL,
    user_id         TEXT   NOT NULL,
    target_corp_id  TEXT   NOT NULL,
    target_key      TEXT   NOT NULL,
    approved_at     BIGINT NOT NULL,
    bound_at        BIGINT,
    PRIMARY KEY (corp_id, user_id),
    FOREIGN KEY (target_corp_id, target_key) REFERENCES employee (corp_id, employee_key)
);
