-- One function appends all turns. It receives arrays instead of JSON, and checks only the turns that need it.
DROP FUNCTION append_plain_turns(text, text[], integer[], integer[], text[], integer[], integer[], text[], role[], text[],
  integer[], integer[], integer[], smallint[], text[], text[], participant_kind[], jsonb[]);
DROP FUNCTION append_turns(jsonb, boolean);
DROP FUNCTION answer_claims(jsonb);

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

-- Checks the turns of conversations that append_turns has locked, and numbers those that it writes. Called by append_turns
-- for the conversations in which a turn may be refused or change a participant.
--
-- p_bases    of each conversation, the seq of its newest entry
-- p_checked  indices of the conversations whose turns are checked
-- The others are those of append_turns.
--
-- One row per turn of a call that is not refused: 'written', with the turn's seq, the detail 'joined' or 'changed', and
-- its parts if it has tool results; or 'repeated', with the id, seq and time of the turn that its clientId wrote. One row
-- with the first fault per call that is refused.
CREATE OR REPLACE FUNCTION check_turns(
  p_tenant text, p_max_participants integer, p_max_open_in_conversation integer, p_max_open_by_viewer integer,
  p_conversations text[], p_expected integer[], p_bases integer[], p_checked integer[], p_calls integer[],
  p_of integer[], p_ids text[], p_actors text[], p_author_kinds participant_kind[], p_client_ids text[],
  p_client_hashes text[], p_rest jsonb[])
