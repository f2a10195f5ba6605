-- A MEMBERS conversation exists for its present and former participants only. Existing conversations stay visible to
-- every actor of their tenant.
CREATE TYPE conversation_visibility AS ENUM ('OPEN', 'MEMBERS');
ALTER TABLE conversation
  ADD COLUMN key_scope text NOT NULL DEFAULT '',
  ADD COLUMN visibility conversation_visibility NOT NULL DEFAULT 'OPEN';
ALTER TABLE conversation DROP CONSTRAINT conversation_tenant_key_key;
CREATE UNIQUE INDEX conversation_key ON conversation (tenant, key, key_scope);
ALTER TABLE journal ADD COLUMN visibility conversation_visibility NOT NULL DEFAULT 'OPEN';

-- Appends or opens turns: any number of calls, each atomic and for one conversation. Called by
-- src/store/sql/turn/append-turns.ts.
--
-- p_calls  [{conversationId, tenant, viewer, expected, limits, turns: [{id, actor, kind, role, status, text, …}]}]. A conversation may
--          occur more than once only when none of its calls carries `expected`.
--          limits  maximum numbers {participants, openInConversation, openByViewer}; null or absent for none. The first
--                  counts former participants too. openByViewer may be exceeded by calls that run at the same time.
-- p_wait   false skips conversations that another transaction has locked: their calls have no row in the result.
--
-- A call reaches a conversation of its tenant; a MEMBERS conversation only if every author is or was a participant. Any
-- other call has no row, or one row 'unknown', locks nothing and waits for nothing. Otherwise the call has one row a turn ('written', with the detail
-- 'joined' when the actor joined one entry before; or 'repeated', with the turn that its clientId already wrote), or one
-- row that names the fault ('moved_on', 'other_content', 'stranger', 'no_call', 'removed', 'left',
-- 'participants', 'open_in_conversation', 'open_by_viewer') and nothing is written.
--
-- Invariant: numbers are assigned after the conversations are locked, by a second statement with its own snapshot, so
-- the journal has no gap and a clientId is written once.
CREATE OR REPLACE FUNCTION append_turns(p_calls jsonb, p_wait boolean)
RETURNS TABLE (call integer, place integer, outcome text, detail text, id text, seq integer, created_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  locked text[];
BEGIN
  -- In id order, so that two batches cannot wait for each other. Tenant and visibility are compared before the row is
  -- locked, and again after a wait for it: the journal's copy of the visibility is then the newest one.
  IF p_wait THEN
    locked := ARRAY(
      SELECT j.conversation_id
      FROM (SELECT DISTINCT c->>'conversationId' AS id, c->>'tenant' AS tenant
            FROM jsonb_array_elements(p_calls) c ORDER BY id, tenant) a
      CROSS JOIN LATERAL (SELECT j.conversation_id FROM journal j
                          WHERE j.conversation_id = a.id AND j.tenant = a.tenant
                            AND (j.visibility = 'OPEN' OR EXISTS (
                              SELECT FROM jsonb_array_elements(p_calls) c
                              WHERE c->>'conversationId' = a.id AND c->>'tenant' = a.tenant AND NOT EXISTS (
                                SELECT FROM jsonb_array_elements(c->'turns') t
                                WHERE (SELECT true FROM participant p WHERE p.conversation_id = a.id
                                         AND p.actor = t->>'actor' LIMIT 1) IS NULL)))
                          LIMIT 1 FOR UPDATE) j);
  ELSE
    locked := ARRAY(
      SELECT j.conversation_id
      FROM (SELECT DISTINCT c->>'conversationId' AS id, c->>'tenant' AS tenant
            FROM jsonb_array_elements(p_calls) c ORDER BY id, tenant) a
      CROSS JOIN LATERAL (SELECT j.conversation_id FROM journal j
                          WHERE j.conversation_id = a.id AND j.tenant = a.tenant
                            AND (j.visibility = 'OPEN' OR EXISTS (
                              SELECT FROM jsonb_array_elements(p_calls) c
                              WHERE c->>'conversationId' = a.id AND c->>'tenant' = a.tenant AND NOT EXISTS (
                                SELECT FROM jsonb_array_elements(c->'turns') t
                                WHERE (SELECT true FROM participant p WHERE p.conversation_id = a.id
                                         AND p.actor = t->>'actor' LIMIT 1) IS NULL)))
                          LIMIT 1 FOR UPDATE SKIP LOCKED) j);
  END IF;

  RETURN QUERY
  -- The scalar and LIMIT 1 look-ups keep the planner on the primary keys, whatever it thinks of the batch's size.
  WITH said AS MATERIALIZED (
    SELECT (c.o - 1)::integer AS call, (t.o - 1)::integer AS place, j.conversation_id, j.last_seq, j.salt, j.visibility,
           (c.v->>'expected')::integer AS expected, c.v->>'tenant' AS tenant, c.v->>'viewer' AS viewer,
           (c.v->'limits'->>'participants')::integer AS max_participants,
           (c.v->'limits'->>'openInConversation')::integer AS max_in_conversation,
           (c.v->'limits'->>'openByViewer')::integer AS max_by_viewer, r.*,
           twin.id AS twin_id, twin.seq AS twin_seq, twin.created_at AS twin_at, twin.client_hash AS twin_hash,
           m.present, coalesce(m.removed, false) AS removed, coalesce(m.windows, '{1}') AS windows
    FROM jsonb_array_elements(p_calls) WITH ORDINALITY AS c(v, o)
    CROSS JOIN LATERAL (SELECT * FROM journal j
                        WHERE j.conversation_id = c.v->>'conversationId' AND j.tenant = c.v->>'tenant' LIMIT 1) j
    CROSS JOIN LATERAL jsonb_array_elements(c.v->'turns') WITH ORDINALITY AS t(v, o)
    CROSS JOIN LATERAL jsonb_to_record(t.v) AS r(
      id text, actor text, kind participant_kind, role role, status turn_status, text text, parts jsonb,
      audience text[], tokens integer, "promptTokens" integer, "completionTokens" integer, model text, adapter text,
      "traceId" text, sources jsonb, pinned boolean, metadata jsonb, "clientId" text, "clientHash" text,
      "writerHash" text, "createdAt" timestamptz, "importedAt" timestamptz, calls text[], answers text[], terms integer[], cues smallint)
    LEFT JOIN LATERAL (SELECT x.id, x.seq, x.created_at, x.client_hash FROM turn x
                       WHERE x.conversation_id = j.conversation_id AND x.actor = r.actor
                         AND x.client_id = r."clientId" LIMIT 1) twin ON true
    LEFT JOIN LATERAL (SELECT p.left_at IS NULL AS present, p.removed, p.windows FROM participant p
                       WHERE p.conversation_id = j.conversation_id AND p.actor = r.actor LIMIT 1) m ON true
    WHERE j.conversation_id = ANY (locked)
  ), fault AS MATERIALIZED (
    SELECT DISTINCT ON (f.call) f.call, f.place, f.outcome, f.detail
    FROM (
      -- Before every other fault: the others would tell that the conversation exists.
      SELECT s.call, -1 AS place, 'unknown' AS outcome, NULL AS detail
      FROM said s WHERE s.visibility = 'MEMBERS' AND s.present IS NULL
      UNION ALL
      SELECT s.call, s.place, 'moved_on', s.last_seq::text
      FROM said s WHERE s.expected <> s.last_seq AND s.twin_id IS NULL
      UNION ALL
      SELECT s.call, s.place, 'other_content', s."clientId"
      FROM said s WHERE s.twin_hash <> s."clientHash"
      UNION ALL
      SELECT s.call, s.place, CASE WHEN s.removed THEN 'removed' ELSE 'left' END, s.actor
      FROM said s WHERE s.twin_id IS NULL AND (s.removed OR s.visibility = 'MEMBERS' AND NOT s.present)
      UNION ALL
      SELECT s.call, s.place, 'stranger', a.actor
      FROM said s CROSS JOIN LATERAL unnest(s.audience) AS a(actor)
      WHERE s.twin_id IS NULL
        AND (SELECT true FROM participant p WHERE p.conversation_id = s.conversation_id AND p.actor = a.actor
                                              AND p.left_at IS NULL) IS NULL
        AND NOT EXISTS (SELECT FROM said o WHERE o.call = s.call AND o.actor = a.actor)
      UNION ALL
      SELECT s.call, s.place, 'no_call', a.call_id
      FROM said s CROSS JOIN LATERAL unnest(s.answers) AS a(call_id)
      WHERE s.twin_id IS NULL
        AND (SELECT true FROM tool_call k JOIN turn x ON x.id = k.turn_id
             WHERE k.conversation_id = s.conversation_id AND k.call_id = a.call_id
               AND (x.audience IS NULL OR s.actor = ANY (x.audience))
               AND width_bucket(x.seq, s.windows) % 2 = 1 AND width_bucket(x.root_seq, s.windows) % 2 = 1 LIMIT 1) IS NULL
      UNION ALL
      SELECT n.call, n.place, 'participants', NULL
      FROM (SELECT s.*, dense_rank() OVER (PARTITION BY s.conversation_id ORDER BY s.actor) AS nth
            FROM said s WHERE s.twin_id IS NULL AND s.present IS NULL) n
      WHERE n.max_participants IS NOT NULL
        AND n.nth + (SELECT count(*) FROM participant p WHERE p.conversation_id = n.conversation_id) > n.max_participants
      UNION ALL
      SELECT n.call, n.place, 'open_in_conversation', NULL
      FROM (SELECT s.*, row_number() OVER (PARTITION BY s.conversation_id ORDER BY s.call, s.place) AS nth
            FROM said s WHERE s.twin_id IS NULL AND s.status = 'STREAMING') n
      WHERE n.max_in_conversation IS NOT NULL
        AND n.nth + (SELECT count(*) FROM stream x WHERE x.conversation_id = n.conversation_id) > n.max_in_conversation
      UNION ALL
      SELECT n.call, n.place, 'open_by_viewer', NULL
      FROM (SELECT s.*, row_number() OVER (PARTITION BY s.tenant, s.viewer ORDER BY s.call, s.place) AS nth
            FROM said s WHERE s.twin_id IS NULL AND s.status = 'STREAMING') n
      WHERE n.max_by_viewer IS NOT NULL
        AND n.nth + (SELECT count(*) FROM stream x WHERE x.tenant = n.tenant AND x.viewer = n.viewer) > n.max_by_viewer
    ) f ORDER BY f.call, f.place
  ), fresh AS MATERIALIZED (
    -- Who speaks without being in the conversation joins by it, one entry before the turn.
    SELECT s.*, s.last_seq + (row_number() OVER w + sum(s.joins::integer) OVER w)::integer AS seq
    FROM (SELECT s.*, s.present IS NOT TRUE
                 AND row_number() OVER (PARTITION BY s.conversation_id, s.actor ORDER BY s.call, s.place) = 1 AS joins
          FROM said s
          WHERE s.twin_id IS NULL AND NOT EXISTS (SELECT FROM fault f WHERE f.call = s.call)) s
    WINDOW w AS (PARTITION BY s.conversation_id ORDER BY s.call, s.place)
  ), joined AS (
    INSERT INTO participant AS p (conversation_id, actor, kind, windows)
    SELECT f.conversation_id, f.actor, f.kind, '{1}' FROM fresh f WHERE f.joins
    ON CONFLICT (conversation_id, actor) DO UPDATE SET left_at = NULL, joined_at = now(),
      windows = CASE p.history WHEN 'ALL' THEN '{1}'
                ELSE p.windows || (SELECT f.seq - 1 FROM fresh f
                                   WHERE f.joins AND f.conversation_id = p.conversation_id AND f.actor = p.actor) END
  ), wrote AS (
    INSERT INTO turn (id, conversation_id, seq, root_seq, actor, role, status, text, parts, audience, token_count,
                      prompt_tokens, completion_tokens, model, adapter, trace_id, sources, pinned, metadata,
                      client_id, client_hash, created_at, imported_at, terms, cues)
    SELECT f.id, f.conversation_id, f.seq, f.seq, f.actor, f.role, f.status, f.text, f.parts, f.audience, f.tokens,
           f."promptTokens", f."completionTokens", f.model, f.adapter, f."traceId", f.sources,
           coalesce(f.pinned, false), f.metadata, f."clientId", f."clientHash", coalesce(f."createdAt", now()),
           f."importedAt", salted(f.terms, f.salt), f.cues
    FROM fresh f
  ), recorded AS (
    INSERT INTO entry (conversation_id, seq, kind, turn_id, actor)
    SELECT f.conversation_id, f.seq - 1, 'JOINED', NULL, f.actor FROM fresh f WHERE f.joins
    UNION ALL
    SELECT f.conversation_id, f.seq, CASE f.status WHEN 'STREAMING' THEN 'OPENED' ELSE 'APPENDED' END::entry_kind, f.id, NULL
    FROM fresh f
  ), called AS (
    INSERT INTO tool_call (conversation_id, call_id, turn_id)
    SELECT DISTINCT f.conversation_id, a.call_id, f.id FROM fresh f CROSS JOIN LATERAL unnest(f.calls) AS a(call_id)
  ), opened AS (
    INSERT INTO stream (turn_id, conversation_id, tenant, viewer, writer_hash)
    SELECT f.id, f.conversation_id, f.tenant, f.viewer, f."writerHash" FROM fresh f WHERE f.status = 'STREAMING'
  ), counted AS (
    UPDATE journal j
    SET last_seq = n.last_seq, turn_count = j.turn_count + n.turns, token_count = j.token_count + n.tokens,
        updated_at = now()
    FROM (SELECT f.conversation_id, max(f.seq) AS last_seq,
                 count(*) FILTER (WHERE f.status = 'COMMITTED' AND f.audience IS NULL) AS turns,
                 coalesce(sum(f.tokens) FILTER (WHERE f.status = 'COMMITTED' AND f.audience IS NULL), 0) AS tokens
          FROM fresh f GROUP BY f.conversation_id) n
    WHERE j.conversation_id = ANY (locked) AND j.conversation_id = n.conversation_id
  )
  SELECT f.call, f.place, f.outcome, f.detail, NULL, NULL::integer, NULL::timestamptz FROM fault f
  UNION ALL
  SELECT s.call, s.place, 'repeated', NULL, s.twin_id, s.twin_seq, s.twin_at
  FROM said s WHERE s.twin_id IS NOT NULL AND NOT EXISTS (SELECT FROM fault f WHERE f.call = s.call)
  UNION ALL
  SELECT f.call, f.place, 'written', CASE WHEN f.joins THEN 'joined' END, f.id, f.seq,
         coalesce(f."createdAt", now())::timestamptz(3)
  FROM fresh f;

  -- From their first private turn on, participants are told apart when views are compared. Only turns that were written
  -- count, so a refused call changes nobody.
  IF jsonb_path_exists(p_calls, '$[*].turns[*].audience[*]') THEN
    UPDATE participant p SET addressed = true
    FROM (SELECT DISTINCT x.conversation_id, a.actor
          FROM jsonb_array_elements(p_calls) c
          CROSS JOIN LATERAL jsonb_array_elements(c->'turns') t
          CROSS JOIN LATERAL (SELECT x.conversation_id, x.audience FROM turn x
                              WHERE x.id = t->>'id' AND x.conversation_id = c->>'conversationId' LIMIT 1) x
          CROSS JOIN LATERAL unnest(x.audience) AS a(actor)
          WHERE jsonb_typeof(t->'audience') = 'array') w
    WHERE p.conversation_id = ANY (locked) AND p.conversation_id = w.conversation_id AND p.actor = w.actor
      AND NOT p.addressed;
  END IF;
END $$;

-- Appends deltas to open turns and renews their leases. Called by src/store/sql/streaming-turn/append-chunks.ts.
--
-- p_deltas  [{turn, tenant, viewer, writer, start, text, units, second, half}], for one turn in order. Turns are locked in id order.
--           viewer  the actor who sends the delta
--           writer  hash of the writer's token
--           start   UTF-16 offset where the delta begins; null for the end of the turn
--           text    whole characters; `units` is their length in UTF-16 units
--           second  low surrogate that precedes the text; the turn must end in the high surrogate
--           half    high surrogate that follows the text; kept until the low surrogate arrives
-- p_limit   maximum length of a turn's text in UTF-8 bytes
--
-- One row a delta. outcome: 'written' with the stored text and the new end; 'renewed' for an empty delta; 'half' when a
-- surrogate would stay unpaired; 'elsewhere' when start is not the end; 'full' beyond p_limit; 'closed' with the turn's
-- status; 'other_writer' when the hash is not that of the stream; 'left' when the author has left the conversation;
-- 'missing' when the tenant has no such turn, or the viewer neither opened it nor sees its conversation. The last three
-- lock nothing.
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
                                                 second integer, half integer)
    ORDER BY r.turn, x.o
  LOOP
    SELECT t.conversation_id, t.status, w.writer_hash,
           EXISTS (SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor
                                               AND p.left_at IS NULL) AS present INTO s
    FROM turn t JOIN conversation c ON c.id = t.conversation_id AND c.tenant = d.tenant
    LEFT JOIN stream w ON w.turn_id = t.id
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
                   FROM turn t WHERE t.id = d.turn;
      CONTINUE;
    END IF;
    SELECT coalesce(c."end", 0) AS "end", c.half, coalesce(c.bytes, 0) AS bytes INTO tail
    FROM (VALUES (1)) v LEFT JOIN LATERAL
      (SELECT * FROM chunk c WHERE c.turn_id = d.turn ORDER BY c.start DESC LIMIT 1) c ON true;
    tail_end := tail."end" + (tail.half IS NOT NULL)::integer;
    IF coalesce(d.start, tail_end) <> tail_end THEN
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

