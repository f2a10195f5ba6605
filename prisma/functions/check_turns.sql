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
