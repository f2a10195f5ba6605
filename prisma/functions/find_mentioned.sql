-- Finds the participants that a turn mentions. Called by append_turns, close_turn and
-- src/store/sql/turn/find-mentioned.ts, under the conversation's lock.
--
-- p_names  the names in the turn's text
--
-- The present participants, in the order of their first names; null for none. A name is compared with the actors, then
-- the display names; exactly, then without regard to case. The first of these four comparisons that finds a participant
-- decides, and finds nobody if it finds several: so no display name takes the mentions of another actor.
CREATE OR REPLACE FUNCTION find_mentioned(p_conversation text, p_names text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT array_agg(f.actor ORDER BY f.place)
    FROM (
      SELECT x.actor, min(x.place) AS place
      FROM (
        SELECT r.place, CASE WHEN count(*) = 1 THEN min(r.actor) END AS actor
        FROM (
          SELECT n.place, p.actor, n.step, min(n.step) OVER (PARTITION BY n.place) AS first
          FROM (SELECT w.place, k.step, k.key FROM unnest(p_names) WITH ORDINALITY AS w(name, place)
                CROSS JOIN LATERAL (VALUES (1, w.name), (2, w.name), (3, lower(w.name)), (4, lower(w.name)))
                  AS k(step, key)) n
          JOIN (SELECT q.actor, k.step, k.key FROM participant q
                CROSS JOIN LATERAL (VALUES (1, q.actor), (2, q.display_name), (3, lower(q.actor)),
                                           (4, lower(q.display_name))) AS k(step, key)
                WHERE q.conversation_id = p_conversation AND q.left_at IS NULL) p ON p.step = n.step AND p.key = n.key
        ) r
        WHERE r.step = r.first
        GROUP BY r.place
      ) x
      WHERE x.actor IS NOT NULL
      GROUP BY x.actor
    ) f);
END $$;
