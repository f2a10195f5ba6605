-- Vectors of turns in half precision, which takes half of the bytes to store and to compare, and their number in the
-- order of writing, by which vector indexes cover a range of vectors each (src/store/vector-segments.ts).

-- These indexes cover all vectors of an embedder. The server builds indexes of ranges in their place.
DO $$
DECLARE
  i text;
BEGIN
  FOR i IN SELECT c.oid::regclass::text FROM pg_class c JOIN pg_index x ON x.indexrelid = c.oid
           WHERE x.indrelid = 'turn_vector'::regclass AND c.relname LIKE 'turn\_vector\_hnsw\_%' LOOP
    EXECUTE 'DROP INDEX ' || i;
  END LOOP;
END $$;

ALTER TABLE turn_vector
  ALTER embedding TYPE halfvec USING embedding::halfvec,
  ADD number bigint NOT NULL GENERATED ALWAYS AS IDENTITY;

-- Vectors stay in the row unless it exceeds a page: out of line, each comparison would read two more rows. Without the
-- target, a row of 2 kB would move its texts out of line.
ALTER TABLE turn_vector ALTER embedding SET STORAGE MAIN, SET (toast_tuple_target = 8160);

-- Finds the vectors that no index of a range covers yet.
CREATE INDEX turn_vector_number ON turn_vector (number);
