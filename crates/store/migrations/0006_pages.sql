-- Sign-ins, by their row in the log, of which their owner said that it was somebody else.
CREATE TABLE disowned (
    sign_in  TEXT   NOT NULL PRIMARY KEY,
    at       BIGINT NOT NULL
);

CREATE INDEX disowned_by_time ON disowned (at);

-- What of one kind somebody is on record with: however many others a stranger can cause, they are not looked at.
CREATE INDEX login_log_of_employee_by_event ON login_log (corp_id, employee_key, event, id);

-- How many sign-ins came how far, by the hour in which they did.
CREATE TABLE sign_in_count (
    hour   BIGINT NOT NULL,
    step   TEXT   NOT NULL,
    times  BIGINT NOT NULL,
    PRIMARY KEY (hour, step)
);

-- Whom a notice is about, where that is not whom it is for.
ALTER TABLE notice ADD COLUMN about TEXT NOT NULL DEFAULT '';
