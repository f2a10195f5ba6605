ALTER TABLE participant ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';

-- Finds the entries about a participant, which are few, without reading the journal.
CREATE INDEX entry_participant ON entry (conversation_id, actor, seq) WHERE actor IS NOT NULL;
