-- The quota of a participant is one of its agent settings.
ALTER TABLE participant DROP COLUMN tokens_per_day;
