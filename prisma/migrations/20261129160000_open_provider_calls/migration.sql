-- Finds the calls of ended runs whose process died before it recorded their tokens (readAbandonedCalls).
CREATE INDEX provider_call_open ON provider_call (run_id) WHERE ended_at IS NULL;
