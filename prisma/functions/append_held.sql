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
