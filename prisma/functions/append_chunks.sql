-- Appends deltas to open turns and renews their leases. Called by src/store/sql/turn/streaming/append-chunks.ts.
--
-- p_deltas  [{turn, tenant, viewer, writer, part, content, complete, start, text, units, second, half, held}], for one
--           turn in order. Turns are locked in id order.
--           viewer    the actor who sends the delta
--           writer    hash of the writer's token
--           part      number of the part (stream_part.number) that the delta belongs to; 0 for the turn's text
--           content   the part without its streamed text, to open the part or to add properties; null for none
--           complete  whether the delta is the part's last one
--           start     UTF-16 offset where the delta begins in the text of the part; null for its end
--           text      whole characters; `units` is their length in UTF-16 units
--           second    low surrogate that precedes the text; the stored text must end in the high surrogate
--           half      high surrogate that follows the text; kept until the low surrogate arrives
--           held      whether append_held is the caller; only it writes turns with a row in held_text
-- p_limit   maximum size of a turn's text and parts in UTF-8 bytes
--
-- One row per delta. outcome: 'written' with the stored text, the new end, and the place of the part (`at`); 'renewed'
-- for a delta that changes nothing; 'half' when a surrogate would stay unpaired; 'elsewhere' when start is not the end;
-- 'full' beyond p_limit; 'unopened' for a part that is not open, with the number of parts as `end`, unless the delta
-- opens the next part; 'other_part' when the stored content of the part differs; 'complete' for text after the last
-- delta of a part; 'closed' with the turn's status; 'held' for a turn that append_held must write; 'other_writer' when
-- the hash is not that of the stream; 'left' when the author has left the conversation; 'missing' when the tenant has no
-- such turn, or the viewer neither opened it nor sees its conversation. The last three lock nothing.
CREATE OR REPLACE FUNCTION append_chunks(p_deltas jsonb, p_limit integer)
RETURNS TABLE (place integer, outcome text, conversation_id text, start integer, text text, "end" integer, half integer,
               status turn_status, at integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  d record;
  s record;
  spent integer;
  part stream_part%ROWTYPE;
  is_new boolean;
  is_changed boolean;
  parts integer;
  text_end integer;
  text_bytes integer;
  tail record;
  tail_end integer;
  said text;
  said_units integer;
  added integer;
BEGIN
  FOR d IN
    SELECT (x.o - 1)::integer AS place, r.*
    FROM jsonb_array_elements(p_deltas) WITH ORDINALITY AS x(v, o)
    CROSS JOIN LATERAL jsonb_to_record(x.v) AS r(
      turn text, tenant text, viewer text, writer text, part smallint, content jsonb, complete boolean, start integer,
      text text, units integer, second integer, half integer, held boolean)
    ORDER BY r.turn, x.o
  LOOP
    SELECT t.conversation_id, t.status, w.writer_hash,
           EXISTS (SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = t.actor
                                               AND p.left_at IS NULL) AS present INTO s
    FROM turn t JOIN conversation c ON c.id = t.conversation_id AND c.tenant = d.tenant
    LEFT JOIN stream w ON w.turn_id = t.id AND w.conversation_id = t.conversation_id
    WHERE t.id = d.turn AND (c.visibility = 'OPEN' OR w.viewer = d.viewer OR EXISTS (
      SELECT FROM participant p WHERE p.conversation_id = t.conversation_id AND p.actor = d.viewer));
    IF NOT FOUND THEN
      RETURN QUERY SELECT d.place, 'missing', NULL, NULL::integer, NULL, NULL::integer, NULL::integer, NULL::turn_status,
                          NULL::integer;
      CONTINUE;
    END IF;
    IF s.writer_hash <> d.writer OR s.writer_hash IS NOT NULL AND NOT s.present THEN
      RETURN QUERY SELECT d.place, CASE WHEN s.writer_hash <> d.writer THEN 'other_writer' ELSE 'left' END,
                          s.conversation_id, NULL::integer, NULL, NULL::integer, NULL::integer, s.status, NULL::integer;
      CONTINUE;
    END IF;
    SELECT w.part_bytes INTO spent FROM stream w WHERE w.turn_id = d.turn FOR UPDATE;
    IF NOT FOUND THEN
      RETURN QUERY SELECT d.place, 'closed', s.conversation_id, NULL::integer, NULL, NULL::integer, NULL::integer, t.status,
                          NULL::integer
                   FROM turn t WHERE t.id = d.turn AND t.conversation_id = s.conversation_id;
      CONTINUE;
    END IF;
    SELECT coalesce(c."end", 0) AS "end", c.half, coalesce(c.bytes, 0) AS bytes,
           d.held IS NOT TRUE AND EXISTS (SELECT FROM held_text h WHERE h.turn_id = d.turn) AS is_held INTO tail
    FROM (VALUES (1)) v LEFT JOIN LATERAL
      (SELECT * FROM chunk c WHERE c.turn_id = d.turn AND c.part = d.part ORDER BY c.start DESC LIMIT 1) c ON true;
    tail_end := tail."end" + (tail.half IS NOT NULL)::integer;
    IF tail.is_held THEN
      RETURN QUERY SELECT d.place, 'held', s.conversation_id, NULL::integer, NULL, NULL::integer, NULL::integer, s.status,
                          NULL::integer;
      CONTINUE;
    END IF;
    part := NULL;
    is_new := false;
    is_changed := false;
    text_bytes := tail.bytes;
    IF d.part > 0 THEN
      SELECT p.* INTO part FROM stream_part p WHERE p.turn_id = d.turn AND p.number = d.part;
      is_new := NOT FOUND;
      IF is_new THEN
        SELECT count(*) INTO parts FROM stream_part p WHERE p.turn_id = d.turn;
        IF d.content IS NULL OR d.part <> parts + 1 THEN
          RETURN QUERY SELECT d.place, 'unopened', s.conversation_id, NULL::integer, NULL, parts, NULL::integer, s.status,
                              NULL::integer;
          CONTINUE;
        END IF;
      ELSIF EXISTS (SELECT FROM jsonb_each(d.content) e WHERE part.content ? e.key AND part.content->e.key <> e.value) THEN
        RETURN QUERY SELECT d.place, 'other_part', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status,
                            part.at;
        CONTINUE;
      END IF;
      is_changed := is_new OR d.complete IS TRUE AND NOT part.is_complete
                    OR EXISTS (SELECT FROM jsonb_each(d.content) e WHERE NOT part.content ? e.key);
      SELECT coalesce(c."end", 0), coalesce(c.bytes, 0) INTO text_end, text_bytes
      FROM (VALUES (1)) v LEFT JOIN LATERAL
        (SELECT * FROM chunk c WHERE c.turn_id = d.turn AND c.part = 0 ORDER BY c.start DESC LIMIT 1) c ON true;
      IF is_new THEN part.at := text_end; END IF;
    END IF;
    IF coalesce(d.start, tail_end) <> tail_end THEN
      RETURN QUERY SELECT d.place, 'elsewhere', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status, part.at;
    ELSIF d.units = 0 AND d.second IS NULL AND d.half IS NULL AND NOT is_changed THEN
      UPDATE stream SET renewed_at = now() WHERE turn_id = d.turn;
      RETURN QUERY SELECT d.place, 'renewed', s.conversation_id, tail_end, '', tail_end, tail.half, s.status, part.at;
    ELSIF part.is_complete THEN
      RETURN QUERY SELECT d.place, 'complete', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status, part.at;
    ELSIF (tail.half IS NULL) <> (d.second IS NULL) OR d.complete IS TRUE AND d.half IS NOT NULL THEN
      RETURN QUERY SELECT d.place, 'half', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status, part.at;
    ELSE
      -- A pair of halves is one character (Unicode 15.0, §3.9, D91).
      said := CASE WHEN d.second IS NULL THEN d.text
              ELSE chr((tail.half - 55296) * 1024 + (d.second - 56320) + 65536) || d.text END;
      said_units := d.units + CASE WHEN d.second IS NULL THEN 0 ELSE 2 END;
      added := octet_length(said);
      IF d.part > 0 THEN
        -- Each change adds at least one byte, so that close_turn notices it.
        added := added + coalesce(octet_length(d.content::text), 0) + (d.half IS NOT NULL)::integer
                 + (d.complete IS TRUE)::integer;
      END IF;
      IF text_bytes + spent + added > p_limit THEN
        RETURN QUERY SELECT d.place, 'full', s.conversation_id, NULL::integer, NULL, tail_end, tail.half, s.status, part.at;
        CONTINUE;
      END IF;
      IF is_new THEN
        INSERT INTO stream_part (turn_id, number, at, content, is_complete)
        VALUES (d.turn, d.part, part.at, d.content, d.complete IS TRUE);
      ELSIF is_changed THEN
        UPDATE stream_part p
        SET content = p.content || coalesce(d.content, '{}'), is_complete = p.is_complete OR d.complete IS TRUE
        WHERE p.turn_id = d.turn AND p.number = d.part;
      END IF;
      IF d.part > 0 THEN
        UPDATE stream SET part_bytes = part_bytes + added, renewed_at = now() WHERE turn_id = d.turn;
      END IF;
      IF said <> '' OR d.half IS NOT NULL THEN
        -- A chunk that was nothing but a half gives way to the one that completes it.
        INSERT INTO chunk AS c (turn_id, part, start, "end", text, bytes, half)
        VALUES (d.turn, d.part, tail."end", tail."end" + said_units, said, tail.bytes + octet_length(said), d.half)
        ON CONFLICT (turn_id, part, start) DO UPDATE
        SET "end" = excluded."end", text = excluded.text, bytes = excluded.bytes, half = excluded.half,
            written_at = now();
      END IF;
      RETURN QUERY SELECT d.place, 'written', s.conversation_id, tail."end", said,
                          tail."end" + said_units + (d.half IS NOT NULL)::integer, d.half, s.status, part.at;
    END IF;
  END LOOP;
END $$;
