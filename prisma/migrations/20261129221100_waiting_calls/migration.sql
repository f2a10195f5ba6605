-- A tool call that waits for approval is frozen, and its approval has the hash of what it approves.
ALTER TABLE approval ADD call_hash text;
ALTER TABLE tool_result ADD approval_id text;
CREATE INDEX run_active ON run (conversation_id) WHERE ended_at IS NULL;

-- The results that were written after the decision. The owner of the tables is subject to their policies.
SET LOCAL ROLE colloquy_system;
UPDATE tool_result x SET approval_id = a.id
FROM approval a
JOIN turn c ON c.id = a.turn_id AND c.conversation_id = a.conversation_id
JOIN entry e ON e.conversation_id = a.conversation_id AND e.approval_id = a.id AND e.kind = 'APPROVAL_RESOLVED'
JOIN turn t ON t.conversation_id = a.conversation_id AND t.seq > e.seq
WHERE x.conversation_id = a.conversation_id AND x.call_id = a.call_id AND x.call_position = c.root_seq
  AND x.turn_id = t.id;
RESET ROLE;

DROP FUNCTION find_calls(text, text, integer[], jsonb);
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
-- given calls. Called by append_turns, close_turn and src/store/sql/approval/read-waiting-calls.ts while the conversation
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
-- Appends or opens turns: any number of calls, each atomic and for one conversation. Called by
-- src/store/sql/turn/append-turns.ts.
--
-- p_calls  [{conversationId, tenant, viewer, expected, limits, turns: [{id, actor, kind, role, status, text, …}]}]. A
--          conversation may occur more than once only when none of its calls carries `expected`.
--          turns[].results  [{part, callId, name, turnId}] as for find_calls; or {part, callId, name, place}, when turn
--                  number `place` of the same call made the tool call
--          turns[].claimHash  hash of the token of the claim with which the turn answers the turn replyToId
--          turns[].runHolder  holder of the run that writes the turn's results, as for find_calls; absent for none
--          turns[].mentions  the names in the turn's text, as for find_mentioned; absent for none
--          limits  maximum numbers {participants, openInConversation, openByViewer}; null or absent for none. The first
--                  counts former participants too. openByViewer may be exceeded by calls that run at the same time.
-- p_wait   false skips conversations that another transaction has locked: their calls have no row in the result.
--
-- A call reaches a conversation of its tenant; a MEMBERS conversation only if every author is or was a participant. Any
-- other call has no row, or one row 'unknown', locks nothing and waits for nothing. Otherwise the call has one row per
-- turn ('written', with the detail 'joined' when the actor joined one entry before, and with the stored parts of a turn
-- with tool results; or 'repeated', with the turn that its clientId already wrote), or one row that names the fault
-- ('moved_on', 'other_content', 'held', 'stranger', 'no_call', 'other_name', 'ambiguous', 'waiting', 'no_reply',
-- 'no_claim', 'removed', 'left', 'participants', 'open_in_conversation', 'open_by_viewer') and nothing is written. In addition,
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
           CASE WHEN r.mentions IS NOT NULL THEN find_mentioned(j.conversation_id, r.mentions) END AS mentioned
    FROM jsonb_array_elements(p_calls) WITH ORDINALITY AS c(v, o)
    CROSS JOIN LATERAL (SELECT * FROM journal j
                        WHERE j.conversation_id = c.v->>'conversationId' AND j.tenant = c.v->>'tenant' LIMIT 1) j
    CROSS JOIN LATERAL jsonb_array_elements(c.v->'turns') WITH ORDINALITY AS t(v, o)
    CROSS JOIN LATERAL jsonb_to_record(t.v) AS r(
      id text, actor text, kind participant_kind, role role, status turn_status, text text, parts jsonb,
      audience text[], tokens integer, "promptTokens" integer, "completionTokens" integer, model text, adapter text,
      "traceId" text, sources jsonb, pinned boolean, metadata jsonb, "clientId" text, "clientHash" text,
      "writerHash" text, "claimHash" text, "runHolder" text, "createdAt" timestamptz, "importedAt" timestamptz, "replyToId" text, calls jsonb, results jsonb,
      terms integer[], cues smallint, mentions text[])
    LEFT JOIN LATERAL (SELECT x.id, x.seq, x.created_at, x.client_hash, x.status FROM turn x
                       WHERE x.conversation_id = j.conversation_id AND x.actor = r.actor
                         AND x.client_id = r."clientId" LIMIT 1) twin ON true
    LEFT JOIN LATERAL (SELECT p.left_at IS NULL AS present, p.removed, p.windows FROM participant p
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
    -- Who speaks without being in the conversation joins by it, one entry before the turn.
    SELECT s.*, s.last_seq + (row_number() OVER w + sum(s.joins::integer) OVER w)::integer AS seq
    FROM (SELECT s.*, s.present IS NOT TRUE
                 AND row_number() OVER (PARTITION BY s.conversation_id, s.actor ORDER BY s.call, s.place) = 1 AS joins
          FROM said s
          WHERE s.twin_id IS NULL AND NOT EXISTS (SELECT FROM fault f WHERE f.call = s.call)) s
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
    SELECT f.conversation_id, f.actor, f.kind, '{1}' FROM fresh f WHERE f.joins
    ON CONFLICT (conversation_id, actor) DO UPDATE SET left_at = NULL, joined_at = now(),
      windows = CASE p.history WHEN 'ALL' THEN '{1}'
                ELSE p.windows || (SELECT f.seq - 1 FROM fresh f
                                   WHERE f.joins AND f.conversation_id = p.conversation_id AND f.actor = p.actor) END
  ), wrote AS (
    INSERT INTO turn (id, conversation_id, seq, root_seq, actor, role, status, text, parts, audience, mentions, token_count,
                      prompt_tokens, completion_tokens, model, adapter, trace_id, sources, pinned, metadata,
                      client_id, client_hash, created_at, imported_at, reply_to_id, terms, cues)
    SELECT f.id, f.conversation_id, f.seq, f.seq, f.actor, f.role, f.status, f.text, coalesce(l.parts, f.parts), f.audience,
           f.mentioned, f.tokens,
           f."promptTokens", f."completionTokens", f.model, f.adapter, f."traceId", f.sources,
           coalesce(f.pinned, false), f.metadata, f."clientId", f."clientHash", coalesce(f."createdAt", now()),
           f."importedAt", f."replyToId", salted(f.terms, f.salt), f.cues
    FROM fresh f LEFT JOIN linked l ON l.call = f.call AND l.place = f.place
  ), recorded AS (
    INSERT INTO entry (conversation_id, seq, kind, turn_id, actor)
    SELECT f.conversation_id, f.seq - 1, 'JOINED', NULL, f.actor FROM fresh f WHERE f.joins
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
  SELECT f.call, f.place, f.outcome, f.detail, NULL, NULL::integer, NULL::timestamptz, NULL::jsonb, NULL::text[] FROM fault f
  UNION ALL
  SELECT s.call, s.place, 'repeated', NULL, s.twin_id, s.twin_seq, s.twin_at, NULL, NULL
  FROM said s WHERE s.twin_id IS NOT NULL AND NOT EXISTS (SELECT FROM fault f WHERE f.call = s.call)
  UNION ALL
  SELECT f.call, f.place, 'written', CASE WHEN f.joins THEN 'joined' END, f.id, f.seq,
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
-- Commits or aborts an open turn: stores its final text, ends its stream, writes the entry and updates the counters.
-- Called by src/store/sql/streaming-turn/close-turn.ts.
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
