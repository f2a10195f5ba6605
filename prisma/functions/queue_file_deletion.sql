-- Trigger that queues the files of deleted attachments, whatever deleted the rows, so that a sweep deletes their bytes.
--
-- It only appends rows, so it waits for no other transaction.
CREATE OR REPLACE FUNCTION queue_file_deletion() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO file_deletion (tenant, sha256, due_at) SELECT DISTINCT o.tenant, o.sha256, now() FROM deleted o;
  RETURN NULL;
END $$;
