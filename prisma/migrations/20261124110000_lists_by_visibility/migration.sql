-- Lists read OPEN conversations and the viewer's MEMBERS conversations apart.
DROP INDEX conversation_newest;
CREATE INDEX conversation_newest ON conversation (tenant, visibility, created_at DESC, id DESC);
DROP INDEX journal_activity;
CREATE INDEX journal_activity ON journal (tenant, visibility, updated_at DESC, conversation_id DESC);
