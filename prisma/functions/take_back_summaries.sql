-- Marks summaries as stale if they cover the changed turn or a later one. A summary that ends before the turn becomes
-- current again if a stale summary superseded it. The caller holds the lock on the conversation's journal.
--
-- p_root  rootSeq of the changed turn
CREATE OR REPLACE FUNCTION take_back_summaries(p_conversation_id text, p_root integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE summary SET stale = true WHERE conversation_id = p_conversation_id AND to_seq >= p_root AND NOT stale;
  IF FOUND THEN
    UPDATE summary s SET superseded_by = NULL
    WHERE s.conversation_id = p_conversation_id AND NOT s.stale
      AND EXISTS (SELECT FROM summary g WHERE g.id = s.superseded_by AND g.stale);
    PERFORM count_summarized(p_conversation_id);
  END IF;
END $$;
