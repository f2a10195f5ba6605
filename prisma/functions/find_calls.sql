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
