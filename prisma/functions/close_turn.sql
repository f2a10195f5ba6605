-- Commits or aborts an open turn: stores its final text, ends its stream, writes the entry and updates the counters.
-- Called by src/store/sql/turn/streaming/close-turn.ts.
--
-- p_viewer     the actor who closes the turn; null for the sweep
-- p_writer     hash of the writer's token; null for the sweep, which must give p_silent_ms
-- p_end        end of the text that the caller read, in UTF-16 units; another end means that a delta arrived since
-- p_part_bytes stream.part_bytes as the caller read it; another value means that a delta of a part arrived since
-- p_calls      the tool calls that the turn makes: [{callId, name}]
-- p_results    the calls that it answers: [{part, callId, name, turnId}] as for find_calls; calls of the turn itself have
--              the key `place` instead of turnId
-- p_silent_ms  abort only if the writer has been silent for this long, in ms; null for any
-- p_mentions   the names in its text, as for find_mentioned; null for none
-- p_hash       digest of the request and of the writer's token; null for the sweep
--
-- One row. outcome: 'written' with the seqs of the first and the last entry; 'closed' with the turn's status;
-- 'repeated' when the turn was closed by a call with the same p_hash; 'grown' when a delta arrived since; 'alive' when
-- the writer was not silent for long enough; 'no_call', 'other_name', 'ambiguous' and 'waiting' with the detail of
-- find_calls; 'waiting' also when the turn is committed, is no reply of a run, and makes a call with the id of one that waits;
-- 'other_writer' when p_writer is not the hash of the stream; 'left' when the author has left the conversation;
-- 'missing' when the tenant has no such turn, or the viewer neither opened it nor sees its conversation. The last three
-- lock nothing.
--
-- An aborted turn loses its clientId, so that the next openTurn with it opens a new turn. A turn that answers with a claim
-- ends the claim: as answered when it is committed, with the wake-ups that the claim excludes; as released, with an entry,
-- when it is aborted. A turn that waits for results of its tool calls answers nothing: its author holds the claim for at
-- least 60 s more, and answers with a later turn.
CREATE OR REPLACE FUNCTION close_turn(
  p_tenant text, p_viewer text, p_turn text, p_writer text, p_status turn_status, p_end integer, p_part_bytes integer, p_text text, p_parts jsonb, p_tokens integer,
  p_prompt_tokens integer, p_completion_tokens integer, p_model text, p_metadata jsonb, p_reason text,
  p_calls jsonb, p_results jsonb, p_silent_ms integer, p_terms integer[], p_cues smallint, p_mentions text[],
  p_hash text)
RETURNS TABLE (outcome text, detail text, conversation_id text, actor text, seq integer, last_seq integer,
               status turn_status)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t turn%ROWTYPE;
  j journal%ROWTYPE;
  lease record;
  writer text;
  tail record;
  windows integer[];
  fault record;
  waiting jsonb;
  claimed claim%ROWTYPE;
  last integer;
