-- The platform that the data belongs to, such as `wecom`, and which of its identifiers employees are keyed by: those of another one
-- mean nothing here. Data without them gets those of the next start. Data with people from before belongs to the only platform there was.
ALTER TABLE desk ADD COLUMN platform_kind TEXT;
ALTER TABLE desk ADD COLUMN person_id TEXT;

UPDATE desk SET platform_kind = 'wecom', person_id = 'userid'
    WHERE EXISTS (SELECT 1 FROM employee) OR EXISTS (SELECT 1 FROM session);
