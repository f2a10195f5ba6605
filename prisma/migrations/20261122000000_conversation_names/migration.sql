-- One word for a conversation: tables, indexes, parameters and result columns that said "room". The function bodies are
-- copies of prisma/functions, where their current text is.

ALTER TABLE room_progress RENAME TO conversation_progress;
ALTER INDEX room_progress_pkey RENAME TO conversation_progress_pkey;
ALTER TABLE conversation_progress RENAME CONSTRAINT room_progress_conversation_id_fkey TO conversation_progress_conversation_id_fkey;
ALTER INDEX stream_room RENAME TO stream_conversation;
ALTER INDEX fact_room RENAME TO fact_conversation;

-- Names of parameters and of result columns cannot be replaced in place.
DROP FUNCTION append_chunks(jsonb, integer);
DROP FUNCTION close_turn;
DROP FUNCTION take_back_summaries(text, integer);
DROP FUNCTION write_summary;
DROP FUNCTION count_summarized(text);

-- Appends or opens turns: any number of calls, each for one conversation and whole or not at all.
--
-- p_calls  [{conversationId, tenant, expected, turns: [{id, actor, kind, role, status, text, parts, audience, tokens, …}]}]
--          At most one call a conversation where one of them carries `expected`.
-- p_wait   false: a conversation that somebody else has locked is passed over; its calls have no row in the answer.
--
-- A call for an unknown conversation has no row. Otherwise either each turn has a row ('written', with the detail
-- 'joined' if its actor joined with it, one entry before; or 'repeated', with the turn that its clientId wrote before),
-- or the call has one row that names the fault, and nothing is written. The numbers are taken after the conversations
-- are locked, in a statement (and so a snapshot) of their own: no hole, no twin.
CREATE OR REPLACE FUNCTION append_turns(p_calls jsonb, p_wait boolean)
RETURNS TABLE (call integer, place integer, outcome text, detail text, id text, seq integer, created_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  asked  text[] := ARRAY(SELECT c->>'conversationId' FROM jsonb_array_elements(p_calls) c);
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
    SELECT (c.o - 1)::integer AS call, (t.o - 1)::integer AS place, j.conversation_id, j.last_seq, j.salt,
           (c.v->>'expected')::integer AS expected, r.*,
           twin.id AS twin_id, twin.seq AS twin_seq, twin.created_at AS twin_at, twin.client_hash AS twin_hash,
           (SELECT p.left_at IS NULL FROM participant p
            WHERE p.conversation_id = j.conversation_id AND p.actor = r.actor) AS present
    FROM jsonb_array_elements(p_calls) WITH ORDINALITY AS c(v, o)
    CROSS JOIN LATERAL (SELECT * FROM journal j
                        WHERE j.conversation_id = c.v->>'conversationId' AND j.tenant = c.v->>'tenant' LIMIT 1) j
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
        AND (SELECT true FROM participant p WHERE p.conversation_id = s.conversation_id AND p.actor = a.actor
                                              AND p.left_at IS NULL) IS NULL
        AND NOT EXISTS (SELECT FROM said o WHERE o.call = s.call AND o.actor = a.actor)
      UNION ALL
      SELECT s.call, s.place, 'no_call', a.call_id
      FROM said s CROSS JOIN LATERAL unnest(s.answers) AS a(call_id)
      WHERE s.twin_id IS NULL
        AND (SELECT true FROM tool_call k JOIN turn x ON x.id = k.turn_id
             WHERE k.conversation_id = s.conversation_id AND k.call_id = a.call_id
               AND (x.audience IS NULL OR s.actor = ANY (x.audience)) LIMIT 1) IS NULL
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
                      client_id, client_hash, created_at, terms, cues)
    SELECT f.id, f.conversation_id, f.seq, f.seq, f.actor, f.role, f.status, f.text, f.parts, f.audience, f.tokens,
           f."promptTokens", f."completionTokens", f.model, f.adapter, f."traceId", f.sources,
           coalesce(f.pinned, false), f.metadata, f."clientId", f."clientHash", coalesce(f."createdAt", now()),
           salted(f.terms, f.salt), f.cues
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
    INSERT INTO stream (turn_id, conversation_id) SELECT f.id, f.conversation_id FROM fresh f WHERE f.status = 'STREAMING'
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

  -- From their first private turn on, participants are told apart when views are compared.
  IF jsonb_path_exists(p_calls, '$[*].turns[*].audience[*]') THEN
    UPDATE participant p SET addressed = true
    FROM (SELECT DISTINCT c->>'conversationId' AS conversation_id, a AS actor
          FROM jsonb_array_elements(p_calls) c, jsonb_array_elements(c->'turns') t,
               jsonb_array_elements_text(CASE jsonb_typeof(t->'audience') WHEN 'array' THEN t->'audience' ELSE '[]' END) a) x
    WHERE p.conversation_id = ANY (locked) AND p.conversation_id = x.conversation_id AND p.actor = x.actor AND NOT p.addressed;
  END IF;