RETURNS TABLE (turn integer, outcome text, detail text, id text, seq integer, created_at timestamptz, parts jsonb)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH said AS MATERIALIZED (
    SELECT u.*, p_bases[u.c] AS last_seq, j.visibility, p_conversations[u.c] AS conversation_id,
           u.rest->>'status' AS status,
           ARRAY(SELECT jsonb_array_elements_text(u.rest->'audience')) AS audience,
           u.rest->>'replyToId' AS reply_to_id, u.rest->'calls' AS calls, u.rest->'results' AS results,
           twin.id AS twin_id, twin.seq AS twin_seq, twin.created_at AS twin_at, twin.client_hash AS twin_hash,
           twin.status AS twin_status,
           m.present, coalesce(m.removed, false) AS removed, coalesce(m.windows, '{1}') AS windows,
           coalesce(m.present AND m.kind <> u.author_kind AND NOT m.is_run, false) AS differs
    FROM unnest(p_of, p_calls, p_ids, p_actors, p_author_kinds, p_client_ids, p_client_hashes, p_rest)
      WITH ORDINALITY AS u(c, call, id, actor, author_kind, client_id, client_hash, rest, o)
    CROSS JOIN LATERAL (SELECT j.visibility FROM journal j WHERE j.conversation_id = p_conversations[u.c] LIMIT 1) j
    LEFT JOIN LATERAL (SELECT x.id, x.seq, x.created_at, x.client_hash, x.status FROM turn x
                       WHERE x.conversation_id = p_conversations[u.c] AND x.actor = u.actor
                         AND x.client_id = u.client_id LIMIT 1) twin ON true
    LEFT JOIN LATERAL (SELECT p.left_at IS NULL AS present, p.removed, p.windows, p.kind,
                              p.agent IS NOT NULL AS is_run
                       FROM participant p
                       WHERE p.conversation_id = p_conversations[u.c] AND p.actor = u.actor LIMIT 1) m ON true
    WHERE u.c = ANY (p_checked)
  ), result AS MATERIALIZED (
    SELECT s.o, s.call, f.*
    FROM said s
    CROSS JOIN LATERAL find_calls(s.conversation_id, s.actor, s.windows, s.results, s.rest->>'runHolder') f
    WHERE s.twin_id IS NULL AND s.results IS NOT NULL
  ), fault AS MATERIALIZED (
    SELECT DISTINCT ON (f.call) f.call, f.o, f.outcome, f.detail
    FROM (
      SELECT s.call, s.o, 'unknown' AS outcome, NULL AS detail
      FROM said s WHERE s.visibility = 'MEMBERS' AND s.present IS NULL
      UNION ALL
      SELECT s.call, s.o, 'moved_on', s.last_seq::text
      FROM said s WHERE p_expected[s.c] <> s.last_seq AND s.twin_id IS NULL
      UNION ALL
      SELECT s.call, s.o, CASE WHEN w.viewer IS NULL THEN 'other_content' ELSE 'held' END,
             jsonb_build_object('clientId', s.client_id, 'turnId', s.twin_id, 'status', s.twin_status,
                                'holder', w.viewer)::text
      FROM said s
      LEFT JOIN LATERAL (SELECT x.viewer FROM stream x
                         WHERE x.turn_id = s.twin_id AND x.writer_hash IS DISTINCT FROM s.rest->>'writerHash'
                         LIMIT 1) w ON true
      WHERE s.twin_hash <> s.client_hash
      UNION ALL
      SELECT s.call, s.o, CASE WHEN s.removed THEN 'removed' ELSE 'left' END, s.actor
      FROM said s WHERE s.twin_id IS NULL AND (s.removed OR s.visibility = 'MEMBERS' AND NOT s.present)
      UNION ALL
      SELECT s.call, s.o, 'stranger', a.actor
      FROM said s CROSS JOIN LATERAL unnest(s.audience) AS a(actor)
      WHERE s.twin_id IS NULL
        AND (SELECT true FROM participant p WHERE p.conversation_id = s.conversation_id AND p.actor = a.actor
                                              AND p.left_at IS NULL LIMIT 1) IS NULL
        AND NOT EXISTS (SELECT FROM said x WHERE x.call = s.call AND x.actor = a.actor)
      UNION ALL
      SELECT f.call, f.o, f.outcome, f.detail::text FROM result f WHERE f.outcome <> 'found'
      UNION ALL
      SELECT s.call, s.o, 'waiting', w.fault::text
      FROM said s CROSS JOIN LATERAL waiting_call(s.conversation_id, s.actor, s.calls) AS w(fault)
      WHERE s.twin_id IS NULL AND s.calls IS NOT NULL AND w.fault IS NOT NULL
      UNION ALL
      SELECT s.call, s.o, 'no_reply', s.reply_to_id
      FROM said s
      WHERE s.twin_id IS NULL AND s.reply_to_id IS NOT NULL
        AND (SELECT true FROM turn x
             WHERE x.id = s.reply_to_id AND x.conversation_id = s.conversation_id
               AND (x.audience IS NULL OR s.actor = ANY (x.audience))
               AND width_bucket(x.seq, s.windows) % 2 = 1 AND width_bucket(x.root_seq, s.windows) % 2 = 1
             LIMIT 1) IS NULL
      UNION ALL
      SELECT s.call, s.o, 'no_context', s.rest->>'contextId'
      FROM said s
      WHERE s.twin_id IS NULL AND s.rest->>'contextId' IS NOT NULL
        AND (SELECT true FROM stored_context x
             WHERE x.id = s.rest->>'contextId' AND x.conversation_id = s.conversation_id AND x.actor = s.actor
             LIMIT 1) IS NULL
      UNION ALL
      SELECT s.call, s.o, 'no_claim', k.fault::text
      FROM said s
      CROSS JOIN LATERAL claim_fault(s.conversation_id, s.actor, s.reply_to_id, s.rest->>'claimHash') AS k(fault)
      WHERE s.twin_id IS NULL AND s.rest->>'claimHash' IS NOT NULL AND k.fault IS NOT NULL
      UNION ALL
      SELECT n.call, n.o, 'participants', NULL
      FROM (SELECT s.*, dense_rank() OVER (PARTITION BY s.c ORDER BY s.actor) AS nth
            FROM said s WHERE p_max_participants IS NOT NULL AND s.twin_id IS NULL AND s.present IS NULL) n
      WHERE n.nth + (SELECT count(*) FROM participant p WHERE p.conversation_id = n.conversation_id)
            > p_max_participants
      UNION ALL
      SELECT n.call, n.o, 'open_in_conversation', NULL
      FROM (SELECT s.*, row_number() OVER (PARTITION BY s.c ORDER BY s.o) AS nth
            FROM said s
            WHERE p_max_open_in_conversation IS NOT NULL AND s.twin_id IS NULL AND s.status IS NOT NULL) n
      WHERE n.nth + (SELECT count(*) FROM stream x WHERE x.conversation_id = n.conversation_id)
            > p_max_open_in_conversation
      UNION ALL
      SELECT n.call, n.o, 'open_by_viewer', NULL
      FROM (SELECT s.*, row_number() OVER (PARTITION BY s.rest->>'viewer' ORDER BY s.o) AS nth
            FROM said s
            WHERE p_max_open_by_viewer IS NOT NULL AND s.twin_id IS NULL AND s.status IS NOT NULL) n
      WHERE n.nth + (SELECT count(*) FROM stream x WHERE x.tenant = p_tenant AND x.viewer = n.rest->>'viewer')
            > p_max_open_by_viewer
    ) f
    -- 'unknown' first: the others would tell that the conversation exists.
    ORDER BY f.call, f.outcome <> 'unknown', f.o, f.outcome
  ), fresh AS MATERIALIZED (
    -- An author who is not a present participant joins one entry before the turn. One entry before the turn, the
    -- kind of a participant becomes that of its credential, unless the server runs it.
    SELECT s.*, s.last_seq + (row_number() OVER w + sum((s.joins OR s.changes)::integer) OVER w)::integer AS seq
    FROM (SELECT s.*, s.present IS NOT TRUE AND s.nth = 1 AS joins, s.differs AND s.nth = 1 AS changes
          FROM (SELECT s.*, row_number() OVER (PARTITION BY s.c, s.actor, s.differs ORDER BY s.o) AS nth
                FROM said s
                WHERE s.twin_id IS NULL AND NOT EXISTS (SELECT FROM fault f WHERE f.call = s.call)) s) s
    WINDOW w AS (PARTITION BY s.c ORDER BY s.o)
  ), answered AS MATERIALIZED (
    -- The call of each tool result. Its turn is stored before, or in the same statement, perhaps by an earlier one.
    SELECT f.o, f.part, f.turn_id, f.call_position, f.approval_id FROM result f WHERE f.outcome = 'found'
    UNION ALL
    SELECT f.o, (e.v->>'part')::integer, coalesce(c.twin_id, c.id), coalesce(c.twin_seq, n.seq), NULL
    FROM fresh f
    CROSS JOIN LATERAL jsonb_array_elements(f.results) AS e(v)
    JOIN said c ON c.o = (e.v->>'place')::bigint
    LEFT JOIN fresh n ON n.o = c.o
  ), linked AS MATERIALIZED (
    SELECT f.o, jsonb_agg(CASE WHEN a.turn_id IS NULL THEN p.part ELSE p.part || jsonb_strip_nulls(
             jsonb_build_object('callTurnId', a.turn_id, 'callPosition', a.call_position,
                                'approvalId', a.approval_id)) END ORDER BY p.place) AS parts
    FROM fresh f
    CROSS JOIN LATERAL jsonb_array_elements(f.rest->'parts') WITH ORDINALITY AS p(part, place)
    LEFT JOIN answered a ON a.o = f.o AND a.part = p.place - 1
    WHERE f.results IS NOT NULL
    GROUP BY f.o
  )
  SELECT f.o::integer, f.outcome, f.detail, NULL, NULL::integer, NULL::timestamptz, NULL::jsonb
  FROM fault f
  UNION ALL
  SELECT s.o::integer, 'repeated', NULL, s.twin_id, s.twin_seq, s.twin_at, NULL
  FROM said s WHERE s.twin_id IS NOT NULL AND NOT EXISTS (SELECT FROM fault f WHERE f.call = s.call)
  UNION ALL
  SELECT f.o::integer, 'written', CASE WHEN f.joins THEN 'joined' WHEN f.changes THEN 'changed' END, f.id, f.seq, NULL, l.parts
  FROM fresh f LEFT JOIN linked l USING (o);