-- The parameter p_viewer is new, and an overload must not remain.
DROP FUNCTION close_turn;
-- Commits or aborts an open turn: stores its final text, ends its stream, writes the entry and updates the counters.
-- Called by src/store/sql/streaming-turn/close-turn.ts.
--
-- p_viewer     the actor who closes the turn; null for the sweep
-- p_writer     hash of the writer's token; null for the sweep, which must give p_silent_ms
-- p_end        end of the text that the caller read, in UTF-16 units; another end means that a delta arrived since
-- p_silent_ms  abort only if the writer has been silent for this long, in ms; null for any
--
-- One row. outcome: 'written' with the entry's seq; 'closed' with the turn's status; 'grown' when a delta arrived since;
-- 'alive' when the writer was not silent for long enough; 'no_call' with the id of the unknown tool call; 'other_writer'
-- when p_writer is not the hash of the stream; 'left' when the author has left the conversation; 'missing' when the tenant
-- has no such turn, or the viewer neither opened it nor sees its conversation. The last three lock nothing.
CREATE OR REPLACE FUNCTION close_turn(
  p_tenant text, p_viewer text, p_turn text, p_writer text, p_status turn_status, p_end integer, p_text text, p_parts jsonb, p_tokens integer,
  p_prompt_tokens integer, p_completion_tokens integer, p_model text, p_metadata jsonb, p_reason text,
  p_calls text[], p_answers text[], p_silent_ms integer, p_terms integer[], p_cues smallint)
