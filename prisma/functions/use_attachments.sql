-- Trigger that gives the attachments in the parts of a turn to its position, so that they are seen and erased with it.
--
-- The transaction has locked the journal of the conversation, so two turns cannot take one attachment at the same time. A
-- committed turn fails with the SQLSTATE CQ001 and the id as DETAIL if an attachment does not exist in the conversation, was
-- uploaded by another actor, or belongs to another position. Open, aborted and imported turns only take what they may.
CREATE OR REPLACE FUNCTION use_attachments() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  used text;
BEGIN
  FOR used IN
    SELECT DISTINCT p.part->>'attachmentId' FROM jsonb_array_elements(NEW.parts) AS p(part)
    WHERE p.part->>'type' = 'file' AND p.part ? 'attachmentId'
  LOOP
    UPDATE attachment a SET position = NEW.root_seq
    WHERE a.id = used AND a.conversation_id = NEW.conversation_id AND a.uploaded_by = NEW.actor
      AND coalesce(a.position, NEW.root_seq) = NEW.root_seq;
    IF NOT FOUND AND NEW.status = 'COMMITTED' AND current_setting('colloquy.importing', true) IS DISTINCT FROM 'on' THEN
      RAISE EXCEPTION 'An attachment cannot be used.' USING ERRCODE = 'CQ001', DETAIL = used;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
