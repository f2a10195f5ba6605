-- Counts the updates of a conversation's own fields, so that a client can refuse to overwrite an update it has not seen.
ALTER TABLE conversation ADD COLUMN version integer NOT NULL DEFAULT 1;
