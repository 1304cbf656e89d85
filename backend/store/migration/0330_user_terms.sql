-- The terms of user_index in their order, each with the users who have it: a search by the
-- beginning of a term reads as many of them as it shows. It has no rows of its own.
CREATE VIRTUAL TABLE user_index_term USING fts5vocab(user_index, instance);
