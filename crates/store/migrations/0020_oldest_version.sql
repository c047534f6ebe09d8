-- The oldest version that a program must know to use the tables after this migration. Programs that know it start on tables of a later
-- version, too. Rows of earlier migrations have none.
ALTER TABLE migration ADD COLUMN oldest BIGINT;
