-- Departments are compared by id, since two may have the same name. It is empty where it is not known, which is in no department:
-- that of people from before is known once they sign in through the platform again.
ALTER TABLE employee ADD COLUMN department_id TEXT NOT NULL DEFAULT '';

CREATE INDEX employee_by_department_id ON employee (corp_id, department_id, employee_key);

-- What was used up and may not be used again, where it is kept in Redis, which can put records back: codes of the platform, journeys
-- to it, people who said that they want to continue. `used_by` is one attempt to use it, which alone can undo that. Rows go after some
-- minutes.
CREATE TABLE used_once (
    digest  TEXT   NOT NULL PRIMARY KEY,
    used_by TEXT   NOT NULL,
    undone  BIGINT NOT NULL,
    until   BIGINT NOT NULL
);

CREATE INDEX used_once_by_end ON used_once (until);
