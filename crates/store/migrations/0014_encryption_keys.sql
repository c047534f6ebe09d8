-- Keys that were replaced by `deskpass key rotate`, each sealed with the current key, which is not in the database: passwords, recovery
-- codes and rows of the log that were made with them stay valid. The sealed text also has where each chain of the log ended then.
CREATE TABLE retired_key (
    id      TEXT NOT NULL PRIMARY KEY,
    sealed  TEXT NOT NULL
);

-- The name of the key that the next row of a chain is hashed with. Empty until the key was replaced for the first time.
ALTER TABLE log_chain ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
