-- Transfers: exports and imports of conversations, with their progress.

CREATE TYPE transfer_direction AS ENUM ('EXPORT', 'IMPORT');
CREATE TYPE transfer_state AS ENUM ('RUNNING', 'COMPLETED', 'CANCELLED');
CREATE TYPE transfer_scope AS ENUM ('CONVERSATION', 'OWNER', 'USER', 'TENANT');

CREATE TABLE transfer (
  id              text PRIMARY KEY,
  tenant          text NOT NULL DEFAULT current_setting('colloquy.tenant', true),
  direction       transfer_direction NOT NULL,
  state           transfer_state NOT NULL DEFAULT 'RUNNING',
  scope           transfer_scope NOT NULL,
  subject         text,
  actor           text NOT NULL,
  file_key        text,
  manifest        text NOT NULL,
  lines           integer NOT NULL DEFAULT 0,
  chain           text NOT NULL DEFAULT '',
  counts          jsonb NOT NULL DEFAULT '{}',
  report          jsonb NOT NULL DEFAULT '{}',
  progress        jsonb,
  -- No foreign key: the row is written before the conversation, and stays when the conversation is deleted.
  conversation_id text,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  updated_at      timestamptz(3) NOT NULL DEFAULT now(),
  completed_at    timestamptz(3)
);
CREATE UNIQUE INDEX transfer_file ON transfer (tenant, file_key) WHERE state = 'RUNNING' AND file_key IS NOT NULL;
CREATE UNIQUE INDEX transfer_conversation ON transfer (tenant, conversation_id)
  WHERE state = 'RUNNING' AND direction = 'IMPORT' AND conversation_id IS NOT NULL;
CREATE INDEX transfer_newest ON transfer (tenant, created_at DESC, id DESC);
CREATE INDEX transfer_updated ON transfer (updated_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON transfer TO colloquy_app, colloquy_system;
ALTER TABLE transfer ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON transfer TO colloquy_app USING (tenant = current_setting('colloquy.tenant', true));
CREATE POLICY system ON transfer TO colloquy_system USING (true);
