-- Defaults of the calls of a tenant; null for those of the server. A retention that was stored stays the tenant's own, so
-- that a default of the server never removes the content of a tenant that had FULL.
ALTER TABLE tenant_settings
  ALTER COLUMN retention DROP NOT NULL,
  ALTER COLUMN retention DROP DEFAULT,
  ADD COLUMN token_budget integer CHECK (token_budget BETWEEN 1 AND 2000000),
  ADD COLUMN context_strategy text CHECK (context_strategy IN ('SIMPLE', 'SUMMARIZATION', 'HYBRID')),
  ADD COLUMN recall_hits integer CHECK (recall_hits BETWEEN 1 AND 100),
  ADD COLUMN recall_threshold double precision CHECK (recall_threshold BETWEEN 0 AND 1);
