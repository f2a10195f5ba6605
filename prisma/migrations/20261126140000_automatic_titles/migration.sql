ALTER TABLE conversation
  ADD COLUMN automatic_title boolean NOT NULL DEFAULT true,
  ADD COLUMN title_from integer,
  ADD COLUMN title_seq integer,
  ADD COLUMN title_tried integer NOT NULL DEFAULT 0;

-- The conversations that may get an automatic title.
CREATE INDEX conversation_untitled ON conversation (id)
WHERE automatic_title AND title_tried < 16 AND (title IS NULL OR title_seq IS NOT NULL);
