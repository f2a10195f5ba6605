-- Mentions, participants that turns wake up, and the limit of agents' turns in a row.

CREATE TYPE respond AS ENUM ('MENTIONED', 'ADDRESSED', 'ALWAYS', 'NEVER');
CREATE TYPE wake_up_drop AS ENUM ('AGENT_FAILED', 'LEFT', 'NO_LONGER_RESPONDS');

ALTER TABLE turn ADD COLUMN mentions text[];

ALTER TABLE participant
  ADD COLUMN respond respond NOT NULL DEFAULT 'NEVER',
  ADD COLUMN agent jsonb;
-- Few participants respond: without them in a conversation of many, a turn reads no other participant.
CREATE INDEX participant_responding ON participant (conversation_id, actor) WHERE respond <> 'NEVER';

ALTER TABLE conversation ADD COLUMN max_agent_turns integer NOT NULL DEFAULT 6;

-- Without responding participants, a turn is neither counted nor does it look for participants to wake up.
ALTER TABLE journal
  ADD COLUMN responding boolean NOT NULL DEFAULT false,
  ADD COLUMN agent_turns integer NOT NULL DEFAULT 0;

CREATE TABLE wake_up (
  turn_id         text NOT NULL,
  actor           text NOT NULL,
  conversation_id text NOT NULL,
  tenant          text NOT NULL DEFAULT current_setting('colloquy.tenant', true),
  position        integer NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  answered_at     timestamptz(3),
  answer_id       text,
  dropped_reason  wake_up_drop,
  attempts        integer NOT NULL DEFAULT 0,
  retry_at        timestamptz(3),
  PRIMARY KEY (turn_id, actor),
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation (id, tenant) ON DELETE CASCADE
);
-- Finds the wake-ups of a turn, in any of its versions.
CREATE INDEX wake_up_position ON wake_up (conversation_id, position, actor);
-- Finds the wake-ups of an actor that wait for an answer, oldest first.
CREATE INDEX wake_up_pending ON wake_up (tenant, actor, created_at, turn_id)
  WHERE answered_at IS NULL AND dropped_reason IS NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON wake_up TO colloquy_app, colloquy_system;
ALTER TABLE wake_up ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON wake_up TO colloquy_app USING (tenant = current_setting('colloquy.tenant', true));
CREATE POLICY system ON wake_up TO colloquy_system USING (true);
