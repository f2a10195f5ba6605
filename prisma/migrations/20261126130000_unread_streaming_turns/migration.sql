-- Finds the streaming turns that were committed after a participant's read mark.
CREATE INDEX entry_committed ON entry (conversation_id, seq) INCLUDE (turn_id) WHERE kind = 'COMMITTED';
