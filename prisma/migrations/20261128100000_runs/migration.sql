-- Runs: what a server-run agent does to answer, its calls of a provider, and the tokens that they take.

CREATE TYPE run_state AS ENUM ('RUNNING', 'WAITING_FOR_TOOLS', 'WAITING_FOR_APPROVAL', 'COMPLETED', 'FAILED', 'CANCELLED');

ALTER TYPE entry_kind ADD VALUE 'RUN_STARTED';
ALTER TYPE entry_kind ADD VALUE 'RUN_CHANGED';
ALTER TABLE entry ADD run_id text;

CREATE TABLE run (
  id                text PRIMARY KEY,
  tenant            text NOT NULL DEFAULT current_setting('colloquy.tenant', true),
  conversation_id   text NOT NULL,
  -- Null until the run has appended the turns given with it: until then, nobody sees it.
  seq               integer,
  actor             text NOT NULL,
  viewer            text NOT NULL,
  audience          text[],
  state             run_state NOT NULL DEFAULT 'RUNNING',
  provider          text NOT NULL,
  model             text NOT NULL,
  reply_to_id       text,
  turn_id           text,
  round             integer NOT NULL DEFAULT 0,
  corrected         boolean NOT NULL DEFAULT false,
  options           jsonb NOT NULL DEFAULT '{}',
  prompt_tokens     bigint NOT NULL DEFAULT 0,
  completion_tokens bigint NOT NULL DEFAULT 0,
  error_code        text,
  error_message     text,
  client_id         text,
  client_hash       text,
  holder            text,
  lease_until       timestamptz(3),
  version           integer NOT NULL DEFAULT 1,
  created_at        timestamptz(3) NOT NULL DEFAULT now(),
  ended_at          timestamptz(3),
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation (id, tenant) ON DELETE CASCADE
);
CREATE UNIQUE INDEX run_id_tenant ON run (id, tenant);
CREATE UNIQUE INDEX run_running ON run (conversation_id, actor) WHERE state = 'RUNNING';
CREATE UNIQUE INDEX run_client_id ON run (conversation_id, viewer, client_id) WHERE client_id IS NOT NULL;
CREATE INDEX run_newest ON run (conversation_id, created_at DESC, id DESC);
CREATE INDEX run_lease ON run (lease_until) WHERE lease_until IS NOT NULL;

CREATE TABLE provider_call (
  run_id            text NOT NULL,
  round             integer NOT NULL,
  tenant            text NOT NULL DEFAULT current_setting('colloquy.tenant', true),
  provider          text NOT NULL,
  model             text NOT NULL,
  turn_id           text NOT NULL,
  results_id        text,
  attempts          integer NOT NULL DEFAULT 1,
  prompt_tokens     integer,
  completion_tokens integer,
  is_estimated      boolean NOT NULL DEFAULT false,
  finish_reason     text,
  error_code        text,
  started_at        timestamptz(3) NOT NULL DEFAULT now(),
  ended_at          timestamptz(3),
  PRIMARY KEY (run_id, round),
  FOREIGN KEY (run_id, tenant) REFERENCES run (id, tenant) ON DELETE CASCADE
);

-- Tokens by day (UTC): of each participant, and of the tenant as a whole. A deleted conversation keeps its share of the
-- tenant's tokens, so that deleting does not restore a quota.
CREATE TABLE token_usage (
  conversation_id   text NOT NULL,
  actor             text NOT NULL,
  day               date NOT NULL,
  tenant            text NOT NULL DEFAULT current_setting('colloquy.tenant', true),
  prompt_tokens     bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  PRIMARY KEY (conversation_id, actor, day),
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation (id, tenant) ON DELETE CASCADE
);
CREATE TABLE tenant_usage (
  tenant            text NOT NULL DEFAULT current_setting('colloquy.tenant', true),
  day               date NOT NULL,
  prompt_tokens     bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  PRIMARY KEY (tenant, day)
);

-- Quotas; null for none.
ALTER TABLE tenant_settings ADD tokens_per_day integer;
ALTER TABLE participant ADD tokens_per_day integer;

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['run', 'provider_call', 'token_usage', 'tenant_usage'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO colloquy_app, colloquy_system', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I TO colloquy_app USING (tenant = current_setting(''colloquy.tenant'', true))', t);
    EXECUTE format('CREATE POLICY system ON %I TO colloquy_system USING (true)', t);
  END LOOP;
END $$;
