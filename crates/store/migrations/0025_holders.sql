-- What the platform says about who holds an identifier, as JSON, by which another person is recognised who gets the identifier later.
-- `holder` is what is known; NULL until the platform is next asked. `unconfirmed_at` is since when the platform says something that fits
-- another person only: `claimant` is what it says, and until an operator confirms it, only the default role counts, or none where the platform has ids of people.
ALTER TABLE employee ADD COLUMN holder TEXT;
ALTER TABLE employee ADD COLUMN claimant TEXT;
ALTER TABLE employee ADD COLUMN unconfirmed_at BIGINT;

-- Since when the record is about its present holder, as far as is known here: what the platform said before that may be about another
-- person. NULL if it has had one holder.
ALTER TABLE employee ADD COLUMN holder_since_at BIGINT;

-- Where the platform's ids of people come from: those of another application are learned anew.
ALTER TABLE desk ADD COLUMN holder_source TEXT;
