-- Facts: what was learned from turns or told by the application, the profiles made of them, and how far both have come.
-- Columns are compared with schema.prisma by a test; what Prisma cannot say (partial indexes, expressions) is only here.

CREATE TYPE supersede_reason AS ENUM ('DUPLICATE', 'CONTRADICT', 'UPDATE', 'RETRACTED');
-- Not used before this transaction has ended: Postgres would refuse.
ALTER TYPE entry_kind ADD VALUE 'FACTS_CHANGED';

ALTER TABLE conversation ADD COLUMN fact_extraction boolean NOT NULL DEFAULT false;
ALTER TABLE entry ADD COLUMN fact_ids text[];

CREATE TABLE fact (
  id               text PRIMARY KEY,
  tenant           text NOT NULL,
  user_id          text,
  conversation_id  text REFERENCES conversation (id) ON DELETE CASCADE,
  root_seq         integer,
  seq              integer,
  audience         text[],
  visibility       text NOT NULL DEFAULT '',
  source_turn_id   text,
  said_by          participant_kind NOT NULL,
  subject          text NOT NULL,
  predicate        text NOT NULL,
  object           text NOT NULL,
  confidence       double precision NOT NULL,
  token_count      integer NOT NULL,
  content_hash     text NOT NULL,
  observed_at      timestamptz(3) NOT NULL,
  created_at       timestamptz(3) NOT NULL DEFAULT now(),
  superseded_by    text,
  superseded_at    timestamptz(3),
  supersede_reason supersede_reason,
  supersede_note   text,
  recalled_at      timestamptz(3),
  embedded_by      text,
  terms            integer[] NOT NULL,
  CHECK ((conversation_id IS NULL) = (seq IS NULL) AND (seq IS NULL) = (root_seq IS NULL)),
  CHECK ((superseded_at IS NULL) = (supersede_reason IS NULL)),
  CHECK (superseded_by IS NULL OR superseded_at IS NOT NULL)
);
-- To the letter the same is said once, of whom or in what room it is known, to those who may see it.
CREATE UNIQUE INDEX fact_active ON fact (tenant, (coalesce(user_id, conversation_id, '')), visibility, content_hash)
  WHERE superseded_at IS NULL;
CREATE INDEX fact_newest ON fact (tenant, created_at DESC, id DESC);
CREATE INDEX fact_user ON fact (tenant, user_id, created_at DESC, id DESC);
CREATE INDEX fact_room ON fact (conversation_id, created_at DESC, id DESC);
CREATE INDEX fact_source ON fact (source_turn_id);
CREATE INDEX fact_superseded_by ON fact (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX fact_terms ON fact USING gin (terms);
CREATE INDEX fact_embedded ON fact (embedded_by);

-- Narrow, so that comparing many reads little; in the way of no write of the facts themselves.
CREATE TABLE fact_vector (
  fact_id  text NOT NULL REFERENCES fact (id) ON DELETE CASCADE,
  embedder text NOT NULL REFERENCES embedder (name) ON DELETE CASCADE,
  object   vector NOT NULL,
  sentence vector NOT NULL,
  PRIMARY KEY (fact_id, embedder)
);
CREATE INDEX fact_vector_embedder ON fact_vector (embedder);

CREATE TABLE user_profile (
  tenant      text NOT NULL,
  user_id     text NOT NULL,
  content     text NOT NULL,
  token_count integer NOT NULL,
  made_by     text NOT NULL,
  made_of     text[] NOT NULL,
  updated_at  timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, user_id)
);

-- Beside the journal, which every append rewrites.
CREATE TABLE room_progress (
  conversation_id text PRIMARY KEY REFERENCES conversation (id) ON DELETE CASCADE,
  extracted_through integer NOT NULL DEFAULT 0,
  extractions       integer NOT NULL DEFAULT 0,
  counted_through   integer NOT NULL DEFAULT 0
);

CREATE TABLE user_progress (
  tenant           text NOT NULL,
  user_id          text NOT NULL,
  turns            bigint NOT NULL DEFAULT 0,
  profiled_turns   bigint NOT NULL DEFAULT 0,
  profilings       integer NOT NULL DEFAULT 0,
  reconciled_turns bigint NOT NULL DEFAULT 0,
  reconciliations  integer NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, user_id)
);

CREATE TABLE fact_tally (
  tenant                   text PRIMARY KEY,
  exact_duplicates_skipped bigint NOT NULL DEFAULT 0
);
