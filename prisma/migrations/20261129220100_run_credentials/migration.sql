-- The credential that started a run and its limits, as src/domain/run/credential.ts describes them. Null for a run that
-- has ended, and for a run that no credential started.
ALTER TABLE run ADD credential jsonb;

-- The credentials of runs that have not ended are unknown, so these runs read no other conversation from now on.
UPDATE run SET credential = jsonb_build_object(
  'credential', 'unknown', 'actor', viewer, 'kind', 'AGENT', 'rights', '["read", "write"]'::jsonb,
  'conversations', jsonb_build_array(conversation_id), 'expiresAt', null)
WHERE ended_at IS NULL;
