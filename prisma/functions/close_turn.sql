-- Commits or aborts an open turn: stores its final text, ends its stream, writes the entry and updates the counters.
-- Called by src/store/sql/streaming-turn/close-turn.ts.
--
-- p_viewer     the actor who closes the turn; null for the sweep
-- p_writer     hash of the writer's token; null for the sweep, which must give p_silent_ms
-- p_end        end of the text that the caller read, in UTF-16 units; another end means that a delta arrived since
-- p_silent_ms  abort only if the writer has been silent for this long, in ms; null for any
--
-- One row. outcome: 'written' with the entry's seq; 'closed' with the turn's status; 'grown' when a delta arrived since;
-- 'alive' when the writer was not silent for long enough; 'no_call' with the id of the unknown tool call; 'other_writer'
-- when p_writer is not the hash of the stream; 'left' when the author has left the conversation; 'missing' when the tenant
-- has no such turn, or the viewer neither opened it nor sees its conversation. The last three lock nothing.
CREATE OR REPLACE FUNCTION close_turn(
  p_tenant text, p_viewer text, p_turn text, p_writer text, p_status turn_status, p_end integer, p_text text, p_parts jsonb, p_tokens integer,
  p_prompt_tokens integer, p_completion_tokens integer, p_model text, p_metadata jsonb, p_reason text,
  p_calls text[], p_answers text[], p_silent_ms integer, p_terms integer[], p_cues smallint)
RETURNS TABLE (outcome text, detail text, conversation_id text, actor text, seq integer, status turn_status)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t turn%ROWTYPE;
  j journal%ROWTYPE;
  renewed timestamptz;
  writer text;
  tail record;
  stray text;
BEGIN
  SELECT x.* INTO t FROM turn x JOIN conversation c ON c.id = x.conversation_id AND c.tenant = p_tenant
  WHERE x.id = p_turn AND (p_viewer IS NULL OR c.visibility = 'OPEN'
    OR EXISTS (SELECT FROM stream s WHERE s.turn_id = x.id AND s.viewer = p_viewer)
    OR EXISTS (SELECT FROM participant p WHERE p.conversation_id = x.conversation_id AND p.actor = p_viewer));
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'missing', NULL, NULL, NULL, NULL::integer, NULL::turn_status;
    RETURN;
  END IF;
  IF p_writer IS NULL AND p_silent_ms IS NULL THEN RAISE 'close_turn needs p_writer or p_silent_ms'; END IF;
  SELECT s.writer_hash INTO writer FROM stream s WHERE s.turn_id = p_turn;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'closed', NULL, t.conversation_id, t.actor, NULL::integer, x.status FROM turn x WHERE x.id = p_turn;
    RETURN;
  END IF;
  IF writer <> p_writer THEN
    RETURN QUERY SELECT 'other_writer', NULL, t.conversation_id, t.actor, NULL::integer, t.status;
    RETURN;
  END IF;
  IF writer IS NOT NULL AND p_writer IS NOT NULL AND NOT EXISTS (
    SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor AND p.left_at IS NULL) THEN
    RETURN QUERY SELECT 'left', NULL, t.conversation_id, t.actor, NULL::integer, t.status;
    RETURN;
  END IF;
  SELECT * INTO j FROM journal WHERE conversation_id = t.conversation_id FOR UPDATE;
  SELECT s.renewed_at INTO renewed FROM stream s WHERE s.turn_id = p_turn FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'closed', NULL, t.conversation_id, t.actor, NULL::integer, x.status FROM turn x WHERE x.id = p_turn;
    RETURN;
  END IF;
  SELECT c."end", c.written_at INTO tail FROM chunk c WHERE c.turn_id = p_turn ORDER BY c.start DESC LIMIT 1;
  IF coalesce(tail."end", 0) <> p_end THEN
    RETURN QUERY SELECT 'grown', NULL, t.conversation_id, t.actor, NULL::integer, t.status;
    RETURN;
  END IF;
  IF p_silent_ms IS NOT NULL
     AND greatest(renewed, tail.written_at) > clock_timestamp() - make_interval(secs => p_silent_ms / 1000.0) THEN
    RETURN QUERY SELECT 'alive', NULL, t.conversation_id, t.actor, NULL::integer, t.status;
    RETURN;
  END IF;
  SELECT a.call_id INTO stray FROM unnest(p_answers) AS a(call_id)
  WHERE NOT EXISTS (SELECT FROM tool_call k JOIN turn x ON x.id = k.turn_id
                    WHERE k.conversation_id = t.conversation_id AND k.call_id = a.call_id
                      AND (x.audience IS NULL OR t.actor = ANY (x.audience))
                      AND EXISTS (SELECT FROM participant p
                                  WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor
                                    AND width_bucket(x.seq, p.windows) % 2 = 1
                                    AND width_bucket(x.root_seq, p.windows) % 2 = 1))
  LIMIT 1;
  IF FOUND THEN
    RETURN QUERY SELECT 'no_call', stray, t.conversation_id, t.actor, NULL::integer, t.status;
    RETURN;
  END IF;

  UPDATE turn x
  SET status = p_status, text = p_text, parts = p_parts, token_count = p_tokens, abort_reason = p_reason,
      prompt_tokens = coalesce(p_prompt_tokens, x.prompt_tokens),
      completion_tokens = coalesce(p_completion_tokens, x.completion_tokens),
      model = coalesce(p_model, x.model), metadata = coalesce(p_metadata, x.metadata),
      terms = salted(p_terms, j.salt), cues = p_cues
  WHERE x.id = p_turn;
  DELETE FROM stream WHERE turn_id = p_turn;
  INSERT INTO tool_call (conversation_id, call_id, turn_id)
  SELECT DISTINCT t.conversation_id, a.call_id, p_turn FROM unnest(p_calls) AS a(call_id) ON CONFLICT DO NOTHING;
  INSERT INTO entry (conversation_id, seq, kind, turn_id)
  VALUES (t.conversation_id, j.last_seq + 1, p_status::text::entry_kind, p_turn);
  UPDATE journal x
  SET last_seq = j.last_seq + 1, updated_at = now(),
      turn_count = x.turn_count + (p_status = 'COMMITTED' AND t.audience IS NULL)::integer,
      token_count = x.token_count + CASE WHEN p_status = 'COMMITTED' AND t.audience IS NULL THEN p_tokens ELSE 0 END
  WHERE x.conversation_id = t.conversation_id;
  RETURN QUERY SELECT 'written', NULL, t.conversation_id, t.actor, j.last_seq + 1, p_status;
END $$;
