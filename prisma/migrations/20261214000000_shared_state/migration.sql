-- Shared state of conversations: JSON values by key, and their changes, one for each journal entry SHARED_STATE_CHANGED. The
-- columns are of the type json, not jsonb, so that a value has the size and the order of keys with which it was written.

ALTER TYPE entry_kind ADD VALUE 'SHARED_STATE_CHANGED';

CREATE TABLE shared_state (
  conversation_id text NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  key text COLLATE "C" NOT NULL,
  value json NOT NULL,
  version integer NOT NULL,
  first_version integer NOT NULL,
  schema json,
  audience text[],
  bytes integer NOT NULL,
  writers text[] NOT NULL,
  updated_by text NOT NULL,
  created_at timestamptz(3) DEFAULT now() NOT NULL,
  updated_at timestamptz(3) DEFAULT now() NOT NULL,
  PRIMARY KEY (conversation_id, key)
);
ALTER TABLE shared_state ADD CONSTRAINT shared_state_conversation_id_tenant_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;

CREATE TABLE shared_state_change (
  conversation_id text NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  seq integer NOT NULL,
  key text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  actor text NOT NULL,
  audience text[],
  deleted boolean DEFAULT false NOT NULL,
  patch json,
  replaced json,
  client_id text,
  client_hash text,
  PRIMARY KEY (conversation_id, seq)
);
ALTER TABLE shared_state_change ADD CONSTRAINT shared_state_change_conversation_id_tenant_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE shared_state_change ALTER conversation_id SET (n_distinct = 20);
CREATE UNIQUE INDEX shared_state_change_client ON shared_state_change (conversation_id, actor, client_id)
  WHERE client_id IS NOT NULL;
CREATE INDEX shared_state_change_conversation_id_key_version_idx ON shared_state_change (conversation_id, key, version);
-- Find what a change drops: the patches of old changes, and the values that were kept under a legal hold.
CREATE INDEX shared_state_change_patch ON shared_state_change (conversation_id, key, version) WHERE patch IS NOT NULL;
CREATE INDEX shared_state_change_replaced ON shared_state_change (conversation_id, key) WHERE replaced IS NOT NULL;

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['shared_state', 'shared_state_change'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO colloquy_app, colloquy_system', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I TO colloquy_app USING (tenant = current_setting(''colloquy.tenant'', true))',
                   t);
    EXECUTE format('CREATE POLICY system ON %I TO colloquy_system USING (true)', t);
  END LOOP;
END $$;