END $$;

-- Writes deltas to open turns: [{turn, tenant, start, text, half, joins}], one a turn, ordered by turn.
--
-- start   where the delta begins, or null for the turn's end
-- second  the second half of a surrogate pair that begins the delta, before the text: the first half is the turn's last
-- half    the first half of a pair that ends the delta, after the text: it is kept until the second one comes
--
-- outcome 'written' or 'renewed' (nothing given) with the text as stored and the turn's end; 'half' where a half would
-- stay without its other one; 'elsewhere' where start is not the turn's end; 'full' where the text would have over
-- p_limit bytes; 'closed' with the turn's status; 'missing'.
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
    CROSS JOIN LATERAL jsonb_to_record(x.v) AS r(turn text, tenant text, start integer, text text, units integer,
                                                 second integer, half integer)
    ORDER BY r.turn
  LOOP
    SELECT t.conversation_id, t.status INTO s
    FROM turn t JOIN conversation c ON c.id = t.conversation_id AND c.tenant = d.tenant WHERE t.id = d.turn;
    IF NOT FOUND THEN
      RETURN QUERY SELECT d.place, 'missing', NULL, NULL::integer, NULL, NULL::integer, NULL::integer, NULL::turn_status;
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

-- Commits or aborts an open turn: folds its text, ends its stream, writes the entry and the counters.
--
-- p_end       the end of the text the caller folded: another end means that a delta came in between ('grown')
-- p_silent_ms abort only if the writer has been silent that long, else 'alive'
--
-- outcome     'written' with the entry's seq; 'closed' with the turn's status; 'grown'; 'alive'; 'no_call' with the
--             result's call; 'missing'
CREATE OR REPLACE FUNCTION close_turn(
  p_tenant text, p_turn text, p_status turn_status, p_end integer, p_text text, p_parts jsonb, p_tokens integer,
  p_prompt_tokens integer, p_completion_tokens integer, p_model text, p_metadata jsonb, p_reason text,
  p_calls text[], p_answers text[], p_silent_ms integer, p_terms integer[], p_cues smallint)
RETURNS TABLE (outcome text, detail text, conversation_id text, actor text, seq integer, status turn_status)
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

-- Brings the conversation's watermark in line with its current summaries. Under the conversation's lock.
CREATE OR REPLACE FUNCTION count_summarized(p_conversation_id text) RETURNS void
LANGUAGE sql AS $$
  UPDATE journal j
  SET summarized_through = s.through, summarized_turns = s.turns, summarized_tokens = s.tokens
  FROM (SELECT coalesce(max(to_seq), 0) AS through, coalesce(sum(turns), 0) AS turns,
               coalesce(sum(turn_tokens), 0) AS tokens
        FROM summary WHERE conversation_id = p_conversation_id AND superseded_by IS NULL AND NOT stale) s
  WHERE j.conversation_id = p_conversation_id
$$;

-- Writes a summary of turns that follow on what is covered, of current summaries, or of both; its entry too.
--
-- p_current   the conversation's current summaries as the writer read them, oldest first
-- p_replaces  those of them that this one takes the place of; they follow on one another, the last one included where
--             there are p_turns
-- p_turns     the turns it covers besides, in their order: all committed ones without audience after what is covered, up
--             to p_to. Empty for a summary of summaries.
--
-- outcome     'written' with the entry's seq; 'moved' where the conversation is not as the writer read it, so that some turn
--             would be covered twice, in an older version, or not at all; 'missing'
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

-- After a change to what stands at a place that may be covered: takes back the summaries that reach it. Those that end
-- before it, and that these had taken the place of, are current again. Under the conversation's lock.
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
