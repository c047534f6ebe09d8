-- When the employee last came, according to an event of a platform that gives no status. A departure of
-- which an event tells later, and that happened before, does not count.
ALTER TABLE employee ADD COLUMN joined_at BIGINT;
