-- The terms of turns and facts, and the cues of turns, now depend on the language of the text
-- (src/domain/indexing/index-entry.ts). The server computes them again in the background. Turns whose text was removed
-- keep their empty terms.
UPDATE turn SET terms = NULL, cues = NULL WHERE terms IS NOT NULL AND terms <> '{}' AND status = 'COMMITTED';

ALTER TABLE fact ALTER COLUMN terms DROP NOT NULL;
-- Empty when every fact has terms, so that looking for work reads nothing.
CREATE INDEX fact_unindexed ON fact (id) WHERE terms IS NULL;
UPDATE fact SET terms = NULL;
