-- What has changed lately, for nodes that share a database and keep some of it in memory; written with the change itself.
-- Empty where one process has the data to itself. `xact` is the number of the transaction.
CREATE TABLE journal (
    xact          BIGINT NOT NULL,
    at            BIGINT NOT NULL,
    digest        TEXT,
    corp_id       TEXT,
    employee_key  TEXT
);

CREATE INDEX journal_by_transaction ON journal (xact);
CREATE INDEX journal_by_time ON journal (at);

-- What one node does for all, and until when it is done.
CREATE TABLE chore (
    name   TEXT   NOT NULL PRIMARY KEY,
    until  BIGINT NOT NULL
);

INSERT INTO chore (name, until) VALUES ('sweep', 0);
