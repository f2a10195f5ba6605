-- Parts of streaming turns, such as reasoning and tool calls, which are written while the turn is open.
--
-- A chunk and a held text belong to one part of a turn; part 0 is the turn's text. Open turns keep their text.

CREATE TABLE stream_part (
  turn_id text NOT NULL,
  number smallint NOT NULL,
  at integer NOT NULL,
  content jsonb NOT NULL,
  is_complete boolean NOT NULL,
  opened_at timestamptz(3) DEFAULT now() NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  PRIMARY KEY (turn_id, number)
);
ALTER TABLE stream_part ADD CONSTRAINT stream_part_turn_id_fkey
  FOREIGN KEY (turn_id) REFERENCES stream(turn_id) ON DELETE CASCADE;
GRANT SELECT, INSERT, UPDATE, DELETE ON stream_part TO colloquy_app, colloquy_system;
ALTER TABLE stream_part ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON stream_part TO colloquy_app USING (tenant = current_setting('colloquy.tenant', true));
CREATE POLICY system ON stream_part TO colloquy_system USING (true);

ALTER TABLE stream ADD COLUMN part_bytes integer DEFAULT 0 NOT NULL;
ALTER TABLE chunk ADD COLUMN part smallint DEFAULT 0 NOT NULL,
  DROP CONSTRAINT chunk_pkey, ADD PRIMARY KEY (turn_id, part, start);
ALTER TABLE held_text ADD COLUMN part smallint DEFAULT 0 NOT NULL,
  DROP CONSTRAINT held_text_pkey, ADD PRIMARY KEY (turn_id, part);

DROP FUNCTION append_chunks(jsonb, integer);
DROP FUNCTION append_held(jsonb, integer, integer, integer, bytea, integer, boolean);
DROP FUNCTION close_turn(text, text, text, text, turn_status, integer, text, jsonb, integer, integer, integer, text, jsonb,
                         text, jsonb, jsonb, integer, integer[], smallint, text[], text);

