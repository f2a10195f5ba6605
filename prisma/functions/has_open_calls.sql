-- Whether the parts of a turn have tool calls without results: the author writes another turn once it has the results.
-- Called by answer_claims, close_turn and wake_up_participants.
CREATE OR REPLACE FUNCTION has_open_calls(p_parts jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN p_parts IS NOT NULL AND EXISTS (
    SELECT c.part->>'callId' FROM jsonb_array_elements(p_parts) AS c(part) WHERE c.part->>'type' = 'toolCall'
    EXCEPT
    SELECT r.part->>'callId' FROM jsonb_array_elements(p_parts) AS r(part) WHERE r.part->>'type' = 'toolResult');
END $$;
