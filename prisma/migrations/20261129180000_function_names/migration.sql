ALTER FUNCTION find_described_conversations(jsonb[], integer) RENAME TO find_conversations_by_metadata;
ALTER FUNCTION find_titled_conversations(text, integer) RENAME TO find_conversations_by_title;