-- Appends deltas to open turns and renews their leases. Called by src/store/sql/turn/streaming/append-chunks.ts.
--
-- p_deltas  [{turn, tenant, viewer, writer, part, content, complete, start, text, units, second, half, held}], for one
--           turn in order. Turns are locked in id order.
--           viewer    the actor who sends the delta
--           writer    hash of the writer's token
--           part      number of the part (stream_part.number) that the delta belongs to; 0 for the turn's text
--           content   the part without its streamed text, to open the part or to add properties; null for none
--           complete  whether the delta is the part's last one
--           start     UTF-16 offset where the delta begins in the text of the part; null for its end
--           text      whole characters; `units` is their length in UTF-16 units
--           second    low surrogate that precedes the text; the stored text must end in the high surrogate
--           half      high surrogate that follows the text; kept until the low surrogate arrives
--           held      whether append_held is the caller; only it writes turns with a row in held_text
-- p_limit   maximum size of a turn's text and parts in UTF-8 bytes
--
-- One row per delta. outcome: 'written' with the stored text, the new end, and the place of the part (`at`); 'renewed'
-- for a delta that changes nothing; 'half' when a surrogate would stay unpaired; 'elsewhere' when start is not the end;
-- 'full' beyond p_limit; 'unopened' for a part that is not open, with the number of parts as `end`, unless the delta
-- opens the next part; 'other_part' when the stored content of the part differs; 'complete' for text after the last
-- delta of a part; 'closed' with the turn's status; 'held' for a turn that append_held must write; 'other_writer' when
-- the hash is not that of the stream; 'left' when the author has left the conversation; 'missing' when the tenant has no
-- such turn, or the viewer neither opened it nor sees its conversation. The last three lock nothing.
CREATE OR REPLACE FUNCTION append_chunks(p_deltas jsonb, p_limit integer)
RETURNS TABLE (place integer, outcome text, conversation_id text, start integer, text text, "end" integer, half integer,
               status turn_status, at integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  d record;
  s record;
  spent integer;
  part stream_part%ROWTYPE;
  is_new boolean;
  is_changed boolean;
  parts integer;
  text_end integer;
  text_bytes integer;
  tail record;
  tail_end integer;
  said text;
  said_units integer;
  added integer;
BEGIN
  FOR d IN
    SELECT (x.o - 1)::integer AS place, r.*
    FROM jsonb_array_elements(p_deltas) WITH ORDINALITY AS x(v, o)
    CROSS JOIN LATERAL jsonb_to_record(x.v) AS r(
      turn text, tenant text, viewer text, writer text, part smallint, content jsonb, complete boolean, start integer,
      text text, units integer, second integer, half integer, held boolean)
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
      RETURN QUERY SELECT d.place, 'missing', NULL, NULL::integer, NULL, NULL::integer, NULL::integer, NULL::turn_status,
                          NULL::integer;
      CONTINUE;
    END IF;
    IF s.writer_hash <> d.writer OR s.writer_hash IS NOT NULL AND NOT s.present THEN
      RETURN QUERY SELECT d.place, CASE WHEN s.writer_hash <> d.writer THEN 'other_writer' ELSE 'left' END,
                          s.conversation_id, NULL::integer, NULL, NULL::integer, NULL::integer, s.status, NULL::integer;
      CONTINUE;
    END IF;
    SELECT w.part_bytes INTO spent FROM stream w WHERE w.turn_id = d.turn FOR UPDATE;
    IF NOT FOUND THEN
      RETURN QUERY SELECT d.place, 'closed', s.conversation_id, NULL::integer, NULL, NULL::integer, NULL::integer, t.status,
                          NULL::integer
                   FROM turn t WHERE t.id = d.turn AND t.conversation_id = s.conversation_id;
      CONTINUE;
    END IF;
    SELECT coalesce(c."end", 0) AS "end", c.half, coalesce(c.bytes, 0) AS bytes,
           d.held IS NOT TRUE AND EXISTS (SELECT FROM held_text h WHERE h.turn_id = d.turn) AS is_held INTO tail
    FROM (VALUES (1)) v LEFT JOIN LATERAL
      (SELECT * FROM chunk c WHERE c.turn_id = d.turn AND c.part = d.part ORDER BY c.start DESC LIMIT 1) c ON true;
    tail_end := tail."end" + (tail.half IS NOT NULL)::integer;
    IF tail.is_held THEN
      RETURN QUERY SELECT d.place, 'held', s.conversation_id, NULL::integer, NULL, NULL::integer, NULL::integer, s.status,
                          NULL::integer;
      CONTINUE;
    END IF;
    part := NULL;
    is_new := false;
    is_changed := false;
    text_bytes := tail.bytes;
    IF d.part > 0 THEN
      SELECT p.* INTO part FROM stream_part p WHERE p.turn_id = d.turn AND p.number = d.part;
      is_new := NOT FOUND;
      IF is_new THEN
        SELECT count(*) INTO parts FROM stream_part p WHERE p.turn_id = d.turn;
        IF d.content IS NULL OR d.part <> parts + 1 THEN
          RETURN QUERY SELECT d.place, 'unopened', s.conversation_id, NULL::integer, NULL, parts, NULL::integer, s.status,
                              NULL::integer;
          CONTINUE;
        END IF;
      ELSIF EXISTS (SELECT FROM jsonb_each(d.content) e WHERE part.content ? e.key AND part.content->e.key <> e.value) THEN
        RETURN QUERY SELECT d.place, 'other_part', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status,
                            part.at;
        CONTINUE;
      END IF;
      is_changed := is_new OR d.complete IS TRUE AND NOT part.is_complete
                    OR EXISTS (SELECT FROM jsonb_each(d.content) e WHERE NOT part.content ? e.key);
      SELECT coalesce(c."end", 0), coalesce(c.bytes, 0) INTO text_end, text_bytes
      FROM (VALUES (1)) v LEFT JOIN LATERAL
        (SELECT * FROM chunk c WHERE c.turn_id = d.turn AND c.part = 0 ORDER BY c.start DESC LIMIT 1) c ON true;
      IF is_new THEN part.at := text_end; END IF;
    END IF;
    IF coalesce(d.start, tail_end) <> tail_end THEN
      RETURN QUERY SELECT d.place, 'elsewhere', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status, part.at;
    ELSIF d.units = 0 AND d.second IS NULL AND d.half IS NULL AND NOT is_changed THEN
      UPDATE stream SET renewed_at = now() WHERE turn_id = d.turn;
      RETURN QUERY SELECT d.place, 'renewed', s.conversation_id, tail_end, '', tail_end, tail.half, s.status, part.at;
    ELSIF part.is_complete THEN
      RETURN QUERY SELECT d.place, 'complete', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status, part.at;
    ELSIF (tail.half IS NULL) <> (d.second IS NULL) OR d.complete IS TRUE AND d.half IS NOT NULL THEN
      RETURN QUERY SELECT d.place, 'half', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status, part.at;
    ELSE
      -- A pair of halves is one character (Unicode 15.0, §3.9, D91).
      said := CASE WHEN d.second IS NULL THEN d.text
              ELSE chr((tail.half - 55296) * 1024 + (d.second - 56320) + 65536) || d.text END;
      said_units := d.units + CASE WHEN d.second IS NULL THEN 0 ELSE 2 END;
      added := octet_length(said);
      IF d.part > 0 THEN
        -- Each change adds at least one byte, so that close_turn notices it.
        added := added + coalesce(octet_length(d.content::text), 0) + (d.half IS NOT NULL)::integer
                 + (d.complete IS TRUE)::integer;
      END IF;
      IF text_bytes + spent + added > p_limit THEN
        RETURN QUERY SELECT d.place, 'full', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status, part.at;
        CONTINUE;
      END IF;
      IF is_new THEN
        INSERT INTO stream_part (turn_id, number, at, content, is_complete)
        VALUES (d.turn, d.part, part.at, d.content, d.complete IS TRUE);
      ELSIF is_changed THEN
        UPDATE stream_part p
        SET content = p.content || coalesce(d.content, '{}'), is_complete = p.is_complete OR d.complete IS TRUE
        WHERE p.turn_id = d.turn AND p.number = d.part;
      END IF;
      IF d.part > 0 THEN
        UPDATE stream SET part_bytes = part_bytes + added, renewed_at = now() WHERE turn_id = d.turn;
      END IF;
      IF said <> '' OR d.half IS NOT NULL THEN
        -- A chunk that was nothing but a half gives way to the one that completes it.
        INSERT INTO chunk AS c (turn_id, part, start, "end", text, bytes, half)
        VALUES (d.turn, d.part, tail."end", tail."end" + said_units, said, tail.bytes + octet_length(said), d.half)
        ON CONFLICT (turn_id, part, start) DO UPDATE
        SET "end" = excluded."end", text = excluded.text, bytes = excluded.bytes, half = excluded.half,
            written_at = now();
      END IF;
      RETURN QUERY SELECT d.place, 'written', s.conversation_id, tail."end", said,
                          tail."end" + said_units + (d.half IS NOT NULL)::integer, d.half, s.status, part.at;
    END IF;
  END LOOP;
END $$;

-- Appends the text that redaction has released to an open turn, and replaces the text that is held back. Called by
-- src/store/sql/turn/streaming/held-text.ts.
--
-- p_delta      the delta, as for append_chunks; its text is redacted
-- p_limit      maximum size of a turn's text and parts in UTF-8 bytes
-- p_version    version of the held text that the caller read; null if it read none, for a new part
-- p_sent       length of the text that the writer has sent, in UTF-16 units
-- p_raw        the last of that text as it was sent, in UTF-16 (little-endian), which holds unpaired surrogates too
-- p_published  length of the part of p_raw that is published, in UTF-16 units
-- p_sealed     whether no text is held back any more
--
-- The row of append_chunks; outcome 'moved' if another call has replaced the held text since, and nothing was written.
CREATE OR REPLACE FUNCTION append_held(
  p_delta jsonb, p_limit integer, p_version integer, p_sent integer, p_raw bytea, p_published integer, p_sealed boolean)
RETURNS TABLE (place integer, outcome text, conversation_id text, start integer, text text, "end" integer, half integer,
               status turn_status, at integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  r record;
  current integer;
BEGIN
  -- Only the writer locks the stream: a stranger must not delay it.
  PERFORM FROM stream s WHERE s.turn_id = p_delta->>'turn' AND s.writer_hash = p_delta->>'writer' FOR UPDATE;
  IF FOUND THEN
    SELECT h.version INTO current FROM held_text h WHERE h.turn_id = p_delta->>'turn' AND h.part = (p_delta->>'part')::smallint;
    IF current IS DISTINCT FROM p_version THEN
      RETURN QUERY SELECT 0, 'moved', NULL, NULL::integer, NULL, NULL::integer, NULL::integer, NULL::turn_status,
                          NULL::integer;
      RETURN;
    END IF;
  END IF;
  SELECT * INTO r FROM append_chunks(jsonb_build_array(p_delta || '{"held": true}'), p_limit);
  IF r.outcome IN ('written', 'renewed') THEN
    INSERT INTO held_text AS h (turn_id, part, tenant, version, sent, raw, published, sealed)
    VALUES (p_delta->>'turn', (p_delta->>'part')::smallint, p_delta->>'tenant', 1, p_sent, p_raw, p_published, p_sealed)
    ON CONFLICT (turn_id, part) DO UPDATE
    SET version = h.version + 1, sent = excluded.sent, raw = excluded.raw, published = excluded.published,
        sealed = excluded.sealed;
  END IF;
  RETURN QUERY SELECT r.place, r.outcome, r.conversation_id, r.start, r.text, r."end", r.half, r.status, r.at;
END $$;

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

-- Creates the schema `past`: views with the names and columns of tables, which show the rows as of an earlier moment. A
-- statement reads the past if its search_path begins with `past` and the settings name the moment
-- (src/store/db/scoped-query.ts). Also creates the triggers that keep former values. Call it after a change of the columns
-- of these tables: the views have the columns that the tables have at that time.
--
-- Settings: colloquy.past_at is the moment; colloquy.past_conversation and colloquy.past_seq name an entry of one
-- conversation, whose journal is then cut after that entry, or are empty.
--
-- A turn or a summary exists from its entry on. An entry exists from the time `at` on. The views apply the policies of
-- the reading role. Rights are not read from the past: statements read them from public.participant.
CREATE OR REPLACE FUNCTION create_past() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $create$
DECLARE
  -- The columns whose former values are kept, by table, and the columns of the key. Columns that do not exist are ignored.
  kept CONSTANT jsonb := '{
    "conversation": {"key": ["id"], "columns": ["owner", "system_prompt"]},
    "participant": {"key": ["conversation_id", "actor"], "columns": ["kind", "display_name", "joined_at", "left_at"]},
    "turn": {"key": ["id"], "columns": ["pinned"]},
    "summary": {"key": ["id"], "columns": ["superseded_by", "stale"]},
    "fact": {"key": ["id"], "columns": [
      "said_by", "asserted_by", "confidence", "observed_at", "imported_at", "superseded_by", "superseded_at",
      "supersede_reason", "supersede_note", "asserted_at", "restored_at", "restore_note", "valid_from", "valid_to",
      "contradicted_from", "recalled_on", "recall_days"]},
    "fact_source": {"key": ["fact_id", "source"], "columns": ["observed_at", "imported_at", "assertions"]},
    "user_profile": {"key": ["tenant", "user_id", "visibility"], "columns": [
      "content", "token_count", "made_by", "made_of", "claims", "updated_at"]}}';
  -- Whether entry `e` exists.
  existed CONSTANT text := 'CASE WHEN e.conversation_id = (SELECT past.conversation_id()) THEN e.seq <= (SELECT past.seq())
                                 ELSE e.at <= (SELECT past.now()) END';
  -- Whether conversation `c` exists. One whose entry is named does, whatever the clock that set its time.
  created CONSTANT text := '(c.id = (SELECT past.conversation_id()) OR c.created_at <= (SELECT past.now()))';
  -- Whether turn `t` with entry `e` is open. The text that it had then is not stored.
  is_open CONSTANT text := $$(e.kind = 'OPENED' AND t.status <> 'ERASED' AND NOT EXISTS (
    SELECT FROM past.entry x WHERE x.conversation_id = t.conversation_id AND x.turn_id = t.id AND x.seq > t.seq
                               AND x.kind IN ('COMMITTED', 'ABORTED')))$$;
  -- The entry of row `t`. The LIMIT keeps the planner from joining in the other order, without an index.
  of_entry CONSTANT text := ' CROSS JOIN LATERAL (
    SELECT x.conversation_id, x.seq, x.at, x.kind FROM public.entry x
    WHERE x.conversation_id = t.conversation_id AND x.seq = t.seq LIMIT 1) e';
  counted CONSTANT text := $$FROM past.turn x WHERE x.conversation_id = t.conversation_id AND x.status = 'COMMITTED'
                             AND x.audience IS NULL AND x.superseded_by IS NULL$$;
  summarized CONSTANT text := $$FROM past.summary x WHERE x.conversation_id = t.conversation_id
                                AND x.superseded_by IS NULL AND NOT x.stale$$;
  relation text;
  spec jsonb;
  columns text[];
  former text;
  views jsonb;
  view jsonb;
  list text;
  definition text;
