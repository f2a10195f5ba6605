-- Keeps every source of a fact. Until now, a repetition moved the fact to its conversation, so that the deletion of that
-- conversation destroyed it. The columns of `fact` name its first remaining source and its most trusted assertion.

-- The index of source turns; fact_source_turn takes its place.
DROP INDEX fact_source;
ALTER TABLE fact ADD COLUMN asserted_by text;
UPDATE fact f SET asserted_by = t.actor FROM turn t WHERE t.id = f.source_turn_id;

CREATE TABLE fact_source (
  fact_id         text NOT NULL REFERENCES fact (id) ON DELETE CASCADE,
  source          text NOT NULL,
  conversation_id text REFERENCES conversation (id) ON DELETE CASCADE,
  root_seq        integer,
  seq             integer,
  audience        text[],
  turn_id         text,
  said_by         participant_kind NOT NULL,
  asserted_by     text,
  confidence      double precision NOT NULL,
  observed_at     timestamptz(3) NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (fact_id, source),
  CHECK ((conversation_id IS NULL) = (seq IS NULL) AND (seq IS NULL) = (root_seq IS NULL))
);
CREATE INDEX fact_source_conversation ON fact_source (conversation_id, fact_id);
CREATE INDEX fact_source_turn ON fact_source (turn_id) WHERE turn_id IS NOT NULL;

INSERT INTO fact_source (fact_id, source, conversation_id, root_seq, seq, audience, turn_id, said_by, asserted_by,
                         confidence, observed_at, created_at)
SELECT f.id, coalesce(f.source_turn_id, f.conversation_id || ' ' || f.seq, 'tenant'), f.conversation_id, f.root_seq,
       f.seq, f.audience, f.source_turn_id, f.said_by, f.asserted_by, f.confidence, f.observed_at, f.created_at
FROM fact f;

-- Profiles state as true what people said about each other. The next refresh writes them again, with such facts as claims.
DELETE FROM user_profile;
