-- Tenants are kept apart by row-level security: every row carries its tenant, a request runs as colloquy_app and sees
-- only the rows of the tenant that it has set, and background work over all tenants runs as colloquy_system.
-- docs/security.md explains the roles.

-- Roles belong to the cluster, so another database may have created them, or be creating them now.
DO $$
DECLARE
  r text;
BEGIN
  FOREACH r IN ARRAY ARRAY['colloquy_app', 'colloquy_system'] LOOP
    BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION', r);
      END IF;
    EXCEPTION
      WHEN duplicate_object OR unique_violation THEN NULL;
      WHEN insufficient_privilege THEN
        RAISE EXCEPTION 'the role % does not exist, and % may not create it', r, current_user
          USING HINT = 'As a superuser, run the statements on roles of scripts/compose/application-role.sql.';
    END;
    -- A superuser can take any role.
    CONTINUE WHEN (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
    BEGIN
      EXECUTE format('GRANT %I TO CURRENT_USER', r);
    EXCEPTION WHEN insufficient_privilege THEN
      IF NOT pg_has_role(r, 'MEMBER') THEN
        RAISE EXCEPTION '% is not a member of the role %', current_user, r
          USING HINT = 'As a superuser, run the statements on roles of scripts/compose/application-role.sql.';
      END IF;
    END;
  END LOOP;
END $$;

-- The tenant of each row. The default is the tenant that the request has set; statements over all tenants name it.
ALTER TABLE entry ADD tenant text;
ALTER TABLE participant ADD tenant text;
ALTER TABLE turn ADD tenant text;
ALTER TABLE tool_call ADD tenant text;
ALTER TABLE tool_result ADD tenant text;
ALTER TABLE chunk ADD tenant text;
ALTER TABLE embedding_cursor ADD tenant text;
ALTER TABLE turn_vector ADD tenant text;
ALTER TABLE summary ADD tenant text;
ALTER TABLE conversation_progress ADD tenant text;
ALTER TABLE fact_source ADD tenant text;
ALTER TABLE fact_vector ADD tenant text;

UPDATE entry x SET tenant = c.tenant FROM conversation c WHERE c.id = x.conversation_id;
UPDATE participant x SET tenant = c.tenant FROM conversation c WHERE c.id = x.conversation_id;
UPDATE turn x SET tenant = c.tenant FROM conversation c WHERE c.id = x.conversation_id;
UPDATE tool_call x SET tenant = c.tenant FROM conversation c WHERE c.id = x.conversation_id;
UPDATE tool_result x SET tenant = c.tenant FROM conversation c WHERE c.id = x.conversation_id;
UPDATE chunk x SET tenant = s.tenant FROM stream s WHERE s.turn_id = x.turn_id;
UPDATE embedding_cursor x SET tenant = c.tenant FROM conversation c WHERE c.id = x.conversation_id;
UPDATE turn_vector x SET tenant = c.tenant FROM conversation c WHERE c.id = x.conversation_id;
UPDATE summary x SET tenant = c.tenant FROM conversation c WHERE c.id = x.conversation_id;
UPDATE conversation_progress x SET tenant = c.tenant FROM conversation c WHERE c.id = x.conversation_id;
UPDATE fact_source x SET tenant = f.tenant FROM fact f WHERE f.id = x.fact_id;
UPDATE fact_vector x SET tenant = f.tenant FROM fact f WHERE f.id = x.fact_id;

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['entry', 'participant', 'turn', 'tool_call', 'tool_result', 'chunk', 'embedding_cursor',
                           'turn_vector', 'summary', 'conversation_progress', 'fact_source', 'fact_vector'] LOOP
    EXECUTE format('ALTER TABLE %I ALTER tenant SET DEFAULT current_setting(''colloquy.tenant'', true),
                                   ALTER tenant SET NOT NULL', t);
  END LOOP;
END $$;

-- The database compares the tenant of a row with that of its conversation or fact. No tenant has an empty name, which
-- is the value of colloquy.tenant when none is set.
ALTER TABLE conversation ADD CONSTRAINT conversation_tenant CHECK (tenant <> '');
CREATE UNIQUE INDEX conversation_id_tenant ON conversation (id, tenant);
CREATE UNIQUE INDEX fact_id_tenant ON fact (id, tenant);
DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['journal', 'entry', 'participant', 'turn', 'tool_call', 'tool_result', 'embedding_cursor',
                           'turn_vector', 'summary', 'conversation_progress', 'fact', 'fact_source'] LOOP
    EXECUTE format('ALTER TABLE %1$I DROP CONSTRAINT %2$I, ADD CONSTRAINT %2$I FOREIGN KEY (conversation_id, tenant)
                    REFERENCES conversation (id, tenant) ON DELETE CASCADE', t, t || '_conversation_id_fkey');
  END LOOP;
  FOREACH t IN ARRAY ARRAY['fact_source', 'fact_vector'] LOOP
    EXECUTE format('ALTER TABLE %1$I DROP CONSTRAINT %2$I, ADD CONSTRAINT %2$I FOREIGN KEY (fact_id, tenant)
                    REFERENCES fact (id, tenant) ON DELETE CASCADE', t, t || '_fact_id_fkey');
  END LOOP;
END $$;

-- Equality of enums is not leakproof, so that a policy keeps it from being a condition of an index.
DROP INDEX conversation_newest, journal_activity;
CREATE INDEX conversation_newest_open ON conversation (tenant, created_at DESC, id DESC) WHERE visibility = 'OPEN';
CREATE INDEX conversation_newest_members ON conversation (tenant, created_at DESC, id DESC) WHERE visibility = 'MEMBERS';
CREATE INDEX journal_activity_open ON journal (tenant, updated_at DESC, conversation_id DESC) WHERE visibility = 'OPEN';
CREATE INDEX journal_activity_members ON journal (tenant, updated_at DESC, conversation_id DESC)
  WHERE visibility = 'MEMBERS';

-- Every table with a tenant has the same policies. They bind the owner of the tables too. current_setting is null or empty while no tenant is set, so no row
-- matches.
GRANT USAGE ON SCHEMA public TO colloquy_app, colloquy_system;
DO $$
DECLARE
  t text;
BEGIN
  FOR t IN SELECT c.relname FROM pg_class c
           JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
           WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO colloquy_app, colloquy_system', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I TO colloquy_app USING (tenant = current_setting(''colloquy.tenant'', true))',
                   t);
    EXECUTE format('CREATE POLICY system ON %I TO colloquy_system USING (true)', t);
  END LOOP;
END $$;
-- Embedders belong to no tenant. Requests only read them.
GRANT SELECT ON embedder TO colloquy_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON embedder TO colloquy_system;

-- pg-boss runs as colloquy_system, and changes its tables, so they belong to that role.
DO $$
DECLARE
  o record;
BEGIN
  IF to_regnamespace('pgboss') IS NULL THEN RETURN; END IF;
  ALTER SCHEMA pgboss OWNER TO colloquy_system;
  FOR o IN SELECT c.oid::regclass AS name FROM pg_class c
           WHERE c.relnamespace = 'pgboss'::regnamespace AND c.relkind IN ('r', 'p') LOOP
    EXECUTE format('ALTER TABLE %s OWNER TO colloquy_system', o.name);
  END LOOP;
  FOR o IN SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE p.pronamespace = 'pgboss'::regnamespace LOOP
    EXECUTE format('ALTER FUNCTION %s OWNER TO colloquy_system', o.name);
  END LOOP;
  FOR o IN SELECT t.oid::regtype AS name FROM pg_type t
           WHERE t.typnamespace = 'pgboss'::regnamespace AND t.typtype = 'e' LOOP
    EXECUTE format('ALTER TYPE %s OWNER TO colloquy_system', o.name);
  END LOOP;
END $$;

-- Look-ups by operators that are not leakproof run as colloquy_system, and return keys only.
-- Finds turns by their terms in the index turn_terms, which a policy keeps a request from using: && is not leakproof.
-- Called by src/store/sql/recall/find-terms.ts.
--
-- p_conversations  ids of conversations that the actor sees
-- p_terms          term hashes, not salted
-- p_limit          maximum number of turns for each term
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
    SELECT j.conversation_id AS id, array_position(p_conversations, j.conversation_id) AS place, j.salt, p.actor,
           coalesce(p.windows, '{1}') AS windows, coalesce(p.windows = '{1}', true) AS all_public
    FROM journal j LEFT JOIN participant p ON p.conversation_id = j.conversation_id AND p.actor = p_actor
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

-- Finds conversations by their title in the index conversation_title, which a policy keeps a request from using: ILIKE
-- is not leakproof. Called by src/store/sql/conversation/find-candidates.ts.
--
-- p_pattern  the pattern for ILIKE
-- p_limit    maximum number of conversations
--
-- Runs as its owner, colloquy_system, so it selects the tenant itself: from the setting, not from an argument. Returns
-- ids only; the caller reads the conversations under the policy, and compares their titles again.
CREATE OR REPLACE FUNCTION find_titled_conversations(p_pattern text, p_limit integer) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT c.id FROM conversation c
  WHERE c.tenant = current_setting('colloquy.tenant', true) AND c.title ILIKE p_pattern LIMIT p_limit
$$;

-- Finds conversations by their metadata in the index conversation_metadata, which a policy keeps a request from using:
-- @> is not leakproof. Called by src/store/sql/conversation/find-candidates.ts.
--
-- p_values  objects of which the metadata contains at least one
-- p_limit   maximum number of conversations
--
-- Runs as its owner, colloquy_system, so it selects the tenant itself: from the setting, not from an argument. Returns
-- ids only; the caller reads the conversations under the policy, and compares their metadata again.
CREATE OR REPLACE FUNCTION find_described_conversations(p_values jsonb[], p_limit integer) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT c.id FROM conversation c
  WHERE c.tenant = current_setting('colloquy.tenant', true) AND c.metadata @> ANY (p_values) LIMIT p_limit
$$;

DO $$
DECLARE
  f regprocedure;
BEGIN
  -- Only a role that may create objects in the schema can become the owner of one.
  GRANT CREATE ON SCHEMA public TO colloquy_system;
  FOREACH f IN ARRAY ARRAY['find_turns_with_terms(text, text[], integer[], integer)',
                           'find_titled_conversations(text, integer)',
                           'find_described_conversations(jsonb[], integer)']::regprocedure[] LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO colloquy_app', f);
    EXECUTE format('ALTER FUNCTION %s OWNER TO colloquy_system', f);
  END LOOP;
  REVOKE CREATE ON SCHEMA public FROM colloquy_system;
END $$;
