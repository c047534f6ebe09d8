-- Finds the ends of sessions that clients were not told for the longest time, and those that are too old.
CREATE INDEX oidc_logout_by_age ON oidc_logout (at, sid);
