-- Whether the calls for a conversation include one whose authors all are or were participants. Called by append_turns for
-- MEMBERS conversations.
CREATE OR REPLACE FUNCTION is_by_participants(p_calls jsonb, p_conversation text, p_tenant text) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM jsonb_array_elements(p_calls) c
    WHERE c->>'conversationId' = p_conversation AND c->>'tenant' = p_tenant AND NOT EXISTS (
      SELECT FROM jsonb_array_elements(c->'turns') t
      WHERE (SELECT true FROM participant p
             WHERE p.conversation_id = p_conversation AND p.actor = t->>'actor' LIMIT 1) IS NULL))
$$;