RETURNS TABLE (outcome text, detail text, conversation_id text, actor text, seq integer, status turn_status)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t turn%ROWTYPE;
  j journal%ROWTYPE;
  renewed timestamptz;
  writer text;
  tail record;
  stray text;
BEGIN
  SELECT x.* INTO t FROM turn x JOIN conversation c ON c.id = x.conversation_id AND c.tenant = p_tenant
  WHERE x.id = p_turn AND (p_viewer IS NULL OR c.visibility = 'OPEN'
    OR EXISTS (SELECT FROM stream s WHERE s.turn_id = x.id AND s.viewer = p_viewer)
    OR EXISTS (SELECT FROM participant p WHERE p.conversation_id = x.conversation_id AND p.actor = p_viewer));
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'missing', NULL, NULL, NULL, NULL::integer, NULL::turn_status;
    RETURN;
  END IF;
  IF p_writer IS NULL AND p_silent_ms IS NULL THEN RAISE 'close_turn needs p_writer or p_silent_ms'; END IF;
  SELECT s.writer_hash INTO writer FROM stream s WHERE s.turn_id = p_turn;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'closed', NULL, t.conversation_id, t.actor, NULL::integer, x.status FROM turn x WHERE x.id = p_turn;
    RETURN;
  END IF;
  IF writer <> p_writer THEN
    RETURN QUERY SELECT 'other_writer', NULL, t.conversation_id, t.actor, NULL::integer, t.status;
    RETURN;
  END IF;
  IF writer IS NOT NULL AND p_writer IS NOT NULL AND NOT EXISTS (
    SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor AND p.left_at IS NULL) THEN
    RETURN QUERY SELECT 'left', NULL, t.conversation_id, t.actor, NULL::integer, t.status;
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
                      AND (x.audience IS NULL OR t.actor = ANY (x.audience))
                      AND EXISTS (SELECT FROM participant p
                                  WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor
                                    AND width_bucket(x.seq, p.windows) % 2 = 1
                                    AND width_bucket(x.root_seq, p.windows) % 2 = 1))
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
