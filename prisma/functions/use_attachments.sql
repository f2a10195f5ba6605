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
