-- Finds conversations by their title in the index conversation_title, which a policy keeps a request from using: ILIKE
-- is not leakproof. Called by src/store/sql/conversation/find-candidates.ts.
--
-- p_pattern  the pattern for ILIKE
-- p_limit    maximum number of conversations
--
-- Runs as its owner, colloquy_system, so it selects the tenant itself: from the setting, not from an argument. Returns
-- ids only; the caller reads the conversations under the policy, and compares their titles again.
CREATE OR REPLACE FUNCTION find_conversations_by_title(p_pattern text, p_limit integer) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT c.id FROM conversation c
  WHERE c.tenant = current_setting('colloquy.tenant', true) AND c.title ILIKE p_pattern LIMIT p_limit
$$;
