-- The reference of the request that a row is about, as a page shows it with an error. Rows without one were written by an earlier
-- version or by the command line.
ALTER TABLE login_log ADD COLUMN reference TEXT;
