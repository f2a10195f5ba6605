-- The terms of turns now also state the days that a text names (src/domain/indexing/date-terms.ts). The server computes
-- them again in the background. Turns whose text was removed keep their empty terms.
UPDATE turn SET terms = NULL, cues = NULL WHERE terms IS NOT NULL AND terms <> '{}' AND status = 'COMMITTED';
