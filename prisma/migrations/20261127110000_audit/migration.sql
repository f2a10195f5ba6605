CREATE TYPE audit_outcome AS ENUM ('DONE', 'DENIED');

-- The newest line of each tenant, which every writer locks, and the line up to which older lines were removed by age.
CREATE TABLE audit_head (
  tenant         text PRIMARY KEY,
  last_seq       bigint NOT NULL DEFAULT 0,
  last_hash      text NOT NULL DEFAULT '',
  pruned_through bigint NOT NULL DEFAULT 0,
  pruned_hash    text NOT NULL DEFAULT ''
);

CREATE TABLE audit_line (
  tenant     text NOT NULL,
  seq        bigint NOT NULL,
  at         timestamptz(3) NOT NULL,
  actor      text NOT NULL,
  acted_as   text,
  credential text,
  verb       text NOT NULL,
  resources  text[] NOT NULL,
  outcome    audit_outcome NOT NULL,
  count      integer NOT NULL,
  details    text,
  keyed      boolean NOT NULL,
  hash       text NOT NULL,
  PRIMARY KEY (tenant, seq)
);
CREATE INDEX audit_line_actor ON audit_line (tenant, actor, seq DESC);
CREATE INDEX audit_line_verb ON audit_line (tenant, verb, seq DESC);
CREATE INDEX audit_line_resources ON audit_line USING gin (resources);

-- Refuses every change of an audit line. Only retention by age deletes: it announces itself by a setting of its
-- transaction, and even then no line younger than 30 days can be deleted.
CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND current_setting('colloquy.audit_retention', true) = 'on' THEN
    IF OLD.at < now() - interval '30 days' THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER audit_line_append_only BEFORE UPDATE OR DELETE ON audit_line
FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_line_no_truncate BEFORE TRUNCATE ON audit_line
FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
