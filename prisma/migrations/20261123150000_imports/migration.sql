-- Marks imports: turns and facts whose time was given by a client. `imported_at` is when the server received them.
-- Existing rows are marked if their time lies more than a minute before the server wrote them.

ALTER TABLE turn ADD COLUMN imported_at timestamptz(3);
ALTER TABLE fact ADD COLUMN imported_at timestamptz(3);
ALTER TABLE fact_source ADD COLUMN imported_at timestamptz(3);

UPDATE turn t SET imported_at = e.at
FROM entry e
WHERE e.conversation_id = t.conversation_id AND e.seq = t.seq AND t.created_at < e.at - interval '1 minute';

UPDATE fact_source s SET imported_at = coalesce(o.imported_at, s.created_at)
FROM (
  SELECT s.fact_id, s.source, t.imported_at FROM fact_source s LEFT JOIN turn t ON t.id = s.turn_id
  WHERE t.imported_at IS NOT NULL OR s.observed_at < coalesce(t.created_at, s.created_at) - interval '1 minute') o
WHERE o.fact_id = s.fact_id AND o.source = s.source;

UPDATE fact f SET imported_at = s.imported_at
FROM fact_source s
WHERE s.fact_id = f.id AND s.imported_at IS NOT NULL AND s.observed_at = f.observed_at
  AND s.asserted_by IS NOT DISTINCT FROM f.asserted_by;

-- Appends or opens turns: any number of calls, each atomic and for one conversation. Called by
-- src/store/sql/turn/append-turns.ts.
--
-- p_calls  [{conversationId, tenant, viewer, expected, limits, turns: [{id, actor, kind, role, status, text, …}]}]. A conversation may
--          occur more than once only when none of its calls carries `expected`.
--          limits  maximum numbers {participants, openInConversation, openByViewer}; null or absent for none. The first
--                  counts former participants too. openByViewer may be exceeded by calls that run at the same time.
-- p_wait   false skips conversations that another transaction has locked: their calls have no row in the result.
--
-- A call for a conversation that its tenant does not have has no row, locks nothing and waits for nothing. Otherwise the call has one row a turn ('written', with the detail
-- 'joined' when the actor joined one entry before; or 'repeated', with the turn that its clientId already wrote), or one
-- row that names the fault ('moved_on', 'other_content', 'stranger', 'no_call', 'removed',
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
  -- In id order, so that two batches cannot wait for each other. The tenant is compared before the row is locked.
  IF p_wait THEN
    locked := ARRAY(
      SELECT j.conversation_id
      FROM (SELECT DISTINCT c->>'conversationId' AS id, c->>'tenant' AS tenant
            FROM jsonb_array_elements(p_calls) c ORDER BY id, tenant) a
      CROSS JOIN LATERAL (SELECT j.conversation_id FROM journal j
                          WHERE j.conversation_id = a.id AND j.tenant = a.tenant LIMIT 1 FOR UPDATE) j);
  ELSE
    locked := ARRAY(
      SELECT j.conversation_id
      FROM (SELECT DISTINCT c->>'conversationId' AS id, c->>'tenant' AS tenant
            FROM jsonb_array_elements(p_calls) c ORDER BY id, tenant) a
      CROSS JOIN LATERAL (SELECT j.conversation_id FROM journal j
                          WHERE j.conversation_id = a.id AND j.tenant = a.tenant LIMIT 1 FOR UPDATE SKIP LOCKED) j);
  END IF;

  RETURN QUERY
  -- The scalar and LIMIT 1 look-ups keep the planner on the primary keys, whatever it thinks of the batch's size.
  WITH said AS MATERIALIZED (
    SELECT (c.o - 1)::integer AS call, (t.o - 1)::integer AS place, j.conversation_id, j.last_seq, j.salt,
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
      SELECT s.call, s.place, 'moved_on' AS outcome, s.last_seq::text AS detail
      FROM said s WHERE s.expected <> s.last_seq AND s.twin_id IS NULL
      UNION ALL
      SELECT s.call, s.place, 'other_content', s."clientId"
      FROM said s WHERE s.twin_hash <> s."clientHash"
      UNION ALL
      SELECT s.call, s.place, 'removed', s.actor FROM said s WHERE s.twin_id IS NULL AND s.removed
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
