-- Appends plain turns: committed, without audience, reply, tool calls, tool results and claim. Called by
-- src/store/sql/turn/append-plain-turns.ts, which leaves to append_turns what this function does not write.
--
-- p_conversations  distinct ids of conversations of the tenant
-- p_counts         number of the turns of each conversation
-- p_sums           number of their tokens
-- The others have one element a turn, and those of a conversation are in order; null for no value in any turn:
-- p_of     index of the conversation, from 1
-- p_nth    number of the turn among those of its conversation, from 1
-- p_terms  the terms of all turns, in order
-- p_ends   index of the turn's last term in p_terms, from 1
-- p_kinds  kind of the author's own credential; null if another one, or none, writes the turn
-- p_rest   {parts, promptTokens, completionTokens, model, adapter, traceId, sources, pinned, metadata, createdAt,
--          importedAt, mentions} as in append_turns, without null fields; null for none
--
-- Writes the turns of a conversation only if it is not locked, every author is a present participant of the kind of
-- its credential, and no clientId has been used: then nothing can refuse them, and no participant changes. Each has
-- a row. The turns of other conversations have none, and are not written. In addition, a turn that wakes up nobody
-- because of the loop guard (wake_up_participants) has a row `stopped` with the seq of the entry that says so.
--
-- The plans are generic: planning the statements for each call takes longer than running them. A session keeps them
-- while the tables grow, so they use indexes even if the tables are still small when it makes them.
--
-- Invariant: numbers are assigned after the conversations are locked, by statements with their own snapshots, so the
-- journal has no gap and a clientId is written once.
CREATE OR REPLACE FUNCTION append_plain_turns(
  p_tenant text, p_conversations text[], p_counts integer[], p_sums integer[], p_ids text[], p_of integer[],
  p_nth integer[], p_actors text[], p_roles role[], p_texts text[], p_tokens integer[], p_terms integer[],
  p_ends integer[], p_cues smallint[], p_client_ids text[], p_client_hashes text[],
  p_kinds participant_kind[], p_rest jsonb[])
RETURNS TABLE (id text, seq integer, stopped boolean, created_at timestamptz, mentions text[])
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  -- Of each conversation: the seq of its newest entry, or -1 if nothing is written to it; and its salt.
  bases integer[];
  salts integer[];
  responding boolean;
  refused integer;
BEGIN
  -- The scalar and LIMIT 1 look-ups keep the planner on the primary keys, whatever it thinks of the batch's size.
  SELECT array_agg(coalesce(j.last_seq, -1) ORDER BY a.o), array_agg(coalesce(j.salt, 0) ORDER BY a.o),
         coalesce(bool_or(j.responding), false)
  INTO bases, salts, responding
  FROM unnest(p_conversations) WITH ORDINALITY AS a(id, o)
  LEFT JOIN LATERAL (
    SELECT j.last_seq, j.salt, j.responding FROM journal j
    WHERE j.conversation_id = a.id AND j.tenant = p_tenant
      -- So that an actor who does not see the conversation does not lock it.
      AND (j.visibility = 'OPEN' OR NOT EXISTS (
        SELECT FROM unnest(p_of, p_actors) AS u(c, actor)
        WHERE u.c = a.o AND (SELECT true FROM participant p WHERE p.conversation_id = a.id AND p.actor = u.actor
                                                               AND p.left_at IS NULL LIMIT 1) IS NULL))
    LIMIT 1 FOR UPDATE SKIP LOCKED) j ON true;

  FOR refused IN
    SELECT u.c FROM unnest(p_of, p_actors, p_kinds, p_client_ids) AS u(c, actor, kind, client_id)
    WHERE (SELECT true FROM participant p WHERE p.conversation_id = p_conversations[u.c] AND p.actor = u.actor
                                            AND p.left_at IS NULL AND NOT p.removed AND p.kind = coalesce(u.kind, p.kind)
           LIMIT 1) IS NULL
       OR u.client_id IS NOT NULL AND (
         SELECT true FROM turn x WHERE x.conversation_id = p_conversations[u.c] AND x.actor = u.actor
                                   AND x.client_id = u.client_id LIMIT 1)
  LOOP
    bases[refused] := -1;
  END LOOP;

  RETURN QUERY
  INSERT INTO turn AS t (id, conversation_id, seq, root_seq, actor, author_kind, role, status, text, parts, mentions, token_count,
                         prompt_tokens, completion_tokens, model, adapter, trace_id, sources, pinned, metadata,
                         client_id, client_hash, created_at, imported_at, terms, cues)
  SELECT u.id, p_conversations[u.c], bases[u.c] + u.nth, bases[u.c] + u.nth, u.actor, u.kind, u.role, 'COMMITTED',
         u.text,
         u.rest->'parts',
         CASE WHEN u.rest ? 'mentions' THEN find_mentioned(p_conversations[u.c], ARRAY(
           SELECT jsonb_array_elements_text(u.rest->'mentions'))) END,
         u.tokens, (u.rest->>'promptTokens')::integer, (u.rest->>'completionTokens')::integer, u.rest->>'model',
         u.rest->>'adapter', u.rest->>'traceId', u.rest->'sources', coalesce((u.rest->>'pinned')::boolean, false),
         u.rest->'metadata', u.client_id, u.client_hash, coalesce((u.rest->>'createdAt')::timestamptz, now()),
         (u.rest->>'importedAt')::timestamptz,
         -- As `salted`, which is not inlined.
         ARRAY(SELECT x # salts[u.c] FROM unnest(p_terms[coalesce(p_ends[u.o - 1], 0) + 1:p_ends[u.o]]) AS x), u.cues
  FROM unnest(p_ids, p_of, p_nth, p_actors, p_kinds, p_roles, p_texts, p_tokens, p_cues, p_client_ids, p_client_hashes,
              p_rest)
    WITH ORDINALITY AS u(id, c, nth, actor, kind, role, text, tokens, cues, client_id, client_hash, rest, o)
  WHERE bases[u.c] >= 0
  RETURNING t.id, t.seq, false, t.created_at, t.mentions;
  IF NOT FOUND THEN RETURN; END IF;

  INSERT INTO entry (conversation_id, seq, kind, turn_id)
  SELECT p_conversations[u.c], bases[u.c] + u.nth, 'APPENDED', u.id FROM unnest(p_ids, p_of, p_nth) AS u(id, c, nth)
  WHERE bases[u.c] >= 0;

  UPDATE journal j
  SET last_seq = j.last_seq + n.turns, turn_count = j.turn_count + n.turns, token_count = j.token_count + n.tokens,
      updated_at = now()
  FROM unnest(p_conversations, p_counts, p_sums, bases) AS n(id, turns, tokens, base)
  WHERE j.conversation_id = ANY (p_conversations) AND j.conversation_id = n.id AND n.base >= 0;

  IF responding THEN
    RETURN QUERY
    SELECT w.turn_id, w.seq, true, NULL::timestamptz, NULL::text[] FROM wake_up_participants(p_ids) w;
  END IF;
END $$;
