-- What the platform says about people. `left_at` is since when a person may not sign in because of it, apart from `disabled_at`, which an
-- administrator sets; `left_why` is the reason. `checked_at` is when the platform last said that the person is active, and
-- `tried_at` when it was last asked, whatever it said. `watched` is 1 from a sign-in until the person is found without a session: the
-- platform is asked about these people only. The service finds those with a session from before and marks them, a few at a time. `seen` is
-- 1 once the platform has shown the person's record to the application: only then does it mean anything that the person is out of its range.
ALTER TABLE employee ADD COLUMN left_at BIGINT;
ALTER TABLE employee ADD COLUMN left_why TEXT;
ALTER TABLE employee ADD COLUMN checked_at BIGINT;
ALTER TABLE employee ADD COLUMN tried_at BIGINT;
ALTER TABLE employee ADD COLUMN watched BIGINT NOT NULL DEFAULT 0;
ALTER TABLE employee ADD COLUMN seen BIGINT NOT NULL DEFAULT 0;

-- 1 if a first password or device needs an administrator's setup code: the person had one under a former identifier.
ALTER TABLE agent ADD COLUMN code_needed BIGINT NOT NULL DEFAULT 0;

-- Where a role comes from: assigned by hand, from a rule, or until a time. A row without any of them is deleted. `told_at` is when the
-- person was told that the role ends soon.
ALTER TABLE user_role ADD COLUMN by_hand BIGINT NOT NULL DEFAULT 1;
ALTER TABLE user_role ADD COLUMN by_rule BIGINT NOT NULL DEFAULT 0;
ALTER TABLE user_role ADD COLUMN until BIGINT;
ALTER TABLE user_role ADD COLUMN reason TEXT;
ALTER TABLE user_role ADD COLUMN told_at BIGINT;

CREATE INDEX user_role_by_end ON user_role (until) WHERE until IS NOT NULL;
CREATE INDEX user_role_by_rule ON user_role (corp_id, employee_key) WHERE by_rule = 1;

-- What the platform sent by itself, by the digest of its de-duplication key. `change` is empty and `due_at` NULL once it is handled; the
-- row stays, so that a second delivery is recognised. Those with `urgent` 2, which need no call to the platform, are handled first, and
-- then those with 1. `employee_key` is the person who left according to the event; with `to_lock` 1 that person is still to be locked out.
CREATE TABLE platform_event (
    digest        TEXT   NOT NULL PRIMARY KEY,
    change        TEXT   NOT NULL,
    received_at   BIGINT NOT NULL,
    due_at        BIGINT,
    tries         BIGINT NOT NULL DEFAULT 0,
    urgent        BIGINT NOT NULL DEFAULT 0,
    corp_id       TEXT,
    employee_key  TEXT,
    to_lock       BIGINT NOT NULL DEFAULT 0
);

CREATE INDEX platform_event_due ON platform_event (urgent, due_at, digest) WHERE due_at IS NOT NULL;
CREATE INDEX platform_event_by_time ON platform_event (received_at);
CREATE INDEX platform_event_of_leaver ON platform_event (corp_id, employee_key) WHERE due_at IS NOT NULL;
CREATE INDEX platform_event_to_lock ON platform_event (received_at, digest) WHERE to_lock = 1;

-- The platform's directory at the last synchronisation, as far as rules need it: also of members who never signed in here.
CREATE TABLE directory_department (
    corp_id  TEXT NOT NULL,
    id       TEXT NOT NULL,
    parent   TEXT,
    name     TEXT NOT NULL,
    PRIMARY KEY (corp_id, id)
);

CREATE TABLE directory_member (
    corp_id       TEXT NOT NULL,
    employee_key  TEXT NOT NULL,
    department    TEXT NOT NULL,
    PRIMARY KEY (corp_id, employee_key, department)
);

CREATE INDEX directory_member_of_department ON directory_member (corp_id, department, employee_key);

CREATE TABLE directory_tag (
    corp_id  TEXT NOT NULL,
    id       TEXT NOT NULL,
    name     TEXT NOT NULL,
    PRIMARY KEY (corp_id, id)
);

-- The members of a tag: `kind` is `member` with the key of an employee, or `department` with its id.
CREATE TABLE directory_tag_member (
    corp_id  TEXT NOT NULL,
    tag      TEXT NOT NULL,
    kind     TEXT NOT NULL,
    value    TEXT NOT NULL,
    PRIMARY KEY (corp_id, tag, kind, value)
);

CREATE INDEX directory_tag_of_member ON directory_tag_member (corp_id, kind, value, tag);

-- The rules that give roles, apart from those of the settings file. `kind` is `department` or `tag`.
CREATE TABLE role_rule (
    corp_id   TEXT   NOT NULL,
    role_id   BIGINT NOT NULL REFERENCES role (id),
    kind      TEXT   NOT NULL,
    group_id  TEXT   NOT NULL,
    PRIMARY KEY (corp_id, role_id, kind, group_id)
);

-- Work that one node at a time does, and what it must remember, as JSON.
ALTER TABLE chore ADD COLUMN state TEXT;
INSERT INTO chore (name, until) VALUES ('recheck', 0), ('synchronise', 0);
