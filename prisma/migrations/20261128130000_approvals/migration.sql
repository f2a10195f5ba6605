-- Approvals: tool calls of runs that wait for a decision.

CREATE TYPE approval_state AS ENUM ('PENDING', 'APPROVED', 'DENIED', 'EXPIRED', 'CANCELLED');

ALTER TYPE entry_kind ADD VALUE 'APPROVAL_REQUESTED';
ALTER TYPE entry_kind ADD VALUE 'APPROVAL_RESOLVED';
ALTER TABLE entry ADD approval_id text;

CREATE TABLE approval (
  id               text PRIMARY KEY,
  tenant           text NOT NULL DEFAULT current_setting('colloquy.tenant', true),
  conversation_id  text NOT NULL,
  run_id           text NOT NULL,
  -- The turn with the call. It determines who sees the approval.
  turn_id          text NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
  call_id          text NOT NULL,
  tool_name        text NOT NULL,
  state            approval_state NOT NULL DEFAULT 'PENDING',
  edited_arguments jsonb,
  reason           text,
  decided_by       text,
  decided_at       timestamptz(3),
  requested_at     timestamptz(3) NOT NULL DEFAULT now(),
  expires_at       timestamptz(3) NOT NULL,
  FOREIGN KEY (conversation_id, tenant) REFERENCES conversation (id, tenant) ON DELETE CASCADE,
  FOREIGN KEY (run_id, tenant) REFERENCES run (id, tenant) ON DELETE CASCADE
);
CREATE UNIQUE INDEX approval_call ON approval (turn_id, call_id);
CREATE INDEX approval_run ON approval (run_id, requested_at, id);
CREATE INDEX approval_newest ON approval (tenant, requested_at DESC, id DESC);
CREATE INDEX approval_conversation ON approval (conversation_id);
CREATE INDEX approval_pending ON approval (tenant, requested_at DESC, id DESC) WHERE state = 'PENDING';
CREATE INDEX approval_due ON approval (expires_at) WHERE state = 'PENDING';
CREATE INDEX run_waiting_for_approval ON run (conversation_id) WHERE state = 'WAITING_FOR_APPROVAL';

GRANT SELECT, INSERT, UPDATE, DELETE ON approval TO colloquy_app, colloquy_system;
ALTER TABLE approval ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON approval TO colloquy_app USING (tenant = current_setting('colloquy.tenant', true));
CREATE POLICY system ON approval TO colloquy_system USING (true);
