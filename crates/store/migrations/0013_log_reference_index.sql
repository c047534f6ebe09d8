-- Finds the row of a reference.
CREATE INDEX login_log_by_reference ON login_log (corp_id, reference, id) WHERE reference IS NOT NULL;
