-- Trigger that queues the file of a deleted attachment, whatever deleted the row, so that a sweep deletes its bytes.
CREATE OR REPLACE FUNCTION queue_file_deletion() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO file_deletion AS d (tenant, sha256, due_at) VALUES (OLD.tenant, OLD.sha256, now())
  ON CONFLICT (tenant, sha256) DO UPDATE SET due_at = greatest(d.due_at, excluded.due_at);
  RETURN NULL;
END $$;
