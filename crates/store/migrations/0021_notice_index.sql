-- Finds the notices that are too old to be delivered.
CREATE INDEX notice_by_age ON notice (at);
