-- The texts that users send to friends with their share links, by language. A language
-- that a program does not have uses the default text of Kith.
ALTER TABLE program ADD COLUMN invitations TEXT NOT NULL DEFAULT '{}' CHECK (json_type(invitations) = 'object');
