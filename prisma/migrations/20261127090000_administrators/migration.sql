-- Adds administrators: participants who may manage the conversation as its owner does. Existing participants are none.
ALTER TABLE participant ADD COLUMN administrator boolean NOT NULL DEFAULT false;
