-- Returns the text by which a turn is found: the captions of its files, then its text. The function searchedText of
-- src/domain/memory/indexing/index-entry.ts returns the same.
CREATE OR REPLACE FUNCTION searched_text(p_text text, p_parts jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN jsonb_typeof(p_parts) = 'array' THEN coalesce((
         SELECT string_agg(p.part->>'caption', E'\n' ORDER BY p.place) || E'\n'
         FROM jsonb_array_elements(p_parts) WITH ORDINALITY AS p(part, place)
         WHERE p.part->>'type' = 'file' AND jsonb_typeof(p.part->'caption') = 'string'), '') || p_text
       ELSE p_text END;
