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
