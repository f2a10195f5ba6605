-- Summaries: what stands for a room's oldest turns, and when it is written.
-- The current summaries of a room follow on one another from its oldest turn on: each committed turn without audience up
-- to journal.summarized_through is covered by exactly one of them, and none after it is.
-- Columns are compared with schema.prisma by a test; what Prisma cannot say (partial indexes) is only here.

CREATE TYPE compaction_strategy AS ENUM ('ROLLING', 'HIERARCHICAL', 'NEVER');
-- Not used before this transaction has ended: Postgres would refuse. The functions below first run after it.
ALTER TYPE entry_kind ADD VALUE 'SUMMARIZED';

ALTER TABLE conversation
  ADD COLUMN trigger_turns integer NOT NULL DEFAULT 50,
  ADD COLUMN trigger_tokens integer NOT NULL DEFAULT 8000,
  ADD COLUMN summarizer_model text,
  ADD COLUMN compaction_strategy compaction_strategy NOT NULL DEFAULT 'ROLLING';

-- What the current summaries cover, beside the counters it is compared with.
ALTER TABLE journal
  ADD COLUMN summarized_through integer NOT NULL DEFAULT 0,
  ADD COLUMN summarized_turns integer NOT NULL DEFAULT 0,
  ADD COLUMN summarized_tokens bigint NOT NULL DEFAULT 0;

ALTER TABLE entry ADD COLUMN summary_id text;

CREATE TABLE summary (
  id              text PRIMARY KEY,
  conversation_id text NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
  seq             integer NOT NULL,
  level           integer NOT NULL,
  from_seq        integer NOT NULL,
  to_seq          integer NOT NULL,
  newest_seq      integer NOT NULL,
  turns           integer NOT NULL,
  turn_tokens     bigint NOT NULL,
  content         text NOT NULL,
  token_count     integer NOT NULL,
  model           text,
  superseded_by   text,
  stale           boolean NOT NULL DEFAULT false,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  CHECK (from_seq <= to_seq AND to_seq <= newest_seq)
);
CREATE INDEX summary_place ON summary (conversation_id, to_seq);
CREATE UNIQUE INDEX summary_current ON summary (conversation_id, from_seq) WHERE superseded_by IS NULL AND NOT stale;

-- What no summary covers, wherever it stands: private turns, and those that were broken off or are being written.
CREATE INDEX turn_uncovered ON turn (conversation_id, root_seq) WHERE audience IS NOT NULL OR status <> 'COMMITTED';

-- Brings the room's watermark in line with its current summaries. Under the room's lock.
CREATE FUNCTION count_summarized(p_room text) RETURNS void
LANGUAGE sql AS $$
  UPDATE journal j
  SET summarized_through = s.through, summarized_turns = s.turns, summarized_tokens = s.tokens
  FROM (SELECT coalesce(max(to_seq), 0) AS through, coalesce(sum(turns), 0) AS turns,
               coalesce(sum(turn_tokens), 0) AS tokens
        FROM summary WHERE conversation_id = p_room AND superseded_by IS NULL AND NOT stale) s
  WHERE j.conversation_id = p_room
$$;

-- Writes a summary of turns that follow on what is covered, of current summaries, or of both; its entry too.
--
-- p_current   the room's current summaries as the writer read them, oldest first
-- p_replaces  those of them that this one takes the place of; they follow on one another, the last one included where
--             there are p_turns
-- p_turns     the turns it covers besides, in their order: all committed ones without audience after what is covered, up
--             to p_to. Empty for a summary of summaries.
--
-- outcome     'written' with the entry's seq; 'moved' where the room is not as the writer read it, so that some turn
--             would be covered twice, in an older version, or not at all; 'missing'
CREATE FUNCTION write_summary(
  p_tenant text, p_room text, p_id text, p_level integer, p_to integer, p_content text, p_tokens integer, p_model text,
  p_current text[], p_replaces text[], p_turns text[])
RETURNS TABLE (outcome text, seq integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  j journal%ROWTYPE;
  fresh record;
  old record;
BEGIN
  SELECT * INTO j FROM journal WHERE conversation_id = p_room AND tenant = p_tenant FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'missing', NULL::integer;
    RETURN;
  END IF;
  IF p_current <> ARRAY(SELECT s.id FROM summary s
                        WHERE s.conversation_id = p_room AND s.superseded_by IS NULL AND NOT s.stale
                        ORDER BY s.from_seq) THEN
    RETURN QUERY SELECT 'moved', NULL::integer;
    RETURN;
  END IF;
  SELECT coalesce(array_agg(t.id ORDER BY t.root_seq), '{}') AS ids, min(t.root_seq) AS first, max(t.root_seq) AS last,
         max(t.seq) AS newest, count(*)::integer AS turns, coalesce(sum(t.token_count), 0)::bigint AS tokens,
         coalesce(bool_or(t.status = 'STREAMING'), false) AS open
  INTO fresh
  FROM turn t
  WHERE cardinality(p_turns) > 0 AND t.conversation_id = p_room
    AND t.root_seq > j.summarized_through AND t.root_seq <= p_to
    AND t.audience IS NULL AND t.superseded_by IS NULL AND t.status IN ('COMMITTED', 'STREAMING');
  IF fresh.ids <> p_turns OR fresh.open THEN
    RETURN QUERY SELECT 'moved', NULL::integer;
    RETURN;
  END IF;
  SELECT min(s.from_seq) AS first, max(s.to_seq) AS last, max(s.newest_seq) AS newest,
         coalesce(sum(s.turns), 0)::integer AS turns, coalesce(sum(s.turn_tokens), 0)::bigint AS tokens
  INTO old
  FROM summary s WHERE s.id = ANY (p_replaces);

  UPDATE summary s SET superseded_by = p_id WHERE s.id = ANY (p_replaces);
  INSERT INTO summary (id, conversation_id, seq, level, from_seq, to_seq, newest_seq, turns, turn_tokens, content,
                       token_count, model)
  VALUES (p_id, p_room, j.last_seq + 1, p_level, coalesce(old.first, fresh.first), coalesce(fresh.last, old.last),
          greatest(old.newest, fresh.newest), old.turns + fresh.turns, old.tokens + fresh.tokens, p_content, p_tokens,
          p_model);
  INSERT INTO entry (conversation_id, seq, kind, summary_id) VALUES (p_room, j.last_seq + 1, 'SUMMARIZED', p_id);
  UPDATE journal x SET last_seq = j.last_seq + 1, updated_at = now() WHERE x.conversation_id = p_room;
  PERFORM count_summarized(p_room);
  RETURN QUERY SELECT 'written', j.last_seq + 1;
END $$;

-- After a change to what stands at a place that may be covered: takes back the summaries that reach it. Those that end
-- before it, and that these had taken the place of, are current again. Under the room's lock.
CREATE FUNCTION take_back_summaries(p_room text, p_root integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE summary SET stale = true WHERE conversation_id = p_room AND to_seq >= p_root AND NOT stale;
  IF FOUND THEN
    UPDATE summary s SET superseded_by = NULL
    WHERE s.conversation_id = p_room AND NOT s.stale
      AND EXISTS (SELECT FROM summary g WHERE g.id = s.superseded_by AND g.stale);
    PERFORM count_summarized(p_room);
  END IF;
END $$;
