-- Checks the claim with which a turn answers another one. Called by append_turns, which has locked the conversation.
--
-- p_actor     the author of the answer
-- p_reply_to  any version of the turn that it answers
-- p_hash      hash of the claim's token
--
-- Returns null if the author holds the claim and it is live. Otherwise {turnId, state, answerId}: the version given, the
-- state as in src/domain/agent/claim/state.ts, and the turn that answers with this claim; the state is NONE if the author has
-- no such claim. Only the author's own claim is described, so the result reveals nothing to others.
CREATE OR REPLACE FUNCTION claim_fault(p_conversation text, p_actor text, p_reply_to text, p_hash text) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  found record;
BEGIN
  SELECT k.answer_id, CASE WHEN k.ended_at IS NOT NULL THEN k.outcome::text
                           WHEN k.answer_id IS NOT NULL THEN 'ANSWERING'
                           WHEN k.expires_at <= clock_timestamp() THEN 'EXPIRED'
                           ELSE 'HELD' END AS state
  INTO found
  FROM turn v
  JOIN turn f ON f.conversation_id = v.conversation_id AND f.root_seq = v.root_seq AND f.seq = v.root_seq
  JOIN claim k ON k.turn_id = f.id
  WHERE v.id = p_reply_to AND v.conversation_id = p_conversation AND k.actor = p_actor AND k.token_hash = p_hash
  ORDER BY k.ended_at IS NOT NULL LIMIT 1;
  IF found.state = 'HELD' THEN RETURN NULL; END IF;
  RETURN jsonb_build_object('turnId', p_reply_to, 'state', coalesce(found.state, 'NONE'), 'answerId', found.answer_id);
END $$;
