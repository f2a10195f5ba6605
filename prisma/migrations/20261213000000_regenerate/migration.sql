-- Runs that regenerate a reply: the first reply is a newer, streaming version of an older one. Such versions wake up
-- nobody, and the past shows them as open until they were closed.

ALTER TABLE run ADD COLUMN supersedes_id text;
-- Finds the entry that closed a streaming turn.
CREATE INDEX entry_closed ON entry (conversation_id, turn_id) WHERE kind IN ('COMMITTED', 'ABORTED');

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
  -- Whether turn `t` with entry `e` is open. The text that it had then is not stored. A newer version was open if it was
  -- closed later.
  is_open CONSTANT text := $$(t.status <> 'ERASED' AND (e.kind = 'OPENED' OR e.kind = 'SUPERSEDED' AND EXISTS (
    SELECT FROM public.entry x WHERE x.conversation_id = t.conversation_id AND x.turn_id = t.id AND x.seq > t.seq
                                 AND x.kind IN ('COMMITTED', 'ABORTED'))) AND NOT EXISTS (
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
