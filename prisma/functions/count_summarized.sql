-- Recomputes the journal's summary watermark and counters from the current summaries of a conversation. The caller holds
-- the lock on the conversation's journal.
CREATE OR REPLACE FUNCTION count_summarized(p_conversation_id text) RETURNS void
LANGUAGE sql AS $$
  UPDATE journal j
  SET summarized_through = s.through, summarized_turns = s.turns, summarized_tokens = s.tokens
  FROM (SELECT coalesce(max(to_seq), 0) AS through, coalesce(sum(turns), 0) AS turns,
               coalesce(sum(turn_tokens), 0) AS tokens
        FROM summary WHERE conversation_id = p_conversation_id AND superseded_by IS NULL AND NOT stale) s
  WHERE j.conversation_id = p_conversation_id
$$;
