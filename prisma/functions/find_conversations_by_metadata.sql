-- Finds conversations by their metadata in the index conversation_metadata, which a policy keeps a request from using:
-- @> is not leakproof. Called by src/store/sql/conversation/find-candidates.ts.
--
-- p_values  objects of which the metadata contains at least one
-- p_limit   maximum number of conversations
--
-- Runs as its owner, colloquy_system, so it selects the tenant itself: from the setting, not from an argument. Returns
-- ids only; the caller reads the conversations under the policy, and compares their metadata again.
CREATE OR REPLACE FUNCTION find_conversations_by_metadata(p_values jsonb[], p_limit integer) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT c.id FROM conversation c
  WHERE c.tenant = current_setting('colloquy.tenant', true) AND c.metadata @> ANY (p_values) LIMIT p_limit
$$;