BEGIN
  SELECT x.* INTO t FROM turn x JOIN conversation c ON c.id = x.conversation_id AND c.tenant = p_tenant
  WHERE x.id = p_turn AND (p_viewer IS NULL OR c.visibility = 'OPEN'
    OR EXISTS (SELECT FROM stream s WHERE s.turn_id = x.id AND s.viewer = p_viewer)
    OR EXISTS (SELECT FROM participant p WHERE p.conversation_id = x.conversation_id AND p.actor = p_viewer));
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'missing', NULL, NULL, NULL, NULL::integer, NULL::integer, NULL::turn_status;
    RETURN;
  END IF;
  IF p_writer IS NULL AND p_silent_ms IS NULL THEN RAISE 'close_turn needs p_writer or p_silent_ms'; END IF;
  SELECT s.writer_hash INTO writer FROM stream s WHERE s.turn_id = p_turn;
  IF NOT FOUND THEN
    RETURN QUERY SELECT CASE WHEN x.end_hash = p_hash THEN 'repeated' ELSE 'closed' END, NULL, t.conversation_id, t.actor,
                        NULL::integer, NULL::integer, x.status
                 FROM turn x WHERE x.id = p_turn AND x.conversation_id = t.conversation_id;
    RETURN;
  END IF;
  IF writer <> p_writer THEN
    RETURN QUERY SELECT 'other_writer', NULL, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
    RETURN;
  END IF;
  IF writer IS NOT NULL AND p_writer IS NOT NULL AND NOT EXISTS (
    SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor AND p.left_at IS NULL) THEN
    RETURN QUERY SELECT 'left', NULL, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
    RETURN;
  END IF;
  SELECT * INTO j FROM journal WHERE conversation_id = t.conversation_id FOR UPDATE;
  SELECT s.renewed_at AS at, s.part_bytes INTO lease FROM stream s WHERE s.turn_id = p_turn FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT CASE WHEN x.end_hash = p_hash THEN 'repeated' ELSE 'closed' END, NULL, t.conversation_id, t.actor,
                        NULL::integer, NULL::integer, x.status
                 FROM turn x WHERE x.id = p_turn AND x.conversation_id = t.conversation_id;
    RETURN;
  END IF;
  SELECT c."end", c.written_at INTO tail FROM chunk c WHERE c.turn_id = p_turn AND c.part = 0 ORDER BY c.start DESC LIMIT 1;
  IF coalesce(tail."end", 0) <> p_end OR lease.part_bytes <> p_part_bytes THEN
    RETURN QUERY SELECT 'grown', NULL, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
    RETURN;
  END IF;
  IF p_silent_ms IS NOT NULL
     AND greatest(lease.at, tail.written_at) > clock_timestamp() - make_interval(secs => p_silent_ms / 1000.0) THEN
    RETURN QUERY SELECT 'alive', NULL, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
    RETURN;
  END IF;
  IF p_status = 'COMMITTED' AND jsonb_array_length(p_calls) > 0 AND NOT EXISTS (
    SELECT FROM run r WHERE r.conversation_id = t.conversation_id AND r.actor = t.actor AND r.state = 'RUNNING' AND r.turn_id = p_turn) THEN
    waiting := waiting_call(t.conversation_id, t.actor, p_calls);
    IF waiting IS NOT NULL THEN
      RETURN QUERY SELECT 'waiting', waiting::text, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
      RETURN;
    END IF;
  END IF;
  IF p_results IS NOT NULL THEN
    SELECT p.windows INTO windows FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor;
    SELECT c.outcome, c.detail INTO fault FROM find_calls(t.conversation_id, t.actor, windows, p_results, NULL) c
    WHERE c.outcome <> 'found' LIMIT 1;
    IF FOUND THEN
      RETURN QUERY SELECT fault.outcome, fault.detail::text, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
      RETURN;
    END IF;
    WITH answered AS (
      SELECT c.part, c.call_id, c.turn_id, c.call_position, c.approval_id
      FROM find_calls(t.conversation_id, t.actor, windows, p_results, NULL) c
      UNION ALL
      SELECT (e.v->>'part')::integer, e.v->>'callId', t.id, t.root_seq, NULL
      FROM jsonb_array_elements(p_results) AS e(v) WHERE e.v ? 'place'
    ), returned AS (
      INSERT INTO tool_result (conversation_id, call_id, call_position, turn_id, approval_id)
      SELECT DISTINCT t.conversation_id, a.call_id, a.call_position, t.id, a.approval_id FROM answered a
    )
    SELECT jsonb_agg(CASE WHEN a.turn_id IS NULL THEN p.part ELSE p.part || jsonb_strip_nulls(jsonb_build_object(
                       'callTurnId', a.turn_id, 'callPosition', a.call_position, 'approvalId', a.approval_id)) END ORDER BY p.o) INTO p_parts
    FROM jsonb_array_elements(p_parts) WITH ORDINALITY AS p(part, o) LEFT JOIN answered a ON a.part = p.o - 1;
  END IF;

  UPDATE turn x
  SET status = p_status, text = p_text, parts = p_parts, token_count = p_tokens, abort_reason = p_reason, end_hash = p_hash,
      client_id = CASE p_status WHEN 'ABORTED' THEN NULL ELSE x.client_id END,
      client_hash = CASE p_status WHEN 'ABORTED' THEN NULL ELSE x.client_hash END,
      prompt_tokens = coalesce(p_prompt_tokens, x.prompt_tokens),
      completion_tokens = coalesce(p_completion_tokens, x.completion_tokens),
      model = coalesce(p_model, x.model), metadata = coalesce(p_metadata, x.metadata),
      terms = salted(p_terms, j.salt), cues = p_cues,
      mentions = CASE WHEN p_mentions IS NOT NULL AND p_status = 'COMMITTED'
                      THEN find_mentioned(t.conversation_id, p_mentions) END
  WHERE x.id = p_turn AND x.conversation_id = t.conversation_id;
  DELETE FROM stream WHERE turn_id = p_turn;
  INSERT INTO tool_call (conversation_id, call_id, turn_id, name)
  SELECT t.conversation_id, c.v->>'callId', p_turn, c.v->>'name' FROM jsonb_array_elements(p_calls) AS c(v);
  INSERT INTO entry (conversation_id, seq, kind, turn_id)
  VALUES (t.conversation_id, j.last_seq + 1, p_status::text::entry_kind, p_turn);
  last := j.last_seq + 1;
  UPDATE claim k
  SET answer_id = CASE WHEN p_status = 'COMMITTED' AND NOT has_open_calls(p_parts) THEN p_turn END,
      ended_at = CASE WHEN p_status = 'COMMITTED' AND has_open_calls(p_parts) THEN NULL ELSE clock_timestamp() END,
      outcome = (CASE WHEN p_status <> 'COMMITTED' THEN 'RELEASED' WHEN NOT has_open_calls(p_parts) THEN 'ANSWERED' END)::claim_outcome,
      expires_at = CASE WHEN p_status = 'COMMITTED' AND has_open_calls(p_parts)
                        THEN greatest(k.expires_at, clock_timestamp() + interval '60 seconds') ELSE k.expires_at END
  WHERE k.answer_id = p_turn AND k.ended_at IS NULL RETURNING k.* INTO claimed;
  IF claimed.outcome = 'ANSWERED' THEN
    UPDATE wake_up w SET answered_at = now(), answer_id = p_turn
    WHERE w.turn_id = claimed.turn_id AND (claimed.slot = '' OR w.actor = claimed.slot) AND w.answered_at IS NULL
      AND w.dropped_reason IS NULL;
  ELSIF claimed.outcome = 'RELEASED' THEN
    last := last + 1;
    INSERT INTO entry (conversation_id, seq, kind, turn_id, actor)
    VALUES (t.conversation_id, last, 'CLAIM_RELEASED', claimed.turn_id, t.actor);
  END IF;
  -- The turns that arrived while the run was executed, and that it has taken up.
  IF p_status = 'COMMITTED' AND NOT has_open_calls(p_parts) THEN
    UPDATE wake_up w SET answered_at = now(), answer_id = p_turn
    WHERE w.conversation_id = t.conversation_id AND w.actor = t.actor AND w.run_id = t.trace_id
      AND w.answered_at IS NULL AND w.dropped_reason IS NULL;
  END IF;
  UPDATE journal x
  SET last_seq = last, updated_at = now(),
      turn_count = x.turn_count + (p_status = 'COMMITTED' AND t.audience IS NULL)::integer,
      token_count = x.token_count + CASE WHEN p_status = 'COMMITTED' AND t.audience IS NULL THEN p_tokens ELSE 0 END
  WHERE x.conversation_id = t.conversation_id;
  IF j.responding AND p_status = 'COMMITTED' THEN
    SELECT coalesce(max(w.seq), last) INTO last FROM wake_up_participants(ARRAY[p_turn]) w;
  END IF;
  RETURN QUERY SELECT 'written', NULL, t.conversation_id, t.actor, j.last_seq + 1, last, p_status;
END $$;
