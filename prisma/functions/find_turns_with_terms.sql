-- Finds turns by their terms in the index turn_terms, which a policy keeps a request from using: && is not leakproof.
-- Called by src/store/sql/recall/find-terms.ts, which reads the turns under the policy.
--
-- p_conversations  ids of conversations that the actor sees
-- p_terms          term hashes, not salted
-- p_limit          maximum number of turns for each term
--
-- Runs as its owner, colloquy_system, so it selects the tenant itself: from the setting, not from an argument. Returns
-- only the place of each term in p_terms, and the keys of committed turns that the actor sees, in their newest visible
-- version. The caller checks the visibility again: here, it only keeps hidden turns from using up p_limit. A few turns
-- may have the term only under the salt of another conversation.
CREATE OR REPLACE FUNCTION find_turns_with_terms(p_actor text, p_conversations text[], p_terms integer[], p_limit integer)
RETURNS TABLE (term bigint, conversation_id text, root_seq integer, seq integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1000
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH v AS MATERIALIZED (
    SELECT j.conversation_id AS id, j.salt, p.actor, coalesce(p.windows, '{1}') AS windows
    FROM journal j LEFT JOIN participant p ON p.conversation_id = j.conversation_id AND p.actor = p_actor
    -- The CASE keeps the planner from expecting few of the conversations.
    WHERE j.conversation_id = ANY (p_conversations)
      AND CASE WHEN j.tenant = current_setting('colloquy.tenant', true) THEN true ELSE false END)
  SELECT q.ordinal, h.conversation_id, h.root_seq, h.seq
  FROM unnest(p_terms) WITH ORDINALITY AS q(term, ordinal)
  CROSS JOIN LATERAL (
    SELECT t.conversation_id, t.root_seq, t.seq
    -- The OFFSET keeps the planner from reading the index once for each conversation.
    FROM (SELECT t.conversation_id, t.root_seq, t.seq, t.audience, t.superseded_by FROM turn t
          WHERE t.terms && ARRAY(SELECT DISTINCT q.term # s.salt FROM v s)
            AND t.tenant = current_setting('colloquy.tenant', true) AND t.status = 'COMMITTED' OFFSET 0) t
    JOIN v ON v.id = t.conversation_id
    WHERE width_bucket(t.seq, v.windows) % 2 = 1 AND width_bucket(t.root_seq, v.windows) % 2 = 1
      AND (t.audience IS NULL OR v.actor = ANY (t.audience))
      AND (t.superseded_by IS NULL OR NOT EXISTS (
        SELECT FROM turn n WHERE n.conversation_id = t.conversation_id AND n.root_seq = t.root_seq AND n.seq > t.seq
                             AND width_bucket(n.seq, v.windows) % 2 = 1))
    LIMIT p_limit) h;
END $$;
