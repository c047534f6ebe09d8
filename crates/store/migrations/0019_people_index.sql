-- Finds the people who may have live sessions and whom the platform was asked about longest ago.
CREATE INDEX employee_by_check ON employee (corp_id, COALESCE(tried_at, 0), employee_key) WHERE left_at IS NULL AND watched = 1;
