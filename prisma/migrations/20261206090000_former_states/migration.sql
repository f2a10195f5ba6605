-- Reads as of an earlier moment: the former values of rows that change, and the schema `past`, whose views show the tables
-- as they were. Rows without former values are shown as they are now.

-- The values of a row before an update. `until` is when they ended.
CREATE TABLE former_state (
  relation        text NOT NULL,
  key             text NOT NULL,
  number          bigint GENERATED ALWAYS AS IDENTITY,
  tenant          text NOT NULL,
  conversation_id text REFERENCES conversation (id) ON DELETE CASCADE,
  fact_id         text REFERENCES fact (id) ON DELETE CASCADE,
  superseded_by   text,
  user_id         text,
  until           timestamptz(3) NOT NULL,
  state           jsonb NOT NULL,
  PRIMARY KEY (relation, key, number)
);
CREATE INDEX former_state_conversation ON former_state (conversation_id) WHERE conversation_id IS NOT NULL;
CREATE INDEX former_state_fact ON former_state (fact_id) WHERE fact_id IS NOT NULL;
CREATE INDEX former_state_superseded_by ON former_state (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX former_state_user ON former_state (tenant, user_id) WHERE user_id IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON former_state TO colloquy_app, colloquy_system;
ALTER TABLE former_state ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON former_state TO colloquy_app USING (tenant = current_setting('colloquy.tenant', true));
CREATE POLICY system ON former_state TO colloquy_system USING (true);

-- The facts that a fact may have superseded, by its id. In the schema `past`, also those of another time (create_past).
CREATE VIEW superseded_fact WITH (security_invoker = true) AS
  SELECT id, superseded_by FROM fact WHERE superseded_by IS NOT NULL;
GRANT SELECT ON superseded_fact TO colloquy_app, colloquy_system;

DROP FUNCTION fact_importance(text, integer, date, timestamptz);
-- How important a fact is, 0 to 1: how often it was stated (0.4), on how many days before today it was recalled (0.3), and
-- how many days ago it was stated (0.3, halved every 90 days). Days are those of UTC: unless sources are added, the value
-- changes only at midnight.
--
-- p_sources  number of distinct sources of the fact and of its merged duplicates (src/store/sql/fact/fact-columns.ts). It
--            is an argument because Postgres inlines a function only without a subquery, which takes a quarter of the time.
CREATE OR REPLACE FUNCTION fact_importance(
  p_sources bigint, p_recall_days integer, p_recalled_on date, p_observed_at timestamptz
) RETURNS double precision LANGUAGE sql STABLE AS $$
  SELECT 0.4 * (1 - 1.0 / greatest(1, p_sources))
       + 0.3 * (1 - 1.0 / (1 + p_recall_days - (p_recalled_on IS NOT DISTINCT FROM now()::date)::integer))
       + 0.3 * power(0.5, greatest(0, now()::date - p_observed_at::date) / 90.0)
$$;

-- Trigger that keeps the values of a row before an update, for reads as of an earlier time. Created by create_past.
--
-- Arguments: the name of the table; the columns of its key and the columns to keep, each list separated by spaces.
--
-- The values were valid until the transaction began, like the entries that it writes; those of a profile until its new
-- `updated_at`. At most 50 former states of a row are kept, the newest ones.
CREATE OR REPLACE FUNCTION keep_former_state() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  of_table CONSTANT text := TG_ARGV[0];
  was CONSTANT jsonb := to_jsonb(OLD);
  of_row text;
BEGIN
  SELECT string_agg(was->>k, ' ' ORDER BY o) INTO of_row
  FROM unnest(string_to_array(TG_ARGV[1], ' ')) WITH ORDINALITY AS u(k, o);
  INSERT INTO former_state (tenant, relation, key, conversation_id, fact_id, superseded_by, user_id, until, state)
  SELECT was->>'tenant', of_table, of_row,
         CASE of_table WHEN 'conversation' THEN was->>'id' WHEN 'fact' THEN NULL ELSE was->>'conversation_id' END,
         CASE of_table WHEN 'fact' THEN was->>'id' ELSE was->>'fact_id' END,
         CASE of_table WHEN 'fact' THEN was->>'superseded_by' END,
         CASE of_table WHEN 'user_profile' THEN was->>'user_id' END,
         CASE of_table WHEN 'user_profile' THEN (to_jsonb(NEW)->>'updated_at')::timestamptz ELSE now() END,
         jsonb_object_agg(c, was->c)
  FROM unnest(string_to_array(TG_ARGV[2], ' ')) AS u(c);
  DELETE FROM former_state f
  WHERE f.relation = of_table AND f.key = of_row AND f.number <= (
    SELECT o.number FROM former_state o
    WHERE o.relation = of_table AND o.key = of_row
    ORDER BY o.number DESC OFFSET 50 LIMIT 1);
  RETURN NULL;
END $$;

-- Finds turns by their terms in the index turn_terms, which a policy keeps a request from using: && is not leakproof.
-- Called by src/store/sql/recall/find-terms.ts.
--
-- p_conversations  ids of conversations that the actor sees
-- p_terms          term hashes, not salted
-- p_limit          maximum number of turns for each term
--
-- Reads the rights of the actor from public.participant, because its twin in the schema `past` (create_past) has the
-- rights of today.
--
-- Runs as its owner, colloquy_system, so it selects the tenant itself: from the setting, not from an argument. Returns
-- the place of the term in p_terms, and of the conversation in p_conversations, the key of a committed turn that the
-- actor sees, in its newest visible version, the number of times that the turn has the term, at most 16,383, and its
-- number of terms, at most 32,767. Fewer than p_limit turns may be returned although more have the term, if some have it
-- only under the salt of another conversation.
CREATE OR REPLACE FUNCTION find_turns_with_terms(p_actor text, p_conversations text[], p_terms integer[], p_limit integer)
RETURNS TABLE (term integer, conversation integer, root_seq integer, seq integer, count integer, length integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1000
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH v AS MATERIALIZED (
    SELECT j.conversation_id AS id, c.place::integer AS place, j.salt, p.actor,
           coalesce(p.windows, '{1}') AS windows, coalesce(p.windows = '{1}', true) AS all_public
    FROM journal j JOIN unnest(p_conversations) WITH ORDINALITY AS c(id, place) ON c.id = j.conversation_id
    LEFT JOIN public.participant p ON p.conversation_id = j.conversation_id AND p.actor = p_actor
    -- The CASE keeps the planner from expecting few of the conversations.
    WHERE j.conversation_id = ANY (p_conversations)
      AND CASE WHEN j.tenant = current_setting('colloquy.tenant', true) THEN true ELSE false END)
  SELECT q.ordinal::integer, h.place, h.root_seq, h.seq, least(h.count, 16383), least(h.length, 32767)
  FROM unnest(p_terms) WITH ORDINALITY AS q(term, ordinal)
  CROSS JOIN LATERAL (
    SELECT v.place, t.root_seq, t.seq, cardinality(array_positions(t.terms, q.term # v.salt)) AS count,
           cardinality(t.terms) AS length
    -- The OFFSET keeps the planner from reading the index once for each conversation.
    FROM (SELECT t.conversation_id, t.root_seq, t.seq, t.audience, t.superseded_by, t.terms FROM turn t
          WHERE t.terms && ARRAY(SELECT DISTINCT q.term # s.salt FROM v s)
            AND t.tenant = current_setting('colloquy.tenant', true) AND t.status = 'COMMITTED' OFFSET 0) t
    JOIN v ON v.id = t.conversation_id
    WHERE (v.all_public OR width_bucket(t.seq, v.windows) % 2 = 1 AND width_bucket(t.root_seq, v.windows) % 2 = 1)
      AND (t.audience IS NULL OR v.actor = ANY (t.audience))
      AND (t.superseded_by IS NULL OR NOT EXISTS (
        SELECT FROM turn n WHERE n.conversation_id = t.conversation_id AND n.root_seq = t.root_seq AND n.seq > t.seq
                             AND width_bucket(n.seq, v.windows) % 2 = 1))
    LIMIT p_limit) h
  WHERE h.count > 0;
END $$;

-- Creates the schema `past`: views with the names and columns of tables, which show the rows as of an earlier moment. A
-- statement reads the past if its search_path begins with `past` and the settings name the moment
-- (src/store/scoped-query.ts). Also creates the triggers that keep former values. Call it after a change of the columns
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

REVOKE ALL ON FUNCTION create_past() FROM PUBLIC;
SELECT create_past();
