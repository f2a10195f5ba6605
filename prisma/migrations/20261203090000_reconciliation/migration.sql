-- Facts are reconciled in the background after every change. A fact is due until it was compared with the other facts of
-- its visibility set; it is due again when it becomes active again, or when its sources or its assertion change.

-- Not used before this transaction has ended: Postgres would refuse.
ALTER TYPE supersede_reason ADD VALUE 'UNDONE';

ALTER TABLE fact
  ADD COLUMN asserted_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  ADD COLUMN reconciled_at timestamptz(3),
  ADD COLUMN restored_at timestamptz(3),
  ADD COLUMN restore_note text;
UPDATE fact SET asserted_at = created_at;

-- Empty while no fact is due, so that looking for work reads nothing.
CREATE INDEX fact_unreconciled ON fact (tenant, (coalesce(user_id, conversation_id, '')), visibility, created_at, id)
  WHERE superseded_at IS NULL AND reconciled_at IS NULL;

-- The number of a user's turns no longer decides when facts are reconciled.
ALTER TABLE user_progress DROP COLUMN reconciled_turns, DROP COLUMN reconciliations;
