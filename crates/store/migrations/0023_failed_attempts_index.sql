-- Finds the failed attempts that are removed after a day, without reading those that stay for a month.
CREATE INDEX guess_few_by_time ON guess (last_at) WHERE in_a_row < 5;
