-- Writes the wake-ups of committed turns, and ends those that the turns answer. Called by append_turns and close_turn for
-- conversations with responding participants, in the transaction that commits the turns, under the conversation's lock.
--
-- p_turns  ids of turns; those that do not exist, or are not committed, are ignored
--
-- A turn ends its author's wake-up by the turn that it replies to, and wakes up the present participants other than its
-- author that see it and respond to it (participant.respond). No turn does either while its author waits for the
-- results of its tool calls. Imported turns, SYSTEM and TOOL turns, and newer versions of turns wake up nobody.
--
-- Loop guard: journal.agent_turns counts the turns of agents and tools that may wake up participants, since the last
-- turn of a person: an author of the kind HUMAN, by the credential that wrote the turn or else as a participant, in a
-- role other than ASSISTANT and TOOL. A turn beyond conversation.max_agent_turns wakes up nobody. If it would have woken up a
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
    SELECT x.*, count(*) FILTER (WHERE x.wakes AND NOT x.is_person) OVER (
                  PARTITION BY x.conversation_id, x.people ORDER BY x.seq)
                + CASE x.people WHEN 0 THEN x.agent_turns ELSE 0 END AS agents
    FROM (
      SELECT y.*, count(*) FILTER (WHERE y.is_person) OVER (PARTITION BY y.conversation_id ORDER BY y.seq) AS people
      FROM (
        SELECT t.id, t.conversation_id, t.tenant, t.seq, t.root_seq, t.actor, t.audience, t.mentions, t.reply_to_id,
               j.agent_turns, j.last_seq, c.max_agent_turns,
               t.role IN ('USER', 'ASSISTANT') AND NOT has_open_calls(t.parts) AS wakes,
               coalesce(t.author_kind, p.kind) = 'HUMAN' AND t.role IN ('USER', 'SYSTEM') AS is_person
        FROM turn t
        JOIN journal j ON j.conversation_id = t.conversation_id AND j.responding
        JOIN conversation c ON c.id = t.conversation_id
        JOIN participant p ON p.conversation_id = t.conversation_id AND p.actor = t.actor
        WHERE t.id = ANY (p_turns) AND t.status = 'COMMITTED' AND t.imported_at IS NULL AND t.seq = t.root_seq
      ) y
    ) x
  ), woken AS MATERIALIZED (
    SELECT s.id, s.conversation_id, s.tenant, s.seq, s.root_seq, s.last_seq, p.actor,
           s.agents > s.max_agent_turns AND NOT s.is_person AS stopped
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
