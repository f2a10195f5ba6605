-- Writes a summary and its entry. A summary covers turns that directly follow the covered ones, current summaries, or
-- both. Called by src/store/sql/memory/summary/write-summary.ts.
--
-- p_current   ids of the current summaries that the caller read, oldest first
-- p_replaces  those of them that the new summary replaces: consecutive, and including the last one if p_turns has any
-- p_turns     ids of the turns it also covers, in order: every committed turn without audience after the covered ones, up
--             to rootSeq p_to. Empty for a summary of summaries.
--
-- One row. outcome: 'written' with the entry's seq; 'moved' when the conversation changed since the caller read it, so
-- that a turn would be covered twice, in an older version, or not at all; 'missing' when the tenant has no such
-- conversation.
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
