-- Finds the tool calls that the results of a turn answer, in the view of the turn's author. Called by append_turns,
-- close_turn and src/store/sql/turn/find-calls.ts while the conversation is locked.
--
-- p_windows  the author's history windows
-- p_results  [{part, callId, name, turnId}], at most one per content part. turnId is any version of the turn that made
--            the call, or null. Elements with the key `place` answer calls of the same append, and have no row.
--
-- A call is identified by its turn and its callId; all versions of a turn are the same turn. Without turnId, a result
-- answers the only call with its callId and tool. Of several such calls by one actor, it answers the only one without a
-- result. Only the 100 newest calls with the callId and tool are considered.
--
-- One row per element. outcome: 'found' with the id and the position (root_seq) of the call's turn; 'no_call';
-- 'other_name' when such calls name other tools; 'ambiguous' when several calls are possible. detail, unless 'found':
-- {callId, name, turnId, found}; found lists the names of the tools, or the ids of at most 10 of the turns.
CREATE OR REPLACE FUNCTION find_calls(p_conversation text, p_actor text, p_windows integer[], p_results jsonb)
RETURNS TABLE (part integer, call_id text, outcome text, detail jsonb, turn_id text, call_position integer)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  r record;
  made record;
  tools text[];
  one record;
BEGIN
  FOR r IN
    SELECT (e.v->>'part')::integer AS part, e.v->>'callId' AS call_id, e.v->>'name' AS name, e.v->>'turnId' AS turn_id
    FROM jsonb_array_elements(p_results) AS e(v) WHERE NOT e.v ? 'place'
  LOOP
    IF r.turn_id IS NOT NULL THEN
      SELECT x.id, x.root_seq, k.name INTO one
      FROM turn g
      JOIN turn x ON x.conversation_id = g.conversation_id AND x.root_seq = g.root_seq
      JOIN tool_call k ON k.conversation_id = p_conversation AND k.call_id = r.call_id AND k.turn_id = x.id
      WHERE g.id = r.turn_id AND g.conversation_id = p_conversation
        AND width_bucket(g.seq, p_windows) % 2 = 1 AND width_bucket(x.seq, p_windows) % 2 = 1
        AND width_bucket(x.root_seq, p_windows) % 2 = 1 AND (x.audience IS NULL OR p_actor = ANY (x.audience))
      ORDER BY x.id = g.id DESC, x.seq DESC LIMIT 1;
      IF one.name = r.name THEN
        RETURN QUERY SELECT r.part, r.call_id, 'found', NULL::jsonb, one.id, one.root_seq;
        CONTINUE;
      END IF;
      tools := array_remove(ARRAY[one.name], NULL);
    ELSE
      SELECT count(*) AS calls, array_agg(c.id ORDER BY c.root_seq DESC) AS ids,
             array_agg(c.root_seq ORDER BY c.root_seq DESC) AS positions, count(DISTINCT c.actor) AS actors INTO made
      FROM (
        -- The newest version in view of each turn.
        SELECT DISTINCT ON (n.root_seq) n.root_seq, n.id, n.actor
        FROM (SELECT x.id, x.seq, x.root_seq, x.actor
              FROM tool_call k JOIN turn x ON x.id = k.turn_id
              WHERE k.conversation_id = p_conversation AND k.call_id = r.call_id AND k.name = r.name
                AND width_bucket(x.seq, p_windows) % 2 = 1 AND width_bucket(x.root_seq, p_windows) % 2 = 1
                AND (x.audience IS NULL OR p_actor = ANY (x.audience))
              ORDER BY k.turn_id DESC LIMIT 100) n
        ORDER BY n.root_seq, n.seq DESC) c;
      IF made.calls > 1 AND made.actors = 1 THEN
        SELECT count(*) AS calls, array_agg(w.id ORDER BY w.root_seq DESC) AS ids,
               array_agg(w.root_seq ORDER BY w.root_seq DESC) AS positions INTO one
        FROM unnest(made.ids, made.positions) AS w(id, root_seq)
        WHERE NOT EXISTS (
          SELECT FROM tool_result a JOIN turn y ON y.id = a.turn_id
          WHERE a.conversation_id = p_conversation AND a.call_id = r.call_id AND a.call_position = w.root_seq
            AND y.superseded_by IS NULL AND (y.audience IS NULL OR p_actor = ANY (y.audience))
            AND width_bucket(y.seq, p_windows) % 2 = 1 AND width_bucket(y.root_seq, p_windows) % 2 = 1);
        IF one.calls > 0 THEN
          made.calls := one.calls;
          made.ids := one.ids;
          made.positions := one.positions;
        END IF;
      END IF;
      IF made.calls = 1 THEN
        RETURN QUERY SELECT r.part, r.call_id, 'found', NULL::jsonb, made.ids[1], made.positions[1];
        CONTINUE;
      ELSIF made.calls > 1 THEN
        RETURN QUERY
        SELECT r.part, r.call_id, 'ambiguous',
               jsonb_build_object('callId', r.call_id, 'name', r.name, 'turnId', NULL, 'found', to_jsonb(made.ids[1:10])),
               NULL, NULL::integer;
        CONTINUE;
      END IF;
      tools := ARRAY(
        SELECT DISTINCT n.name
        FROM (SELECT k.name
              FROM tool_call k JOIN turn x ON x.id = k.turn_id
              WHERE k.conversation_id = p_conversation AND k.call_id = r.call_id
                AND width_bucket(x.seq, p_windows) % 2 = 1 AND width_bucket(x.root_seq, p_windows) % 2 = 1
                AND (x.audience IS NULL OR p_actor = ANY (x.audience))
              ORDER BY k.turn_id DESC LIMIT 100) n
        ORDER BY n.name);
    END IF;
    RETURN QUERY
    SELECT r.part, r.call_id, CASE WHEN cardinality(tools) = 0 THEN 'no_call' ELSE 'other_name' END,
           jsonb_build_object('callId', r.call_id, 'name', r.name, 'turnId', r.turn_id, 'found', to_jsonb(tools[1:10])),
           NULL, NULL::integer;
  END LOOP;
END $$;