BEGIN
  FOR relation, spec IN SELECT * FROM jsonb_each(kept) LOOP
    SELECT array_agg(a.attname::text ORDER BY a.attnum) INTO columns
    FROM pg_attribute a
    WHERE a.attrelid = format('public.%I', relation)::regclass AND a.attnum > 0 AND NOT a.attisdropped
      AND spec->'columns' ? a.attname::text;
    EXECUTE format('DROP TRIGGER IF EXISTS keep_former_state ON public.%I', relation);
    EXECUTE format(
      'CREATE TRIGGER keep_former_state AFTER UPDATE OF %s ON public.%I FOR EACH ROW
       WHEN (ROW(%s) IS DISTINCT FROM ROW(%s)) EXECUTE FUNCTION public.keep_former_state(%L, %L, %L)',
      (SELECT string_agg(quote_ident(c), ', ') FROM unnest(columns) c), relation,
      (SELECT string_agg('OLD.' || quote_ident(c), ', ') FROM unnest(columns) c),
      (SELECT string_agg('NEW.' || quote_ident(c), ', ') FROM unnest(columns) c),
      relation, (SELECT string_agg(k, ' ' ORDER BY o) FROM jsonb_array_elements_text(spec->'key') WITH ORDINALITY u(k, o)),
      array_to_string(CASE relation WHEN 'user_profile' THEN ARRAY['visibility'] || columns ELSE columns END, ' '));
  END LOOP;

  DROP SCHEMA IF EXISTS past CASCADE;
  CREATE SCHEMA past;
  -- Statements call now(), which is the moment in the past: search_path has pg_catalog after `past`.
  CREATE FUNCTION past.now() RETURNS timestamptz LANGUAGE sql STABLE AS
    $$SELECT current_setting('colloquy.past_at')::timestamptz$$;
  CREATE FUNCTION past.conversation_id() RETURNS text LANGUAGE sql STABLE AS
    $$SELECT nullif(current_setting('colloquy.past_conversation'), '')$$;
  CREATE FUNCTION past.seq() RETURNS integer LANGUAGE sql STABLE AS
    $$SELECT nullif(current_setting('colloquy.past_seq'), '')::integer$$;

  -- In the order of dependencies. `columns` replaces columns by expressions; `more` is a second part of the rows, with
  -- columns of its own. Kept columns have their former values if `former` is true.
  views := jsonb_build_array(
    jsonb_build_object('of', 'entry', 'from', 'public.entry t CROSS JOIN LATERAL (SELECT t.conversation_id, t.seq, t.at) e WHERE ' || existed),
    jsonb_build_object('of', 'chunk', 'from', 'public.chunk t WHERE t.written_at <= (SELECT past.now())'),
    jsonb_build_object('of', 'stream_part', 'from', 'public.stream_part t WHERE t.opened_at <= (SELECT past.now())'),
    jsonb_build_object('of', 'conversation', 'former', true, 'from', 'public.conversation t %FORMER% WHERE ' || replace(created, 'c.', 't.')),
    jsonb_build_object('of', 'participant', 'former', true, 'from',
      'public.participant t %FORMER% WHERE CASE WHEN w.state ? ''joined_at'' THEN (w.state->>''joined_at'')::timestamptz
                                                ELSE t.joined_at END <= (SELECT past.now())'),
    jsonb_build_object('of', 'turn', 'from', 'public.turn t' || of_entry || ' WHERE ' || existed, 'columns', jsonb_build_object(
      'status', format($$CASE WHEN %s THEN 'STREAMING'::turn_status ELSE t.status END$$, is_open),
      'text', format($$CASE WHEN %s THEN '' ELSE t.text END$$, is_open),
      'token_count', format('CASE WHEN %s THEN 0 ELSE t.token_count END', is_open),
      'parts', format('CASE WHEN NOT %s THEN t.parts END', is_open),
      'mentions', format('CASE WHEN NOT %s THEN t.mentions END', is_open),
      'metadata', format('CASE WHEN NOT %s THEN t.metadata END', is_open),
      'model', format('CASE WHEN NOT %s THEN t.model END', is_open),
      'prompt_tokens', format('CASE WHEN NOT %s THEN t.prompt_tokens END', is_open),
      'completion_tokens', format('CASE WHEN NOT %s THEN t.completion_tokens END', is_open),
      'abort_reason', format('CASE WHEN NOT %s THEN t.abort_reason END', is_open),
      'pinned', $$coalesce((SELECT (s.state->>'pinned')::boolean FROM public.former_state s
                            WHERE s.relation = 'turn' AND s.key = t.id AND s.until > (SELECT past.now())
                            ORDER BY s.number LIMIT 1), t.pinned)$$,
      'superseded_by', $$CASE WHEN t.superseded_by IS NOT NULL AND EXISTS (
        SELECT FROM public.turn n JOIN past.entry x ON x.conversation_id = n.conversation_id AND x.seq = n.seq
        WHERE n.id = t.superseded_by AND n.conversation_id = t.conversation_id) THEN t.superseded_by END$$)),
    jsonb_build_object('of', 'summary', 'former', true, 'from', 'public.summary t' || of_entry || ' %FORMER% WHERE ' || existed),
    jsonb_build_object('of', 'turn_vector', 'from', 'public.turn_vector t' || of_entry || ' WHERE ' || existed),
    jsonb_build_object('of', 'journal',
      'from', 'public.journal t JOIN public.conversation c ON c.id = t.conversation_id WHERE ' || created,
      'columns', jsonb_build_object(
        'last_seq', 'coalesce((SELECT x.seq FROM past.entry x WHERE x.conversation_id = t.conversation_id ORDER BY x.seq DESC LIMIT 1), 0)',
        'updated_at', 'coalesce((SELECT x.at FROM past.entry x WHERE x.conversation_id = t.conversation_id ORDER BY x.seq DESC LIMIT 1), c.created_at)',
        'turn_count', format('(SELECT count(*)::integer %s)', counted),
        'token_count', format('(SELECT coalesce(sum(x.token_count), 0)::bigint %s)', counted),
        'summarized_through', format('(SELECT coalesce(max(x.to_seq), 0) %s)', summarized),
        'summarized_turns', format('(SELECT coalesce(sum(x.turns), 0)::integer %s)', summarized),
        'summarized_tokens', format('(SELECT coalesce(sum(x.turn_tokens), 0)::bigint %s)', summarized))),
    jsonb_build_object('of', 'fact_source', 'former', true, 'from', 'public.fact_source t %FORMER% WHERE t.created_at <= (SELECT past.now())',
      -- Sources that an edit has removed.
      'more', 'public.former_state w CROSS JOIN LATERAL jsonb_populate_record(NULL::public.fact_source, w.state) r
               WHERE w.relation = ''removed_source'' AND w.until > (SELECT past.now()) AND r.created_at <= (SELECT past.now())',
      'indexed', '["fact_id", "conversation_id"]'::jsonb),
    -- A fact names its first source, which may have been another one then: an edit may have removed it since.
    jsonb_build_object('of', 'fact', 'former', true,
      'from', 'public.fact t JOIN LATERAL (
                 SELECT * FROM past.fact_source s WHERE s.fact_id = t.id ORDER BY s.created_at, s.source LIMIT 1) p ON true
               %FORMER% WHERE t.created_at <= (SELECT past.now())',
      'columns', jsonb_build_object(
        'conversation_id', 'p.conversation_id',
        'root_seq', 'p.root_seq',
        'seq', 'p.seq',
        'audience', 'p.audience',
        'source_turn_id', 'p.turn_id')),
    jsonb_build_object('of', 'user_profile', 'from', 'public.user_profile t WHERE t.updated_at <= (SELECT past.now())',
      'more', 'public.former_state w CROSS JOIN LATERAL jsonb_populate_record(NULL::public.user_profile, w.state) r
               WHERE w.relation = ''user_profile'' AND w.until > (SELECT past.now()) AND r.updated_at <= (SELECT past.now())',
      'indexed', '["tenant", "user_id"]'::jsonb));

  FOR view IN SELECT v FROM jsonb_array_elements(views) v LOOP
    relation := view->>'of';
    SELECT string_agg(CASE
             WHEN view->'columns' ? a.attname::text THEN format('%s AS %I', view->'columns'->>a.attname::text, a.attname)
             WHEN view ? 'former' AND kept->relation->'columns' ? a.attname::text
               THEN format('CASE WHEN w.state ? %L THEN (w.state->>%L)::%s ELSE t.%I END AS %I', a.attname, a.attname,
                           format_type(a.atttypid, a.atttypmod), a.attname, a.attname)
             ELSE format('t.%I', a.attname) END, ', ' ORDER BY a.attnum),
           string_agg(CASE WHEN view->'indexed' ? a.attname::text THEN 'w.' ELSE 'r.' END || quote_ident(a.attname), ', ' ORDER BY a.attnum)
    INTO list, definition
    FROM pg_attribute a
    WHERE a.attrelid = format('public.%I', relation)::regclass AND a.attnum > 0 AND NOT a.attisdropped;
    SELECT format(
      'LEFT JOIN LATERAL (
         SELECT s.state FROM public.former_state s
         WHERE s.relation = %L AND s.key = %s AND s.until > (SELECT past.now()) ORDER BY s.number LIMIT 1) w ON true',
      relation, string_agg(format('t.%I', k), $$ || ' ' || $$ ORDER BY o))
    INTO former FROM jsonb_array_elements_text(kept->relation->'key') WITH ORDINALITY u(k, o);
    definition := CASE WHEN view ? 'more' THEN format(' UNION ALL SELECT %s FROM %s', definition, view->>'more') ELSE '' END;
    EXECUTE format('CREATE VIEW past.%I WITH (security_invoker = true) AS SELECT %s FROM %s%s', relation, list,
                   replace(view->>'from', '%FORMER%', coalesce(former, '')), definition);
  END LOOP;
  -- Also the facts that were superseded by the fact at another time: `fact` says by which a fact was superseded then.
  CREATE VIEW past.superseded_fact WITH (security_invoker = true) AS
    SELECT id, superseded_by FROM public.fact WHERE superseded_by IS NOT NULL
    UNION ALL SELECT fact_id, superseded_by FROM public.former_state WHERE superseded_by IS NOT NULL;
  GRANT USAGE ON SCHEMA past TO colloquy_app, colloquy_system;
  GRANT SELECT ON ALL TABLES IN SCHEMA past TO colloquy_app, colloquy_system;

  -- The function sets a search_path of its own, so it needs a twin that reads the past.
  definition := pg_get_functiondef('public.find_turns_with_terms'::regproc);
  definition := replace(definition, 'FUNCTION public.find_turns_with_terms', 'FUNCTION past.find_turns_with_terms');
  EXECUTE replace(definition, $$search_path TO 'pg_catalog', 'public'$$, $$search_path TO 'past', 'pg_catalog', 'public'$$);
  GRANT CREATE ON SCHEMA past TO colloquy_system;
  ALTER FUNCTION past.find_turns_with_terms(text, text[], integer[], integer) OWNER TO colloquy_system;
  REVOKE CREATE ON SCHEMA past FROM colloquy_system;
  REVOKE ALL ON FUNCTION past.find_turns_with_terms(text, text[], integer[], integer) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION past.find_turns_with_terms(text, text[], integer[], integer) TO colloquy_app;
END $create$;

SELECT create_past();
