-- The primary key of turns contains the conversation, so that `turn` can be partitioned by it (src/store/partitions.ts).
-- The id is the first column of the key, so statements that know only the id still use its index.
ALTER TABLE stream DROP CONSTRAINT stream_turn_id_fkey;
ALTER TABLE approval DROP CONSTRAINT approval_turn_id_fkey;
ALTER TABLE turn DROP CONSTRAINT turn_pkey, ADD PRIMARY KEY (id, conversation_id);
ALTER TABLE stream ADD FOREIGN KEY (turn_id, conversation_id) REFERENCES turn (id, conversation_id) ON DELETE CASCADE;
ALTER TABLE approval ADD FOREIGN KEY (turn_id, conversation_id) REFERENCES turn (id, conversation_id) ON DELETE CASCADE;

-- These functions look up turns by id and conversation.
-- Records the turns that answer with a claim, in the claim. Called by append_turns, which has locked the conversations,
-- written the turns and checked the claims.
--
-- p_calls  the calls of append_turns; turns with the key claimHash answer with a claim
--
-- A committed turn ends its claim as answered, with the wake-ups that the claim excludes: that of its holder, or all of
-- the turn for scope TURN. A streaming turn keeps the claim until close_turn ends it. Turns that were not written,
-- repetitions, and turns that wait for results of their tool calls, change nothing.
CREATE OR REPLACE FUNCTION answer_claims(p_calls jsonb) RETURNS void LANGUAGE sql AS $$
  WITH answered AS (
    UPDATE claim k
    SET answer_id = x.id,
        ended_at = CASE x.status WHEN 'COMMITTED' THEN clock_timestamp() END,
        outcome = CASE x.status WHEN 'COMMITTED' THEN 'ANSWERED'::claim_outcome END
    FROM jsonb_array_elements(p_calls) c
    CROSS JOIN LATERAL jsonb_array_elements(c->'turns') t
    CROSS JOIN LATERAL (
      SELECT x.id, x.status, x.actor, x.parts, f.id AS first_id
      FROM turn x
      JOIN turn v ON v.id = x.reply_to_id AND v.conversation_id = x.conversation_id
      JOIN turn f ON f.conversation_id = v.conversation_id AND f.root_seq = v.root_seq AND f.seq = v.root_seq
      WHERE x.id = t->>'id' AND x.conversation_id = c->>'conversationId' LIMIT 1) x
    WHERE t->>'claimHash' IS NOT NULL
      AND k.turn_id = x.first_id AND k.actor = x.actor AND k.token_hash = t->>'claimHash' AND k.ended_at IS NULL
      AND NOT (x.status = 'COMMITTED' AND has_open_calls(x.parts))
    RETURNING k.turn_id, k.slot, k.answer_id, k.ended_at
  )
  UPDATE wake_up w SET answered_at = now(), answer_id = a.answer_id
  FROM answered a
  WHERE a.ended_at IS NOT NULL AND w.turn_id = a.turn_id AND (a.slot = '' OR w.actor = a.slot)
    AND w.answered_at IS NULL AND w.dropped_reason IS NULL
$$;
-- Appends deltas to open turns and renews their leases. Called by src/store/sql/streaming-turn/append-chunks.ts.
--
-- p_deltas  [{turn, tenant, viewer, writer, start, text, units, second, half, held}], for one turn in order. Turns are
--           locked in id order.
--           viewer  the actor who sends the delta
--           writer  hash of the writer's token
--           start   UTF-16 offset where the delta begins; null for the end of the turn
--           text    whole characters; `units` is their length in UTF-16 units
--           second  low surrogate that precedes the text; the turn must end in the high surrogate
--           half    high surrogate that follows the text; kept until the low surrogate arrives
--           held    whether append_held is the caller; only it writes turns with a row in held_text
-- p_limit   maximum length of a turn's text in UTF-8 bytes
--
-- One row per delta. outcome: 'written' with the stored text and the new end; 'renewed' for an empty delta; 'half' when
-- a surrogate would stay unpaired; 'elsewhere' when start is not the end; 'full' beyond p_limit; 'closed' with the
-- turn's status; 'held' for a turn that append_held must write; 'other_writer' when the hash is not that of the stream;
-- 'left' when the author has left the conversation; 'missing' when the tenant has no such turn, or the viewer neither
-- opened it nor sees its conversation. The last three lock nothing.
CREATE OR REPLACE FUNCTION append_chunks(p_deltas jsonb, p_limit integer)
RETURNS TABLE (place integer, outcome text, conversation_id text, start integer, text text, "end" integer, half integer,
               status turn_status)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  d record;
  s record;
  tail record;
  tail_end integer;
  said text;
  said_units integer;
