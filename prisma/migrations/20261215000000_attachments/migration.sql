-- Attachments: files that were uploaded to a conversation. The bytes are in the file store, by tenant and SHA-256; the row
-- decides who may read them. A trigger on turn gives an attachment to the first turn that uses it, and a trigger on
-- attachment queues the bytes of every deleted row, also of those that ON DELETE CASCADE deletes.

CREATE TABLE attachment (
  id text PRIMARY KEY,
  conversation_id text NOT NULL,
  tenant text DEFAULT current_setting('colloquy.tenant', true) NOT NULL,
  sha256 text NOT NULL,
  bytes integer NOT NULL,
  media_type text NOT NULL,
  file_name text,
  width integer,
  height integer,
  uploaded_by text NOT NULL,
  client_id text,
  position integer,
  created_at timestamptz(3) DEFAULT now() NOT NULL
);
ALTER TABLE attachment ADD CONSTRAINT attachment_conversation_id_tenant_fkey
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation(id, tenant) ON DELETE CASCADE;
ALTER TABLE attachment ALTER conversation_id SET (n_distinct = 20);
CREATE UNIQUE INDEX attachment_client ON attachment (conversation_id, uploaded_by, client_id) WHERE client_id IS NOT NULL;
CREATE INDEX attachment_conversation_id_position_idx ON attachment (conversation_id, position);
-- Answers the sum of a tenant's bytes, and whether a file is still used.
CREATE INDEX attachment_file ON attachment (tenant, sha256) INCLUDE (bytes);
-- Finds the uploads that no turn has used.
CREATE INDEX attachment_unused ON attachment (created_at) WHERE position IS NULL;

-- A file has any number of rows, because deletions only append them: with one row per file, two transactions that delete
-- the same files in another order would wait for each other.
CREATE TABLE file_deletion (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text NOT NULL,
  sha256 text NOT NULL,
  due_at timestamptz(3) NOT NULL,
  started boolean DEFAULT false NOT NULL
);
CREATE INDEX file_deletion_due_at_idx ON file_deletion (due_at);
CREATE INDEX file_deletion_tenant_sha256_due_at_idx ON file_deletion (tenant, sha256, due_at);

-- The key of signed URLs, which every process reads at its start. The first process creates it: a migration must not,
-- because the template of embedded databases contains the results of migrations.
CREATE TABLE file_key (
  id boolean DEFAULT true PRIMARY KEY CHECK (id),
  secret text NOT NULL
);

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['attachment', 'file_deletion'] LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO colloquy_app, colloquy_system', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I TO colloquy_app USING (tenant = current_setting(''colloquy.tenant'', true))',
                   t);
    EXECUTE format('CREATE POLICY system ON %I TO colloquy_system USING (true)', t);
  END LOOP;
END $$;
GRANT SELECT, INSERT ON file_key TO colloquy_system;
ALTER TABLE file_key ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON file_key TO colloquy_app USING (false);
CREATE POLICY system ON file_key TO colloquy_system USING (true);

-- Trigger that gives the attachments in the parts of a turn to its position, so that they are seen and erased with it.
--
-- The transaction has locked the journal of the conversation, so two turns cannot take one attachment at the same time. A
-- committed turn fails with the SQLSTATE CQ001 and the id as DETAIL if an attachment does not exist in the conversation, was
-- uploaded by another actor, or belongs to another position. Aborted and imported turns only take what they may, and the
-- parts of an aborted turn no longer name the attachments that it could not take.
CREATE OR REPLACE FUNCTION use_attachments() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  used text;
  refused text[] := '{}';
BEGIN
  FOR used IN
    SELECT DISTINCT p.part->>'attachmentId' FROM jsonb_array_elements(NEW.parts) AS p(part)
    WHERE p.part->>'type' = 'file' AND p.part ? 'attachmentId'
  LOOP
    UPDATE attachment a SET position = NEW.root_seq
    WHERE a.id = used AND a.conversation_id = NEW.conversation_id AND a.uploaded_by = NEW.actor
      AND coalesce(a.position, NEW.root_seq) = NEW.root_seq;
    CONTINUE WHEN FOUND;
    IF NEW.status = 'COMMITTED' AND current_setting('colloquy.importing', true) IS DISTINCT FROM 'on' THEN
      RAISE EXCEPTION 'An attachment cannot be used.' USING ERRCODE = 'CQ001', DETAIL = used;
    END IF;
    refused := refused || used;
  END LOOP;
  IF NEW.status = 'ABORTED' AND refused <> '{}' THEN
    UPDATE turn t SET parts = (
      SELECT jsonb_agg(CASE WHEN p.part->>'type' = 'file' AND p.part->>'attachmentId' = ANY (refused)
                            THEN p.part - '{attachmentId,attachment}'::text[] ELSE p.part END ORDER BY p.number)
      FROM jsonb_array_elements(NEW.parts) WITH ORDINALITY AS p(part, number))
    WHERE t.conversation_id = NEW.conversation_id AND t.id = NEW.id;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER use_attachments AFTER INSERT OR UPDATE OF parts ON turn FOR EACH ROW
  WHEN (jsonb_path_exists(NEW.parts, '$[*].attachmentId')) EXECUTE FUNCTION use_attachments();

-- Trigger that queues the files of deleted attachments, whatever deleted the rows, so that a sweep deletes their bytes.
--
-- It only appends rows, so it waits for no other transaction.
CREATE OR REPLACE FUNCTION queue_file_deletion() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO file_deletion (tenant, sha256, due_at) SELECT DISTINCT o.tenant, o.sha256, now() FROM deleted o;
  RETURN NULL;
END $$;

CREATE TRIGGER queue_file_deletion AFTER DELETE ON attachment REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION queue_file_deletion();
