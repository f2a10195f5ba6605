-- Trigger that keeps the values of a row before an update, for reads as of an earlier time. Created by create_past.
--
-- Arguments: the name of the table; the columns of its key and the columns to keep, each list separated by spaces.
--
-- The values were valid until the transaction began, like the entries that it writes; those of a profile until its new
-- `updated_at`. At most 50 former states of a row are kept, the newest ones.
CREATE OR REPLACE FUNCTION keep_former_state() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
  of_table CONSTANT text := TG_ARGV[0];
  was CONSTANT jsonb := to_jsonb(OLD);
  of_row text;
BEGIN
  SELECT string_agg(was->>k, ' ' ORDER BY o) INTO of_row
  FROM unnest(string_to_array(TG_ARGV[1], ' ')) WITH ORDINALITY AS u(k, o);
  INSERT INTO former_state (tenant, relation, key, conversation_id, fact_id, superseded_by, user_id, until, state)
  SELECT was->>'tenant', of_table, of_row,
         CASE of_table WHEN 'conversation' THEN was->>'id' WHEN 'fact' THEN NULL ELSE was->>'conversation_id' END,
         CASE of_table WHEN 'fact' THEN was->>'id' ELSE was->>'fact_id' END,
         CASE of_table WHEN 'fact' THEN was->>'superseded_by' END,
         CASE of_table WHEN 'user_profile' THEN was->>'user_id' END,
         CASE of_table WHEN 'user_profile' THEN (to_jsonb(NEW)->>'updated_at')::timestamptz ELSE now() END,
         jsonb_object_agg(c, was->c)
  FROM unnest(string_to_array(TG_ARGV[2], ' ')) AS u(c);
  DELETE FROM former_state f
  WHERE f.relation = of_table AND f.key = of_row AND f.number <= (
    SELECT o.number FROM former_state o
    WHERE o.relation = of_table AND o.key = of_row
    ORDER BY o.number DESC OFFSET 50 LIMIT 1);
  RETURN NULL;
END $$;
