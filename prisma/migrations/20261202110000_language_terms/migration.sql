-- The terms and cues of turns now depend on the language of the text (src/domain/indexing/index-entry.ts). The server
-- computes them again in the background. Turns whose text was removed keep their empty terms.
UPDATE turn SET terms = NULL, cues = NULL WHERE terms IS NOT NULL AND terms <> '{}' AND status = 'COMMITTED';
