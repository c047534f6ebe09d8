-- When an identifier at the platform last passed to another person, as far as events said so: what happened to it before that is about a
-- former holder. `waits` is 1 while the employee with this identifier is locked until an event says which identifier they have now.
CREATE TABLE identifier_change (
    corp_id       TEXT   NOT NULL,
    employee_key  TEXT   NOT NULL,
    changed_at    BIGINT NOT NULL,
    waits         BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (corp_id, employee_key)
);

-- When an event happened, by the platform's clock. Rows of earlier versions have none: then it is when the event was received.
ALTER TABLE platform_event ADD COLUMN happened_at BIGINT;
