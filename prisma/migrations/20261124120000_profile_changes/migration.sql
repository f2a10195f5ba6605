-- Counts the changes of the facts about each user, so that automatic work finds the profiles that they make outdated.

ALTER TABLE user_progress
  ADD COLUMN fact_changes bigint NOT NULL DEFAULT 0,
  ADD COLUMN profiled_changes bigint NOT NULL DEFAULT 0;
ALTER TABLE user_profile ADD COLUMN claims text[] NOT NULL DEFAULT '{}';

-- Finds the conversations with automatic extraction, which is on without a setting of the server now.
CREATE INDEX conversation_fact_extraction ON conversation (id) WHERE fact_extraction;

-- Existing profiles may contradict the facts: the next automatic run refreshes each of them once.
INSERT INTO user_progress AS u (tenant, user_id, fact_changes)
SELECT f.tenant, f.user_id, 1 FROM fact f WHERE f.user_id IS NOT NULL AND f.visibility = '' GROUP BY f.tenant, f.user_id
ON CONFLICT (tenant, user_id) DO UPDATE SET fact_changes = 1;