END $$;

-- Records the turns that answer with a claim, in the claim. Called by append_turns, which has locked the conversations,
-- written the turns and checked the claims.
--
-- p_conversations, p_of, p_ids  as for append_turns
-- p_hashes                      of each turn, the hash of the token of the claim with which it answers; null for none
--
-- A committed turn ends its claim as answered, with the wake-ups that the claim excludes: that of its holder, or all of
-- the turn for scope TURN. A streaming turn keeps the claim until close_turn ends it. Turns that were not written,
-- repetitions, and turns that wait for results of their tool calls, change nothing.
CREATE OR REPLACE FUNCTION answer_claims(p_conversations text[], p_of integer[], p_ids text[], p_hashes text[])
RETURNS void LANGUAGE sql AS $$
  WITH answered AS (
    UPDATE claim k
    SET answer_id = x.id,
        ended_at = CASE x.status WHEN 'COMMITTED' THEN clock_timestamp() END,
        outcome = CASE x.status WHEN 'COMMITTED' THEN 'ANSWERED'::claim_outcome END
    FROM unnest(p_of, p_ids, p_hashes) AS t(c, id, hash)
    CROSS JOIN LATERAL (
      SELECT x.id, x.status, x.actor, x.parts, f.id AS first_id
      FROM turn x
      JOIN turn v ON v.id = x.reply_to_id AND v.conversation_id = x.conversation_id
      JOIN turn f ON f.conversation_id = v.conversation_id AND f.root_seq = v.root_seq AND f.seq = v.root_seq
      WHERE x.id = t.id AND x.conversation_id = p_conversations[t.c] LIMIT 1) x
    WHERE t.hash IS NOT NULL
      AND k.turn_id = x.first_id AND k.actor = x.actor AND k.token_hash = t.hash AND k.ended_at IS NULL
      AND NOT (x.status = 'COMMITTED' AND has_open_calls(x.parts))
    RETURNING k.turn_id, k.slot, k.answer_id, k.ended_at
  )
  UPDATE wake_up w SET answered_at = now(), answer_id = a.answer_id
  FROM answered a
  WHERE a.ended_at IS NOT NULL AND w.turn_id = a.turn_id AND (a.slot = '' OR w.actor = a.slot)
    AND w.answered_at IS NULL AND w.dropped_reason IS NULL
