-- Whether every author of one of the calls to a conversation is or was a participant. Called by append_turns for MEMBERS
-- conversations, so that an actor who does not see a conversation does not lock it.
--
-- p_index                  index of the conversation in p_of
-- p_of, p_calls, p_actors  of each turn: the index of its conversation, the number of its call, and its author
CREATE OR REPLACE FUNCTION has_members_call(
  p_conversation text, p_index integer, p_of integer[], p_calls integer[], p_actors text[]) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM unnest(p_of, p_calls, p_actors) AS u(c, call, actor)
    WHERE u.c = p_index
    GROUP BY u.call
    HAVING bool_and((SELECT true FROM participant p
                     WHERE p.conversation_id = p_conversation AND p.actor = u.actor LIMIT 1) IS NOT NULL));
END $$;
