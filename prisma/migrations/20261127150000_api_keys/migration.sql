-- API keys: who each key authenticates and what it permits. The secret itself is not stored, only its SHA-256.
CREATE TABLE api_key (
  id              text PRIMARY KEY,
  tenant          text NOT NULL,
  name            text NOT NULL,
  actor           text NOT NULL,
  kind            participant_kind NOT NULL,
  rights          text[] NOT NULL,
  conversations   text[],
  secret_hash     bytea NOT NULL,
  previous_hash   bytea,
  previous_until  timestamptz(3),
  version         integer NOT NULL DEFAULT 1,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  expires_at      timestamptz(3),
  revoked_at      timestamptz(3),
  last_used_at    timestamptz(3)
);

-- One key that is not revoked for each name, so that a repeated createApiKey creates no second key.
CREATE UNIQUE INDEX api_key_name ON api_key (tenant, name) WHERE revoked_at IS NULL;
-- The list of a tenant's keys, newest first.
CREATE INDEX api_key_created ON api_key (tenant, created_at, id);
