-- A share link that a tenant gave a user is a code with a name of its choice, so
-- that a name is unique among codes and links, and answers as any code does. It is
-- listed among the user's codes only if it is one besides.
ALTER TABLE code ADD COLUMN link_only INTEGER NOT NULL DEFAULT 0 CHECK (link_only IN (0, 1));
-- When it was last given as a share link; NULL: never. A user's primary share link
-- in a program is the one that was given last, else that of the newest code.
ALTER TABLE code ADD COLUMN linked_at INTEGER CHECK (linked_at IS NOT NULL OR link_only = 0);
