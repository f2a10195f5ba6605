-- Recall: the words of turns, and their vectors.
-- Columns are compared with schema.prisma by a test; what Prisma cannot say (expression indexes) is only here. The HNSW
-- index of an embedder is made when its vectors are complete (src/store/vector-index.ts).

CREATE EXTENSION IF NOT EXISTS vector;

-- All rooms share one index of words. Salted by their owner, one owner's words are found without reading the others'.
ALTER TABLE journal ADD COLUMN salt integer NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN terms integer[], ADD COLUMN cues smallint;
CREATE INDEX turn_terms ON turn USING gin (terms);
-- Turns of before this migration, and of after a change of how words are taken: indexed by and by.
CREATE INDEX turn_unindexed ON turn (id) WHERE terms IS NULL AND status = 'COMMITTED';

CREATE FUNCTION salted(p_terms integer[], p_salt integer) RETURNS integer[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ARRAY(SELECT x # p_salt FROM unnest(p_terms) WITH ORDINALITY AS t(x, o) ORDER BY o);

CREATE TABLE embedder (
  name      text PRIMARY KEY,
  dimension integer NOT NULL,
  added_at  timestamptz(3) NOT NULL DEFAULT now(),
  filled_at timestamptz(3)
);

CREATE TABLE embedding_cursor (
  embedder        text NOT NULL REFERENCES embedder (name) ON DELETE CASCADE,
  conversation_id text NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
  through_seq     integer NOT NULL DEFAULT 0,
  claimed_until   timestamptz(3),
  PRIMARY KEY (conversation_id, embedder)
);

-- The turn's place is part of the key, so that a room is scanned without looking at its turns.
CREATE TABLE turn_vector (
  embedder        text NOT NULL REFERENCES embedder (name) ON DELETE CASCADE,
  conversation_id text NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
  root_seq        integer NOT NULL,
  seq             integer NOT NULL,
  embedding       vector NOT NULL,
  PRIMARY KEY (conversation_id, embedder, root_seq, seq)
);

-- As before, with terms and cues.
CREATE OR REPLACE FUNCTION append_turns(p_calls jsonb, p_wait boolean)
RETURNS TABLE (call integer, place integer, outcome text, detail text, id text, seq integer, created_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  asked  text[] := ARRAY(SELECT c->>'room' FROM jsonb_array_elements(p_calls) c);
  locked text[];
BEGIN
  -- In id order, so that two batches cannot wait for each other.
  IF p_wait THEN
    locked := ARRAY(SELECT j.conversation_id FROM journal j WHERE j.conversation_id = ANY (asked)
                    ORDER BY j.conversation_id FOR UPDATE);
  ELSE
    locked := ARRAY(SELECT j.conversation_id FROM journal j WHERE j.conversation_id = ANY (asked)
                    ORDER BY j.conversation_id FOR UPDATE SKIP LOCKED);
  END IF;

  RETURN QUERY
  -- The scalar and LIMIT 1 look-ups keep the planner on the primary keys, whatever it thinks of the batch's size.
  WITH said AS MATERIALIZED (
    SELECT (c.o - 1)::integer AS call, (t.o - 1)::integer AS place, j.conversation_id AS room, j.last_seq, j.salt,
           (c.v->>'expected')::integer AS expected, r.*,
           twin.id AS twin_id, twin.seq AS twin_seq, twin.created_at AS twin_at, twin.client_hash AS twin_hash,
           (SELECT p.left_at IS NULL FROM participant p
            WHERE p.conversation_id = j.conversation_id AND p.actor = r.actor) AS present
    FROM jsonb_array_elements(p_calls) WITH ORDINALITY AS c(v, o)
    CROSS JOIN LATERAL (SELECT * FROM journal j
                        WHERE j.conversation_id = c.v->>'room' AND j.tenant = c.v->>'tenant' LIMIT 1) j
    CROSS JOIN LATERAL jsonb_array_elements(c.v->'turns') WITH ORDINALITY AS t(v, o)
    CROSS JOIN LATERAL jsonb_to_record(t.v) AS r(
      id text, actor text, kind participant_kind, role role, status turn_status, text text, parts jsonb,
      audience text[], tokens integer, "promptTokens" integer, "completionTokens" integer, model text, adapter text,
      "traceId" text, sources jsonb, pinned boolean, metadata jsonb, "clientId" text, "clientHash" text,
      "createdAt" timestamptz, calls text[], answers text[], terms integer[], cues smallint)
    LEFT JOIN LATERAL (SELECT x.id, x.seq, x.created_at, x.client_hash FROM turn x
                       WHERE x.conversation_id = j.conversation_id AND x.actor = r.actor
                         AND x.client_id = r."clientId" LIMIT 1) twin ON true
    WHERE j.conversation_id = ANY (locked)
  ), fault AS MATERIALIZED (
    SELECT DISTINCT ON (f.call) f.call, f.place, f.outcome, f.detail
    FROM (
      SELECT s.call, s.place, 'moved_on' AS outcome, s.last_seq::text AS detail
      FROM said s WHERE s.expected <> s.last_seq AND s.twin_id IS NULL
      UNION ALL
      SELECT s.call, s.place, 'other_content', s."clientId"
      FROM said s WHERE s.twin_hash <> s."clientHash"
      UNION ALL
      SELECT s.call, s.place, 'stranger', a.actor
      FROM said s CROSS JOIN LATERAL unnest(s.audience) AS a(actor)
      WHERE s.twin_id IS NULL
        AND (SELECT true FROM participant p WHERE p.conversation_id = s.room AND p.actor = a.actor
                                              AND p.left_at IS NULL) IS NULL
        AND NOT EXISTS (SELECT FROM said o WHERE o.call = s.call AND o.actor = a.actor)
      UNION ALL
      SELECT s.call, s.place, 'no_call', a.call_id
      FROM said s CROSS JOIN LATERAL unnest(s.answers) AS a(call_id)
      WHERE s.twin_id IS NULL
        AND (SELECT true FROM tool_call k JOIN turn x ON x.id = k.turn_id
             WHERE k.conversation_id = s.room AND k.call_id = a.call_id
               AND (x.audience IS NULL OR s.actor = ANY (x.audience)) LIMIT 1) IS NULL
    ) f ORDER BY f.call, f.place
  ), fresh AS MATERIALIZED (
    -- Who speaks without being in the room joins by it, one entry before the turn.
    SELECT s.*, s.last_seq + (row_number() OVER w + sum(s.joins::integer) OVER w)::integer AS seq
    FROM (SELECT s.*, s.present IS NOT TRUE
                 AND row_number() OVER (PARTITION BY s.room, s.actor ORDER BY s.call, s.place) = 1 AS joins
          FROM said s
          WHERE s.twin_id IS NULL AND NOT EXISTS (SELECT FROM fault f WHERE f.call = s.call)) s
    WINDOW w AS (PARTITION BY s.room ORDER BY s.call, s.place)
  ), joined AS (
    INSERT INTO participant AS p (conversation_id, actor, kind, windows)
    SELECT f.room, f.actor, f.kind, '{1}' FROM fresh f WHERE f.joins
    ON CONFLICT (conversation_id, actor) DO UPDATE SET left_at = NULL, joined_at = now(),
      windows = CASE p.history WHEN 'ALL' THEN '{1}'
                ELSE p.windows || (SELECT f.seq - 1 FROM fresh f
                                   WHERE f.joins AND f.room = p.conversation_id AND f.actor = p.actor) END
  ), wrote AS (
    INSERT INTO turn (id, conversation_id, seq, root_seq, actor, role, status, text, parts, audience, token_count,
                      prompt_tokens, completion_tokens, model, adapter, trace_id, sources, pinned, metadata,
                      client_id, client_hash, created_at, terms, cues)
    SELECT f.id, f.room, f.seq, f.seq, f.actor, f.role, f.status, f.text, f.parts, f.audience, f.tokens,
           f."promptTokens", f."completionTokens", f.model, f.adapter, f."traceId", f.sources,
           coalesce(f.pinned, false), f.metadata, f."clientId", f."clientHash", coalesce(f."createdAt", now()),
           salted(f.terms, f.salt), f.cues
    FROM fresh f
  ), recorded AS (
    INSERT INTO entry (conversation_id, seq, kind, turn_id, actor)
    SELECT f.room, f.seq - 1, 'JOINED', NULL, f.actor FROM fresh f WHERE f.joins
    UNION ALL
    SELECT f.room, f.seq, CASE f.status WHEN 'STREAMING' THEN 'OPENED' ELSE 'APPENDED' END::entry_kind, f.id, NULL
    FROM fresh f
  ), called AS (
    INSERT INTO tool_call (conversation_id, call_id, turn_id)
    SELECT DISTINCT f.room, a.call_id, f.id FROM fresh f CROSS JOIN LATERAL unnest(f.calls) AS a(call_id)
  ), opened AS (
    INSERT INTO stream (turn_id, conversation_id) SELECT f.id, f.room FROM fresh f WHERE f.status = 'STREAMING'
  ), counted AS (
    UPDATE journal j
    SET last_seq = n.last_seq, turn_count = j.turn_count + n.turns, token_count = j.token_count + n.tokens,
        updated_at = now()
    FROM (SELECT f.room, max(f.seq) AS last_seq,
                 count(*) FILTER (WHERE f.status = 'COMMITTED' AND f.audience IS NULL) AS turns,
                 coalesce(sum(f.tokens) FILTER (WHERE f.status = 'COMMITTED' AND f.audience IS NULL), 0) AS tokens
          FROM fresh f GROUP BY f.room) n
    WHERE j.conversation_id = ANY (locked) AND j.conversation_id = n.room
  )
  SELECT f.call, f.place, f.outcome, f.detail, NULL, NULL::integer, NULL::timestamptz FROM fault f
  UNION ALL
  SELECT s.call, s.place, 'repeated', NULL, s.twin_id, s.twin_seq, s.twin_at
  FROM said s WHERE s.twin_id IS NOT NULL AND NOT EXISTS (SELECT FROM fault f WHERE f.call = s.call)
  UNION ALL
  SELECT f.call, f.place, 'written', CASE WHEN f.joins THEN 'joined' END, f.id, f.seq,
         coalesce(f."createdAt", now())::timestamptz(3)
  FROM fresh f;

  -- From their first private turn on, participants are told apart when views are compared.
  IF jsonb_path_exists(p_calls, '$[*].turns[*].audience[*]') THEN
    UPDATE participant p SET addressed = true
    FROM (SELECT DISTINCT c->>'room' AS room, a AS actor
          FROM jsonb_array_elements(p_calls) c, jsonb_array_elements(c->'turns') t,
               jsonb_array_elements_text(CASE jsonb_typeof(t->'audience') WHEN 'array' THEN t->'audience' ELSE '[]' END) a) x
    WHERE p.conversation_id = ANY (locked) AND p.conversation_id = x.room AND p.actor = x.actor AND NOT p.addressed;
  END IF;
END $$;

-- As before, with p_terms and p_cues.
DROP FUNCTION close_turn;
CREATE FUNCTION close_turn(
  p_tenant text, p_turn text, p_status turn_status, p_end integer, p_text text, p_parts jsonb, p_tokens integer,
  p_prompt_tokens integer, p_completion_tokens integer, p_model text, p_metadata jsonb, p_reason text,
  p_calls text[], p_answers text[], p_silent_ms integer, p_terms integer[], p_cues smallint)
RETURNS TABLE (outcome text, detail text, room text, actor text, seq integer, status turn_status)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t turn%ROWTYPE;
  j journal%ROWTYPE;
  renewed timestamptz;
  tail record;
  stray text;
BEGIN
  SELECT x.* INTO t FROM turn x JOIN conversation c ON c.id = x.conversation_id AND c.tenant = p_tenant
  WHERE x.id = p_turn;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'missing', NULL, NULL, NULL, NULL::integer, NULL::turn_status;
    RETURN;
  END IF;
  SELECT * INTO j FROM journal WHERE conversation_id = t.conversation_id FOR UPDATE;
  SELECT s.renewed_at INTO renewed FROM stream s WHERE s.turn_id = p_turn FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'closed', NULL, t.conversation_id, t.actor, NULL::integer, x.status FROM turn x WHERE x.id = p_turn;
    RETURN;
  END IF;
  SELECT c."end", c.written_at INTO tail FROM chunk c WHERE c.turn_id = p_turn ORDER BY c.start DESC LIMIT 1;
  IF coalesce(tail."end", 0) <> p_end THEN
    RETURN QUERY SELECT 'grown', NULL, t.conversation_id, t.actor, NULL::integer, t.status;
    RETURN;
  END IF;
  IF p_silent_ms IS NOT NULL
     AND greatest(renewed, tail.written_at) > clock_timestamp() - make_interval(secs => p_silent_ms / 1000.0) THEN
    RETURN QUERY SELECT 'alive', NULL, t.conversation_id, t.actor, NULL::integer, t.status;
    RETURN;
  END IF;
  SELECT a.call_id INTO stray FROM unnest(p_answers) AS a(call_id)
  WHERE NOT EXISTS (SELECT FROM tool_call k JOIN turn x ON x.id = k.turn_id
                    WHERE k.conversation_id = t.conversation_id AND k.call_id = a.call_id
                      AND (x.audience IS NULL OR t.actor = ANY (x.audience)))
  LIMIT 1;
  IF FOUND THEN
    RETURN QUERY SELECT 'no_call', stray, t.conversation_id, t.actor, NULL::integer, t.status;
    RETURN;
  END IF;

  UPDATE turn x
  SET status = p_status, text = p_text, parts = p_parts, token_count = p_tokens, abort_reason = p_reason,
      prompt_tokens = coalesce(p_prompt_tokens, x.prompt_tokens),
      completion_tokens = coalesce(p_completion_tokens, x.completion_tokens),
      model = coalesce(p_model, x.model), metadata = coalesce(p_metadata, x.metadata),
      terms = salted(p_terms, j.salt), cues = p_cues
  WHERE x.id = p_turn;
  DELETE FROM stream WHERE turn_id = p_turn;
  INSERT INTO tool_call (conversation_id, call_id, turn_id)
  SELECT DISTINCT t.conversation_id, a.call_id, p_turn FROM unnest(p_calls) AS a(call_id) ON CONFLICT DO NOTHING;
  INSERT INTO entry (conversation_id, seq, kind, turn_id)
  VALUES (t.conversation_id, j.last_seq + 1, p_status::text::entry_kind, p_turn);
  UPDATE journal x
  SET last_seq = j.last_seq + 1, updated_at = now(),
      turn_count = x.turn_count + (p_status = 'COMMITTED' AND t.audience IS NULL)::integer,
      token_count = x.token_count + CASE WHEN p_status = 'COMMITTED' AND t.audience IS NULL THEN p_tokens ELSE 0 END
  WHERE x.conversation_id = t.conversation_id;
  RETURN QUERY SELECT 'written', NULL, t.conversation_id, t.actor, j.last_seq + 1, p_status;
END $$;