$$;

-- Appends or opens turns: any number of calls of one tenant, each atomic and for one conversation. Called by
-- src/store/sql/turn/append-turns.ts.
--
-- p_wait           false skips conversations that another transaction has locked: their calls have no row in the result
-- p_max_…          maximum numbers of participants and of open turns; null for none. The first counts former participants
--                  too. p_max_open_by_viewer may be exceeded by calls that run at the same time.
-- p_conversations  distinct ids of conversations, ascending, so that two statements cannot wait for each other
-- p_expected       of each, the required seq of its newest entry; null for any. With one, the conversation has one call.
-- The others have one element per turn, ordered by call; null for no value in any turn:
-- p_calls         number of the turn's call
-- p_of            index of the conversation, from 1
-- p_nth           number of the turn among those of its conversation, from 1
-- p_author_kinds  kind of the author's own credential; null if another one, or none, writes the turn
-- p_terms         the index terms of all turns, in order
-- p_ends          index of the turn's last term in p_terms, from 1
-- p_cues          null for a turn that is not indexed yet
-- p_rest          the fields that most turns do not have, without null fields; null for none: {parts, audience, mentions,
--                 promptTokens, completionTokens, model, adapter, traceId, sources, pinned, metadata, createdAt,
--                 importedAt, replyToId, contextId, calls, results, runHolder, claimHash, status, viewer, writerHash,
--                 leaseSeconds}
--                   mentions      the names in the turn's text, as for find_mentioned
--                   results       [{part, callId, name, turnId}] as for find_calls; or {part, callId, name, place}, when
--                                 turn number `place` of this statement made the tool call
--                   runHolder     holder of the run that writes the turn's results, as for find_calls
--                   claimHash     hash of the token of the claim with which the turn answers the turn replyToId
--                   status        STREAMING for an open turn, which has the next three; absent for a committed one
--                   viewer        the principal that opens it
--                   leaseSeconds  duration of its lease; absent for that of the server
--
-- A call reaches a conversation of its tenant; a MEMBERS conversation only if every author is or was a participant. Any
-- other call has no row, or one row 'unknown', locks nothing and waits for nothing. Otherwise the call has one row per
-- turn ('written', with the detail 'joined' when the actor joined one entry before, or 'changed' when its kind as a
-- participant became that of its credential one entry before, and with the stored parts of a turn with tool results; or
-- 'repeated', with the turn that its clientId already wrote), or one row that names the fault ('moved_on',
-- 'other_content', 'held', 'stranger', 'no_call', 'other_name', 'ambiguous', 'waiting', 'no_reply', 'no_context',
-- 'no_claim', 'removed', 'left', 'participants', 'open_in_conversation', 'open_by_viewer') and nothing is written. In
-- addition, each turn that wakes up nobody because of the loop guard (wake_up_participants) has a row 'stopped' with the
-- seq of the entry WAKE_UPS_STOPPED. No two calls may answer with the same claim. `turn` is the number of the turn.
--
-- Nothing can refuse most turns, and they change no participant: their author is a present participant, their clientId is
-- new, and they name no other turn, participant, call or context. Only the conversations with other turns are passed to
-- check_turns, which takes as long as the rest of this function.
--
-- Invariant: numbers are assigned after the conversations are locked, by statements with their own snapshots, so the
-- journal has no gap and a clientId is written once.
--
-- The plans are generic: planning the statements for each call takes longer than running them. A session keeps them
-- while the tables grow, so they use indexes even if the tables are still small when it makes them. The scalar and
-- LIMIT 1 look-ups keep the planner on the primary keys, whatever it thinks of the batch's size.
CREATE OR REPLACE FUNCTION append_turns(
  p_tenant text, p_wait boolean, p_max_participants integer, p_max_open_in_conversation integer,
  p_max_open_by_viewer integer, p_conversations text[], p_expected integer[], p_calls integer[], p_of integer[],
  p_nth integer[], p_ids text[], p_actors text[], p_author_kinds participant_kind[], p_roles role[], p_texts text[],
  p_tokens integer[], p_terms integer[], p_ends integer[], p_cues smallint[], p_client_ids text[],
  p_client_hashes text[], p_rest jsonb[])
