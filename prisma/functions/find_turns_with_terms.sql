-- Finds turns by their terms in the index turn_terms, which a policy keeps a request from using: && is not leakproof.
-- Called by src/store/sql/memory/recall/find-terms.ts.
--
-- p_conversations  ids of conversations that the actor sees
-- p_terms          term hashes, not salted
-- p_limit          maximum number of turns for each term
--
-- Reads the rights of the actor from public.participant, because its twin in the schema `past` (create_past) has the
-- rights of today.
--
-- Runs as its owner, colloquy_system, so it selects the tenant itself: from the setting, not from an argument. Returns
-- the place of the term in p_terms, and of the conversation in p_conversations, the key of a committed turn that the
-- actor sees, in its newest visible version, the number of times that the turn has the term, at most 16,383, and its
-- number of terms, at most 32,767. Fewer than p_limit turns may be returned although more have the term, if some have it
-- only under the salt of another conversation.
CREATE OR REPLACE FUNCTION find_turns_with_terms(p_actor text, p_conversations text[], p_terms integer[], p_limit integer)
RETURNS TABLE (term integer, conversation integer, root_seq integer, seq integer, count integer, length integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1000
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH v AS MATERIALIZED (
    SELECT j.conversation_id AS id, c.place::integer AS place, j.salt, p.actor,
           coalesce(p.windows, '{1}') AS windows, coalesce(p.windows = '{1}', true) AS all_public
    FROM journal j JOIN unnest(p_conversations) WITH ORDINALITY AS c(id, place) ON c.id = j.conversation_id
    LEFT JOIN public.participant p ON p.conversation_id = j.conversation_id AND p.actor = p_actor
    -- The CASE keeps the planner from expecting few of the conversations.
    WHERE j.conversation_id = ANY (p_conversations)
      AND CASE WHEN j.tenant = current_setting('colloquy.tenant', true) THEN true ELSE false END)
  SELECT q.ordinal::integer, h.place, h.root_seq, h.seq, least(h.count, 16383), least(h.length, 32767)
  FROM unnest(p_terms) WITH ORDINALITY AS q(term, ordinal)
  CROSS JOIN LATERAL (
    SELECT v.place, t.root_seq, t.seq, cardinality(array_positions(t.terms, q.term # v.salt)) AS count,
           cardinality(t.terms) AS length
    -- The OFFSET keeps the planner from reading the index once for each conversation.
    FROM (SELECT t.conversation_id, t.root_seq, t.seq, t.audience, t.superseded_by, t.terms FROM turn t
          WHERE t.terms && ARRAY(SELECT DISTINCT q.term # s.salt FROM v s)
            AND t.tenant = current_setting('colloquy.tenant', true) AND t.status = 'COMMITTED' OFFSET 0) t
    JOIN v ON v.id = t.conversation_id
    WHERE (v.all_public OR width_bucket(t.seq, v.windows) % 2 = 1 AND width_bucket(t.root_seq, v.windows) % 2 = 1)
      AND (t.audience IS NULL OR v.actor = ANY (t.audience))
      AND (t.superseded_by IS NULL OR NOT EXISTS (
        SELECT FROM turn n WHERE n.conversation_id = t.conversation_id AND n.root_seq = t.root_seq AND n.seq > t.seq
                             AND width_bucket(n.seq, v.windows) % 2 = 1))
    LIMIT p_limit) h
  WHERE h.count > 0;
END $$;