BEGIN
  FOR d IN
    SELECT (x.o - 1)::integer AS place, r.*
    FROM jsonb_array_elements(p_deltas) WITH ORDINALITY AS x(v, o)
    CROSS JOIN LATERAL jsonb_to_record(x.v) AS r(turn text, tenant text, viewer text, writer text, start integer, text text, units integer,
                                                 second integer, half integer, held boolean)
    ORDER BY r.turn, x.o
  LOOP
    SELECT t.conversation_id, t.status, w.writer_hash,
           EXISTS (SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor
                                               AND p.left_at IS NULL) AS present INTO s
    FROM turn t JOIN conversation c ON c.id = t.conversation_id AND c.tenant = d.tenant
    LEFT JOIN stream w ON w.turn_id = t.id AND w.conversation_id = t.conversation_id
    WHERE t.id = d.turn AND (c.visibility = 'OPEN' OR w.viewer = d.viewer OR EXISTS (
      SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = d.viewer));
    IF NOT FOUND THEN
      RETURN QUERY SELECT d.place, 'missing', NULL, NULL::integer, NULL, NULL::integer, NULL::integer, NULL::turn_status;
      CONTINUE;
    END IF;
    IF s.writer_hash <> d.writer OR s.writer_hash IS NOT NULL AND NOT s.present THEN
      RETURN QUERY SELECT d.place, CASE WHEN s.writer_hash <> d.writer THEN 'other_writer' ELSE 'left' END,
                          s.conversation_id, NULL::integer, NULL, NULL::integer, NULL::integer, s.status;
      CONTINUE;
    END IF;
    PERFORM FROM stream WHERE turn_id = d.turn FOR UPDATE;
    IF NOT FOUND THEN
      RETURN QUERY SELECT d.place, 'closed', s.conversation_id, NULL::integer, NULL, NULL::integer, NULL::integer, t.status
                   FROM turn t WHERE t.id = d.turn AND t.conversation_id = s.conversation_id;
      CONTINUE;
    END IF;
    SELECT coalesce(c."end", 0) AS "end", c.half, coalesce(c.bytes, 0) AS bytes,
           d.held IS NOT TRUE AND EXISTS (SELECT FROM held_text h WHERE h.turn_id = d.turn) AS is_held INTO tail
    FROM (VALUES (1)) v LEFT JOIN LATERAL
      (SELECT * FROM chunk c WHERE c.turn_id = d.turn ORDER BY c.start DESC LIMIT 1) c ON true;
    tail_end := tail."end" + (tail.half IS NOT NULL)::integer;
    IF tail.is_held THEN
      RETURN QUERY SELECT d.place, 'held', s.conversation_id, NULL::integer, NULL, NULL::integer, NULL::integer, s.status;
    ELSIF coalesce(d.start, tail_end) <> tail_end THEN
      RETURN QUERY SELECT d.place, 'elsewhere', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status;
    ELSIF d.units = 0 AND d.second IS NULL AND d.half IS NULL THEN
      UPDATE stream SET renewed_at = now() WHERE turn_id = d.turn;
      RETURN QUERY SELECT d.place, 'renewed', s.conversation_id, tail_end, '', tail_end, tail.half, s.status;
    ELSIF (tail.half IS NULL) <> (d.second IS NULL) THEN
      RETURN QUERY SELECT d.place, 'half', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status;
    ELSE
      -- A pair of halves is one character (Unicode 15.0, §3.9, D91).
      said := CASE WHEN d.second IS NULL THEN d.text
              ELSE chr((tail.half - 55296) * 1024 + (d.second - 56320) + 65536) || d.text END;
      said_units := d.units + CASE WHEN d.second IS NULL THEN 0 ELSE 2 END;
      IF tail.bytes + octet_length(said) > p_limit THEN
        RETURN QUERY SELECT d.place, 'full', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status;
        CONTINUE;
      END IF;
      -- A chunk that was nothing but a half gives way to the one that completes it.
      INSERT INTO chunk AS c (turn_id, start, "end", text, bytes, half)
      VALUES (d.turn, tail."end", tail."end" + said_units, said, tail.bytes + octet_length(said), d.half)
      ON CONFLICT (turn_id, start) DO UPDATE
      SET "end" = excluded."end", text = excluded.text, bytes = excluded.bytes, half = excluded.half,
          written_at = now();
      RETURN QUERY SELECT d.place, 'written', s.conversation_id, tail."end", said,
                          tail."end" + said_units + (d.half IS NOT NULL)::integer, d.half, s.status;
    END IF;
  END LOOP;
