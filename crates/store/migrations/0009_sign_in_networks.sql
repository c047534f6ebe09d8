-- The networks that each employee has signed in from, and when last, to the day. A sign-in from another one is told to them.
CREATE TABLE employee_network (
    corp_id       TEXT   NOT NULL,
    employee_key  TEXT   NOT NULL,
    network       TEXT   NOT NULL,
    seen_at       BIGINT NOT NULL,
    PRIMARY KEY (corp_id, employee_key, network)
);

CREATE INDEX employee_network_by_time ON employee_network (seen_at);

-- The browser that a notice is about, as it calls itself.
ALTER TABLE notice ADD COLUMN user_agent TEXT NOT NULL DEFAULT '';