RETURNS TABLE (turn integer, outcome text, detail text, id text, seq integer, created_at timestamptz, parts jsonb,
               mentions text[])
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  -- Of each conversation: the seq of its newest entry, or -1 if it is not locked; and its salt.
  bases integer[];
  salts integer[];
  responding boolean;
  -- The fields that p_rest contains.
  fields text[];
  -- Indices of the conversations whose turns must be checked; null for none.
  checked integer[];
  -- Of each turn: its seq, or 0 if it is not written; the detail of its row; and the stored parts of a turn with results.
  seqs integer[];
  details text[];
  linked jsonb[];
  r record;
BEGIN
  IF p_wait THEN
    -- The next statement then skips none of them.
    PERFORM FROM unnest(p_conversations) WITH ORDINALITY AS a(id, o)
    CROSS JOIN LATERAL (
      SELECT FROM journal j
      WHERE j.conversation_id = a.id AND j.tenant = p_tenant
        AND (j.visibility = 'OPEN' OR has_members_call(a.id, a.o::integer, p_of, p_calls, p_actors))
      LIMIT 1 FOR UPDATE) j;
  END IF;
  SELECT array_agg(coalesce(j.last_seq, -1) ORDER BY a.o), array_agg(coalesce(j.salt, 0) ORDER BY a.o),
         coalesce(bool_or(j.responding), false)
  INTO bases, salts, responding
  FROM unnest(p_conversations) WITH ORDINALITY AS a(id, o)
  LEFT JOIN LATERAL (
    SELECT j.last_seq, j.salt, j.responding FROM journal j
    WHERE j.conversation_id = a.id AND j.tenant = p_tenant
      AND (j.visibility = 'OPEN' OR has_members_call(a.id, a.o::integer, p_of, p_calls, p_actors))
    LIMIT 1 FOR UPDATE SKIP LOCKED) j ON true;
  IF 0 > ALL (bases) THEN RETURN; END IF;

  IF p_rest IS NOT NULL THEN
    fields := ARRAY(SELECT DISTINCT k.field FROM unnest(p_rest) AS u(rest), jsonb_object_keys(u.rest) AS k(field));
  END IF;

  SELECT array_agg(DISTINCT u.c) INTO checked
  FROM unnest(p_of, p_actors, p_author_kinds, p_client_ids, p_rest) AS u(c, actor, author_kind, client_id, rest)
  WHERE bases[u.c] >= 0
    AND ((SELECT true FROM participant p WHERE p.conversation_id = p_conversations[u.c] AND p.actor = u.actor
            AND p.left_at IS NULL AND NOT p.removed AND p.kind = coalesce(u.author_kind, p.kind) LIMIT 1) IS NULL
      OR u.client_id IS NOT NULL
         AND (SELECT true FROM turn x WHERE x.conversation_id = p_conversations[u.c] AND x.actor = u.actor
                                        AND x.client_id = u.client_id LIMIT 1)
      OR p_expected[u.c] IS NOT NULL
      OR u.rest ?| '{audience,replyToId,contextId,calls,results,claimHash,status}');

  seqs := ARRAY(SELECT CASE WHEN bases[u.c] < 0 OR u.c = ANY (checked) THEN 0 ELSE bases[u.c] + u.nth END
                FROM unnest(p_of, p_nth) AS u(c, nth));

  IF checked IS NOT NULL THEN
    FOR r IN
      SELECT c.* FROM check_turns(
        p_tenant, p_max_participants, p_max_open_in_conversation, p_max_open_by_viewer, p_conversations, p_expected,
        bases, checked, p_calls, p_of, p_ids, p_actors, p_author_kinds, p_client_ids, p_client_hashes, p_rest) c
    LOOP
      IF r.outcome = 'written' THEN
        seqs[r.turn] := r.seq;
        IF r.detail IS NOT NULL THEN details[r.turn] := r.detail; END IF;
        IF r.parts IS NOT NULL THEN linked[r.turn] := r.parts; END IF;
      ELSE
        turn := r.turn; outcome := r.outcome; detail := r.detail; id := r.id; seq := r.seq; created_at := r.created_at;
        RETURN NEXT;
      END IF;
    END LOOP;
  END IF;

  IF details IS NOT NULL THEN
    UPDATE participant p
    SET left_at = NULL,
        joined_at = CASE details[u.o] WHEN 'joined' THEN now() ELSE p.joined_at END,
        kind = CASE WHEN p.agent IS NULL THEN coalesce(u.author_kind, p.kind) ELSE p.kind END,
        windows = CASE WHEN details[u.o] = 'changed' THEN p.windows
                       WHEN p.history = 'ALL' THEN '{1}' ELSE p.windows || (seqs[u.o] - 1) END
    FROM unnest(p_of, p_actors, p_author_kinds) WITH ORDINALITY AS u(c, actor, author_kind, o)
    WHERE details[u.o] IS NOT NULL AND p.conversation_id = p_conversations[u.c] AND p.actor = u.actor;

    INSERT INTO participant (conversation_id, actor, kind, windows)
    SELECT p_conversations[u.c], u.actor,
           coalesce(u.author_kind, CASE u.role WHEN 'USER' THEN 'HUMAN' WHEN 'TOOL' THEN 'TOOL' ELSE 'AGENT' END::participant_kind),
           '{1}'
    FROM unnest(p_of, p_actors, p_author_kinds, p_roles) WITH ORDINALITY AS u(c, actor, author_kind, role, o)
    WHERE details[u.o] = 'joined'
    ON CONFLICT DO NOTHING;

    INSERT INTO entry (conversation_id, seq, kind, actor)
    SELECT p_conversations[u.c], seqs[u.o] - 1,
           CASE details[u.o] WHEN 'joined' THEN 'JOINED' ELSE 'UPDATED' END::entry_kind, u.actor
    FROM unnest(p_of, p_actors) WITH ORDINALITY AS u(c, actor, o) WHERE details[u.o] IS NOT NULL;
  END IF;

  RETURN QUERY
  WITH wrote AS (
    INSERT INTO turn AS t (id, conversation_id, seq, root_seq, actor, author_kind, role, status, text, parts, audience,
                           mentions, token_count, prompt_tokens, completion_tokens, model, adapter, trace_id, sources,
                           pinned, metadata, client_id, client_hash, created_at, imported_at, reply_to_id, context_id,
                           terms, cues)
    SELECT u.id, p_conversations[u.c], seqs[u.o], seqs[u.o], u.actor, u.author_kind, u.role,
           coalesce((u.rest->>'status')::turn_status, 'COMMITTED'), u.text, coalesce(linked[u.o], u.rest->'parts'),
           CASE WHEN u.rest ? 'audience' THEN ARRAY(SELECT jsonb_array_elements_text(u.rest->'audience')) END,
           CASE WHEN u.rest ? 'mentions' THEN find_mentioned(p_conversations[u.c], ARRAY(
             SELECT jsonb_array_elements_text(u.rest->'mentions'))) END,
           u.tokens, (u.rest->>'promptTokens')::integer, (u.rest->>'completionTokens')::integer, u.rest->>'model',
           u.rest->>'adapter', u.rest->>'traceId', u.rest->'sources', coalesce((u.rest->>'pinned')::boolean, false),
           u.rest->'metadata', u.client_id, u.client_hash, coalesce((u.rest->>'createdAt')::timestamptz, now()),
           (u.rest->>'importedAt')::timestamptz, u.rest->>'replyToId', u.rest->>'contextId',
           -- As `salted`, which is not inlined.
           CASE WHEN u.cues IS NOT NULL THEN
             ARRAY(SELECT x # salts[u.c] FROM unnest(p_terms[coalesce(p_ends[u.o - 1], 0) + 1:p_ends[u.o]]) AS x) END,
           u.cues
    FROM unnest(p_ids, p_of, p_actors, p_author_kinds, p_roles, p_texts, p_tokens, p_cues, p_client_ids,
                p_client_hashes, p_rest)
      WITH ORDINALITY AS u(id, c, actor, author_kind, role, text, tokens, cues, client_id, client_hash, rest, o)
    WHERE seqs[u.o] > 0
    RETURNING t.id, t.seq, t.created_at, t.mentions
  )
  SELECT u.o::integer, 'written', details[u.o], w.id, w.seq, w.created_at, linked[u.o], w.mentions
  FROM wrote w JOIN unnest(p_ids) WITH ORDINALITY AS u(id, o) USING (id);
  IF NOT FOUND THEN RETURN; END IF;

  INSERT INTO entry (conversation_id, seq, kind, turn_id)
  SELECT p_conversations[u.c], u.seq,
         CASE WHEN u.rest ? 'status' THEN 'OPENED' ELSE 'APPENDED' END::entry_kind, u.id
  FROM unnest(p_ids, p_of, seqs, p_rest) AS u(id, c, seq, rest) WHERE u.seq > 0;

  UPDATE journal j
  SET last_seq = n.last_seq, turn_count = j.turn_count + n.turns, token_count = j.token_count + n.tokens,
      updated_at = now()
  FROM (SELECT u.c, max(u.seq) AS last_seq,
               count(*) FILTER (WHERE (u.rest ?| '{status,audience}') IS NOT TRUE) AS turns,
               coalesce(sum(u.tokens) FILTER (WHERE (u.rest ?| '{status,audience}') IS NOT TRUE), 0) AS tokens
        FROM unnest(p_of, seqs, p_tokens, p_rest) AS u(c, seq, tokens, rest) WHERE u.seq > 0 GROUP BY u.c) n
  WHERE j.conversation_id = ANY (p_conversations) AND j.conversation_id = p_conversations[n.c];

  IF 'calls' = ANY (fields) THEN
    INSERT INTO tool_call (conversation_id, call_id, turn_id, name)
    SELECT p_conversations[u.c], v.call->>'callId', u.id, v.call->>'name'
    FROM unnest(p_ids, p_of, seqs, p_rest) AS u(id, c, seq, rest)
    CROSS JOIN LATERAL jsonb_array_elements(u.rest->'calls') AS v(call) WHERE u.seq > 0;
  END IF;

  IF linked IS NOT NULL THEN
    INSERT INTO tool_result (conversation_id, call_id, call_position, turn_id, approval_id)
    SELECT DISTINCT p_conversations[u.c], v.part->>'callId', (v.part->>'callPosition')::integer, u.id,
           v.part->>'approvalId'
    FROM unnest(p_ids, p_of) WITH ORDINALITY AS u(id, c, o)
    CROSS JOIN LATERAL jsonb_array_elements(linked[u.o]) AS v(part) WHERE v.part ? 'callPosition';
  END IF;

  IF 'status' = ANY (fields) THEN
    INSERT INTO stream (turn_id, conversation_id, tenant, viewer, writer_hash, lease_seconds)
    SELECT u.id, p_conversations[u.c], p_tenant, u.rest->>'viewer', u.rest->>'writerHash',
           (u.rest->>'leaseSeconds')::integer
    FROM unnest(p_ids, p_of, seqs, p_rest) AS u(id, c, seq, rest) WHERE u.seq > 0 AND u.rest ? 'status';
  END IF;

  -- From their first private turn on, participants are told apart when views are compared.
  IF 'audience' = ANY (fields) THEN
    UPDATE participant p SET addressed = true
    FROM (SELECT DISTINCT p_conversations[u.c] AS conversation_id, a.actor
          FROM unnest(p_of, seqs, p_rest) AS u(c, seq, rest)
          CROSS JOIN LATERAL jsonb_array_elements_text(u.rest->'audience') AS a(actor) WHERE u.seq > 0) w
    WHERE p.conversation_id = ANY (p_conversations) AND p.conversation_id = w.conversation_id AND p.actor = w.actor
      AND NOT p.addressed;
  END IF;

  IF 'claimHash' = ANY (fields) THEN
    PERFORM answer_claims(p_conversations, p_of, p_ids, ARRAY(SELECT u.rest->>'claimHash' FROM unnest(p_rest) AS u(rest)));
  END IF;

  IF responding THEN
    RETURN QUERY
    SELECT u.o::integer, 'stopped', NULL, w.turn_id, w.seq, NULL::timestamptz, NULL::jsonb, NULL::text[]
    FROM wake_up_participants(p_ids) w JOIN unnest(p_ids) WITH ORDINALITY AS u(id, o) ON u.id = w.turn_id;
  END IF;
END $$;
