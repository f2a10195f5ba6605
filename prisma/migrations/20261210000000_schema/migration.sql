-- The schema of Colloquy: roles, types, tables with their indexes, row-level security, functions, and the past.
-- prisma/schema.prisma describes the tables and columns. Each function has the text of its file in prisma/functions/.

-- Roles belong to the cluster, so another database may have created them, or be creating them now.
DO $$
DECLARE
  r text;
BEGIN
  FOREACH r IN ARRAY ARRAY['colloquy_app', 'colloquy_system'] LOOP
    BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION', r);
      END IF;
    EXCEPTION
      WHEN duplicate_object OR unique_violation THEN NULL;
      WHEN insufficient_privilege THEN
        RAISE EXCEPTION 'the role % does not exist, and % may not create it', r, current_user
          USING HINT = 'As a superuser, run the statements on roles of scripts/compose/application-role.sql.';
    END;
    -- A superuser can take any role.
    CONTINUE WHEN (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
    BEGIN
      EXECUTE format('GRANT %I TO CURRENT_USER', r);
    EXCEPTION WHEN insufficient_privilege THEN
      IF NOT pg_has_role(r, 'MEMBER') THEN
        RAISE EXCEPTION '% is not a member of the role %', current_user, r
          USING HINT = 'As a superuser, run the statements on roles of scripts/compose/application-role.sql.';
      END IF;
    END;
  END LOOP;
END $$;

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TYPE approval_state AS ENUM ('PENDING', 'APPROVED', 'DENIED', 'EXPIRED', 'CANCELLED');
CREATE TYPE audit_outcome AS ENUM ('DONE', 'DENIED');
CREATE TYPE claim_outcome AS ENUM ('RELEASED', 'EXPIRED', 'ANSWERED');
CREATE TYPE compaction_strategy AS ENUM ('ROLLING', 'HIERARCHICAL', 'NEVER');
CREATE TYPE conversation_visibility AS ENUM ('OPEN', 'MEMBERS');
CREATE TYPE entry_kind AS ENUM (
  'APPENDED', 'OPENED', 'COMMITTED', 'ABORTED', 'SUPERSEDED', 'JOINED', 'LEFT', 'UPDATED', 'SUMMARIZED',
  'FACTS_CHANGED', 'ERASED', 'RUN_STARTED', 'RUN_CHANGED', 'WAKE_UPS_STOPPED', 'APPROVAL_REQUESTED',
  'APPROVAL_RESOLVED', 'CLAIMED', 'CLAIM_RELEASED'
);
CREATE TYPE erasure_kind AS ENUM ('TURN', 'USER', 'CONVERSATION');
CREATE TYPE history_visibility AS ENUM ('ALL', 'SINCE_JOINED');
CREATE TYPE participant_kind AS ENUM ('HUMAN', 'AGENT', 'TOOL');
CREATE TYPE respond AS ENUM ('MENTIONED', 'ADDRESSED', 'ALWAYS', 'NEVER');
CREATE TYPE retention AS ENUM ('FULL', 'AUDIT_ONLY', 'EPHEMERAL');
CREATE TYPE role AS ENUM ('SYSTEM', 'USER', 'ASSISTANT', 'TOOL');
CREATE TYPE run_state AS ENUM (
  'RUNNING', 'WAITING_FOR_TOOLS', 'WAITING_FOR_APPROVAL', 'COMPLETED', 'FAILED', 'CANCELLED'
);
CREATE TYPE supersede_reason AS ENUM ('DUPLICATED', 'CONTRADICTED', 'UPDATED', 'RETRACTED', 'UNDONE');
CREATE TYPE transfer_direction AS ENUM ('EXPORT', 'IMPORT');
CREATE TYPE transfer_scope AS ENUM ('CONVERSATION', 'OWNER', 'USER', 'TENANT');
CREATE TYPE transfer_state AS ENUM ('RUNNING', 'COMPLETED', 'CANCELLED');
CREATE TYPE turn_status AS ENUM ('STREAMING', 'COMMITTED', 'ABORTED', 'ERASED');
CREATE TYPE wake_up_drop AS ENUM ('AGENT_FAILED', 'LEFT', 'NO_LONGER_RESPONDS', 'RUN_CANCELLED');

CREATE TABLE conversation (
  id text NOT NULL,
  tenant text NOT NULL,
  key text,
  owner text NOT NULL,
  agent_name text,
  title text,
  system_prompt text,
  metadata jsonb DEFAULT '{}' NOT NULL,
  created_at timestamptz(3) DEFAULT now() NOT NULL,
  trigger_turns integer DEFAULT 50 NOT NULL,
  trigger_tokens integer DEFAULT 8000 NOT NULL,
  summarizer_model text,
  compaction_strategy compaction_strategy DEFAULT 'ROLLING' NOT NULL,
  fact_extraction boolean DEFAULT false NOT NULL,
  key_scope text DEFAULT '' NOT NULL,
  visibility conversation_visibility DEFAULT 'OPEN' NOT NULL,
  version integer DEFAULT 1 NOT NULL,
  automatic_title boolean DEFAULT true NOT NULL,
  title_from integer,
  title_seq integer,
  title_tried integer DEFAULT 0 NOT NULL,
  legal_hold boolean DEFAULT false NOT NULL,
  retention retention DEFAULT 'FULL' NOT NULL,
  expires_at timestamptz(3),
  removed_through integer DEFAULT 0 NOT NULL,
  max_agent_turns integer DEFAULT 6 NOT NULL,
  CONSTRAINT conversation_tenant CHECK (tenant <> ''),
  PRIMARY KEY (id)
);
CREATE INDEX conversation_expiring ON conversation (expires_at) WHERE expires_at IS NOT NULL;
-- Finds the conversations with automatic extraction.
CREATE INDEX conversation_fact_extraction ON conversation (id) WHERE fact_extraction;
CREATE UNIQUE INDEX conversation_id_tenant ON conversation (id, tenant);
CREATE UNIQUE INDEX conversation_key ON conversation (tenant, key, key_scope);
CREATE INDEX conversation_metadata ON conversation USING gin (metadata jsonb_path_ops);
CREATE INDEX conversation_newest_members ON conversation (tenant, created_at DESC, id DESC)
  WHERE visibility = 'MEMBERS';
CREATE INDEX conversation_newest_open ON conversation (tenant, created_at DESC, id DESC)
  WHERE visibility = 'OPEN';
CREATE INDEX conversation_owner ON conversation (tenant, owner);
CREATE INDEX conversation_retained ON conversation (id) WHERE retention <> 'FULL';
CREATE INDEX conversation_title ON conversation USING gin (title gin_trgm_ops);
-- The conversations that may get an automatic title.
CREATE INDEX conversation_untitled ON conversation (id)
  WHERE (automatic_title AND (title_tried < 16) AND ((title IS NULL) OR (title_seq IS NOT NULL)));

-- Rewritten by every append, so it is narrow, leaves room on its pages, and no index but the one by activity covers
-- what changes.
CREATE TABLE journal (
  conversation_id text NOT NULL,
  tenant text NOT NULL,
  last_seq integer DEFAULT 0 NOT NULL,
  turn_count integer DEFAULT 0 NOT NULL,
  token_count bigint DEFAULT 0 NOT NULL,
  updated_at timestamptz(3) DEFAULT now() NOT NULL,
  salt integer DEFAULT 0 NOT NULL,
  summarized_through integer DEFAULT 0 NOT NULL,
  summarized_turns integer DEFAULT 0 NOT NULL,
  summarized_tokens bigint DEFAULT 0 NOT NULL,
  visibility conversation_visibility DEFAULT 'OPEN' NOT NULL,
  responding boolean DEFAULT false NOT NULL,
  agent_turns integer DEFAULT 0 NOT NULL,
  PRIMARY KEY (conversation_id)
) WITH (fillfactor = 70);
CREATE INDEX journal_activity_members ON journal (tenant, updated_at DESC, conversation_id DESC)
  WHERE visibility = 'MEMBERS';
CREATE INDEX journal_activity_open ON journal (tenant, updated_at DESC, conversation_id DESC)
  WHERE visibility = 'OPEN';

CREATE TABLE entry (
  conversation_id text NOT NULL,
  seq integer NOT NULL,
  kind entry_kind NOT NULL,
  turn_id text,
  actor text,
  at timestamptz(3) DEFAULT now() NOT NULL,
  summary_id text,
  fact_ids text[],
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  run_id text,
  approval_id text,
  PRIMARY KEY (conversation_id, seq)
);
ALTER TABLE entry ALTER conversation_id SET (n_distinct = 20);
-- Finds the streaming turns that were committed after a participant's read mark.
CREATE INDEX entry_committed ON entry (conversation_id, seq) INCLUDE (turn_id) WHERE kind = 'COMMITTED';
-- Finds the entries about a participant, which are few, without reading the journal.
CREATE INDEX entry_participant ON entry (conversation_id, actor, seq) WHERE actor IS NOT NULL;

CREATE TABLE participant (
  conversation_id text NOT NULL,
  actor text NOT NULL,
  kind participant_kind NOT NULL,
  display_name text,
  history history_visibility DEFAULT 'ALL' NOT NULL,
  joined_at timestamptz(3) DEFAULT now() NOT NULL,
  left_at timestamptz(3),
  last_read_seq integer DEFAULT 0 NOT NULL,
  windows integer[] NOT NULL,
  addressed boolean DEFAULT false NOT NULL,
  removed boolean DEFAULT false NOT NULL,
  metadata jsonb DEFAULT '{}' NOT NULL,
  administrator boolean DEFAULT false NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  respond respond DEFAULT 'NEVER' NOT NULL,
  agent jsonb,
  PRIMARY KEY (conversation_id, actor)
);
CREATE INDEX participant_actor ON participant (actor, conversation_id);
-- Few participants respond: without them in a conversation of many, a turn reads no other participant.
CREATE INDEX participant_responding ON participant (conversation_id, actor) WHERE respond <> 'NEVER';

CREATE TABLE turn (
  id text NOT NULL,
  conversation_id text NOT NULL,
  seq integer NOT NULL,
  root_seq integer NOT NULL,
  actor text NOT NULL,
  role role NOT NULL,
  status turn_status NOT NULL,
  text text NOT NULL,
  parts jsonb,
  audience text[],
  token_count integer NOT NULL,
  prompt_tokens integer,
  completion_tokens integer,
  model text,
  adapter text,
  trace_id text,
  sources jsonb,
  pinned boolean DEFAULT false NOT NULL,
  metadata jsonb,
  client_id text,
  client_hash text,
  supersedes text,
  superseded_by text,
  abort_reason text,
  created_at timestamptz(3) DEFAULT now() NOT NULL,
  terms integer[],
  cues smallint,
  imported_at timestamptz(3),
  reply_to_id text,
  end_hash text,
  removed_at timestamptz(3),
  content_hash text,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  mentions text[],
  author_kind participant_kind,
  context_id text,
  PRIMARY KEY (id, conversation_id)
);
ALTER TABLE turn ALTER conversation_id SET (n_distinct = 20);
CREATE UNIQUE INDEX turn_client ON turn (conversation_id, actor, client_id) WHERE client_id IS NOT NULL;
CREATE INDEX turn_context ON turn (conversation_id, context_id) WHERE context_id IS NOT NULL;
CREATE INDEX turn_pinned ON turn (conversation_id, root_seq) WHERE pinned;
CREATE UNIQUE INDEX turn_place ON turn (conversation_id, root_seq, seq);
CREATE INDEX turn_private ON turn (conversation_id, root_seq) WHERE audience IS NOT NULL;
-- Finds the SYSTEM turns, which every context includes.
CREATE INDEX turn_system ON turn (conversation_id, root_seq) WHERE role = 'SYSTEM';
CREATE INDEX turn_terms ON turn USING gin (terms);
-- Finds the turns that no summary covers: private turns, and those that were aborted or are streaming.
CREATE INDEX turn_uncovered ON turn (conversation_id, root_seq)
  WHERE (audience IS NOT NULL) OR (status <> 'COMMITTED');
-- Finds the turns whose terms a sweep has to compute.
CREATE INDEX turn_unindexed ON turn (id) WHERE (terms IS NULL) AND (status = 'COMMITTED');

-- Contexts that buildContext(store: true) and runs keep, so that they can be shown again. One row for each message and
-- for each of its sources, so that an erasure removes exactly the messages that were made from the erased data.
CREATE TABLE stored_context (
  id text NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  conversation_id text NOT NULL,
  actor text NOT NULL,
  as_of_seq integer NOT NULL,
  token_budget integer NOT NULL,
  token_count integer NOT NULL,
  stable_prefix_tokens integer NOT NULL,
  truncated boolean NOT NULL,
  items text NOT NULL,
  created_at timestamptz(3) DEFAULT now() NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX stored_context_actor ON stored_context (tenant, actor);
CREATE INDEX stored_context_newest ON stored_context (conversation_id, created_at, id);

CREATE TABLE stored_context_message (
  context_id text NOT NULL,
  index integer NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  body text,
  PRIMARY KEY (context_id, index)
);

CREATE TABLE stored_context_source (
  context_id text NOT NULL,
  index integer NOT NULL,
  source_id text NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  conversation_id text,
  gone boolean DEFAULT false NOT NULL,
  PRIMARY KEY (context_id, index, source_id)
);
CREATE INDEX stored_context_source_conversation ON stored_context_source (conversation_id)
  WHERE conversation_id IS NOT NULL;
CREATE INDEX stored_context_source_source ON stored_context_source (source_id, context_id);

CREATE TABLE wake_up (
  turn_id text NOT NULL,
  actor text NOT NULL,
  conversation_id text NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  "position" integer NOT NULL,
  created_at timestamptz(3) DEFAULT now() NOT NULL,
  answered_at timestamptz(3),
  answer_id text,
  dropped_reason wake_up_drop,
  attempts integer DEFAULT 0 NOT NULL,
  retry_at timestamptz(3),
  PRIMARY KEY (turn_id, actor)
);
-- Finds the pending wake-ups of a participant.
CREATE INDEX wake_up_due ON wake_up (conversation_id, actor, "position")
  WHERE (answered_at IS NULL) AND (dropped_reason IS NULL);
-- Finds the wake-ups of an actor that wait for an answer, oldest first.
CREATE INDEX wake_up_pending ON wake_up (tenant, actor, created_at, turn_id)
  WHERE (answered_at IS NULL) AND (dropped_reason IS NULL);
-- Finds the wake-ups of a turn, in any of its versions.
CREATE INDEX wake_up_position ON wake_up (conversation_id, "position", actor);

CREATE TABLE tool_call (
  conversation_id text NOT NULL,
  call_id text NOT NULL,
  turn_id text NOT NULL,
  name text NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  PRIMARY KEY (conversation_id, call_id, turn_id)
);
ALTER TABLE tool_call ALTER conversation_id SET (n_distinct = 20);

CREATE TABLE tool_result (
  conversation_id text NOT NULL,
  call_id text NOT NULL,
  call_position integer NOT NULL,
  turn_id text NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  approval_id text,
  PRIMARY KEY (conversation_id, call_id, call_position, turn_id)
);
ALTER TABLE tool_result ALTER conversation_id SET (n_distinct = 20);

CREATE TABLE claim (
  turn_id text NOT NULL,
  slot text NOT NULL,
  conversation_id text NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  actor text NOT NULL,
  token_hash text NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  answer_id text,
  ended_at timestamptz(3),
  outcome claim_outcome,
  CONSTRAINT claim_check CHECK ((ended_at IS NULL) = (outcome IS NULL)),
  CONSTRAINT claim_check1 CHECK ((outcome IS DISTINCT FROM 'ANSWERED') OR (answer_id IS NOT NULL)),
  PRIMARY KEY (turn_id, slot)
);
-- Finds the claim that a streaming turn answers.
CREATE INDEX claim_answer ON claim (answer_id) WHERE (ended_at IS NULL) AND (answer_id IS NOT NULL);
-- Finds the claims that end when a conversation is deleted or their holder leaves.
CREATE INDEX claim_conversation ON claim (conversation_id);
-- Finds the claims that have ended: inboxes deliver a turn again after a claim without an answer.
CREATE INDEX claim_ended ON claim (tenant, ended_at) WHERE ended_at IS NOT NULL;
-- Finds the claims that the sweep has to end.
CREATE INDEX claim_expires ON claim (expires_at) WHERE (ended_at IS NULL) AND (answer_id IS NULL);

CREATE TABLE stream (
  turn_id text NOT NULL,
  conversation_id text NOT NULL,
  renewed_at timestamptz(3) DEFAULT now() NOT NULL,
  writer_hash text NOT NULL,
  tenant text NOT NULL,
  viewer text NOT NULL,
  lease_seconds integer,
  PRIMARY KEY (turn_id)
);
CREATE INDEX stream_conversation ON stream (conversation_id);
CREATE INDEX stream_viewer ON stream (tenant, viewer);

-- The end of the text of an open turn, which redaction holds back.
CREATE TABLE held_text (
  turn_id text NOT NULL,
  tenant text NOT NULL,
  version integer NOT NULL,
  sent integer NOT NULL,
  raw bytea NOT NULL,
  published integer NOT NULL,
  sealed boolean NOT NULL,
  PRIMARY KEY (turn_id)
);

CREATE TABLE chunk (
  turn_id text NOT NULL,
  start integer NOT NULL,
  "end" integer NOT NULL,
  text text NOT NULL,
  bytes integer NOT NULL,
  half integer,
  written_at timestamptz(3) DEFAULT now() NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  PRIMARY KEY (turn_id, start)
);

CREATE TABLE embedder (
  name text NOT NULL,
  dimension integer NOT NULL,
  added_at timestamptz(3) DEFAULT now() NOT NULL,
  filled_at timestamptz(3),
  PRIMARY KEY (name)
);

CREATE TABLE embedding_cursor (
  embedder text NOT NULL,
  conversation_id text NOT NULL,
  through_seq integer DEFAULT 0 NOT NULL,
  claimed_until timestamptz(3),
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  PRIMARY KEY (conversation_id, embedder)
);

-- The turn's root_seq is part of the key, so that the vectors of a conversation are read without its turns.
CREATE TABLE turn_vector (
  embedder text NOT NULL,
  conversation_id text NOT NULL,
  root_seq integer NOT NULL,
  seq integer NOT NULL,
  embedding halfvec NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (conversation_id, embedder, root_seq, seq)
) WITH (toast_tuple_target = 8160);
ALTER TABLE turn_vector ALTER conversation_id SET (n_distinct = 20);
ALTER TABLE turn_vector ALTER embedding SET STORAGE MAIN;
-- Finds the vectors that no segment's index covers yet.
CREATE INDEX turn_vector_number ON turn_vector (number);

CREATE TABLE summary (
  id text NOT NULL,
  conversation_id text NOT NULL,
  seq integer NOT NULL,
  level integer NOT NULL,
  from_seq integer NOT NULL,
  to_seq integer NOT NULL,
  newest_seq integer NOT NULL,
  turns integer NOT NULL,
  turn_tokens bigint NOT NULL,
  content text NOT NULL,
  token_count integer NOT NULL,
  model text,
  superseded_by text,
  stale boolean DEFAULT false NOT NULL,
  created_at timestamptz(3) DEFAULT now() NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  CONSTRAINT summary_check CHECK ((from_seq <= to_seq) AND (to_seq <= newest_seq)),
  PRIMARY KEY (id)
);
CREATE UNIQUE INDEX summary_current ON summary (conversation_id, from_seq)
  WHERE (superseded_by IS NULL) AND (NOT stale);
CREATE INDEX summary_place ON summary (conversation_id, to_seq);

CREATE TABLE fact (
  id text NOT NULL,
  tenant text NOT NULL,
  user_id text,
  conversation_id text,
  root_seq integer,
  seq integer,
  audience text[],
  visibility text DEFAULT '' NOT NULL,
  source_turn_id text,
  said_by participant_kind NOT NULL,
  subject text NOT NULL,
  predicate text NOT NULL,
  object text NOT NULL,
  confidence double precision NOT NULL,
  token_count integer NOT NULL,
  content_hash text NOT NULL,
  observed_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) DEFAULT now() NOT NULL,
  superseded_by text,
  superseded_at timestamptz(3),
  supersede_reason supersede_reason,
  supersede_note text,
  recalled_at timestamptz(3),
  embedded_by text,
  terms integer[],
  asserted_by text,
  imported_at timestamptz(3),
  asserted_at timestamptz(3) DEFAULT clock_timestamp() NOT NULL,
  reconciled_at timestamptz(3),
  restored_at timestamptz(3),
  restore_note text,
  valid_from timestamptz(3),
  valid_to timestamptz(3),
  contradicted_from timestamptz(3),
  recalled_on date,
  recall_days integer DEFAULT 0 NOT NULL,
  CONSTRAINT fact_check CHECK (((conversation_id IS NULL) = (seq IS NULL)) AND ((seq IS NULL) = (root_seq IS NULL))),
  CONSTRAINT fact_check1 CHECK ((superseded_at IS NULL) = (supersede_reason IS NULL)),
  CONSTRAINT fact_check2 CHECK ((superseded_by IS NULL) OR (superseded_at IS NOT NULL)),
  CONSTRAINT fact_period CHECK (valid_from < valid_to),
  PRIMARY KEY (id)
);
-- A set of facts (a user's, or else a conversation's, for one visibility) has one active fact with the same content.
CREATE UNIQUE INDEX fact_active ON fact (tenant, COALESCE(user_id, conversation_id, ''), visibility, content_hash)
  WHERE superseded_at IS NULL;
CREATE INDEX fact_conversation ON fact (conversation_id, created_at DESC, id DESC);
-- The order of facts in contexts.
CREATE INDEX fact_conversation_observed ON fact (conversation_id, observed_at DESC, id DESC)
  WHERE superseded_at IS NULL;
CREATE INDEX fact_embedded ON fact (embedded_by);
CREATE UNIQUE INDEX fact_id_tenant ON fact (id, tenant);
CREATE INDEX fact_newest ON fact (tenant, created_at DESC, id DESC);
CREATE INDEX fact_superseded_by ON fact (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX fact_terms ON fact USING gin (terms);
-- Empty when every fact has terms, so that looking for work reads nothing.
CREATE INDEX fact_unindexed ON fact (id) WHERE terms IS NULL;
-- Empty while no fact is due, so that looking for work reads nothing.
CREATE INDEX fact_unreconciled ON fact (tenant, COALESCE(user_id, conversation_id, ''), visibility, created_at, id)
  WHERE (superseded_at IS NULL) AND (reconciled_at IS NULL);
CREATE INDEX fact_user ON fact (tenant, user_id, created_at DESC, id DESC);
CREATE INDEX fact_user_observed ON fact (tenant, user_id, observed_at DESC, id DESC) WHERE superseded_at IS NULL;

CREATE TABLE fact_source (
  fact_id text NOT NULL,
  source text NOT NULL,
  conversation_id text,
  root_seq integer,
  seq integer,
  audience text[],
  turn_id text,
  said_by participant_kind NOT NULL,
  asserted_by text,
  confidence double precision NOT NULL,
  observed_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) DEFAULT clock_timestamp() NOT NULL,
  imported_at timestamptz(3),
  assertions integer DEFAULT 1 NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  fact_created_at timestamptz(3) NOT NULL,
  CONSTRAINT fact_source_check
    CHECK ((conversation_id IS NULL) = (seq IS NULL) AND (seq IS NULL) = (root_seq IS NULL)),
  PRIMARY KEY (fact_id, source)
);
-- Finds the assertions of a user.
CREATE INDEX fact_source_asserted_by ON fact_source (asserted_by);
CREATE INDEX fact_source_conversation ON fact_source (conversation_id, fact_id);
CREATE INDEX fact_source_newest ON fact_source (conversation_id, fact_created_at DESC, fact_id DESC);
CREATE INDEX fact_source_turn ON fact_source (turn_id) WHERE turn_id IS NOT NULL;

-- Apart from the facts, so that comparing vectors reads little, and writing facts rewrites no vectors.
CREATE TABLE fact_vector (
  fact_id text NOT NULL,
  embedder text NOT NULL,
  object vector NOT NULL,
  sentence vector NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  PRIMARY KEY (fact_id, embedder)
);
ALTER TABLE fact_vector ALTER object SET STORAGE MAIN;
ALTER TABLE fact_vector ALTER sentence SET STORAGE MAIN;
CREATE INDEX fact_vector_embedder ON fact_vector (embedder);

CREATE TABLE user_profile (
  tenant text NOT NULL,
  user_id text NOT NULL,
  content text NOT NULL,
  token_count integer NOT NULL,
  made_by text NOT NULL,
  made_of text[] NOT NULL,
  updated_at timestamptz(3) DEFAULT now() NOT NULL,
  claims text[] DEFAULT '{}'::text[] NOT NULL,
  visibility text DEFAULT '' NOT NULL,
  PRIMARY KEY (tenant, user_id, visibility)
);

-- The values of a row before an update, for reads as of an earlier moment. `until` is when they ended.
CREATE TABLE former_state (
  relation text NOT NULL,
  key text NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY,
  tenant text NOT NULL,
  conversation_id text,
  fact_id text,
  superseded_by text,
  user_id text,
  until timestamptz(3) NOT NULL,
  state jsonb NOT NULL,
  PRIMARY KEY (relation, key, number)
);
CREATE INDEX former_state_conversation ON former_state (conversation_id) WHERE conversation_id IS NOT NULL;
CREATE INDEX former_state_fact ON former_state (fact_id) WHERE fact_id IS NOT NULL;
CREATE INDEX former_state_superseded_by ON former_state (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX former_state_user ON former_state (tenant, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE conversation_progress (
  conversation_id text NOT NULL,
  extracted_through integer DEFAULT 0 NOT NULL,
  extractions integer DEFAULT 0 NOT NULL,
  counted_through integer DEFAULT 0 NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  PRIMARY KEY (conversation_id)
);

CREATE TABLE user_progress (
  tenant text NOT NULL,
  user_id text NOT NULL,
  turns bigint DEFAULT 0 NOT NULL,
  profiled_turns bigint DEFAULT 0 NOT NULL,
  profilings integer DEFAULT 0 NOT NULL,
  PRIMARY KEY (tenant, user_id)
);

-- Counts the changes of facts in each set, so that a change refreshes no profile of another set.
CREATE TABLE profile_progress (
  tenant text NOT NULL,
  user_id text NOT NULL,
  visibility text NOT NULL,
  fact_changes bigint DEFAULT 0 NOT NULL,
  profiled_changes bigint DEFAULT 0 NOT NULL,
  PRIMARY KEY (tenant, user_id, visibility)
);
CREATE INDEX profile_progress_due ON profile_progress (tenant, user_id, visibility)
  WHERE fact_changes > profiled_changes;

-- API keys: who each key authenticates and what it permits. The secret itself is not stored, only its SHA-256.
CREATE TABLE api_key (
  id text NOT NULL,
  tenant text NOT NULL,
  name text NOT NULL,
  actor text NOT NULL,
  kind participant_kind NOT NULL,
  rights text[] NOT NULL,
  conversations text[],
  secret_hash bytea NOT NULL,
  previous_hash bytea,
  previous_until timestamptz(3),
  version integer DEFAULT 1 NOT NULL,
  created_at timestamptz(3) DEFAULT now() NOT NULL,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  PRIMARY KEY (id)
);
-- The list of a tenant's keys, newest first.
CREATE INDEX api_key_created ON api_key (tenant, created_at, id);
-- One key that is not revoked for each name, so that a repeated createApiKey creates no second key.
CREATE UNIQUE INDEX api_key_name ON api_key (tenant, name) WHERE revoked_at IS NULL;

-- The newest line of each tenant, which every writer locks, and the line up to which older lines were removed by age.
CREATE TABLE audit_head (
  tenant text NOT NULL,
  last_seq bigint DEFAULT 0 NOT NULL,
  last_hash text DEFAULT '' NOT NULL,
  pruned_through bigint DEFAULT 0 NOT NULL,
  pruned_hash text DEFAULT '' NOT NULL,
  PRIMARY KEY (tenant)
);

CREATE TABLE audit_line (
  tenant text NOT NULL,
  seq bigint NOT NULL,
  at timestamptz(3) NOT NULL,
  actor text NOT NULL,
  acted_as text,
  credential text,
  verb text NOT NULL,
  resources text[] NOT NULL,
  outcome audit_outcome NOT NULL,
  count integer NOT NULL,
  details text,
  keyed boolean NOT NULL,
  hash text NOT NULL,
  PRIMARY KEY (tenant, seq)
);
CREATE INDEX audit_line_actor ON audit_line (tenant, actor, seq DESC);
CREATE INDEX audit_line_resources ON audit_line USING gin (resources);
CREATE INDEX audit_line_verb ON audit_line (tenant, verb, seq DESC);

-- Erasures, finished or not. A finished one is a receipt.
CREATE TABLE erasure (
  id text NOT NULL,
  tenant text NOT NULL,
  kind erasure_kind NOT NULL,
  subject text NOT NULL,
  through_conversation text DEFAULT '' NOT NULL,
  through_position integer DEFAULT 0 NOT NULL,
  counts jsonb DEFAULT '{}' NOT NULL,
  created_at timestamptz(3) DEFAULT now() NOT NULL,
  completed_at timestamptz(3),
  document text,
  signature text,
  PRIMARY KEY (id)
);
CREATE INDEX erasure_due ON erasure (id) WHERE completed_at IS NULL;
CREATE INDEX erasure_subject ON erasure (tenant, subject);

-- Users whose data must be kept.
CREATE TABLE held_user (
  tenant text NOT NULL,
  user_id text NOT NULL,
  since timestamptz(3) DEFAULT now() NOT NULL,
  PRIMARY KEY (tenant, user_id)
);

-- Sessions of MCP clients: the resources whose changes each client wants to be notified of. They are stored, so that
-- every process can serve them, and that they survive a restart.
CREATE TABLE mcp_session (
  id text NOT NULL,
  tenant text NOT NULL,
  actor text NOT NULL,
  subscriptions jsonb DEFAULT '{}' NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX mcp_session_actor ON mcp_session (tenant, actor, expires_at);
CREATE INDEX mcp_session_expires ON mcp_session (expires_at);

-- Defaults of new conversations.
CREATE TABLE tenant_settings (
  tenant text NOT NULL,
  retention retention,
  ttl_seconds integer,
  tokens_per_day integer,
  redact text,
  token_budget integer,
  context_strategy text,
  recall_hits integer,
  recall_threshold double precision,
  CONSTRAINT tenant_settings_context_strategy_check
    CHECK (context_strategy IN ('SIMPLE', 'SUMMARIZATION', 'HYBRID')),
  CONSTRAINT tenant_settings_recall_hits_check CHECK ((recall_hits >= 1) AND (recall_hits <= 100)),
  CONSTRAINT tenant_settings_recall_threshold_check CHECK (recall_threshold >= 0 AND recall_threshold <= 1),
  CONSTRAINT tenant_settings_redact_check CHECK (redact IN ('off', 'facts', 'turns')),
  CONSTRAINT tenant_settings_token_budget_check CHECK ((token_budget >= 1) AND (token_budget <= 2000000)),
  PRIMARY KEY (tenant)
);

CREATE TABLE run (
  id text NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  conversation_id text NOT NULL,
  seq integer,
  actor text NOT NULL,
  viewer text NOT NULL,
  audience text[],
  state run_state DEFAULT 'RUNNING' NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  reply_to_id text,
  turn_id text,
  round integer DEFAULT 0 NOT NULL,
  corrected boolean DEFAULT false NOT NULL,
  options jsonb DEFAULT '{}' NOT NULL,
  prompt_tokens bigint DEFAULT 0 NOT NULL,
  completion_tokens bigint DEFAULT 0 NOT NULL,
  error_code text,
  error_message text,
  client_id text,
  client_hash text,
  holder text,
  lease_until timestamptz(3),
  version integer DEFAULT 1 NOT NULL,
  created_at timestamptz(3) DEFAULT now() NOT NULL,
  ended_at timestamptz(3),
  credential jsonb,
  reserved_tokens integer,
  PRIMARY KEY (id)
);
CREATE INDEX run_active ON run (conversation_id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX run_client_id ON run (conversation_id, viewer, client_id) WHERE client_id IS NOT NULL;
CREATE UNIQUE INDEX run_id_tenant ON run (id, tenant);
CREATE INDEX run_lease ON run (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX run_newest ON run (conversation_id, created_at DESC, id DESC);
CREATE INDEX run_reserved ON run (tenant) WHERE reserved_tokens IS NOT NULL;
CREATE UNIQUE INDEX run_running ON run (conversation_id, actor) WHERE state = 'RUNNING';
CREATE INDEX run_waiting_for_approval ON run (conversation_id) WHERE state = 'WAITING_FOR_APPROVAL';

CREATE TABLE provider_call (
  run_id text NOT NULL,
  round integer NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  turn_id text NOT NULL,
  results_id text,
  attempts integer DEFAULT 1 NOT NULL,
  prompt_tokens integer,
  completion_tokens integer,
  is_estimated boolean DEFAULT false NOT NULL,
  finish_reason text,
  error_code text,
  started_at timestamptz(3) DEFAULT now() NOT NULL,
  ended_at timestamptz(3),
  PRIMARY KEY (run_id, round)
);
-- Finds the calls of ended runs whose process died before it recorded their tokens (readAbandonedCalls).
CREATE INDEX provider_call_open ON provider_call (run_id) WHERE ended_at IS NULL;

-- Tokens by day (UTC): of each participant, and of the tenant as a whole. A deleted conversation keeps its share of the
-- tenant's tokens, so that deleting does not restore a quota.
CREATE TABLE token_usage (
  conversation_id text NOT NULL,
  actor text NOT NULL,
  day date NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  PRIMARY KEY (conversation_id, actor, day)
);

CREATE TABLE tenant_usage (
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  day date NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  PRIMARY KEY (tenant, day)
);

CREATE TABLE approval (
  id text NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  conversation_id text NOT NULL,
  run_id text NOT NULL,
  turn_id text NOT NULL,
  call_id text NOT NULL,
  tool_name text NOT NULL,
  state approval_state DEFAULT 'PENDING' NOT NULL,
  edited_arguments jsonb,
  reason text,
  decided_by text,
  decided_at timestamptz(3),
  requested_at timestamptz(3) DEFAULT now() NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  call_hash text,
  PRIMARY KEY (id)
);
CREATE UNIQUE INDEX approval_call ON approval (turn_id, call_id);
CREATE INDEX approval_conversation ON approval (conversation_id);
CREATE INDEX approval_due ON approval (expires_at) WHERE state = 'PENDING';
CREATE INDEX approval_newest ON approval (tenant, requested_at DESC, id DESC);
CREATE INDEX approval_pending ON approval (tenant, requested_at DESC, id DESC) WHERE state = 'PENDING';
CREATE INDEX approval_run ON approval (run_id, requested_at, id);

CREATE TABLE transfer (
  id text NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  direction transfer_direction NOT NULL,
  state transfer_state DEFAULT 'RUNNING' NOT NULL,
  scope transfer_scope NOT NULL,
  subject text,
  actor text NOT NULL,
  file_key text,
  manifest text NOT NULL,
  lines integer DEFAULT 0 NOT NULL,
  chain text DEFAULT '' NOT NULL,
  counts jsonb DEFAULT '{}' NOT NULL,
  report jsonb DEFAULT '{}' NOT NULL,
  progress jsonb,
  conversation_id text,
  created_at timestamptz(3) DEFAULT now() NOT NULL,
  updated_at timestamptz(3) DEFAULT now() NOT NULL,
  completed_at timestamptz(3),
  PRIMARY KEY (id)
);
CREATE UNIQUE INDEX transfer_conversation ON transfer (tenant, conversation_id)
  WHERE (state = 'RUNNING') AND (direction = 'IMPORT') AND (conversation_id IS NOT NULL);
CREATE UNIQUE INDEX transfer_file ON transfer (tenant, file_key)
  WHERE (state = 'RUNNING') AND (file_key IS NOT NULL);
CREATE INDEX transfer_newest ON transfer (tenant, created_at DESC, id DESC);
CREATE INDEX transfer_updated ON transfer (updated_at);

-- The database compares the tenant of a row with that of its conversation or fact.
ALTER TABLE journal ADD CONSTRAINT journal_conversation_id_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE entry ADD CONSTRAINT entry_conversation_id_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE participant ADD CONSTRAINT participant_conversation_id_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE turn ADD CONSTRAINT turn_conversation_id_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE stored_context ADD CONSTRAINT stored_context_conversation_id_fkey
  FOREIGN KEY (conversation_id) REFERENCES conversation(id) ON DELETE CASCADE;
ALTER TABLE stored_context_message ADD CONSTRAINT stored_context_message_context_id_fkey
  FOREIGN KEY (context_id) REFERENCES stored_context(id) ON DELETE CASCADE;
ALTER TABLE stored_context_source ADD CONSTRAINT stored_context_source_context_id_fkey
  FOREIGN KEY (context_id) REFERENCES stored_context(id) ON DELETE CASCADE;
ALTER TABLE wake_up ADD CONSTRAINT wake_up_conversation_id_tenant_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE tool_call ADD CONSTRAINT tool_call_conversation_id_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE tool_result ADD CONSTRAINT tool_result_conversation_id_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE claim ADD CONSTRAINT claim_conversation_id_tenant_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE stream ADD CONSTRAINT stream_turn_id_conversation_id_fkey
  FOREIGN KEY (turn_id, conversation_id) REFERENCES turn(id, conversation_id) ON DELETE CASCADE;
ALTER TABLE held_text ADD CONSTRAINT held_text_turn_id_fkey
  FOREIGN KEY (turn_id) REFERENCES stream(turn_id) ON DELETE CASCADE;
ALTER TABLE chunk ADD CONSTRAINT chunk_turn_id_fkey FOREIGN KEY (turn_id) REFERENCES stream(turn_id) ON DELETE CASCADE;
ALTER TABLE embedding_cursor ADD CONSTRAINT embedding_cursor_conversation_id_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE embedding_cursor ADD CONSTRAINT embedding_cursor_embedder_fkey
  FOREIGN KEY (embedder) REFERENCES embedder(name) ON DELETE CASCADE;
ALTER TABLE turn_vector ADD CONSTRAINT turn_vector_conversation_id_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE turn_vector ADD CONSTRAINT turn_vector_embedder_fkey
  FOREIGN KEY (embedder) REFERENCES embedder(name) ON DELETE CASCADE;
ALTER TABLE summary ADD CONSTRAINT summary_conversation_id_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE fact ADD CONSTRAINT fact_conversation_id_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE fact_source ADD CONSTRAINT fact_source_conversation_id_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE fact_source ADD CONSTRAINT fact_source_fact_id_fkey
  FOREIGN KEY (fact_id, tenant) REFERENCES fact(id, tenant) ON DELETE CASCADE;
ALTER TABLE fact_vector ADD CONSTRAINT fact_vector_embedder_fkey
  FOREIGN KEY (embedder) REFERENCES embedder(name) ON DELETE CASCADE;
ALTER TABLE fact_vector ADD CONSTRAINT fact_vector_fact_id_fkey
  FOREIGN KEY (fact_id, tenant) REFERENCES fact(id, tenant) ON DELETE CASCADE;
ALTER TABLE former_state ADD CONSTRAINT former_state_conversation_id_fkey
  FOREIGN KEY (conversation_id) REFERENCES conversation(id) ON DELETE CASCADE;
ALTER TABLE former_state ADD CONSTRAINT former_state_fact_id_fkey
  FOREIGN KEY (fact_id) REFERENCES fact(id) ON DELETE CASCADE;
ALTER TABLE conversation_progress ADD CONSTRAINT conversation_progress_conversation_id_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE run ADD CONSTRAINT run_conversation_id_tenant_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE provider_call ADD CONSTRAINT provider_call_run_id_tenant_fkey
  FOREIGN KEY (run_id, tenant) REFERENCES run(id, tenant) ON DELETE CASCADE;
ALTER TABLE token_usage ADD CONSTRAINT token_usage_conversation_id_tenant_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE approval ADD CONSTRAINT approval_conversation_id_tenant_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE approval ADD CONSTRAINT approval_run_id_tenant_fkey
  FOREIGN KEY (run_id, tenant) REFERENCES run(id, tenant) ON DELETE CASCADE;
ALTER TABLE approval ADD CONSTRAINT approval_turn_id_conversation_id_fkey
  FOREIGN KEY (turn_id, conversation_id) REFERENCES turn(id, conversation_id) ON DELETE CASCADE;

CREATE VIEW superseded_fact WITH (security_invoker = true) AS
  SELECT id, superseded_by FROM fact WHERE superseded_by IS NOT NULL;

-- Every table with a tenant has the same policies. They bind the owner of the tables too. current_setting is null or
-- empty while no tenant is set, so no row matches.
GRANT USAGE ON SCHEMA public TO colloquy_app, colloquy_system;
DO $$
DECLARE
  t text;
BEGIN
  FOR t IN SELECT c.relname FROM pg_class c
           JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
           WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO colloquy_app, colloquy_system', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I TO colloquy_app USING (tenant = current_setting(''colloquy.tenant'', true))',
                   t);
    EXECUTE format('CREATE POLICY system ON %I TO colloquy_system USING (true)', t);
  END LOOP;
END $$;
-- Embedders belong to no tenant. Requests only read them.
GRANT SELECT ON embedder TO colloquy_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON embedder TO colloquy_system;
GRANT SELECT ON superseded_fact TO colloquy_app, colloquy_system;

-- Whether the parts of a turn have tool calls without results: the author writes another turn once it has the results.
-- Called by answer_claims, close_turn and wake_up_participants.
CREATE OR REPLACE FUNCTION has_open_calls(p_parts jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN p_parts IS NOT NULL AND EXISTS (
    SELECT c.part->>'callId' FROM jsonb_array_elements(p_parts) AS c(part) WHERE c.part->>'type' = 'toolCall'
    EXCEPT
    SELECT r.part->>'callId' FROM jsonb_array_elements(p_parts) AS r(part) WHERE r.part->>'type' = 'toolResult');
END $$;

-- Records the turns that answer with a claim, in the claim. Called by append_turns, which has locked the conversations,
-- written the turns and checked the claims.
--
-- p_conversations, p_of, p_ids  as for append_turns
-- p_hashes                      of each turn, the hash of the token of the claim with which it answers; null for none
--
-- A committed turn ends its claim as answered, with the wake-ups that the claim excludes: that of its holder, or all of
-- the turn for scope TURN. A streaming turn keeps the claim until close_turn ends it. Turns that were not written,
-- repetitions, and turns that wait for results of their tool calls, change nothing.
CREATE OR REPLACE FUNCTION answer_claims(p_conversations text[], p_of integer[], p_ids text[], p_hashes text[])
RETURNS void LANGUAGE sql AS $$
  WITH answered AS (
    UPDATE claim k
    SET answer_id = x.id,
        ended_at = CASE x.status WHEN 'COMMITTED' THEN clock_timestamp() END,
        outcome = CASE x.status WHEN 'COMMITTED' THEN 'ANSWERED'::claim_outcome END
    FROM unnest(p_of, p_ids, p_hashes) AS t(c, id, hash)
    CROSS JOIN LATERAL (
      SELECT x.id, x.status, x.actor, x.parts, f.id AS first_id
      FROM turn x
      JOIN turn v ON v.id = x.reply_to_id AND v.conversation_id = x.conversation_id
      JOIN turn f ON f.conversation_id = v.conversation_id AND f.root_seq = v.root_seq AND f.seq = v.root_seq
      WHERE x.id = t.id AND x.conversation_id = p_conversations[t.c] LIMIT 1) x
    WHERE t.hash IS NOT NULL
      AND k.turn_id = x.first_id AND k.actor = x.actor AND k.token_hash = t.hash AND k.ended_at IS NULL
      AND NOT (x.status = 'COMMITTED' AND has_open_calls(x.parts))
    RETURNING k.turn_id, k.slot, k.answer_id, k.ended_at
  )
  UPDATE wake_up w SET answered_at = now(), answer_id = a.answer_id
  FROM answered a
  WHERE a.ended_at IS NOT NULL AND w.turn_id = a.turn_id AND (a.slot = '' OR w.actor = a.slot)
    AND w.answered_at IS NULL AND w.dropped_reason IS NULL
$$;

-- Appends deltas to open turns and renews their leases. Called by src/store/sql/turn/streaming/append-chunks.ts.
--
-- p_deltas  [{turn, tenant, viewer, writer, start, text, units, second, half, held}], for one turn in order. Turns are
--           locked in id order.
--           viewer  the actor who sends the delta
--           writer  hash of the writer's token
--           start   UTF-16 offset where the delta begins; null for the end of the turn
--           text    whole characters; `units` is their length in UTF-16 units
--           second  low surrogate that precedes the text; the turn must end in the high surrogate
--           half    high surrogate that follows the text; kept until the low surrogate arrives
--           held    whether append_held is the caller; only it writes turns with a row in held_text
-- p_limit   maximum length of a turn's text in UTF-8 bytes
--
-- One row per delta. outcome: 'written' with the stored text and the new end; 'renewed' for an empty delta; 'half' when
-- a surrogate would stay unpaired; 'elsewhere' when start is not the end; 'full' beyond p_limit; 'closed' with the
-- turn's status; 'held' for a turn that append_held must write; 'other_writer' when the hash is not that of the stream;
-- 'left' when the author has left the conversation; 'missing' when the tenant has no such turn, or the viewer neither
-- opened it nor sees its conversation. The last three lock nothing.
CREATE OR REPLACE FUNCTION append_chunks(p_deltas jsonb, p_limit integer)
RETURNS TABLE (place integer, outcome text, conversation_id text, start integer, text text, "end" integer, half integer,
               status turn_status)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  d record;
  s record;
  tail record;
  tail_end integer;
  said text;
  said_units integer;
BEGIN
  FOR d IN
    SELECT (x.o - 1)::integer AS place, r.*
    FROM jsonb_array_elements(p_deltas) WITH ORDINALITY AS x(v, o)
    CROSS JOIN LATERAL jsonb_to_record(x.v) AS r(turn text, tenant text, viewer text, writer text, start integer, text text, units integer,
                                                 second integer, half integer, held boolean)
    ORDER BY r.turn, x.o
  LOOP
    SELECT t.conversation_id, t.status, w.writer_hash,
           EXISTS (SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor
                                               AND p.left_at IS NULL) AS present INTO s
    FROM turn t JOIN conversation c ON c.id = t.conversation_id AND c.tenant = d.tenant
    LEFT JOIN stream w ON w.turn_id = t.id AND w.conversation_id = t.conversation_id
    WHERE t.id = d.turn AND (c.visibility = 'OPEN' OR w.viewer = d.viewer OR EXISTS (
      SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = d.viewer));
    IF NOT FOUND THEN
      RETURN QUERY SELECT d.place, 'missing', NULL, NULL::integer, NULL, NULL::integer, NULL::integer, NULL::turn_status;
      CONTINUE;
    END IF;
    IF s.writer_hash <> d.writer OR s.writer_hash IS NOT NULL AND NOT s.present THEN
      RETURN QUERY SELECT d.place, CASE WHEN s.writer_hash <> d.writer THEN 'other_writer' ELSE 'left' END,
                          s.conversation_id, NULL::integer, NULL, NULL::integer, NULL::integer, s.status;
      CONTINUE;
    END IF;
    PERFORM FROM stream WHERE turn_id = d.turn FOR UPDATE;
    IF NOT FOUND THEN
      RETURN QUERY SELECT d.place, 'closed', s.conversation_id, NULL::integer, NULL, NULL::integer, NULL::integer, t.status
                   FROM turn t WHERE t.id = d.turn AND t.conversation_id = s.conversation_id;
      CONTINUE;
    END IF;
    SELECT coalesce(c."end", 0) AS "end", c.half, coalesce(c.bytes, 0) AS bytes,
           d.held IS NOT TRUE AND EXISTS (SELECT FROM held_text h WHERE h.turn_id = d.turn) AS is_held INTO tail
    FROM (VALUES (1)) v LEFT JOIN LATERAL
      (SELECT * FROM chunk c WHERE c.turn_id = d.turn ORDER BY c.start DESC LIMIT 1) c ON true;
    tail_end := tail."end" + (tail.half IS NOT NULL)::integer;
    IF tail.is_held THEN
      RETURN QUERY SELECT d.place, 'held', s.conversation_id, NULL::integer, NULL, NULL::integer, NULL::integer, s.status;
    ELSIF coalesce(d.start, tail_end) <> tail_end THEN
      RETURN QUERY SELECT d.place, 'elsewhere', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status;
    ELSIF d.units = 0 AND d.second IS NULL AND d.half IS NULL THEN
      UPDATE stream SET renewed_at = now() WHERE turn_id = d.turn;
      RETURN QUERY SELECT d.place, 'renewed', s.conversation_id, tail_end, '', tail_end, tail.half, s.status;
    ELSIF (tail.half IS NULL) <> (d.second IS NULL) THEN
      RETURN QUERY SELECT d.place, 'half', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status;
    ELSE
      -- A pair of halves is one character (Unicode 15.0, §3.9, D91).
      said := CASE WHEN d.second IS NULL THEN d.text
              ELSE chr((tail.half - 55296) * 1024 + (d.second - 56320) + 65536) || d.text END;
      said_units := d.units + CASE WHEN d.second IS NULL THEN 0 ELSE 2 END;
      IF tail.bytes + octet_length(said) > p_limit THEN
        RETURN QUERY SELECT d.place, 'full', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status;
        CONTINUE;
      END IF;
      -- A chunk that was nothing but a half gives way to the one that completes it.
      INSERT INTO chunk AS c (turn_id, start, "end", text, bytes, half)
      VALUES (d.turn, tail."end", tail."end" + said_units, said, tail.bytes + octet_length(said), d.half)
      ON CONFLICT (turn_id, start) DO UPDATE
      SET "end" = excluded."end", text = excluded.text, bytes = excluded.bytes, half = excluded.half,
          written_at = now();
      RETURN QUERY SELECT d.place, 'written', s.conversation_id, tail."end", said,
                          tail."end" + said_units + (d.half IS NOT NULL)::integer, d.half, s.status;
    END IF;
  END LOOP;
END $$;

-- Appends the text that redaction has released to an open turn, and replaces the text that is held back. Called by
-- src/store/sql/turn/streaming/held-text.ts.
--
-- p_delta      the delta, as for append_chunks; its text is redacted
-- p_limit      maximum length of a turn's text in UTF-8 bytes
-- p_version    version of the held text that the caller read
-- p_sent       length of the text that the writer has sent, in UTF-16 units
-- p_raw        the last of that text as it was sent, in UTF-16 (little-endian), which holds unpaired surrogates too
-- p_published  length of the part of p_raw that is published, in UTF-16 units
-- p_sealed     whether no text is held back any more
--
-- The row of append_chunks; outcome 'moved' if another call has replaced the held text since, and nothing was written.
CREATE OR REPLACE FUNCTION append_held(
  p_delta jsonb, p_limit integer, p_version integer, p_sent integer, p_raw bytea, p_published integer, p_sealed boolean)
RETURNS TABLE (place integer, outcome text, conversation_id text, start integer, text text, "end" integer, half integer,
               status turn_status)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  r record;
  current integer;
BEGIN
  -- Only the writer locks the stream: a stranger must not delay it.
  PERFORM FROM stream s WHERE s.turn_id = p_delta->>'turn' AND s.writer_hash = p_delta->>'writer' FOR UPDATE;
  IF FOUND THEN
    SELECT h.version INTO current FROM held_text h WHERE h.turn_id = p_delta->>'turn';
    IF current IS DISTINCT FROM p_version THEN
      RETURN QUERY SELECT 0, 'moved', NULL, NULL::integer, NULL, NULL::integer, NULL::integer, NULL::turn_status;
      RETURN;
    END IF;
  END IF;
  SELECT * INTO r FROM append_chunks(jsonb_build_array(p_delta || '{"held": true}'), p_limit);
  IF r.outcome IN ('written', 'renewed') THEN
    UPDATE held_text h
    SET version = h.version + 1, sent = p_sent, raw = p_raw, published = p_published, sealed = p_sealed
    WHERE h.turn_id = p_delta->>'turn';
  END IF;
  RETURN QUERY SELECT r.place, r.outcome, r.conversation_id, r.start, r.text, r."end", r.half, r.status;
END $$;

-- Checks the claim with which a turn answers another one. Called by append_turns, which has locked the conversation.
--
-- p_actor     the author of the answer
-- p_reply_to  any version of the turn that it answers
-- p_hash      hash of the claim's token
--
-- Returns null if the author holds the claim and it is live. Otherwise {turnId, state, answerId}: the version given, the
-- state as in src/domain/agent/claim/state.ts, and the turn that answers with this claim; the state is NONE if the author has
-- no such claim. Only the author's own claim is described, so the result reveals nothing to others.
CREATE OR REPLACE FUNCTION claim_fault(p_conversation text, p_actor text, p_reply_to text, p_hash text) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  found record;
BEGIN
  SELECT k.answer_id, CASE WHEN k.ended_at IS NOT NULL THEN k.outcome::text
                           WHEN k.answer_id IS NOT NULL THEN 'ANSWERING'
                           WHEN k.expires_at <= clock_timestamp() THEN 'EXPIRED'
                           ELSE 'HELD' END AS state
  INTO found
  FROM turn v
  JOIN turn f ON f.conversation_id = v.conversation_id AND f.root_seq = v.root_seq AND f.seq = v.root_seq
  JOIN claim k ON k.turn_id = f.id
  WHERE v.id = p_reply_to AND v.conversation_id = p_conversation AND k.actor = p_actor AND k.token_hash = p_hash
  ORDER BY k.ended_at IS NOT NULL LIMIT 1;
  IF found.state = 'HELD' THEN RETURN NULL; END IF;
  RETURN jsonb_build_object('turnId', p_reply_to, 'state', coalesce(found.state, 'NONE'), 'answerId', found.answer_id);
END $$;

-- Finds the tool calls that the results of a turn answer, in the view of the turn's author. Called by append_turns,
-- close_turn and src/store/sql/turn/find-calls.ts while the conversation is locked.
--
-- p_windows  the author's history windows
-- p_holder   holder of the run that writes the results; null for any other author
-- p_results  [{part, callId, name, turnId}], at most one per content part. turnId is any version of the turn that made
--            the call, or null. Elements with the key `place` answer calls of the same append, and have no row.
--
-- A call is identified by its turn and its callId; all versions of a turn are the same turn. Without turnId, a result
-- answers the only call with its callId and tool. Of several such calls by one actor, it answers the only one without a
-- result. Only the 100 newest calls with the callId are considered; the ordered subquery and the LIMIT 1 look-ups stop
-- there, however often the callId was used.
--
-- A call with an approval gets its result from its run, after the decision; or, if it is approved, from a client while
-- the run is WAITING_FOR_TOOLS. approval_id is then the approval; it is null for every other result. A result by anybody
-- else is refused until the run has ended or written its next reply, and always if the call was denied.
--
-- One row per element, with the outcome 'found', and the id and the position (root_seq) of the call's turn; or one last
-- row with the first fault: 'no_call'; 'other_name' when such calls name other tools; 'ambiguous' when several calls are
-- possible; 'waiting' when the call takes no result from this author. detail of a fault: {callId, name, turnId, found};
-- found lists the names of the tools, or the ids of at most 10 of the turns. For 'waiting': as waiting_call returns.
CREATE OR REPLACE FUNCTION find_calls(
  p_conversation text, p_actor text, p_windows integer[], p_results jsonb, p_holder text)
RETURNS TABLE (part integer, call_id text, outcome text, detail jsonb, turn_id text, call_position integer,
               approval_id text)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  r record;
  calls bigint;
  ids text[];
  positions integer[];
  actors bigint;
  tools text[];
  waiting_ids text[];
  waiting_positions integer[];
  approval record;
BEGIN
  FOR r IN
    SELECT array_agg((e.v->>'part')::integer) AS parts, e.v->>'callId' AS call_id, e.v->>'name' AS name,
           e.v->>'turnId' AS turn_id
    FROM jsonb_array_elements(p_results) AS e(v) WHERE NOT e.v ? 'place'
    GROUP BY e.v->>'callId', e.v->>'name', e.v->>'turnId'
  LOOP
    -- The newest version in view of each turn with such a call, newest turn first.
    IF r.turn_id IS NOT NULL THEN
      SELECT count(*) FILTER (WHERE c.name = r.name), array_agg(c.id), array_agg(c.root_seq), 1, array_agg(c.name)
      INTO calls, ids, positions, actors, tools
      FROM (SELECT x.id, x.root_seq, k.name
            FROM turn g
            JOIN turn x ON x.conversation_id = g.conversation_id AND x.root_seq = g.root_seq
            JOIN tool_call k ON k.conversation_id = p_conversation AND k.call_id = r.call_id AND k.turn_id = x.id
            WHERE g.id = r.turn_id AND g.conversation_id = p_conversation
              AND width_bucket(g.seq, p_windows) % 2 = 1 AND width_bucket(x.seq, p_windows) % 2 = 1
              AND width_bucket(x.root_seq, p_windows) % 2 = 1 AND (x.audience IS NULL OR p_actor = ANY (x.audience))
            ORDER BY x.id = g.id DESC, x.seq DESC LIMIT 1) c;
    ELSE
      SELECT count(*) FILTER (WHERE c.name = r.name),
             array_agg(c.id ORDER BY c.root_seq DESC) FILTER (WHERE c.name = r.name),
             array_agg(c.root_seq ORDER BY c.root_seq DESC) FILTER (WHERE c.name = r.name),
             count(DISTINCT c.actor) FILTER (WHERE c.name = r.name),
             array_agg(DISTINCT c.name)
      INTO calls, ids, positions, actors, tools
      FROM (
        SELECT DISTINCT ON (n.root_seq, n.name) n.root_seq, n.name, n.id, n.actor
        FROM (SELECT k.name, x.*
              FROM (SELECT k.turn_id, k.name FROM tool_call k
                    WHERE k.conversation_id = p_conversation AND k.call_id = r.call_id
                    ORDER BY k.turn_id DESC) k
              CROSS JOIN LATERAL (
                SELECT x.id, x.seq, x.root_seq, x.actor FROM turn x
                WHERE x.id = k.turn_id AND x.conversation_id = p_conversation AND width_bucket(x.seq, p_windows) % 2 = 1
                  AND width_bucket(x.root_seq, p_windows) % 2 = 1
                  AND (x.audience IS NULL OR p_actor = ANY (x.audience)) LIMIT 1) x
              LIMIT 100) n
        ORDER BY n.root_seq, n.name, n.seq DESC) c;
    END IF;
    IF calls > 1 AND actors = 1 THEN
      SELECT array_agg(w.id), array_agg(w.root_seq) INTO waiting_ids, waiting_positions
      FROM unnest(ids, positions) AS w(id, root_seq)
      WHERE (
        SELECT true FROM tool_result a JOIN turn y ON y.id = a.turn_id AND y.conversation_id = p_conversation
        WHERE a.conversation_id = p_conversation AND a.call_id = r.call_id AND a.call_position = w.root_seq
          AND y.superseded_by IS NULL AND (y.audience IS NULL OR p_actor = ANY (y.audience))
          AND width_bucket(y.seq, p_windows) % 2 = 1 AND width_bucket(y.root_seq, p_windows) % 2 = 1 LIMIT 1) IS NULL;
      IF waiting_ids IS NOT NULL THEN
        calls := cardinality(waiting_ids);
        ids := waiting_ids;
        positions := waiting_positions;
      END IF;
    END IF;
    IF calls = 1 THEN
      SELECT a.id, a.turn_id, a.state, n.id AS run_id, n.is_current, n.is_own,
             CASE WHEN n.is_own THEN a.state <> 'PENDING'
                  WHEN n.is_current THEN n.state = 'WAITING_FOR_TOOLS' AND a.state = 'APPROVED'
                  ELSE a.state <> 'DENIED' END AS accepts
      INTO approval
      FROM turn v
      JOIN approval a ON a.turn_id = v.id AND a.call_id = r.call_id
      CROSS JOIN LATERAL (
        SELECT n.id, n.state, n.ended_at IS NULL AND n.turn_id = a.turn_id AS is_current,
               coalesce(n.state = 'RUNNING' AND n.holder = p_holder, false) AS is_own
        FROM run n WHERE n.id = a.run_id LIMIT 1) n
      WHERE v.conversation_id = p_conversation AND v.root_seq = positions[1]
      ORDER BY v.seq DESC LIMIT 1;
      IF NOT approval.accepts THEN
        RETURN QUERY
        SELECT r.parts[1], r.call_id, 'waiting',
               jsonb_build_object('callId', r.call_id, 'turnId', approval.turn_id, 'approvalId', approval.id,
                                  'state', approval.state, 'runId', approval.run_id),
               NULL, NULL::integer, NULL;
        RETURN;
      END IF;
      RETURN QUERY
      SELECT p.part, r.call_id, 'found', NULL::jsonb, ids[1], positions[1],
             CASE WHEN approval.is_own OR approval.is_current THEN approval.id END
      FROM unnest(r.parts) AS p(part);
    ELSE
      RETURN QUERY
      SELECT r.parts[1], r.call_id,
             CASE WHEN calls > 1 THEN 'ambiguous' WHEN tools IS NOT NULL THEN 'other_name' ELSE 'no_call' END,
             jsonb_build_object('callId', r.call_id, 'name', r.name, 'turnId', r.turn_id, 'found', to_jsonb(
               CASE WHEN calls > 1 THEN ids[1:10] ELSE coalesce(tools[1:10], '{}') END)),
             NULL, NULL::integer, NULL;
      RETURN;
    END IF;
  END LOOP;
END $$;

-- Finds a call of the actor that waits for approval, or for its result after the decision, and has the id of one of the
-- given calls. Called by append_turns, close_turn and src/store/sql/agent/approval/waiting-calls.ts while the conversation
-- is locked. Uses the indexes run_active and approval_call.
--
-- p_calls  the calls of a turn to write: [{callId, name}]
--
-- {callId, turnId, approvalId, state, runId}, where state is that of the approval; null for none. Only calls in the newest
-- reply of a run that has not ended wait.
CREATE OR REPLACE FUNCTION waiting_call(p_conversation text, p_actor text, p_calls jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF jsonb_array_length(p_calls) = 0 THEN RETURN NULL; END IF;
  RETURN (
    SELECT jsonb_build_object('callId', a.call_id, 'turnId', a.turn_id, 'approvalId', a.id, 'state', a.state, 'runId', r.id)
    FROM run r
    JOIN approval a ON a.turn_id = r.turn_id AND a.run_id = r.id
    WHERE r.conversation_id = p_conversation AND r.actor = p_actor AND r.ended_at IS NULL
      AND a.call_id IN (SELECT c.v->>'callId' FROM jsonb_array_elements(p_calls) AS c(v))
    ORDER BY a.id LIMIT 1);
END $$;

-- Checks the turns of conversations that append_turns has locked, and numbers those that it writes. Called by append_turns
-- for the conversations in which a turn may be refused or change a participant.
--
-- p_bases    of each conversation, the seq of its newest entry
-- p_checked  indices of the conversations whose turns are checked
-- The others are those of append_turns.
--
-- One row per turn of a call that is not refused: 'written', with the turn's seq, the detail 'joined' or 'changed', and
-- its parts if it has tool results; or 'repeated', with the id, seq and time of the turn that its clientId wrote. One row
-- with the first fault per call that is refused.
CREATE OR REPLACE FUNCTION check_turns(
  p_tenant text, p_max_participants integer, p_max_open_in_conversation integer, p_max_open_by_viewer integer,
  p_conversations text[], p_expected integer[], p_bases integer[], p_checked integer[], p_calls integer[],
  p_of integer[], p_ids text[], p_actors text[], p_author_kinds participant_kind[], p_client_ids text[],
  p_client_hashes text[], p_rest jsonb[])
RETURNS TABLE (turn integer, outcome text, detail text, id text, seq integer, created_at timestamptz, parts jsonb)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH said AS MATERIALIZED (
    SELECT u.*, p_bases[u.c] AS last_seq, j.visibility, p_conversations[u.c] AS conversation_id,
           u.rest->>'status' AS status,
           ARRAY(SELECT jsonb_array_elements_text(u.rest->'audience')) AS audience,
           u.rest->>'replyToId' AS reply_to_id, u.rest->'calls' AS calls, u.rest->'results' AS results,
           twin.id AS twin_id, twin.seq AS twin_seq, twin.created_at AS twin_at, twin.client_hash AS twin_hash,
           twin.status AS twin_status,
           m.present, coalesce(m.removed, false) AS removed, coalesce(m.windows, '{1}') AS windows,
           coalesce(m.present AND m.kind <> u.author_kind AND NOT m.is_run, false) AS differs
    FROM unnest(p_of, p_calls, p_ids, p_actors, p_author_kinds, p_client_ids, p_client_hashes, p_rest)
      WITH ORDINALITY AS u(c, call, id, actor, author_kind, client_id, client_hash, rest, o)
    CROSS JOIN LATERAL (SELECT j.visibility FROM journal j WHERE j.conversation_id = p_conversations[u.c] LIMIT 1) j
    LEFT JOIN LATERAL (SELECT x.id, x.seq, x.created_at, x.client_hash, x.status FROM turn x
                       WHERE x.conversation_id = p_conversations[u.c] AND x.actor = u.actor
                         AND x.client_id = u.client_id LIMIT 1) twin ON true
    LEFT JOIN LATERAL (SELECT p.left_at IS NULL AS present, p.removed, p.windows, p.kind,
                              p.agent IS NOT NULL AS is_run
                       FROM participant p
                       WHERE p.conversation_id = p_conversations[u.c] AND p.actor = u.actor LIMIT 1) m ON true
    WHERE u.c = ANY (p_checked)
  ), result AS MATERIALIZED (
    SELECT s.o, s.call, f.*
    FROM said s
    CROSS JOIN LATERAL find_calls(s.conversation_id, s.actor, s.windows, s.results, s.rest->>'runHolder') f
    WHERE s.twin_id IS NULL AND s.results IS NOT NULL
  ), fault AS MATERIALIZED (
    SELECT DISTINCT ON (f.call) f.call, f.o, f.outcome, f.detail
    FROM (
      SELECT s.call, s.o, 'unknown' AS outcome, NULL AS detail
      FROM said s WHERE s.visibility = 'MEMBERS' AND s.present IS NULL
      UNION ALL
      SELECT s.call, s.o, 'moved_on', s.last_seq::text
      FROM said s WHERE p_expected[s.c] <> s.last_seq AND s.twin_id IS NULL
      UNION ALL
      SELECT s.call, s.o, CASE WHEN w.viewer IS NULL THEN 'other_content' ELSE 'held' END,
             jsonb_build_object('clientId', s.client_id, 'turnId', s.twin_id, 'status', s.twin_status,
                                'holder', w.viewer)::text
      FROM said s
      LEFT JOIN LATERAL (SELECT x.viewer FROM stream x
                         WHERE x.turn_id = s.twin_id AND x.writer_hash IS DISTINCT FROM s.rest->>'writerHash'
                         LIMIT 1) w ON true
      WHERE s.twin_hash <> s.client_hash
      UNION ALL
      SELECT s.call, s.o, CASE WHEN s.removed THEN 'removed' ELSE 'left' END, s.actor
      FROM said s WHERE s.twin_id IS NULL AND (s.removed OR s.visibility = 'MEMBERS' AND NOT s.present)
      UNION ALL
      SELECT s.call, s.o, 'stranger', a.actor
      FROM said s CROSS JOIN LATERAL unnest(s.audience) AS a(actor)
      WHERE s.twin_id IS NULL
        AND (SELECT true FROM participant p WHERE p.conversation_id = s.conversation_id AND p.actor = a.actor
                                              AND p.left_at IS NULL LIMIT 1) IS NULL
        AND NOT EXISTS (SELECT FROM said x WHERE x.call = s.call AND x.actor = a.actor)
      UNION ALL
      SELECT f.call, f.o, f.outcome, f.detail::text FROM result f WHERE f.outcome <> 'found'
      UNION ALL
      SELECT s.call, s.o, 'waiting', w.fault::text
      FROM said s CROSS JOIN LATERAL waiting_call(s.conversation_id, s.actor, s.calls) AS w(fault)
      WHERE s.twin_id IS NULL AND s.calls IS NOT NULL AND w.fault IS NOT NULL
      UNION ALL
      SELECT s.call, s.o, 'no_reply', s.reply_to_id
      FROM said s
      WHERE s.twin_id IS NULL AND s.reply_to_id IS NOT NULL
        AND (SELECT true FROM turn x
             WHERE x.id = s.reply_to_id AND x.conversation_id = s.conversation_id
               AND (x.audience IS NULL OR s.actor = ANY (x.audience))
               AND width_bucket(x.seq, s.windows) % 2 = 1 AND width_bucket(x.root_seq, s.windows) % 2 = 1
             LIMIT 1) IS NULL
      UNION ALL
      SELECT s.call, s.o, 'no_context', s.rest->>'contextId'
      FROM said s
      WHERE s.twin_id IS NULL AND s.rest->>'contextId' IS NOT NULL
        AND (SELECT true FROM stored_context x
             WHERE x.id = s.rest->>'contextId' AND x.conversation_id = s.conversation_id AND x.actor = s.actor
             LIMIT 1) IS NULL
      UNION ALL
      SELECT s.call, s.o, 'no_claim', k.fault::text
      FROM said s
      CROSS JOIN LATERAL claim_fault(s.conversation_id, s.actor, s.reply_to_id, s.rest->>'claimHash') AS k(fault)
      WHERE s.twin_id IS NULL AND s.rest->>'claimHash' IS NOT NULL AND k.fault IS NOT NULL
      UNION ALL
      SELECT n.call, n.o, 'participants', NULL
      FROM (SELECT s.*, dense_rank() OVER (PARTITION BY s.c ORDER BY s.actor) AS nth
            FROM said s WHERE p_max_participants IS NOT NULL AND s.twin_id IS NULL AND s.present IS NULL) n
      WHERE n.nth + (SELECT count(*) FROM participant p WHERE p.conversation_id = n.conversation_id)
            > p_max_participants
      UNION ALL
      SELECT n.call, n.o, 'open_in_conversation', NULL
      FROM (SELECT s.*, row_number() OVER (PARTITION BY s.c ORDER BY s.o) AS nth
            FROM said s
            WHERE p_max_open_in_conversation IS NOT NULL AND s.twin_id IS NULL AND s.status IS NOT NULL) n
      WHERE n.nth + (SELECT count(*) FROM stream x WHERE x.conversation_id = n.conversation_id)
            > p_max_open_in_conversation
      UNION ALL
      SELECT n.call, n.o, 'open_by_viewer', NULL
      FROM (SELECT s.*, row_number() OVER (PARTITION BY s.rest->>'viewer' ORDER BY s.o) AS nth
            FROM said s
            WHERE p_max_open_by_viewer IS NOT NULL AND s.twin_id IS NULL AND s.status IS NOT NULL) n
      WHERE n.nth + (SELECT count(*) FROM stream x WHERE x.tenant = p_tenant AND x.viewer = n.rest->>'viewer')
            > p_max_open_by_viewer
    ) f
    -- 'unknown' first: the others would tell that the conversation exists.
    ORDER BY f.call, f.outcome <> 'unknown', f.o, f.outcome
  ), fresh AS MATERIALIZED (
    -- An author who is not a present participant joins one entry before the turn. One entry before the turn, the
    -- kind of a participant becomes that of its credential, unless the server runs it.
    SELECT s.*, s.last_seq + (row_number() OVER w + sum((s.joins OR s.changes)::integer) OVER w)::integer AS seq
    FROM (SELECT s.*, s.present IS NOT TRUE AND s.nth = 1 AS joins, s.differs AND s.nth = 1 AS changes
          FROM (SELECT s.*, row_number() OVER (PARTITION BY s.c, s.actor, s.differs ORDER BY s.o) AS nth
                FROM said s
                WHERE s.twin_id IS NULL AND NOT EXISTS (SELECT FROM fault f WHERE f.call = s.call)) s) s
    WINDOW w AS (PARTITION BY s.c ORDER BY s.o)
  ), answered AS MATERIALIZED (
    -- The call of each tool result. Its turn is stored before, or in the same statement, perhaps by an earlier one.
    SELECT f.o, f.part, f.turn_id, f.call_position, f.approval_id FROM result f WHERE f.outcome = 'found'
    UNION ALL
    SELECT f.o, (e.v->>'part')::integer, coalesce(c.twin_id, c.id), coalesce(c.twin_seq, n.seq), NULL
    FROM fresh f
    CROSS JOIN LATERAL jsonb_array_elements(f.results) AS e(v)
    JOIN said c ON c.o = (e.v->>'place')::bigint
    LEFT JOIN fresh n ON n.o = c.o
  ), linked AS MATERIALIZED (
    SELECT f.o, jsonb_agg(CASE WHEN a.turn_id IS NULL THEN p.part ELSE p.part || jsonb_strip_nulls(
             jsonb_build_object('callTurnId', a.turn_id, 'callPosition', a.call_position,
                                'approvalId', a.approval_id)) END ORDER BY p.place) AS parts
    FROM fresh f
    CROSS JOIN LATERAL jsonb_array_elements(f.rest->'parts') WITH ORDINALITY AS p(part, place)
    LEFT JOIN answered a ON a.o = f.o AND a.part = p.place - 1
    WHERE f.results IS NOT NULL
    GROUP BY f.o
  )
  SELECT f.o::integer, f.outcome, f.detail, NULL, NULL::integer, NULL::timestamptz, NULL::jsonb
  FROM fault f
  UNION ALL
  SELECT s.o::integer, 'repeated', NULL, s.twin_id, s.twin_seq, s.twin_at, NULL
  FROM said s WHERE s.twin_id IS NOT NULL AND NOT EXISTS (SELECT FROM fault f WHERE f.call = s.call)
  UNION ALL
  SELECT f.o::integer, 'written', CASE WHEN f.joins THEN 'joined' WHEN f.changes THEN 'changed' END, f.id, f.seq, NULL, l.parts
  FROM fresh f LEFT JOIN linked l USING (o);
END $$;

-- Finds the participants that a turn mentions. Called by append_turns, close_turn and
-- src/store/sql/turn/find-mentioned.ts, under the conversation's lock.
--
-- p_names  the names in the turn's text
--
-- The present participants, in the order of their first names; null for none. A name is compared with the actors, then
-- the display names; exactly, then without regard to case. The first of these four comparisons that finds a participant
-- decides, and finds nobody if it finds several: so no display name takes the mentions of another actor.
CREATE OR REPLACE FUNCTION find_mentioned(p_conversation text, p_names text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT array_agg(f.actor ORDER BY f.place)
    FROM (
      SELECT x.actor, min(x.place) AS place
      FROM (
        SELECT r.place, CASE WHEN count(*) = 1 THEN min(r.actor) END AS actor
        FROM (
          SELECT n.place, p.actor, n.step, min(n.step) OVER (PARTITION BY n.place) AS first
          FROM (SELECT w.place, k.step, k.key FROM unnest(p_names) WITH ORDINALITY AS w(name, place)
                CROSS JOIN LATERAL (VALUES (1, w.name), (2, w.name), (3, lower(w.name)), (4, lower(w.name)))
                  AS k(step, key)) n
          JOIN (SELECT q.actor, k.step, k.key FROM participant q
                CROSS JOIN LATERAL (VALUES (1, q.actor), (2, q.display_name), (3, lower(q.actor)),
                                           (4, lower(q.display_name))) AS k(step, key)
                WHERE q.conversation_id = p_conversation AND q.left_at IS NULL) p ON p.step = n.step AND p.key = n.key
        ) r
        WHERE r.step = r.first
        GROUP BY r.place
      ) x
      WHERE x.actor IS NOT NULL
      GROUP BY x.actor
    ) f);
END $$;

-- Whether every author of one of the calls to a conversation is or was a participant. Called by append_turns for MEMBERS
-- conversations, so that an actor who does not see a conversation does not lock it.
--
-- p_index                  index of the conversation in p_of
-- p_of, p_calls, p_actors  of each turn: the index of its conversation, the number of its call, and its author
CREATE OR REPLACE FUNCTION has_members_call(
  p_conversation text, p_index integer, p_of integer[], p_calls integer[], p_actors text[]) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM unnest(p_of, p_calls, p_actors) AS u(c, call, actor)
    WHERE u.c = p_index
    GROUP BY u.call
    HAVING bool_and((SELECT true FROM participant p
                     WHERE p.conversation_id = p_conversation AND p.actor = u.actor LIMIT 1) IS NOT NULL));
END $$;

-- Writes the wake-ups of committed turns, and ends those that the turns answer. Called by append_turns and close_turn for
-- conversations with responding participants, in the transaction that commits the turns, under the conversation's lock.
--
-- p_turns  ids of turns; those that do not exist, or are not committed, are ignored
--
-- A turn ends its author's wake-up by the turn that it replies to, and wakes up the present participants other than its
-- author that see it and respond to it (participant.respond). No turn does either while its author waits for the
-- results of its tool calls. Imported turns, SYSTEM and TOOL turns wake up nobody.
--
-- Loop guard: journal.agent_turns counts the turns of agents and tools that may wake up participants, since the last
-- turn of a person: an author of the kind HUMAN, by the credential that wrote the turn or else as a participant, in a
-- role other than ASSISTANT and TOOL. A turn beyond conversation.max_agent_turns wakes up nobody. If it would have woken up a
-- participant, it has a row with the seq of the entry WAKE_UPS_STOPPED.
CREATE OR REPLACE FUNCTION wake_up_participants(p_turns text[]) RETURNS TABLE (turn_id text, seq integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  UPDATE wake_up w SET answered_at = now(), answer_id = t.id
  FROM turn t JOIN turn q ON q.id = t.reply_to_id AND q.conversation_id = t.conversation_id
  WHERE t.id = ANY (p_turns) AND t.status = 'COMMITTED' AND NOT has_open_calls(t.parts)
    AND w.conversation_id = t.conversation_id AND w.position = q.root_seq AND w.actor = t.actor
    AND w.answered_at IS NULL AND w.dropped_reason IS NULL;

  RETURN QUERY
  WITH said AS MATERIALIZED (
    SELECT x.*, count(*) FILTER (WHERE x.wakes AND NOT x.is_person) OVER (
                  PARTITION BY x.conversation_id, x.people ORDER BY x.seq)
                + CASE x.people WHEN 0 THEN x.agent_turns ELSE 0 END AS agents
    FROM (
      SELECT y.*, count(*) FILTER (WHERE y.is_person) OVER (PARTITION BY y.conversation_id ORDER BY y.seq) AS people
      FROM (
        SELECT t.id, t.conversation_id, t.tenant, t.seq, t.root_seq, t.actor, t.audience, t.mentions, t.reply_to_id,
               j.agent_turns, j.last_seq, c.max_agent_turns,
               t.role IN ('USER', 'ASSISTANT') AND NOT has_open_calls(t.parts) AS wakes,
               coalesce(t.author_kind, p.kind) = 'HUMAN' AND t.role IN ('USER', 'SYSTEM') AS is_person
        FROM turn t
        JOIN journal j ON j.conversation_id = t.conversation_id AND j.responding
        JOIN conversation c ON c.id = t.conversation_id
        JOIN participant p ON p.conversation_id = t.conversation_id AND p.actor = t.actor
        WHERE t.id = ANY (p_turns) AND t.status = 'COMMITTED' AND t.imported_at IS NULL
      ) y
    ) x
  ), woken AS MATERIALIZED (
    SELECT s.id, s.conversation_id, s.tenant, s.seq, s.root_seq, s.last_seq, p.actor,
           s.agents > s.max_agent_turns AND NOT s.is_person AS stopped
    FROM said s
    JOIN participant p ON p.conversation_id = s.conversation_id AND p.respond <> 'NEVER' AND p.left_at IS NULL
    WHERE s.wakes AND p.actor <> s.actor
      AND (s.audience IS NULL OR p.actor = ANY (s.audience))
      AND width_bucket(s.seq, p.windows) % 2 = 1 AND width_bucket(s.root_seq, p.windows) % 2 = 1
      AND (p.respond = 'ALWAYS' OR p.actor = ANY (s.mentions)
           OR p.respond = 'ADDRESSED' AND (
             p.actor = ANY (s.audience)
             OR (SELECT q.actor FROM turn q WHERE q.id = s.reply_to_id AND q.conversation_id = s.conversation_id) = p.actor))
  ), wrote AS (
    INSERT INTO wake_up (turn_id, actor, conversation_id, tenant, position)
    SELECT w.id, w.actor, w.conversation_id, w.tenant, w.root_seq FROM woken w WHERE NOT w.stopped
  ), stopped AS MATERIALIZED (
    SELECT w.id, w.conversation_id, w.last_seq + (row_number() OVER (PARTITION BY w.conversation_id ORDER BY w.seq))::integer AS seq
    FROM (SELECT DISTINCT x.id, x.conversation_id, x.last_seq, x.seq FROM woken x WHERE x.stopped) w
  ), recorded AS (
    INSERT INTO entry (conversation_id, seq, kind, turn_id)
    SELECT s.conversation_id, s.seq, 'WAKE_UPS_STOPPED', s.id FROM stopped s
  ), counted AS (
    UPDATE journal j
    SET agent_turns = n.agents, last_seq = coalesce((SELECT max(s.seq) FROM stopped s
                                                     WHERE s.conversation_id = n.conversation_id), j.last_seq)
    FROM (SELECT DISTINCT ON (s.conversation_id) s.conversation_id, s.agents
          FROM said s ORDER BY s.conversation_id, s.seq DESC) n
    WHERE j.conversation_id = n.conversation_id
      AND (j.agent_turns <> n.agents OR EXISTS (SELECT FROM stopped s WHERE s.conversation_id = n.conversation_id))
  )
  SELECT s.id, s.seq FROM stopped s;
END $$;

-- Appends or opens turns: any number of calls of one tenant, each atomic and for one conversation. Called by
-- src/store/sql/turn/append-turns.ts.
--
-- p_wait           false skips conversations that another transaction has locked: their calls have no row in the result
-- p_max_…          maximum numbers of participants and of open turns; null for none. The first counts former participants
--                  too. p_max_open_by_viewer may be exceeded by calls that run at the same time.
-- p_conversations  distinct ids of conversations, ascending, so that two statements cannot wait for each other
-- p_expected       of each, the required seq of its newest entry; null for any. With one, the conversation has one call.
-- The others have one element per turn, ordered by call; null for no value in any turn:
-- p_calls         number of the turn's call
-- p_of            index of the conversation, from 1
-- p_nth           number of the turn among those of its conversation, from 1
-- p_author_kinds  kind of the author's own credential; null if another one, or none, writes the turn
-- p_terms         the index terms of all turns, in order
-- p_ends          index of the turn's last term in p_terms, from 1
-- p_cues          null for a turn that is not indexed yet
-- p_rest          the fields that most turns do not have, without null fields; null for none: {parts, audience, mentions,
--                 promptTokens, completionTokens, model, adapter, traceId, sources, pinned, metadata, createdAt,
--                 importedAt, replyToId, contextId, calls, results, runHolder, claimHash, status, viewer, writerHash,
--                 leaseSeconds}
--                   mentions      the names in the turn's text, as for find_mentioned
--                   results       [{part, callId, name, turnId}] as for find_calls; or {part, callId, name, place}, when
--                                 turn number `place` of this statement made the tool call
--                   runHolder     holder of the run that writes the turn's results, as for find_calls
--                   claimHash     hash of the token of the claim with which the turn answers the turn replyToId
--                   status        STREAMING for an open turn, which has the next three; absent for a committed one
--                   viewer        the principal that opens it
--                   leaseSeconds  duration of its lease; absent for that of the server
--
-- A call reaches a conversation of its tenant; a MEMBERS conversation only if every author is or was a participant. Any
-- other call has no row, or one row 'unknown', locks nothing and waits for nothing. Otherwise the call has one row per
-- turn ('written', with the detail 'joined' when the actor joined one entry before, or 'changed' when its kind as a
-- participant became that of its credential one entry before, and with the stored parts of a turn with tool results; or
-- 'repeated', with the turn that its clientId already wrote), or one row that names the fault ('moved_on',
-- 'other_content', 'held', 'stranger', 'no_call', 'other_name', 'ambiguous', 'waiting', 'no_reply', 'no_context',
-- 'no_claim', 'removed', 'left', 'participants', 'open_in_conversation', 'open_by_viewer') and nothing is written. In
-- addition, each turn that wakes up nobody because of the loop guard (wake_up_participants) has a row 'stopped' with the
-- seq of the entry WAKE_UPS_STOPPED. No two calls may answer with the same claim. `turn` is the number of the turn.
--
-- Nothing can refuse most turns, and they change no participant: their author is a present participant, their clientId is
-- new, and they name no other turn, participant, call or context. Only the conversations with other turns are passed to
-- check_turns, which takes as long as the rest of this function.
--
-- Invariant: numbers are assigned after the conversations are locked, by statements with their own snapshots, so the
-- journal has no gap and a clientId is written once.
--
-- The plans are generic: planning the statements for each call takes longer than running them. A session keeps them
-- while the tables grow, so they use indexes even if the tables are still small when it makes them. The scalar and
-- LIMIT 1 look-ups keep the planner on the primary keys, whatever it thinks of the batch's size.
CREATE OR REPLACE FUNCTION append_turns(
  p_tenant text, p_wait boolean, p_max_participants integer, p_max_open_in_conversation integer,
  p_max_open_by_viewer integer, p_conversations text[], p_expected integer[], p_calls integer[], p_of integer[],
  p_nth integer[], p_ids text[], p_actors text[], p_author_kinds participant_kind[], p_roles role[], p_texts text[],
  p_tokens integer[], p_terms integer[], p_ends integer[], p_cues smallint[], p_client_ids text[],
  p_client_hashes text[], p_rest jsonb[])
RETURNS TABLE (turn integer, outcome text, detail text, id text, seq integer, created_at timestamptz, parts jsonb,
               mentions text[])
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  -- Of each conversation: the seq of its newest entry, or -1 if it is not locked; and its salt.
  bases integer[];
  salts integer[];
  responding boolean;
  -- The fields that p_rest contains.
  fields text[];
  -- Indices of the conversations whose turns must be checked; null for none.
  checked integer[];
  -- Of each turn: its seq, or 0 if it is not written; the detail of its row; and the stored parts of a turn with results.
  seqs integer[];
  details text[];
  linked jsonb[];
  r record;
BEGIN
  IF p_wait THEN
    -- The next statement then skips none of them.
    PERFORM FROM unnest(p_conversations) WITH ORDINALITY AS a(id, o)
    CROSS JOIN LATERAL (
      SELECT FROM journal j
      WHERE j.conversation_id = a.id AND j.tenant = p_tenant
        AND (j.visibility = 'OPEN' OR has_members_call(a.id, a.o::integer, p_of, p_calls, p_actors))
      LIMIT 1 FOR UPDATE) j;
  END IF;
  SELECT array_agg(coalesce(j.last_seq, -1) ORDER BY a.o), array_agg(coalesce(j.salt, 0) ORDER BY a.o),
         coalesce(bool_or(j.responding), false)
  INTO bases, salts, responding
  FROM unnest(p_conversations) WITH ORDINALITY AS a(id, o)
  LEFT JOIN LATERAL (
    SELECT j.last_seq, j.salt, j.responding FROM journal j
    WHERE j.conversation_id = a.id AND j.tenant = p_tenant
      AND (j.visibility = 'OPEN' OR has_members_call(a.id, a.o::integer, p_of, p_calls, p_actors))
    LIMIT 1 FOR UPDATE SKIP LOCKED) j ON true;
  IF 0 > ALL (bases) THEN RETURN; END IF;

  IF p_rest IS NOT NULL THEN
    fields := ARRAY(SELECT DISTINCT k.field FROM unnest(p_rest) AS u(rest), jsonb_object_keys(u.rest) AS k(field));
  END IF;

  SELECT array_agg(DISTINCT u.c) INTO checked
  FROM unnest(p_of, p_actors, p_author_kinds, p_client_ids, p_rest) AS u(c, actor, author_kind, client_id, rest)
  WHERE bases[u.c] >= 0
    AND ((SELECT true FROM participant p WHERE p.conversation_id = p_conversations[u.c] AND p.actor = u.actor
            AND p.left_at IS NULL AND NOT p.removed AND p.kind = coalesce(u.author_kind, p.kind) LIMIT 1) IS NULL
      OR u.client_id IS NOT NULL
         AND (SELECT true FROM turn x WHERE x.conversation_id = p_conversations[u.c] AND x.actor = u.actor
                                        AND x.client_id = u.client_id LIMIT 1)
      OR p_expected[u.c] IS NOT NULL
      OR u.rest ?| '{audience,replyToId,contextId,calls,results,claimHash,status}');

  seqs := ARRAY(SELECT CASE WHEN bases[u.c] < 0 OR u.c = ANY (checked) THEN 0 ELSE bases[u.c] + u.nth END
                FROM unnest(p_of, p_nth) AS u(c, nth));

  IF checked IS NOT NULL THEN
    FOR r IN
      SELECT c.* FROM check_turns(
        p_tenant, p_max_participants, p_max_open_in_conversation, p_max_open_by_viewer, p_conversations, p_expected,
        bases, checked, p_calls, p_of, p_ids, p_actors, p_author_kinds, p_client_ids, p_client_hashes, p_rest) c
    LOOP
      IF r.outcome = 'written' THEN
        seqs[r.turn] := r.seq;
        IF r.detail IS NOT NULL THEN details[r.turn] := r.detail; END IF;
        IF r.parts IS NOT NULL THEN linked[r.turn] := r.parts; END IF;
      ELSE
        turn := r.turn; outcome := r.outcome; detail := r.detail; id := r.id; seq := r.seq; created_at := r.created_at;
        RETURN NEXT;
      END IF;
    END LOOP;
  END IF;

  IF details IS NOT NULL THEN
    UPDATE participant p
    SET left_at = NULL,
        joined_at = CASE details[u.o] WHEN 'joined' THEN now() ELSE p.joined_at END,
        kind = CASE WHEN p.agent IS NULL THEN coalesce(u.author_kind, p.kind) ELSE p.kind END,
        windows = CASE WHEN details[u.o] = 'changed' THEN p.windows
                       WHEN p.history = 'ALL' THEN '{1}' ELSE p.windows || (seqs[u.o] - 1) END
    FROM unnest(p_of, p_actors, p_author_kinds) WITH ORDINALITY AS u(c, actor, author_kind, o)
    WHERE details[u.o] IS NOT NULL AND p.conversation_id = p_conversations[u.c] AND p.actor = u.actor;

    INSERT INTO participant (conversation_id, actor, kind, windows)
    SELECT p_conversations[u.c], u.actor,
           coalesce(u.author_kind, CASE u.role WHEN 'USER' THEN 'HUMAN' WHEN 'TOOL' THEN 'TOOL' ELSE 'AGENT' END::participant_kind),
           '{1}'
    FROM unnest(p_of, p_actors, p_author_kinds, p_roles) WITH ORDINALITY AS u(c, actor, author_kind, role, o)
    WHERE details[u.o] = 'joined'
    ON CONFLICT DO NOTHING;

    INSERT INTO entry (conversation_id, seq, kind, actor)
    SELECT p_conversations[u.c], seqs[u.o] - 1,
           CASE details[u.o] WHEN 'joined' THEN 'JOINED' ELSE 'UPDATED' END::entry_kind, u.actor
    FROM unnest(p_of, p_actors) WITH ORDINALITY AS u(c, actor, o) WHERE details[u.o] IS NOT NULL;
  END IF;

  RETURN QUERY
  WITH wrote AS (
    INSERT INTO turn AS t (id, conversation_id, seq, root_seq, actor, author_kind, role, status, text, parts, audience,
                           mentions, token_count, prompt_tokens, completion_tokens, model, adapter, trace_id, sources,
                           pinned, metadata, client_id, client_hash, created_at, imported_at, reply_to_id, context_id,
                           terms, cues)
    SELECT u.id, p_conversations[u.c], seqs[u.o], seqs[u.o], u.actor, u.author_kind, u.role,
           coalesce((u.rest->>'status')::turn_status, 'COMMITTED'), u.text, coalesce(linked[u.o], u.rest->'parts'),
           CASE WHEN u.rest ? 'audience' THEN ARRAY(SELECT jsonb_array_elements_text(u.rest->'audience')) END,
           CASE WHEN u.rest ? 'mentions' THEN find_mentioned(p_conversations[u.c], ARRAY(
             SELECT jsonb_array_elements_text(u.rest->'mentions'))) END,
           u.tokens, (u.rest->>'promptTokens')::integer, (u.rest->>'completionTokens')::integer, u.rest->>'model',
           u.rest->>'adapter', u.rest->>'traceId', u.rest->'sources', coalesce((u.rest->>'pinned')::boolean, false),
           u.rest->'metadata', u.client_id, u.client_hash, coalesce((u.rest->>'createdAt')::timestamptz, now()),
           (u.rest->>'importedAt')::timestamptz, u.rest->>'replyToId', u.rest->>'contextId',
           -- As `salted`, which is not inlined.
           CASE WHEN u.cues IS NOT NULL THEN
             ARRAY(SELECT x # salts[u.c] FROM unnest(p_terms[coalesce(p_ends[u.o - 1], 0) + 1:p_ends[u.o]]) AS x) END,
           u.cues
    FROM unnest(p_ids, p_of, p_actors, p_author_kinds, p_roles, p_texts, p_tokens, p_cues, p_client_ids,
                p_client_hashes, p_rest)
      WITH ORDINALITY AS u(id, c, actor, author_kind, role, text, tokens, cues, client_id, client_hash, rest, o)
    WHERE seqs[u.o] > 0
    RETURNING t.id, t.seq, t.created_at, t.mentions
  )
  SELECT u.o::integer, 'written', details[u.o], w.id, w.seq, w.created_at, linked[u.o], w.mentions
  FROM wrote w JOIN unnest(p_ids) WITH ORDINALITY AS u(id, o) USING (id);
  IF NOT FOUND THEN RETURN; END IF;

  INSERT INTO entry (conversation_id, seq, kind, turn_id)
  SELECT p_conversations[u.c], u.seq,
         CASE WHEN u.rest ? 'status' THEN 'OPENED' ELSE 'APPENDED' END::entry_kind, u.id
  FROM unnest(p_ids, p_of, seqs, p_rest) AS u(id, c, seq, rest) WHERE u.seq > 0;

  UPDATE journal j
  SET last_seq = n.last_seq, turn_count = j.turn_count + n.turns, token_count = j.token_count + n.tokens,
      updated_at = now()
  FROM (SELECT u.c, max(u.seq) AS last_seq,
               count(*) FILTER (WHERE (u.rest ?| '{status,audience}') IS NOT TRUE) AS turns,
               coalesce(sum(u.tokens) FILTER (WHERE (u.rest ?| '{status,audience}') IS NOT TRUE), 0) AS tokens
        FROM unnest(p_of, seqs, p_tokens, p_rest) AS u(c, seq, tokens, rest) WHERE u.seq > 0 GROUP BY u.c) n
  WHERE j.conversation_id = ANY (p_conversations) AND j.conversation_id = p_conversations[n.c];

  IF 'calls' = ANY (fields) THEN
    INSERT INTO tool_call (conversation_id, call_id, turn_id, name)
    SELECT p_conversations[u.c], v.call->>'callId', u.id, v.call->>'name'
    FROM unnest(p_ids, p_of, seqs, p_rest) AS u(id, c, seq, rest)
    CROSS JOIN LATERAL jsonb_array_elements(u.rest->'calls') AS v(call) WHERE u.seq > 0;
  END IF;

  IF linked IS NOT NULL THEN
    INSERT INTO tool_result (conversation_id, call_id, call_position, turn_id, approval_id)
    SELECT DISTINCT p_conversations[u.c], v.part->>'callId', (v.part->>'callPosition')::integer, u.id,
           v.part->>'approvalId'
    FROM unnest(p_ids, p_of) WITH ORDINALITY AS u(id, c, o)
    CROSS JOIN LATERAL jsonb_array_elements(linked[u.o]) AS v(part) WHERE v.part ? 'callPosition';
  END IF;

  IF 'status' = ANY (fields) THEN
    INSERT INTO stream (turn_id, conversation_id, tenant, viewer, writer_hash, lease_seconds)
    SELECT u.id, p_conversations[u.c], p_tenant, u.rest->>'viewer', u.rest->>'writerHash',
           (u.rest->>'leaseSeconds')::integer
    FROM unnest(p_ids, p_of, seqs, p_rest) AS u(id, c, seq, rest) WHERE u.seq > 0 AND u.rest ? 'status';
  END IF;

  -- From their first private turn on, participants are told apart when views are compared.
  IF 'audience' = ANY (fields) THEN
    UPDATE participant p SET addressed = true
    FROM (SELECT DISTINCT p_conversations[u.c] AS conversation_id, a.actor
          FROM unnest(p_of, seqs, p_rest) AS u(c, seq, rest)
          CROSS JOIN LATERAL jsonb_array_elements_text(u.rest->'audience') AS a(actor) WHERE u.seq > 0) w
    WHERE p.conversation_id = ANY (p_conversations) AND p.conversation_id = w.conversation_id AND p.actor = w.actor
      AND NOT p.addressed;
  END IF;

  IF 'claimHash' = ANY (fields) THEN
    PERFORM answer_claims(p_conversations, p_of, p_ids, ARRAY(SELECT u.rest->>'claimHash' FROM unnest(p_rest) AS u(rest)));
  END IF;

  IF responding THEN
    RETURN QUERY
    SELECT u.o::integer, 'stopped', NULL, w.turn_id, w.seq, NULL::timestamptz, NULL::jsonb, NULL::text[]
    FROM wake_up_participants(p_ids) w JOIN unnest(p_ids) WITH ORDINALITY AS u(id, o) ON u.id = w.turn_id;
  END IF;
END $$;

-- XORs term hashes with the salt of their conversation, in order, so that equal words of two conversations have
-- different index terms.
CREATE OR REPLACE FUNCTION salted(p_terms integer[], p_salt integer) RETURNS integer[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ARRAY(SELECT x # p_salt FROM unnest(p_terms) WITH ORDINALITY AS t(x, o) ORDER BY o);

-- Commits or aborts an open turn: stores its final text, ends its stream, writes the entry and updates the counters.
-- Called by src/store/sql/turn/streaming/close-turn.ts.
--
-- p_viewer     the actor who closes the turn; null for the sweep
-- p_writer     hash of the writer's token; null for the sweep, which must give p_silent_ms
-- p_end        end of the text that the caller read, in UTF-16 units; another end means that a delta arrived since
-- p_calls      the tool calls that the turn makes: [{callId, name}]
-- p_results    the calls that it answers: [{part, callId, name, turnId}] as for find_calls; calls of the turn itself have
--              the key `place` instead of turnId
-- p_silent_ms  abort only if the writer has been silent for this long, in ms; null for any
-- p_mentions   the names in its text, as for find_mentioned; null for none
-- p_hash       digest of the request and of the writer's token; null for the sweep
--
-- One row. outcome: 'written' with the seqs of the first and the last entry; 'closed' with the turn's status;
-- 'repeated' when the turn was closed by a call with the same p_hash; 'grown' when a delta arrived since; 'alive' when
-- the writer was not silent for long enough; 'no_call', 'other_name', 'ambiguous' and 'waiting' with the detail of
-- find_calls; 'waiting' also when the turn is no reply of a run and makes a call with the id of one that waits;
-- 'other_writer' when p_writer is not the hash of the stream; 'left' when the author has left the conversation;
-- 'missing' when the tenant has no such turn, or the viewer neither opened it nor sees its conversation. The last three
-- lock nothing.
--
-- An aborted turn loses its clientId, so that the next openTurn with it opens a new turn. A turn that answers with a claim
-- ends the claim: as answered when it is committed, with the wake-ups that the claim excludes; as released, with an entry,
-- when it is aborted. A turn that waits for results of its tool calls answers nothing: its author holds the claim for at
-- least 60 s more, and answers with a later turn.
CREATE OR REPLACE FUNCTION close_turn(
  p_tenant text, p_viewer text, p_turn text, p_writer text, p_status turn_status, p_end integer, p_text text, p_parts jsonb, p_tokens integer,
  p_prompt_tokens integer, p_completion_tokens integer, p_model text, p_metadata jsonb, p_reason text,
  p_calls jsonb, p_results jsonb, p_silent_ms integer, p_terms integer[], p_cues smallint, p_mentions text[],
  p_hash text)
RETURNS TABLE (outcome text, detail text, conversation_id text, actor text, seq integer, last_seq integer,
               status turn_status)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t turn%ROWTYPE;
  j journal%ROWTYPE;
  renewed timestamptz;
  writer text;
  tail record;
  windows integer[];
  fault record;
  waiting jsonb;
  claimed claim%ROWTYPE;
  last integer;
BEGIN
  SELECT x.* INTO t FROM turn x JOIN conversation c ON c.id = x.conversation_id AND c.tenant = p_tenant
  WHERE x.id = p_turn AND (p_viewer IS NULL OR c.visibility = 'OPEN'
    OR EXISTS (SELECT FROM stream s WHERE s.turn_id = x.id AND s.viewer = p_viewer)
    OR EXISTS (SELECT FROM participant p WHERE p.conversation_id = x.conversation_id AND p.actor = p_viewer));
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'missing', NULL, NULL, NULL, NULL::integer, NULL::integer, NULL::turn_status;
    RETURN;
  END IF;
  IF p_writer IS NULL AND p_silent_ms IS NULL THEN RAISE 'close_turn needs p_writer or p_silent_ms'; END IF;
  SELECT s.writer_hash INTO writer FROM stream s WHERE s.turn_id = p_turn;
  IF NOT FOUND THEN
    RETURN QUERY SELECT CASE WHEN x.end_hash = p_hash THEN 'repeated' ELSE 'closed' END, NULL, t.conversation_id, t.actor,
                        NULL::integer, NULL::integer, x.status
                 FROM turn x WHERE x.id = p_turn AND x.conversation_id = t.conversation_id;
    RETURN;
  END IF;
  IF writer <> p_writer THEN
    RETURN QUERY SELECT 'other_writer', NULL, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
    RETURN;
  END IF;
  IF writer IS NOT NULL AND p_writer IS NOT NULL AND NOT EXISTS (
    SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor AND p.left_at IS NULL) THEN
    RETURN QUERY SELECT 'left', NULL, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
    RETURN;
  END IF;
  SELECT * INTO j FROM journal WHERE conversation_id = t.conversation_id FOR UPDATE;
  SELECT s.renewed_at INTO renewed FROM stream s WHERE s.turn_id = p_turn FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT CASE WHEN x.end_hash = p_hash THEN 'repeated' ELSE 'closed' END, NULL, t.conversation_id, t.actor,
                        NULL::integer, NULL::integer, x.status
                 FROM turn x WHERE x.id = p_turn AND x.conversation_id = t.conversation_id;
    RETURN;
  END IF;
  SELECT c."end", c.written_at INTO tail FROM chunk c WHERE c.turn_id = p_turn ORDER BY c.start DESC LIMIT 1;
  IF coalesce(tail."end", 0) <> p_end THEN
    RETURN QUERY SELECT 'grown', NULL, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
    RETURN;
  END IF;
  IF p_silent_ms IS NOT NULL
     AND greatest(renewed, tail.written_at) > clock_timestamp() - make_interval(secs => p_silent_ms / 1000.0) THEN
    RETURN QUERY SELECT 'alive', NULL, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
    RETURN;
  END IF;
  IF jsonb_array_length(p_calls) > 0 AND NOT EXISTS (
    SELECT FROM run r WHERE r.conversation_id = t.conversation_id AND r.actor = t.actor AND r.state = 'RUNNING' AND r.turn_id = p_turn) THEN
    waiting := waiting_call(t.conversation_id, t.actor, p_calls);
    IF waiting IS NOT NULL THEN
      RETURN QUERY SELECT 'waiting', waiting::text, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
      RETURN;
    END IF;
  END IF;
  IF p_results IS NOT NULL THEN
    SELECT p.windows INTO windows FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor;
    SELECT c.outcome, c.detail INTO fault FROM find_calls(t.conversation_id, t.actor, windows, p_results, NULL) c
    WHERE c.outcome <> 'found' LIMIT 1;
    IF FOUND THEN
      RETURN QUERY SELECT fault.outcome, fault.detail::text, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
      RETURN;
    END IF;
    WITH answered AS (
      SELECT c.part, c.call_id, c.turn_id, c.call_position, c.approval_id
      FROM find_calls(t.conversation_id, t.actor, windows, p_results, NULL) c
      UNION ALL
      SELECT (e.v->>'part')::integer, e.v->>'callId', t.id, t.root_seq, NULL
      FROM jsonb_array_elements(p_results) AS e(v) WHERE e.v ? 'place'
    ), returned AS (
      INSERT INTO tool_result (conversation_id, call_id, call_position, turn_id, approval_id)
      SELECT DISTINCT t.conversation_id, a.call_id, a.call_position, t.id, a.approval_id FROM answered a
    )
    SELECT jsonb_agg(CASE WHEN a.turn_id IS NULL THEN p.part ELSE p.part || jsonb_strip_nulls(jsonb_build_object(
                       'callTurnId', a.turn_id, 'callPosition', a.call_position, 'approvalId', a.approval_id)) END ORDER BY p.o) INTO p_parts
    FROM jsonb_array_elements(p_parts) WITH ORDINALITY AS p(part, o) LEFT JOIN answered a ON a.part = p.o - 1;
  END IF;

  UPDATE turn x
  SET status = p_status, text = p_text, parts = p_parts, token_count = p_tokens, abort_reason = p_reason, end_hash = p_hash,
      client_id = CASE p_status WHEN 'ABORTED' THEN NULL ELSE x.client_id END,
      client_hash = CASE p_status WHEN 'ABORTED' THEN NULL ELSE x.client_hash END,
      prompt_tokens = coalesce(p_prompt_tokens, x.prompt_tokens),
      completion_tokens = coalesce(p_completion_tokens, x.completion_tokens),
      model = coalesce(p_model, x.model), metadata = coalesce(p_metadata, x.metadata),
      terms = salted(p_terms, j.salt), cues = p_cues,
      mentions = CASE WHEN p_mentions IS NOT NULL AND p_status = 'COMMITTED'
                      THEN find_mentioned(t.conversation_id, p_mentions) END
  WHERE x.id = p_turn AND x.conversation_id = t.conversation_id;
  DELETE FROM stream WHERE turn_id = p_turn;
  INSERT INTO tool_call (conversation_id, call_id, turn_id, name)
  SELECT t.conversation_id, c.v->>'callId', p_turn, c.v->>'name' FROM jsonb_array_elements(p_calls) AS c(v);
  INSERT INTO entry (conversation_id, seq, kind, turn_id)
  VALUES (t.conversation_id, j.last_seq + 1, p_status::text::entry_kind, p_turn);
  last := j.last_seq + 1;
  UPDATE claim k
  SET answer_id = CASE WHEN p_status = 'COMMITTED' AND NOT has_open_calls(p_parts) THEN p_turn END,
      ended_at = CASE WHEN p_status = 'COMMITTED' AND has_open_calls(p_parts) THEN NULL ELSE clock_timestamp() END,
      outcome = (CASE WHEN p_status <> 'COMMITTED' THEN 'RELEASED' WHEN NOT has_open_calls(p_parts) THEN 'ANSWERED' END)::claim_outcome,
      expires_at = CASE WHEN p_status = 'COMMITTED' AND has_open_calls(p_parts)
                        THEN greatest(k.expires_at, clock_timestamp() + interval '60 seconds') ELSE k.expires_at END
  WHERE k.answer_id = p_turn AND k.ended_at IS NULL RETURNING k.* INTO claimed;
  IF claimed.outcome = 'ANSWERED' THEN
    UPDATE wake_up w SET answered_at = now(), answer_id = p_turn
    WHERE w.turn_id = claimed.turn_id AND (claimed.slot = '' OR w.actor = claimed.slot) AND w.answered_at IS NULL
      AND w.dropped_reason IS NULL;
  ELSIF claimed.outcome = 'RELEASED' THEN
    last := last + 1;
    INSERT INTO entry (conversation_id, seq, kind, turn_id, actor)
    VALUES (t.conversation_id, last, 'CLAIM_RELEASED', claimed.turn_id, t.actor);
  END IF;
  UPDATE journal x
  SET last_seq = last, updated_at = now(),
      turn_count = x.turn_count + (p_status = 'COMMITTED' AND t.audience IS NULL)::integer,
      token_count = x.token_count + CASE WHEN p_status = 'COMMITTED' AND t.audience IS NULL THEN p_tokens ELSE 0 END
  WHERE x.conversation_id = t.conversation_id;
  IF j.responding AND p_status = 'COMMITTED' THEN
    SELECT coalesce(max(w.seq), last) INTO last FROM wake_up_participants(ARRAY[p_turn]) w;
  END IF;
  RETURN QUERY SELECT 'written', NULL, t.conversation_id, t.actor, j.last_seq + 1, last, p_status;
END $$;

-- Recomputes the journal's summary watermark and counters from the current summaries of a conversation. The caller holds
-- the lock on the conversation's journal.
CREATE OR REPLACE FUNCTION count_summarized(p_conversation_id text) RETURNS void
LANGUAGE sql AS $$
  UPDATE journal j
  SET summarized_through = s.through, summarized_turns = s.turns, summarized_tokens = s.tokens
  FROM (SELECT coalesce(max(to_seq), 0) AS through, coalesce(sum(turns), 0) AS turns,
               coalesce(sum(turn_tokens), 0) AS tokens
        FROM summary WHERE conversation_id = p_conversation_id AND superseded_by IS NULL AND NOT stale) s
  WHERE j.conversation_id = p_conversation_id
$$;

-- How important a fact is, 0 to 1: how often it was stated (0.4), on how many days before today it was recalled (0.3), and
-- how many days ago it was stated (0.3, halved every 90 days). Days are those of UTC: unless sources are added, the value
-- changes only at midnight.
--
-- p_sources  number of distinct sources of the fact and of its merged duplicates (src/store/sql/memory/fact/fact-columns.ts). It
--            is an argument because Postgres inlines a function only without a subquery, which takes a quarter of the time.
CREATE OR REPLACE FUNCTION fact_importance(
  p_sources bigint, p_recall_days integer, p_recalled_on date, p_observed_at timestamptz
) RETURNS double precision LANGUAGE sql STABLE AS $$
  SELECT 0.4 * (1 - 1.0 / greatest(1, p_sources))
       + 0.3 * (1 - 1.0 / (1 + p_recall_days - (p_recalled_on IS NOT DISTINCT FROM now()::date)::integer))
       + 0.3 * power(0.5, greatest(0, now()::date - p_observed_at::date) / 90.0)
$$;

-- Finds API keys by their ids and the hashes of their secrets, before the tenant of a request is known. Called by
-- src/store/sql/trust/api-key/find-api-keys.ts.
--
-- p_ids     ids of keys
-- p_hashes  SHA-256 of the secret that was presented with each id
--
-- Runs as its owner, colloquy_system, so that it sees the keys of all tenants. Returns only keys whose secret the caller
-- has, with the place in p_ids from 0, and no hash. expires_at is that of the secret: the previous secret of a rotated
-- key ends with the overlap, or with the key, whichever is earlier. The time of the comparison reveals nothing, because
-- a client cannot choose the hash of a secret.
CREATE OR REPLACE FUNCTION find_api_keys(p_ids text[], p_hashes bytea[])
RETURNS TABLE (place integer, id text, tenant text, actor text, kind text, rights text[], conversations text[],
               expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT (x.o - 1)::integer, k.id, k.tenant, k.actor, k.kind::text, k.rights, k.conversations,
         CASE WHEN k.secret_hash = x.hash THEN k.expires_at ELSE least(k.expires_at, k.previous_until) END, k.revoked_at,
         k.last_used_at
  FROM unnest(p_ids, p_hashes) WITH ORDINALITY AS x(id, hash, o)
  JOIN api_key k ON k.id = x.id AND (k.secret_hash = x.hash OR k.previous_hash = x.hash)
$$;

-- Finds conversations by their metadata in the index conversation_metadata, which a policy keeps a request from using:
-- @> is not leakproof. Called by src/store/sql/conversation/find-candidates.ts.
--
-- p_values  objects of which the metadata contains at least one
-- p_limit   maximum number of conversations
--
-- Runs as its owner, colloquy_system, so it selects the tenant itself: from the setting, not from an argument. Returns
-- ids only; the caller reads the conversations under the policy, and compares their metadata again.
CREATE OR REPLACE FUNCTION find_conversations_by_metadata(p_values jsonb[], p_limit integer) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT c.id FROM conversation c
  WHERE c.tenant = current_setting('colloquy.tenant', true) AND c.metadata @> ANY (p_values) LIMIT p_limit
$$;

-- Finds conversations by their title in the index conversation_title, which a policy keeps a request from using: ILIKE
-- is not leakproof. Called by src/store/sql/conversation/find-candidates.ts.
--
-- p_pattern  the pattern for ILIKE
-- p_limit    maximum number of conversations
--
-- Runs as its owner, colloquy_system, so it selects the tenant itself: from the setting, not from an argument. Returns
-- ids only; the caller reads the conversations under the policy, and compares their titles again.
CREATE OR REPLACE FUNCTION find_conversations_by_title(p_pattern text, p_limit integer) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT c.id FROM conversation c
  WHERE c.tenant = current_setting('colloquy.tenant', true) AND c.title ILIKE p_pattern LIMIT p_limit
$$;

-- Finds turns by their terms in the index turn_terms, which a policy keeps a request from using: && is not leakproof.
-- Called by src/store/sql/memory/recall/find-terms.ts.
--
-- p_conversations  ids of conversations that the actor sees
-- p_terms          term hashes, not salted
-- p_limit          maximum number of turns for each term
--
-- Reads the rights of the actor from public.participant, because its twin in the schema `past` (create_past) has the
-- rights of today.
--
-- Runs as its owner, colloquy_system, so it selects the tenant itself: from the setting, not from an argument. Returns
-- the place of the term in p_terms, and of the conversation in p_conversations, the key of a committed turn that the
-- actor sees, in its newest visible version, the number of times that the turn has the term, at most 16,383, and its
-- number of terms, at most 32,767. Fewer than p_limit turns may be returned although more have the term, if some have it
-- only under the salt of another conversation.
CREATE OR REPLACE FUNCTION find_turns_with_terms(p_actor text, p_conversations text[], p_terms integer[], p_limit integer)
RETURNS TABLE (term integer, conversation integer, root_seq integer, seq integer, count integer, length integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1000
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH v AS MATERIALIZED (
    SELECT j.conversation_id AS id, c.place::integer AS place, j.salt, p.actor,
           coalesce(p.windows, '{1}') AS windows, coalesce(p.windows = '{1}', true) AS all_public
    FROM journal j JOIN unnest(p_conversations) WITH ORDINALITY AS c(id, place) ON c.id = j.conversation_id
    LEFT JOIN public.participant p ON p.conversation_id = j.conversation_id AND p.actor = p_actor
    -- The CASE keeps the planner from expecting few of the conversations.
    WHERE j.conversation_id = ANY (p_conversations)
      AND CASE WHEN j.tenant = current_setting('colloquy.tenant', true) THEN true ELSE false END)
  SELECT q.ordinal::integer, h.place, h.root_seq, h.seq, least(h.count, 16383), least(h.length, 32767)
  FROM unnest(p_terms) WITH ORDINALITY AS q(term, ordinal)
  CROSS JOIN LATERAL (
    SELECT v.place, t.root_seq, t.seq, cardinality(array_positions(t.terms, q.term # v.salt)) AS count,
           cardinality(t.terms) AS length
    -- The OFFSET keeps the planner from reading the index once for each conversation.
    FROM (SELECT t.conversation_id, t.root_seq, t.seq, t.audience, t.superseded_by, t.terms FROM turn t
          WHERE t.terms && ARRAY(SELECT DISTINCT q.term # s.salt FROM v s)
            AND t.tenant = current_setting('colloquy.tenant', true) AND t.status = 'COMMITTED' OFFSET 0) t
    JOIN v ON v.id = t.conversation_id
    WHERE (v.all_public OR width_bucket(t.seq, v.windows) % 2 = 1 AND width_bucket(t.root_seq, v.windows) % 2 = 1)
      AND (t.audience IS NULL OR v.actor = ANY (t.audience))
      AND (t.superseded_by IS NULL OR NOT EXISTS (
        SELECT FROM turn n WHERE n.conversation_id = t.conversation_id AND n.root_seq = t.root_seq AND n.seq > t.seq
                             AND width_bucket(n.seq, v.windows) % 2 = 1))
    LIMIT p_limit) h
  WHERE h.count > 0;
END $$;

-- Trigger that keeps the values of a row before an update, for reads as of an earlier time. Created by create_past.
--
-- Arguments: the name of the table; the columns of its key and the columns to keep, each list separated by spaces.
--
-- The values were valid until the transaction began, like the entries that it writes; those of a profile until its new
-- `updated_at`. At most 50 former states of a row are kept, the newest ones.
CREATE OR REPLACE FUNCTION keep_former_state() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  of_table CONSTANT text := TG_ARGV[0];
  was CONSTANT jsonb := to_jsonb(OLD);
  of_row text;
BEGIN
  SELECT string_agg(was->>k, ' ' ORDER BY o) INTO of_row
  FROM unnest(string_to_array(TG_ARGV[1], ' ')) WITH ORDINALITY AS u(k, o);
  INSERT INTO former_state (tenant, relation, key, conversation_id, fact_id, superseded_by, user_id, until, state)
  SELECT was->>'tenant', of_table, of_row,
         CASE of_table WHEN 'conversation' THEN was->>'id' WHEN 'fact' THEN NULL ELSE was->>'conversation_id' END,
         CASE of_table WHEN 'fact' THEN was->>'id' ELSE was->>'fact_id' END,
         CASE of_table WHEN 'fact' THEN was->>'superseded_by' END,
         CASE of_table WHEN 'user_profile' THEN was->>'user_id' END,
         CASE of_table WHEN 'user_profile' THEN (to_jsonb(NEW)->>'updated_at')::timestamptz ELSE now() END,
         jsonb_object_agg(c, was->c)
  FROM unnest(string_to_array(TG_ARGV[2], ' ')) AS u(c);
  DELETE FROM former_state f
  WHERE f.relation = of_table AND f.key = of_row AND f.number <= (
    SELECT o.number FROM former_state o
    WHERE o.relation = of_table AND o.key = of_row
    ORDER BY o.number DESC OFFSET 50 LIMIT 1);
  RETURN NULL;
END $$;

-- Whether the metadata meets all conditions, which src/domain/kernel/metadata-filter.ts writes. Null metadata is an empty object.
-- A condition has a path, its operator and operand, and `parents`: an object that has an object at each key of the path
-- but the last. Only metadata that contains `parents` has a value at the path, because #> alone would also select
-- elements of arrays. The low COST keeps the plans of statements that pass no conditions.
CREATE OR REPLACE FUNCTION metadata_matches(p_metadata jsonb, p_conditions jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1 AS $$
DECLARE
  v_metadata jsonb := coalesce(p_metadata, '{}');
  v_condition jsonb;
  v_operand jsonb;
  v_value jsonb;
  v_meets boolean;
BEGIN
  FOR v_condition IN SELECT jsonb_array_elements(p_conditions) LOOP
    v_operand := v_condition -> 'operand';
    v_value := CASE WHEN v_metadata @> (v_condition -> 'parents')
                    THEN v_metadata #> ARRAY(SELECT jsonb_array_elements_text(v_condition -> 'path')) END;
    v_meets := CASE v_condition ->> 'operator'
      WHEN 'equals' THEN v_value = v_operand
      WHEN 'contains' THEN v_value @> v_operand
      WHEN 'exists' THEN (v_value IS NOT NULL) = v_operand::boolean
      WHEN 'in' THEN v_value IN (SELECT jsonb_array_elements(v_operand))
      WHEN 'range' THEN CASE
        WHEN jsonb_typeof(v_value) IS DISTINCT FROM v_condition ->> 'type' THEN false
        WHEN v_condition ->> 'type' = 'number' THEN
          coalesce(v_value > (v_operand -> 'gt'), true) AND coalesce(v_value >= (v_operand -> 'gte'), true)
          AND coalesce(v_value < (v_operand -> 'lt'), true) AND coalesce(v_value <= (v_operand -> 'lte'), true)
        ELSE
          coalesce((v_value #>> '{}') COLLATE "C" > (v_operand ->> 'gt'), true)
          AND coalesce((v_value #>> '{}') COLLATE "C" >= (v_operand ->> 'gte'), true)
          AND coalesce((v_value #>> '{}') COLLATE "C" < (v_operand ->> 'lt'), true)
          AND coalesce((v_value #>> '{}') COLLATE "C" <= (v_operand ->> 'lte'), true)
      END
    END;
    IF v_meets IS NOT TRUE THEN
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
END
$$;

-- Refuses every change of an audit line. Only retention by age deletes: it announces itself by a setting of its
-- transaction, and even then no line younger than 30 days can be deleted.
CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND current_setting('colloquy.audit_retention', true) = 'on' THEN
    IF OLD.at < now() - interval '30 days' THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;

-- Reserves tokens of the day's quotas for the next provider call of a run. Called by src/store/sql/agent/run/token-usage.ts.
-- Calls of one tenant run one after the other, so that processes do not reserve the same tokens twice. The end of the
-- call (src/store/sql/agent/run/provider-calls.ts) or of the run releases the tokens. Uses the index run_reserved.
--
-- p_holder    holder of the run
-- p_tokens    maximum number of tokens that the call is expected to take
-- p_lease_ms  length of a run's lease; a reservation counts until two leases after its run's lease or end
--
-- The tokens are reserved if, for the participant and for the tenant, those that were used today and those that calls
-- in progress have reserved are fewer than the limit. Without a limit, none are reserved. No row if the process no
-- longer has the lease of the run. A limit is null for no quota.
CREATE OR REPLACE FUNCTION reserve_tokens(p_run text, p_holder text, p_tokens integer, p_lease_ms integer)
RETURNS TABLE (
  begins boolean, participant_limit integer, participant_used bigint, participant_reserved bigint,
  tenant_limit integer, tenant_used bigint, tenant_reserved bigint, resets_at timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
  v_run record;
  v_day date := (now() AT TIME ZONE 'UTC')::date;
BEGIN
  SELECT r.tenant, r.conversation_id, r.actor INTO v_run
  FROM run r WHERE r.id = p_run AND r.holder = p_holder AND r.state = 'RUNNING';
  IF NOT FOUND THEN RETURN; END IF;
  participant_limit := (SELECT (p.agent->>'tokensPerDay')::integer FROM participant p
                        WHERE p.conversation_id = v_run.conversation_id AND p.actor = v_run.actor);
  tenant_limit := (SELECT s.tokens_per_day FROM tenant_settings s WHERE s.tenant = v_run.tenant);
  resets_at := (v_day + 1)::timestamp AT TIME ZONE 'UTC';
  begins := true;
  participant_used := 0; participant_reserved := 0; tenant_used := 0; tenant_reserved := 0;
  IF participant_limit IS NULL AND tenant_limit IS NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('colloquy token quotas'), hashtext(v_run.tenant));
  -- Each statement sees what was committed before it, so these sums include the reservations of earlier lock holders.
  SELECT coalesce(sum(r.reserved_tokens) FILTER (WHERE r.conversation_id = v_run.conversation_id AND r.actor = v_run.actor), 0),
         coalesce(sum(r.reserved_tokens), 0)
  INTO participant_reserved, tenant_reserved
  FROM run r
  WHERE r.tenant = v_run.tenant AND r.reserved_tokens IS NOT NULL AND r.id <> p_run
    AND coalesce(r.lease_until, r.ended_at) > now() - 2 * make_interval(secs => p_lease_ms / 1000.0);
  participant_used := coalesce((SELECT u.prompt_tokens + u.completion_tokens FROM token_usage u
    WHERE u.conversation_id = v_run.conversation_id AND u.actor = v_run.actor AND u.day = v_day), 0);
  tenant_used := coalesce((SELECT u.prompt_tokens + u.completion_tokens FROM tenant_usage u
    WHERE u.tenant = v_run.tenant AND u.day = v_day), 0);
  begins := coalesce(participant_used + participant_reserved < participant_limit, true)
    AND coalesce(tenant_used + tenant_reserved < tenant_limit, true);
  IF begins THEN
    UPDATE run r SET reserved_tokens = p_tokens WHERE r.id = p_run;
  END IF;
  RETURN NEXT;
END $$;

-- Returns the text by which a turn is found: the captions of its files, then its text. The function searchedText of
-- src/domain/memory/indexing/index-entry.ts returns the same.
CREATE OR REPLACE FUNCTION searched_text(p_text text, p_parts jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN jsonb_typeof(p_parts) = 'array' THEN coalesce((
         SELECT string_agg(p.part->>'caption', E'\n' ORDER BY p.place) || E'\n'
         FROM jsonb_array_elements(p_parts) WITH ORDINALITY AS p(part, place)
         WHERE p.part->>'type' = 'file' AND jsonb_typeof(p.part->'caption') = 'string'), '') || p_text
       ELSE p_text END;

-- Marks summaries as stale if they cover the changed turn or a later one. A summary that ends before the turn becomes
-- current again if a stale summary superseded it. The caller holds the lock on the conversation's journal.
--
-- p_root  rootSeq of the changed turn
CREATE OR REPLACE FUNCTION take_back_summaries(p_conversation_id text, p_root integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE summary SET stale = true WHERE conversation_id = p_conversation_id AND to_seq >= p_root AND NOT stale;
  IF FOUND THEN
    UPDATE summary s SET superseded_by = NULL
    WHERE s.conversation_id = p_conversation_id AND NOT s.stale
      AND EXISTS (SELECT FROM summary g WHERE g.id = s.superseded_by AND g.stale);
    PERFORM count_summarized(p_conversation_id);
  END IF;
END $$;

-- Writes a summary and its entry. A summary covers turns that directly follow the covered ones, current summaries, or
-- both. Called by src/store/sql/memory/summary/write-summary.ts.
--
-- p_current   ids of the current summaries that the caller read, oldest first
-- p_replaces  those of them that the new summary replaces: consecutive, and including the last one if p_turns has any
-- p_turns     ids of the turns it also covers, in order: every committed turn without audience after the covered ones, up
--             to rootSeq p_to. Empty for a summary of summaries.
--
-- One row. outcome: 'written' with the entry's seq; 'moved' when the conversation changed since the caller read it, so
-- that a turn would be covered twice, in an older version, or not at all; 'missing' when the tenant has no such
-- conversation.
CREATE OR REPLACE FUNCTION write_summary(
  p_tenant text, p_conversation_id text, p_id text, p_level integer, p_to integer, p_content text, p_tokens integer, p_model text,
  p_current text[], p_replaces text[], p_turns text[])
RETURNS TABLE (outcome text, seq integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  j journal%ROWTYPE;
  fresh record;
  old record;
BEGIN
  SELECT * INTO j FROM journal WHERE conversation_id = p_conversation_id AND tenant = p_tenant FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'missing', NULL::integer;
    RETURN;
  END IF;
  IF p_current <> ARRAY(SELECT s.id FROM summary s
                        WHERE s.conversation_id = p_conversation_id AND s.superseded_by IS NULL AND NOT s.stale
                        ORDER BY s.from_seq) THEN
    RETURN QUERY SELECT 'moved', NULL::integer;
    RETURN;
  END IF;
  SELECT coalesce(array_agg(t.id ORDER BY t.root_seq), '{}') AS ids, min(t.root_seq) AS first, max(t.root_seq) AS last,
         max(t.seq) AS newest, count(*)::integer AS turns, coalesce(sum(t.token_count), 0)::bigint AS tokens,
         coalesce(bool_or(t.status = 'STREAMING'), false) AS open
  INTO fresh
  FROM turn t
  WHERE cardinality(p_turns) > 0 AND t.conversation_id = p_conversation_id
    AND t.root_seq > j.summarized_through AND t.root_seq <= p_to
    AND t.audience IS NULL AND t.superseded_by IS NULL AND t.status IN ('COMMITTED', 'STREAMING');
  IF fresh.ids <> p_turns OR fresh.open THEN
    RETURN QUERY SELECT 'moved', NULL::integer;
    RETURN;
  END IF;
  SELECT min(s.from_seq) AS first, max(s.to_seq) AS last, max(s.newest_seq) AS newest,
         coalesce(sum(s.turns), 0)::integer AS turns, coalesce(sum(s.turn_tokens), 0)::bigint AS tokens
  INTO old
  FROM summary s WHERE s.id = ANY (p_replaces);

  UPDATE summary s SET superseded_by = p_id WHERE s.id = ANY (p_replaces);
  INSERT INTO summary (id, conversation_id, seq, level, from_seq, to_seq, newest_seq, turns, turn_tokens, content,
                       token_count, model)
  VALUES (p_id, p_conversation_id, j.last_seq + 1, p_level, coalesce(old.first, fresh.first), coalesce(fresh.last, old.last),
          greatest(old.newest, fresh.newest), old.turns + fresh.turns, old.tokens + fresh.tokens, p_content, p_tokens,
          p_model);
  INSERT INTO entry (conversation_id, seq, kind, summary_id) VALUES (p_conversation_id, j.last_seq + 1, 'SUMMARIZED', p_id);
  UPDATE journal x SET last_seq = j.last_seq + 1, updated_at = now() WHERE x.conversation_id = p_conversation_id;
  PERFORM count_summarized(p_conversation_id);
  RETURN QUERY SELECT 'written', j.last_seq + 1;
END $$;

-- Look-ups by operators that are not leakproof run as colloquy_system, and return keys only.
DO $$
DECLARE
  f regprocedure;
BEGIN
  -- Only a role that may create objects in the schema can become the owner of one.
  GRANT CREATE ON SCHEMA public TO colloquy_system;
  FOREACH f IN ARRAY ARRAY['find_api_keys(text[], bytea[])',
                           'find_conversations_by_metadata(jsonb[], integer)',
                           'find_conversations_by_title(text, integer)',
                           'find_turns_with_terms(text, text[], integer[], integer)']::regprocedure[] LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO colloquy_app', f);
    EXECUTE format('ALTER FUNCTION %s OWNER TO colloquy_system', f);
  END LOOP;
  REVOKE CREATE ON SCHEMA public FROM colloquy_system;
END $$;

CREATE TRIGGER audit_line_append_only BEFORE DELETE OR UPDATE ON audit_line
  FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_line_no_truncate BEFORE TRUNCATE ON audit_line
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

-- Creates the schema `past`: views with the names and columns of tables, which show the rows as of an earlier moment. A
-- statement reads the past if its search_path begins with `past` and the settings name the moment
-- (src/store/db/scoped-query.ts). Also creates the triggers that keep former values. Call it after a change of the columns
-- of these tables: the views have the columns that the tables have at that time.
--
-- Settings: colloquy.past_at is the moment; colloquy.past_conversation and colloquy.past_seq name an entry of one
-- conversation, whose journal is then cut after that entry, or are empty.
--
-- A turn or a summary exists from its entry on. An entry exists from the time `at` on. The views apply the policies of
-- the reading role. Rights are not read from the past: statements read them from public.participant.
CREATE OR REPLACE FUNCTION create_past() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $create$
DECLARE
  -- The columns whose former values are kept, by table, and the columns of the key. Columns that do not exist are ignored.
  kept CONSTANT jsonb := '{
    "conversation": {"key": ["id"], "columns": ["owner", "system_prompt"]},
    "participant": {"key": ["conversation_id", "actor"], "columns": ["kind", "display_name", "joined_at", "left_at"]},
    "turn": {"key": ["id"], "columns": ["pinned"]},
    "summary": {"key": ["id"], "columns": ["superseded_by", "stale"]},
    "fact": {"key": ["id"], "columns": [
      "said_by", "asserted_by", "confidence", "observed_at", "imported_at", "superseded_by", "superseded_at",
      "supersede_reason", "supersede_note", "asserted_at", "restored_at", "restore_note", "valid_from", "valid_to",
      "contradicted_from", "recalled_on", "recall_days"]},
    "fact_source": {"key": ["fact_id", "source"], "columns": ["observed_at", "imported_at", "assertions"]},
    "user_profile": {"key": ["tenant", "user_id", "visibility"], "columns": [
      "content", "token_count", "made_by", "made_of", "claims", "updated_at"]}}';
  -- Whether entry `e` exists.
  existed CONSTANT text := 'CASE WHEN e.conversation_id = (SELECT past.conversation_id()) THEN e.seq <= (SELECT past.seq())
                                 ELSE e.at <= (SELECT past.now()) END';
  -- Whether conversation `c` exists. One whose entry is named does, whatever the clock that set its time.
  created CONSTANT text := '(c.id = (SELECT past.conversation_id()) OR c.created_at <= (SELECT past.now()))';
  -- Whether turn `t` with entry `e` is open. The text that it had then is not stored.
  is_open CONSTANT text := $$(e.kind = 'OPENED' AND t.status <> 'ERASED' AND NOT EXISTS (
    SELECT FROM past.entry x WHERE x.conversation_id = t.conversation_id AND x.turn_id = t.id AND x.seq > t.seq
                               AND x.kind IN ('COMMITTED', 'ABORTED')))$$;
  -- The entry of row `t`. The LIMIT keeps the planner from joining in the other order, without an index.
  of_entry CONSTANT text := ' CROSS JOIN LATERAL (
    SELECT x.conversation_id, x.seq, x.at, x.kind FROM public.entry x
    WHERE x.conversation_id = t.conversation_id AND x.seq = t.seq LIMIT 1) e';
  counted CONSTANT text := $$FROM past.turn x WHERE x.conversation_id = t.conversation_id AND x.status = 'COMMITTED'
                             AND x.audience IS NULL AND x.superseded_by IS NULL$$;
  summarized CONSTANT text := $$FROM past.summary x WHERE x.conversation_id = t.conversation_id
                                AND x.superseded_by IS NULL AND NOT x.stale$$;
  relation text;
  spec jsonb;
  columns text[];
  former text;
  views jsonb;
  view jsonb;
  list text;
  definition text;
BEGIN
  FOR relation, spec IN SELECT * FROM jsonb_each(kept) LOOP
    SELECT array_agg(a.attname::text ORDER BY a.attnum) INTO columns
    FROM pg_attribute a
    WHERE a.attrelid = format('public.%I', relation)::regclass AND a.attnum > 0 AND NOT a.attisdropped
      AND spec->'columns' ? a.attname::text;
    EXECUTE format('DROP TRIGGER IF EXISTS keep_former_state ON public.%I', relation);
    EXECUTE format(
      'CREATE TRIGGER keep_former_state AFTER UPDATE OF %s ON public.%I FOR EACH ROW
       WHEN (ROW(%s) IS DISTINCT FROM ROW(%s)) EXECUTE FUNCTION public.keep_former_state(%L, %L, %L)',
      (SELECT string_agg(quote_ident(c), ', ') FROM unnest(columns) c), relation,
      (SELECT string_agg('OLD.' || quote_ident(c), ', ') FROM unnest(columns) c),
      (SELECT string_agg('NEW.' || quote_ident(c), ', ') FROM unnest(columns) c),
      relation, (SELECT string_agg(k, ' ' ORDER BY o) FROM jsonb_array_elements_text(spec->'key') WITH ORDINALITY u(k, o)),
      array_to_string(CASE relation WHEN 'user_profile' THEN ARRAY['visibility'] || columns ELSE columns END, ' '));
  END LOOP;

  DROP SCHEMA IF EXISTS past CASCADE;
  CREATE SCHEMA past;
  -- Statements call now(), which is the moment in the past: search_path has pg_catalog after `past`.
  CREATE FUNCTION past.now() RETURNS timestamptz LANGUAGE sql STABLE AS
    $$SELECT current_setting('colloquy.past_at')::timestamptz$$;
  CREATE FUNCTION past.conversation_id() RETURNS text LANGUAGE sql STABLE AS
    $$SELECT nullif(current_setting('colloquy.past_conversation'), '')$$;
  CREATE FUNCTION past.seq() RETURNS integer LANGUAGE sql STABLE AS
    $$SELECT nullif(current_setting('colloquy.past_seq'), '')::integer$$;

  -- In the order of dependencies. `columns` replaces columns by expressions; `more` is a second part of the rows, with
  -- columns of its own. Kept columns have their former values if `former` is true.
  views := jsonb_build_array(
    jsonb_build_object('of', 'entry', 'from', 'public.entry t CROSS JOIN LATERAL (SELECT t.conversation_id, t.seq, t.at) e WHERE ' || existed),
    jsonb_build_object('of', 'chunk', 'from', 'public.chunk t WHERE t.written_at <= (SELECT past.now())'),
    jsonb_build_object('of', 'conversation', 'former', true, 'from', 'public.conversation t %FORMER% WHERE ' || replace(created, 'c.', 't.')),
    jsonb_build_object('of', 'participant', 'former', true, 'from',
      'public.participant t %FORMER% WHERE CASE WHEN w.state ? ''joined_at'' THEN (w.state->>''joined_at'')::timestamptz
                                                ELSE t.joined_at END <= (SELECT past.now())'),
    jsonb_build_object('of', 'turn', 'from', 'public.turn t' || of_entry || ' WHERE ' || existed, 'columns', jsonb_build_object(
      'status', format($$CASE WHEN %s THEN 'STREAMING'::turn_status ELSE t.status END$$, is_open),
      'text', format($$CASE WHEN %s THEN '' ELSE t.text END$$, is_open),
      'token_count', format('CASE WHEN %s THEN 0 ELSE t.token_count END', is_open),
      'parts', format('CASE WHEN NOT %s THEN t.parts END', is_open),
      'mentions', format('CASE WHEN NOT %s THEN t.mentions END', is_open),
      'metadata', format('CASE WHEN NOT %s THEN t.metadata END', is_open),
      'model', format('CASE WHEN NOT %s THEN t.model END', is_open),
      'prompt_tokens', format('CASE WHEN NOT %s THEN t.prompt_tokens END', is_open),
      'completion_tokens', format('CASE WHEN NOT %s THEN t.completion_tokens END', is_open),
      'abort_reason', format('CASE WHEN NOT %s THEN t.abort_reason END', is_open),
      'pinned', $$coalesce((SELECT (s.state->>'pinned')::boolean FROM public.former_state s
                            WHERE s.relation = 'turn' AND s.key = t.id AND s.until > (SELECT past.now())
                            ORDER BY s.number LIMIT 1), t.pinned)$$,
      'superseded_by', $$CASE WHEN t.superseded_by IS NOT NULL AND EXISTS (
        SELECT FROM public.turn n JOIN past.entry x ON x.conversation_id = n.conversation_id AND x.seq = n.seq
        WHERE n.id = t.superseded_by AND n.conversation_id = t.conversation_id) THEN t.superseded_by END$$)),
    jsonb_build_object('of', 'summary', 'former', true, 'from', 'public.summary t' || of_entry || ' %FORMER% WHERE ' || existed),
    jsonb_build_object('of', 'turn_vector', 'from', 'public.turn_vector t' || of_entry || ' WHERE ' || existed),
    jsonb_build_object('of', 'journal',
      'from', 'public.journal t JOIN public.conversation c ON c.id = t.conversation_id WHERE ' || created,
      'columns', jsonb_build_object(
        'last_seq', 'coalesce((SELECT x.seq FROM past.entry x WHERE x.conversation_id = t.conversation_id ORDER BY x.seq DESC LIMIT 1), 0)',
        'updated_at', 'coalesce((SELECT x.at FROM past.entry x WHERE x.conversation_id = t.conversation_id ORDER BY x.seq DESC LIMIT 1), c.created_at)',
        'turn_count', format('(SELECT count(*)::integer %s)', counted),
        'token_count', format('(SELECT coalesce(sum(x.token_count), 0)::bigint %s)', counted),
        'summarized_through', format('(SELECT coalesce(max(x.to_seq), 0) %s)', summarized),
        'summarized_turns', format('(SELECT coalesce(sum(x.turns), 0)::integer %s)', summarized),
        'summarized_tokens', format('(SELECT coalesce(sum(x.turn_tokens), 0)::bigint %s)', summarized))),
    jsonb_build_object('of', 'fact_source', 'former', true, 'from', 'public.fact_source t %FORMER% WHERE t.created_at <= (SELECT past.now())',
      -- Sources that an edit has removed.
      'more', 'public.former_state w CROSS JOIN LATERAL jsonb_populate_record(NULL::public.fact_source, w.state) r
               WHERE w.relation = ''removed_source'' AND w.until > (SELECT past.now()) AND r.created_at <= (SELECT past.now())',
      'indexed', '["fact_id", "conversation_id"]'::jsonb),
    -- A fact names its first source, which may have been another one then: an edit may have removed it since.
    jsonb_build_object('of', 'fact', 'former', true,
      'from', 'public.fact t JOIN LATERAL (
                 SELECT * FROM past.fact_source s WHERE s.fact_id = t.id ORDER BY s.created_at, s.source LIMIT 1) p ON true
               %FORMER% WHERE t.created_at <= (SELECT past.now())',
      'columns', jsonb_build_object(
        'conversation_id', 'p.conversation_id',
        'root_seq', 'p.root_seq',
        'seq', 'p.seq',
        'audience', 'p.audience',
        'source_turn_id', 'p.turn_id')),
    jsonb_build_object('of', 'user_profile', 'from', 'public.user_profile t WHERE t.updated_at <= (SELECT past.now())',
      'more', 'public.former_state w CROSS JOIN LATERAL jsonb_populate_record(NULL::public.user_profile, w.state) r
               WHERE w.relation = ''user_profile'' AND w.until > (SELECT past.now()) AND r.updated_at <= (SELECT past.now())',
      'indexed', '["tenant", "user_id"]'::jsonb));

  FOR view IN SELECT v FROM jsonb_array_elements(views) v LOOP
    relation := view->>'of';
    SELECT string_agg(CASE
             WHEN view->'columns' ? a.attname::text THEN format('%s AS %I', view->'columns'->>a.attname::text, a.attname)
             WHEN view ? 'former' AND kept->relation->'columns' ? a.attname::text
               THEN format('CASE WHEN w.state ? %L THEN (w.state->>%L)::%s ELSE t.%I END AS %I', a.attname, a.attname,
                           format_type(a.atttypid, a.atttypmod), a.attname, a.attname)
             ELSE format('t.%I', a.attname) END, ', ' ORDER BY a.attnum),
           string_agg(CASE WHEN view->'indexed' ? a.attname::text THEN 'w.' ELSE 'r.' END || quote_ident(a.attname), ', ' ORDER BY a.attnum)
    INTO list, definition
    FROM pg_attribute a
    WHERE a.attrelid = format('public.%I', relation)::regclass AND a.attnum > 0 AND NOT a.attisdropped;
    SELECT format(
      'LEFT JOIN LATERAL (
         SELECT s.state FROM public.former_state s
         WHERE s.relation = %L AND s.key = %s AND s.until > (SELECT past.now()) ORDER BY s.number LIMIT 1) w ON true',
      relation, string_agg(format('t.%I', k), $$ || ' ' || $$ ORDER BY o))
    INTO former FROM jsonb_array_elements_text(kept->relation->'key') WITH ORDINALITY u(k, o);
    definition := CASE WHEN view ? 'more' THEN format(' UNION ALL SELECT %s FROM %s', definition, view->>'more') ELSE '' END;
    EXECUTE format('CREATE VIEW past.%I WITH (security_invoker = true) AS SELECT %s FROM %s%s', relation, list,
                   replace(view->>'from', '%FORMER%', coalesce(former, '')), definition);
  END LOOP;
  -- Also the facts that were superseded by the fact at another time: `fact` says by which a fact was superseded then.
  CREATE VIEW past.superseded_fact WITH (security_invoker = true) AS
    SELECT id, superseded_by FROM public.fact WHERE superseded_by IS NOT NULL
    UNION ALL SELECT fact_id, superseded_by FROM public.former_state WHERE superseded_by IS NOT NULL;
  GRANT USAGE ON SCHEMA past TO colloquy_app, colloquy_system;
  GRANT SELECT ON ALL TABLES IN SCHEMA past TO colloquy_app, colloquy_system;

  -- The function sets a search_path of its own, so it needs a twin that reads the past.
  definition := pg_get_functiondef('public.find_turns_with_terms'::regproc);
  definition := replace(definition, 'FUNCTION public.find_turns_with_terms', 'FUNCTION past.find_turns_with_terms');
  EXECUTE replace(definition, $$search_path TO 'pg_catalog', 'public'$$, $$search_path TO 'past', 'pg_catalog', 'public'$$);
  GRANT CREATE ON SCHEMA past TO colloquy_system;
  ALTER FUNCTION past.find_turns_with_terms(text, text[], integer[], integer) OWNER TO colloquy_system;
  REVOKE CREATE ON SCHEMA past FROM colloquy_system;
  REVOKE ALL ON FUNCTION past.find_turns_with_terms(text, text[], integer[], integer) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION past.find_turns_with_terms(text, text[], integer[], integer) TO colloquy_app;
END $create$;

REVOKE ALL ON FUNCTION create_past() FROM PUBLIC;
SELECT create_past();
