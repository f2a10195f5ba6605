-- Records the turns that answer with a claim, in the claim. Called by append_turns, which has locked the conversations,
-- written the turns and checked the claims.
--
-- p_conversations, p_of, p_ids  as for append_turns
-- p_hashes                      of each turn, the hash of the token of the claim with which it answers; null for none
--
-- A committed turn ends its claim as answered, with the wake-ups that the claim excludes: that of its holder, or all of
-- the turn for scope TURN. A streaming turn keeps the claim until close_turn ends it. Turns that were not written,
-- repetitions, and turns that wait for results of their tool calls, change nothing.
CREATE OR REPLACE FUNCTION answer_claims(p_conversations text[], p_of integer[], p_ids text[], p_hashes text[])
RETURNS void LANGUAGE sql AS $$
  WITH answered AS (
    UPDATE claim k
    SET answer_id = x.id,
        ended_at = CASE x.status WHEN 'COMMITTED' THEN clock_timestamp() END,
        outcome = CASE x.status WHEN 'COMMITTED' THEN 'ANSWERED'::claim_outcome END
    FROM unnest(p_of, p_ids, p_hashes) AS t(c, id, hash)
    CROSS JOIN LATERAL (
      SELECT x.id, x.status, x.actor, x.parts, f.id AS first_id
      FROM turn x
      JOIN turn v ON v.id = x.reply_to_id AND v.conversation_id = x.conversation_id
      JOIN turn f ON f.conversation_id = v.conversation_id AND f.root_seq = v.root_seq AND f.seq = v.root_seq
      WHERE x.id = t.id AND x.conversation_id = p_conversations[t.c] LIMIT 1) x
    WHERE t.hash IS NOT NULL
      AND k.turn_id = x.first_id AND k.actor = x.actor AND k.token_hash = t.hash AND k.ended_at IS NULL
      AND NOT (x.status = 'COMMITTED' AND has_open_calls(x.parts))
    RETURNING k.turn_id, k.slot, k.answer_id, k.ended_at
  )
  UPDATE wake_up w SET answered_at = now(), answer_id = a.answer_id
  FROM answered a
  WHERE a.ended_at IS NOT NULL AND w.turn_id = a.turn_id AND (a.slot = '' OR w.actor = a.slot)
    AND w.answered_at IS NULL AND w.dropped_reason IS NULL
$$;
