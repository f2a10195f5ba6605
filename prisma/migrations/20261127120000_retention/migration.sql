CREATE TYPE retention AS ENUM ('FULL', 'AUDIT_ONLY', 'EPHEMERAL');

-- Defaults of new conversations.
CREATE TABLE tenant_settings (
  tenant      text PRIMARY KEY,
  retention   retention NOT NULL DEFAULT 'FULL',
  ttl_seconds integer
);

ALTER TABLE conversation
  ADD COLUMN retention retention NOT NULL DEFAULT 'FULL',
  ADD COLUMN expires_at timestamptz(3),
  ADD COLUMN removed_through integer NOT NULL DEFAULT 0;
CREATE INDEX conversation_expiring ON conversation (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX conversation_retained ON conversation (id) WHERE retention <> 'FULL';

ALTER TABLE turn
  ADD COLUMN removed_at timestamptz(3),
  ADD COLUMN content_hash text;
