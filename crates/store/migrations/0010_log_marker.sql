-- The address that limits and allow-lists decide by. Rows without it were written by the version before.
ALTER TABLE login_log ADD COLUMN decided_address TEXT;
-- Where another chain ended when the row was written: a chain that is cut contradicts the rows of the others.
ALTER TABLE login_log ADD COLUMN seen_seq BIGINT;
ALTER TABLE login_log ADD COLUMN seen_hash TEXT;

-- One row, with a code made under the key of the chains: since when every row of the log is in a chain, and how many rows
-- from before were taken into one.
CREATE TABLE log_marker (
    id       BIGINT NOT NULL PRIMARY KEY,
    since    BIGINT NOT NULL,
    adopted  BIGINT NOT NULL,
    hash     TEXT   NOT NULL,
    mac      TEXT   NOT NULL
);
