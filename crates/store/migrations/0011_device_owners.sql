-- Whether the row only holds the authenticator device of an employee who is no agent, such as an administrator. Such a row is no
-- agent record: it gives no role, allows no password, and is in no list of agents. It is written as disabled and with the role
-- `user`, so that nodes of the previous version give it no rights either.
ALTER TABLE agent ADD COLUMN device_only BIGINT NOT NULL DEFAULT 0;
