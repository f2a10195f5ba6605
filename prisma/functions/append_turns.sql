-- Appends or opens turns: any number of calls, each atomic and for one conversation. Called by
-- src/store/sql/turn/append-turns.ts.
--
-- p_calls  [{conversationId, tenant, viewer, expected, limits, turns: [{id, actor, kind, role, status, text, …}]}]. A
--          conversation may occur more than once only when none of its calls carries `expected`.
--          turns[].results  [{part, callId, name, turnId}] as for find_calls; or {part, callId, name, place}, when turn
--                  number `place` of the same call made the tool call
--          turns[].kind  the kind of participant that the author becomes if the turn makes it join
--          turns[].authorKind  the kind of the author's own credential; absent if another one, or none, writes the turn
--          turns[].leaseSeconds  duration of the lease of an open turn; absent for that of the server
--          turns[].claimHash  hash of the token of the claim with which the turn answers the turn replyToId
--          turns[].runHolder  holder of the run that writes the turn's results, as for find_calls; absent for none
--          turns[].contextId  the stored context from which the turn was generated; absent for none
--          turns[].mentions  the names in the turn's text, as for find_mentioned; absent for none
--          limits  maximum numbers {participants, openInConversation, openByViewer}; null or absent for none. The first
--                  counts former participants too. openByViewer may be exceeded by calls that run at the same time.
-- p_wait   false skips conversations that another transaction has locked: their calls have no row in the result.
--
-- A call reaches a conversation of its tenant; a MEMBERS conversation only if every author is or was a participant. Any
-- other call has no row, or one row 'unknown', locks nothing and waits for nothing. Otherwise the call has one row per
-- turn ('written', with the detail 'joined' when the actor joined one entry before, or
-- 'changed' when its kind as a participant became authorKind one entry before, and with the stored parts of a turn
-- with tool results; or 'repeated', with the turn that its clientId already wrote), or one row that names the fault
-- ('moved_on', 'other_content', 'held', 'stranger', 'no_call', 'other_name', 'ambiguous', 'waiting', 'no_reply',
-- 'no_context', 'no_claim', 'removed', 'left', 'participants', 'open_in_conversation', 'open_by_viewer') and nothing is written. In addition,
-- each turn that wakes up nobody because of the loop guard (wake_up_participants) has a row 'stopped' with the seq of
-- the entry WAKE_UPS_STOPPED. No two calls may answer with the same claim.
--
-- Invariant: numbers are assigned after the conversations are locked, by a second statement with its own snapshot, so
-- the journal has no gap and a clientId is written once.
CREATE OR REPLACE FUNCTION append_turns(p_calls jsonb, p_wait boolean)
RETURNS TABLE (call integer, place integer, outcome text, detail text, id text, seq integer, created_at timestamptz,
               parts jsonb, mentions text[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  locked text[];
  responding boolean;
BEGIN
  -- In id order, so that two batches cannot wait for each other. Tenant and visibility are compared before the row is
  -- locked, and again after a wait for it: the journal's copy of the visibility is then the newest one.
  IF p_wait THEN
    SELECT coalesce(array_agg(j.conversation_id), '{}'), coalesce(bool_or(j.responding), false) INTO locked, responding
    FROM (SELECT DISTINCT c->>'conversationId' AS id, c->>'tenant' AS tenant
          FROM jsonb_array_elements(p_calls) c ORDER BY id, tenant) a
    CROSS JOIN LATERAL (SELECT j.conversation_id, j.responding FROM journal j
                        WHERE j.conversation_id = a.id AND j.tenant = a.tenant
                          AND (j.visibility = 'OPEN' OR EXISTS (
                            SELECT FROM jsonb_array_elements(p_calls) c
                            WHERE c->>'conversationId' = a.id AND c->>'tenant' = a.tenant AND NOT EXISTS (
                              SELECT FROM jsonb_array_elements(c->'turns') t
                              WHERE (SELECT true FROM participant p WHERE p.conversation_id = a.id
                                       AND p.actor = t->>'actor' LIMIT 1) IS NULL)))
                        LIMIT 1 FOR UPDATE) j;
  ELSE
    SELECT coalesce(array_agg(j.conversation_id), '{}'), coalesce(bool_or(j.responding), false) INTO locked, responding
    FROM (SELECT DISTINCT c->>'conversationId' AS id, c->>'tenant' AS tenant
          FROM jsonb_array_elements(p_calls) c ORDER BY id, tenant) a
    CROSS JOIN LATERAL (SELECT j.conversation_id, j.responding FROM journal j
                        WHERE j.conversation_id = a.id AND j.tenant = a.tenant
                          AND (j.visibility = 'OPEN' OR EXISTS (
                            SELECT FROM jsonb_array_elements(p_calls) c
                            WHERE c->>'conversationId' = a.id AND c->>'tenant' = a.tenant AND NOT EXISTS (
                              SELECT FROM jsonb_array_elements(c->'turns') t
                              WHERE (SELECT true FROM participant p WHERE p.conversation_id = a.id
                                       AND p.actor = t->>'actor' LIMIT 1) IS NULL)))
                        LIMIT 1 FOR UPDATE SKIP LOCKED) j;
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
           twin.status AS twin_status,
           m.present, coalesce(m.removed, false) AS removed, coalesce(m.windows, '{1}') AS windows,
           coalesce(m.present AND m.kind <> r."authorKind" AND NOT m.is_run, false) AS differs,
           CASE WHEN r.mentions IS NOT NULL THEN find_mentioned(j.conversation_id, r.mentions) END AS mentioned
    FROM jsonb_array_elements(p_calls) WITH ORDINALITY AS c(v, o)
    CROSS JOIN LATERAL (SELECT * FROM journal j
                        WHERE j.conversation_id = c.v->>'conversationId' AND j.tenant = c.v->>'tenant' LIMIT 1) j
    CROSS JOIN LATERAL jsonb_array_elements(c.v->'turns') WITH ORDINALITY AS t(v, o)
    CROSS JOIN LATERAL jsonb_to_record(t.v) AS r(
      id text, actor text, kind participant_kind, "authorKind" participant_kind, role role, status turn_status, text text, parts jsonb,
      audience text[], tokens integer, "promptTokens" integer, "completionTokens" integer, model text, adapter text,
      "traceId" text, sources jsonb, pinned boolean, metadata jsonb, "clientId" text, "clientHash" text,
      "writerHash" text, "leaseSeconds" integer, "claimHash" text, "runHolder" text, "createdAt" timestamptz, "importedAt" timestamptz, "replyToId" text, "contextId" text, calls jsonb, results jsonb,
      terms integer[], cues smallint, mentions text[])
    LEFT JOIN LATERAL (SELECT x.id, x.seq, x.created_at, x.client_hash, x.status FROM turn x
                       WHERE x.conversation_id = j.conversation_id AND x.actor = r.actor
                         AND x.client_id = r."clientId" LIMIT 1) twin ON true
    LEFT JOIN LATERAL (SELECT p.left_at IS NULL AS present, p.removed, p.windows, p.kind, p.agent IS NOT NULL AS is_run
                       FROM participant p
                       WHERE p.conversation_id = j.conversation_id AND p.actor = r.actor LIMIT 1) m ON true
    WHERE j.conversation_id = ANY (locked)
  ), result AS MATERIALIZED (
    SELECT s.call, s.place, c.*
    FROM said s CROSS JOIN LATERAL find_calls(s.conversation_id, s.actor, s.windows, s.results, s."runHolder") c
    WHERE s.twin_id IS NULL AND s.results IS NOT NULL
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
      SELECT s.call, s.place, CASE WHEN w.viewer IS NULL THEN 'other_content' ELSE 'held' END,
             jsonb_build_object('clientId', s."clientId", 'turnId', s.twin_id, 'status', s.twin_status, 'holder', w.viewer)::text
      FROM said s
      LEFT JOIN LATERAL (SELECT x.viewer FROM stream x WHERE x.turn_id = s.twin_id
                                                         AND x.writer_hash IS DISTINCT FROM s."writerHash" LIMIT 1) w ON true
      WHERE s.twin_hash <> s."clientHash"
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
      SELECT r.call, r.place, r.outcome, r.detail::text FROM result r WHERE r.outcome <> 'found'
      UNION ALL
      SELECT s.call, s.place, 'waiting', w.fault::text
      FROM said s CROSS JOIN LATERAL waiting_call(s.conversation_id, s.actor, s.calls) AS w(fault)
      WHERE s.twin_id IS NULL AND jsonb_array_length(s.calls) > 0 AND w.fault IS NOT NULL
      UNION ALL
      SELECT s.call, s.place, 'no_reply', s."replyToId"
      FROM said s
      WHERE s.twin_id IS NULL AND s."replyToId" IS NOT NULL
        AND (SELECT true FROM turn x
             WHERE x.id = s."replyToId" AND x.conversation_id = s.conversation_id
               AND (x.audience IS NULL OR s.actor = ANY (x.audience))
               AND width_bucket(x.seq, s.windows) % 2 = 1 AND width_bucket(x.root_seq, s.windows) % 2 = 1 LIMIT 1) IS NULL
      UNION ALL
      SELECT s.call, s.place, 'no_context', s."contextId"
      FROM said s
      WHERE s.twin_id IS NULL AND s."contextId" IS NOT NULL
        AND (SELECT true FROM stored_context x
             WHERE x.id = s."contextId" AND x.conversation_id = s.conversation_id AND x.actor = s.actor LIMIT 1) IS NULL
      UNION ALL
      SELECT s.call, s.place, 'no_claim', k.fault::text
      FROM said s
      CROSS JOIN LATERAL claim_fault(s.conversation_id, s.actor, s."replyToId", s."claimHash") AS k(fault)
      WHERE s.twin_id IS NULL AND s."claimHash" IS NOT NULL AND k.fault IS NOT NULL
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
    -- An author who is not a present participant joins one entry before the turn. One entry before the turn, the kind
    -- of a participant becomes that of its credential, unless the server runs it.
    SELECT s.*, s.last_seq + (row_number() OVER w + sum((s.joins OR s.changes)::integer) OVER w)::integer AS seq
    FROM (SELECT s.*, s.present IS NOT TRUE AND s.nth = 1 AS joins, s.differs AND s.nth = 1 AS changes
          FROM (SELECT s.*, row_number() OVER (PARTITION BY s.conversation_id, s.actor, s.differs
                                               ORDER BY s.call, s.place) AS nth
                FROM said s
                WHERE s.twin_id IS NULL AND NOT EXISTS (SELECT FROM fault f WHERE f.call = s.call)) s) s
    WINDOW w AS (PARTITION BY s.conversation_id ORDER BY s.call, s.place)
  ), answered AS MATERIALIZED (
    -- The call of each tool result. Its turn is stored before, or in the same append, perhaps by an earlier attempt.
    SELECT r.call, r.place, r.part, r.call_id, r.turn_id, r.call_position, r.approval_id
    FROM result r WHERE r.outcome = 'found'
    UNION ALL
    SELECT f.call, f.place, (e.v->>'part')::integer, e.v->>'callId', coalesce(c.twin_id, c.id),
           coalesce(c.twin_seq, n.seq), NULL
    FROM fresh f
    CROSS JOIN LATERAL jsonb_array_elements(f.results) AS e(v)
    JOIN said c ON c.call = f.call AND c.place = (e.v->>'place')::integer
    LEFT JOIN fresh n ON n.call = c.call AND n.place = c.place
    WHERE f.results IS NOT NULL
  ), linked AS MATERIALIZED (
    SELECT f.call, f.place,
           jsonb_agg(CASE WHEN a.turn_id IS NULL THEN p.part ELSE p.part || jsonb_strip_nulls(jsonb_build_object(
                       'callTurnId', a.turn_id, 'callPosition', a.call_position, 'approvalId', a.approval_id)) END ORDER BY p.o) AS parts
    FROM fresh f
    CROSS JOIN LATERAL jsonb_array_elements(f.parts) WITH ORDINALITY AS p(part, o)
    LEFT JOIN answered a ON a.call = f.call AND a.place = f.place AND a.part = p.o - 1
    WHERE f.results IS NOT NULL
    GROUP BY f.call, f.place
  ), joined AS (
    INSERT INTO participant AS p (conversation_id, actor, kind, windows)
    SELECT f.conversation_id, f.actor, coalesce(f."authorKind", f.kind), '{1}' FROM fresh f WHERE f.joins
    ON CONFLICT (conversation_id, actor) DO UPDATE SET left_at = NULL, joined_at = now(),
      kind = CASE WHEN p.agent IS NULL
                  THEN coalesce((SELECT f."authorKind" FROM fresh f
                                 WHERE f.joins AND f.conversation_id = p.conversation_id AND f.actor = p.actor), p.kind)
                  ELSE p.kind END,
      windows = CASE p.history WHEN 'ALL' THEN '{1}'
                ELSE p.windows || (SELECT f.seq - 1 FROM fresh f
                                   WHERE f.joins AND f.conversation_id = p.conversation_id AND f.actor = p.actor) END
  ), changed AS (
    UPDATE participant p SET kind = f."authorKind" FROM fresh f
    WHERE p.conversation_id = ANY (locked) AND f.changes AND p.conversation_id = f.conversation_id AND p.actor = f.actor
  ), wrote AS (
    INSERT INTO turn (id, conversation_id, seq, root_seq, actor, author_kind, role, status, text, parts, audience, mentions, token_count,
                      prompt_tokens, completion_tokens, model, adapter, trace_id, sources, pinned, metadata,
                      client_id, client_hash, created_at, imported_at, reply_to_id, context_id, terms, cues)
    SELECT f.id, f.conversation_id, f.seq, f.seq, f.actor, f."authorKind", f.role, f.status, f.text, coalesce(l.parts, f.parts), f.audience,
           f.mentioned, f.tokens,
           f."promptTokens", f."completionTokens", f.model, f.adapter, f."traceId", f.sources,
           coalesce(f.pinned, false), f.metadata, f."clientId", f."clientHash", coalesce(f."createdAt", now()),
           f."importedAt", f."replyToId", f."contextId", salted(f.terms, f.salt), f.cues
    FROM fresh f LEFT JOIN linked l ON l.call = f.call AND l.place = f.place
  ), recorded AS (
    INSERT INTO entry (conversation_id, seq, kind, turn_id, actor)
    SELECT f.conversation_id, f.seq - 1, CASE WHEN f.joins THEN 'JOINED' ELSE 'UPDATED' END::entry_kind, NULL, f.actor
    FROM fresh f WHERE f.joins OR f.changes
    UNION ALL
    SELECT f.conversation_id, f.seq, CASE f.status WHEN 'STREAMING' THEN 'OPENED' ELSE 'APPENDED' END::entry_kind, f.id, NULL
    FROM fresh f
  ), called AS (
    INSERT INTO tool_call (conversation_id, call_id, turn_id, name)
    SELECT f.conversation_id, c.v->>'callId', f.id, c.v->>'name'
    FROM fresh f CROSS JOIN LATERAL jsonb_array_elements(f.calls) AS c(v)
  ), returned AS (
    INSERT INTO tool_result (conversation_id, call_id, call_position, turn_id, approval_id)
    SELECT DISTINCT f.conversation_id, a.call_id, a.call_position, f.id, a.approval_id
    FROM answered a JOIN fresh f ON f.call = a.call AND f.place = a.place
  ), opened AS (
    INSERT INTO stream (turn_id, conversation_id, tenant, viewer, writer_hash, lease_seconds)
    SELECT f.id, f.conversation_id, f.tenant, f.viewer, f."writerHash", f."leaseSeconds" FROM fresh f
    WHERE f.status = 'STREAMING'
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
  SELECT f.call, f.place, f.outcome, f.detail, NULL, NULL::integer, NULL::timestamptz, NULL::jsonb, NULL::text[] FROM fault f
  UNION ALL
  SELECT s.call, s.place, 'repeated', NULL, s.twin_id, s.twin_seq, s.twin_at, NULL, NULL
  FROM said s WHERE s.twin_id IS NOT NULL AND NOT EXISTS (SELECT FROM fault f WHERE f.call = s.call)
  UNION ALL
  SELECT f.call, f.place, 'written', CASE WHEN f.joins THEN 'joined' WHEN f.changes THEN 'changed' END, f.id, f.seq,
         coalesce(f."createdAt", now())::timestamptz(3), l.parts, f.mentioned
  FROM fresh f LEFT JOIN linked l ON l.call = f.call AND l.place = f.place;

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
  IF jsonb_path_exists(p_calls, '$[*].turns[*].claimHash') THEN PERFORM answer_claims(p_calls); END IF;

  IF responding THEN
    RETURN QUERY
    SELECT n.call, n.place, 'stopped', NULL, w.turn_id, w.seq, NULL::timestamptz, NULL::jsonb, NULL::text[]
    FROM wake_up_participants(ARRAY(
      SELECT t->>'id' FROM jsonb_array_elements(p_calls) c CROSS JOIN LATERAL jsonb_array_elements(c->'turns') t)) w
    JOIN (SELECT (c.o - 1)::integer AS call, (t.o - 1)::integer AS place, t.v->>'id' AS id
          FROM jsonb_array_elements(p_calls) WITH ORDINALITY AS c(v, o)
          CROSS JOIN LATERAL jsonb_array_elements(c.v->'turns') WITH ORDINALITY AS t(v, o)) n ON n.id = w.turn_id;
  END IF;
END $$;