END $$;
-- Commits or aborts an open turn: stores its final text, ends its stream, writes the entry and updates the counters.
-- Called by src/store/sql/streaming-turn/close-turn.ts.
--
-- p_viewer     the actor who closes the turn; null for the sweep
-- p_writer     hash of the writer's token; null for the sweep, which must give p_silent_ms
-- p_end        end of the text that the caller read, in UTF-16 units; another end means that a delta arrived since
-- p_calls      the tool calls that the turn makes: [{callId, name}]
-- p_results    the calls that it answers: [{part, callId, name, turnId}] as for find_calls; calls of the turn itself have
--              the key `place` instead of turnId
-- p_silent_ms  abort only if the writer has been silent for this long, in ms; null for any
-- p_mentions   the names in its text, as for find_mentioned; null for none
-- p_hash       digest of the request and of the writer's token; null for the sweep
--
-- One row. outcome: 'written' with the seqs of the first and the last entry; 'closed' with the turn's status;
-- 'repeated' when the turn was closed by a call with the same p_hash; 'grown' when a delta arrived since; 'alive' when
-- the writer was not silent for long enough; 'no_call', 'other_name' and 'ambiguous' with the detail of find_calls;
-- 'other_writer' when p_writer is not the hash of the stream; 'left' when the author has left the conversation;
-- 'missing' when the tenant has no such turn, or the viewer neither opened it nor sees its conversation. The last three
-- lock nothing.
--
-- An aborted turn loses its clientId, so that the next openTurn with it opens a new turn. A turn that answers with a claim
-- ends the claim: as answered when it is committed, with the wake-ups that the claim excludes; as released, with an entry,
-- when it is aborted. A turn that waits for results of its tool calls answers nothing: its author holds the claim for at
-- least 60 s more, and answers with a later turn.
CREATE OR REPLACE FUNCTION close_turn(
  p_tenant text, p_viewer text, p_turn text, p_writer text, p_status turn_status, p_end integer, p_text text, p_parts jsonb, p_tokens integer,
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
  renewed timestamptz;
  writer text;
  tail record;
  windows integer[];
  fault record;
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
  SELECT s.renewed_at INTO renewed FROM stream s WHERE s.turn_id = p_turn FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT CASE WHEN x.end_hash = p_hash THEN 'repeated' ELSE 'closed' END, NULL, t.conversation_id, t.actor,
                        NULL::integer, NULL::integer, x.status
                 FROM turn x WHERE x.id = p_turn AND x.conversation_id = t.conversation_id;
    RETURN;
  END IF;
  SELECT c."end", c.written_at INTO tail FROM chunk c WHERE c.turn_id = p_turn ORDER BY c.start DESC LIMIT 1;
  IF coalesce(tail."end", 0) <> p_end THEN
    RETURN QUERY SELECT 'grown', NULL, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
    RETURN;
  END IF;
  IF p_silent_ms IS NOT NULL
     AND greatest(renewed, tail.written_at) > clock_timestamp() - make_interval(secs => p_silent_ms / 1000.0) THEN
    RETURN QUERY SELECT 'alive', NULL, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
    RETURN;
  END IF;
  IF p_results IS NOT NULL THEN
    SELECT p.windows INTO windows FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor;
    SELECT c.outcome, c.detail INTO fault FROM find_calls(t.conversation_id, t.actor, windows, p_results) c
    WHERE c.outcome <> 'found' LIMIT 1;
    IF FOUND THEN
      RETURN QUERY SELECT fault.outcome, fault.detail::text, t.conversation_id, t.actor, NULL::integer, NULL::integer, t.status;
      RETURN;
    END IF;
    WITH answered AS (
      SELECT c.part, c.call_id, c.turn_id, c.call_position
      FROM find_calls(t.conversation_id, t.actor, windows, p_results) c
      UNION ALL
      SELECT (e.v->>'part')::integer, e.v->>'callId', t.id, t.root_seq
      FROM jsonb_array_elements(p_results) AS e(v) WHERE e.v ? 'place'
    ), returned AS (
      INSERT INTO tool_result (conversation_id, call_id, call_position, turn_id)
      SELECT DISTINCT t.conversation_id, a.call_id, a.call_position, t.id FROM answered a
    )
    SELECT jsonb_agg(CASE WHEN a.turn_id IS NULL THEN p.part ELSE p.part || jsonb_build_object(
                       'callTurnId', a.turn_id, 'callPosition', a.call_position) END ORDER BY p.o) INTO p_parts
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
-- Writes the wake-ups of committed turns, and ends those that the turns answer. Called by append_turns and close_turn for
-- conversations with responding participants, in the transaction that commits the turns, under the conversation's lock.
--
-- p_turns  ids of turns; those that do not exist, or are not committed, are ignored
--
-- A turn ends its author's wake-up by the turn that it replies to, and wakes up the present participants other than its
-- author that see it and respond to it (participant.respond). No turn does either while its author waits for the
-- results of its tool calls. Imported turns, SYSTEM and TOOL turns wake up nobody.
--
-- Loop guard: journal.agent_turns counts the turns of agents and tools that may wake up participants, since the last
-- turn of a person. A turn beyond conversation.max_agent_turns wakes up nobody. If it would have woken up a
-- participant, it has a row with the seq of the entry WAKE_UPS_STOPPED.
CREATE OR REPLACE FUNCTION wake_up_participants(p_turns text[]) RETURNS TABLE (turn_id text, seq integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  UPDATE wake_up w SET answered_at = now(), answer_id = t.id
  FROM turn t JOIN turn q ON q.id = t.reply_to_id AND q.conversation_id = t.conversation_id
  WHERE t.id = ANY (p_turns) AND t.status = 'COMMITTED' AND NOT has_open_calls(t.parts)
    AND w.conversation_id = t.conversation_id AND w.position = q.root_seq AND w.actor = t.actor
    AND w.answered_at IS NULL AND w.dropped_reason IS NULL;

  RETURN QUERY
  WITH said AS MATERIALIZED (
    SELECT x.*, count(*) FILTER (WHERE x.wakes AND x.kind <> 'HUMAN') OVER (
                  PARTITION BY x.conversation_id, x.people ORDER BY x.seq)
                + CASE x.people WHEN 0 THEN x.agent_turns ELSE 0 END AS agents
    FROM (
      SELECT t.id, t.conversation_id, t.tenant, t.seq, t.root_seq, t.actor, t.audience, t.mentions, t.reply_to_id,
             p.kind, j.agent_turns, j.last_seq, c.max_agent_turns,
             t.role IN ('USER', 'ASSISTANT') AND NOT has_open_calls(t.parts) AS wakes,
             count(*) FILTER (WHERE p.kind = 'HUMAN') OVER (PARTITION BY t.conversation_id ORDER BY t.seq) AS people
      FROM turn t
      JOIN journal j ON j.conversation_id = t.conversation_id AND j.responding
      JOIN conversation c ON c.id = t.conversation_id
      JOIN participant p ON p.conversation_id = t.conversation_id AND p.actor = t.actor
      WHERE t.id = ANY (p_turns) AND t.status = 'COMMITTED' AND t.imported_at IS NULL
    ) x
  ), woken AS MATERIALIZED (
    SELECT s.id, s.conversation_id, s.tenant, s.seq, s.root_seq, s.last_seq, p.actor,
           s.agents > s.max_agent_turns AND s.kind <> 'HUMAN' AS stopped
    FROM said s
    JOIN participant p ON p.conversation_id = s.conversation_id AND p.respond <> 'NEVER' AND p.left_at IS NULL
    WHERE s.wakes AND p.actor <> s.actor
      AND (s.audience IS NULL OR p.actor = ANY (s.audience))
      AND width_bucket(s.seq, p.windows) % 2 = 1 AND width_bucket(s.root_seq, p.windows) % 2 = 1
      AND (p.respond = 'ALWAYS' OR p.actor = ANY (s.mentions)
           OR p.respond = 'ADDRESSED' AND (
             p.actor = ANY (s.audience)
             OR (SELECT q.actor FROM turn q WHERE q.id = s.reply_to_id AND q.conversation_id = s.conversation_id) = p.actor))
  ), wrote AS (
    INSERT INTO wake_up (turn_id, actor, conversation_id, tenant, position)
    SELECT w.id, w.actor, w.conversation_id, w.tenant, w.root_seq FROM woken w WHERE NOT w.stopped
  ), stopped AS MATERIALIZED (
    SELECT w.id, w.conversation_id, w.last_seq + (row_number() OVER (PARTITION BY w.conversation_id ORDER BY w.seq))::integer AS seq
    FROM (SELECT DISTINCT x.id, x.conversation_id, x.last_seq, x.seq FROM woken x WHERE x.stopped) w
  ), recorded AS (
    INSERT INTO entry (conversation_id, seq, kind, turn_id)
    SELECT s.conversation_id, s.seq, 'WAKE_UPS_STOPPED', s.id FROM stopped s
  ), counted AS (
    UPDATE journal j
    SET agent_turns = n.agents, last_seq = coalesce((SELECT max(s.seq) FROM stopped s
                                                     WHERE s.conversation_id = n.conversation_id), j.last_seq)
    FROM (SELECT DISTINCT ON (s.conversation_id) s.conversation_id, s.agents
          FROM said s ORDER BY s.conversation_id, s.seq DESC) n
    WHERE j.conversation_id = n.conversation_id
      AND (j.agent_turns <> n.agents OR EXISTS (SELECT FROM stopped s WHERE s.conversation_id = n.conversation_id))
  )
  SELECT s.id, s.seq FROM stopped s;
END $$;
-- Finds the tool calls that the results of a turn answer, in the view of the turn's author. Called by append_turns,
-- close_turn and src/store/sql/turn/find-calls.ts while the conversation is locked.
--
-- p_windows  the author's history windows
-- p_results  [{part, callId, name, turnId}], at most one per content part. turnId is any version of the turn that made
--            the call, or null. Elements with the key `place` answer calls of the same append, and have no row.
--
-- A call is identified by its turn and its callId; all versions of a turn are the same turn. Without turnId, a result
-- answers the only call with its callId and tool. Of several such calls by one actor, it answers the only one without a
-- result. Only the 100 newest calls with the callId are considered; the ordered subquery and the LIMIT 1 look-ups stop
-- there, however often the callId was used.
--
-- One row per element, with the outcome 'found', and the id and the position (root_seq) of the call's turn; or one last
-- row with the first fault: 'no_call'; 'other_name' when such calls name other tools; 'ambiguous' when several calls are
-- possible. detail of a fault: {callId, name, turnId, found}; found lists the names of the tools, or the ids of at most
-- 10 of the turns.
CREATE OR REPLACE FUNCTION find_calls(p_conversation text, p_actor text, p_windows integer[], p_results jsonb)
RETURNS TABLE (part integer, call_id text, outcome text, detail jsonb, turn_id text, call_position integer)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  r record;
  calls bigint;
  ids text[];
  positions integer[];
  actors bigint;
  tools text[];
  waiting_ids text[];
  waiting_positions integer[];
BEGIN
  FOR r IN
    SELECT array_agg((e.v->>'part')::integer) AS parts, e.v->>'callId' AS call_id, e.v->>'name' AS name,
           e.v->>'turnId' AS turn_id
    FROM jsonb_array_elements(p_results) AS e(v) WHERE NOT e.v ? 'place'
    GROUP BY e.v->>'callId', e.v->>'name', e.v->>'turnId'
  LOOP
    -- The newest version in view of each turn with such a call, newest turn first.
    IF r.turn_id IS NOT NULL THEN
      SELECT count(*) FILTER (WHERE c.name = r.name), array_agg(c.id), array_agg(c.root_seq), 1, array_agg(c.name)
      INTO calls, ids, positions, actors, tools
      FROM (SELECT x.id, x.root_seq, k.name
            FROM turn g
            JOIN turn x ON x.conversation_id = g.conversation_id AND x.root_seq = g.root_seq
            JOIN tool_call k ON k.conversation_id = p_conversation AND k.call_id = r.call_id AND k.turn_id = x.id
            WHERE g.id = r.turn_id AND g.conversation_id = p_conversation
              AND width_bucket(g.seq, p_windows) % 2 = 1 AND width_bucket(x.seq, p_windows) % 2 = 1
              AND width_bucket(x.root_seq, p_windows) % 2 = 1 AND (x.audience IS NULL OR p_actor = ANY (x.audience))
            ORDER BY x.id = g.id DESC, x.seq DESC LIMIT 1) c;
    ELSE
      SELECT count(*) FILTER (WHERE c.name = r.name),
             array_agg(c.id ORDER BY c.root_seq DESC) FILTER (WHERE c.name = r.name),
             array_agg(c.root_seq ORDER BY c.root_seq DESC) FILTER (WHERE c.name = r.name),
             count(DISTINCT c.actor) FILTER (WHERE c.name = r.name),
             array_agg(DISTINCT c.name)
      INTO calls, ids, positions, actors, tools
      FROM (
        SELECT DISTINCT ON (n.root_seq, n.name) n.root_seq, n.name, n.id, n.actor
        FROM (SELECT k.name, x.*
              FROM (SELECT k.turn_id, k.name FROM tool_call k
                    WHERE k.conversation_id = p_conversation AND k.call_id = r.call_id
                    ORDER BY k.turn_id DESC) k
              CROSS JOIN LATERAL (
                SELECT x.id, x.seq, x.root_seq, x.actor FROM turn x
                WHERE x.id = k.turn_id AND x.conversation_id = p_conversation AND width_bucket(x.seq, p_windows) % 2 = 1
                  AND width_bucket(x.root_seq, p_windows) % 2 = 1
                  AND (x.audience IS NULL OR p_actor = ANY (x.audience)) LIMIT 1) x
              LIMIT 100) n
        ORDER BY n.root_seq, n.name, n.seq DESC) c;
    END IF;
    IF calls > 1 AND actors = 1 THEN
      SELECT array_agg(w.id), array_agg(w.root_seq) INTO waiting_ids, waiting_positions
      FROM unnest(ids, positions) AS w(id, root_seq)
      WHERE (
        SELECT true FROM tool_result a JOIN turn y ON y.id = a.turn_id AND y.conversation_id = p_conversation
        WHERE a.conversation_id = p_conversation AND a.call_id = r.call_id AND a.call_position = w.root_seq
          AND y.superseded_by IS NULL AND (y.audience IS NULL OR p_actor = ANY (y.audience))
          AND width_bucket(y.seq, p_windows) % 2 = 1 AND width_bucket(y.root_seq, p_windows) % 2 = 1 LIMIT 1) IS NULL;
      IF waiting_ids IS NOT NULL THEN
        calls := cardinality(waiting_ids);
        ids := waiting_ids;
        positions := waiting_positions;
      END IF;
    END IF;
    IF calls = 1 THEN
      RETURN QUERY
      SELECT p.part, r.call_id, 'found', NULL::jsonb, ids[1], positions[1] FROM unnest(r.parts) AS p(part);
    ELSE
      RETURN QUERY
      SELECT r.parts[1], r.call_id,
             CASE WHEN calls > 1 THEN 'ambiguous' WHEN tools IS NOT NULL THEN 'other_name' ELSE 'no_call' END,
             jsonb_build_object('callId', r.call_id, 'name', r.name, 'turnId', r.turn_id, 'found', to_jsonb(
               CASE WHEN calls > 1 THEN ids[1:10] ELSE coalesce(tools[1:10], '{}') END)),
             NULL, NULL::integer;
      RETURN;
    END IF;
  END LOOP;
END $$;
