-- Contexts: the turns that every one of them keeps, however old they are, without reading the room.

CREATE INDEX turn_system ON turn (conversation_id, root_seq) WHERE role = 'SYSTEM';
CREATE INDEX turn_pinned ON turn (conversation_id, root_seq) WHERE pinned;
