ALTER TYPE entry_kind ADD VALUE 'ERASED';

CREATE TYPE erasure_kind AS ENUM ('TURN', 'USER', 'CONVERSATION');

-- Erasures, finished or not. A finished one is a receipt.
CREATE TABLE erasure (
  id                  text PRIMARY KEY,
  tenant              text NOT NULL,
  kind                erasure_kind NOT NULL,
  subject             text NOT NULL,
  through_conversation text NOT NULL DEFAULT '',
  through_position    integer NOT NULL DEFAULT 0,
  counts              jsonb NOT NULL DEFAULT '{}',
  created_at          timestamptz(3) NOT NULL DEFAULT now(),
  completed_at        timestamptz(3),
  document            text,
  signature           text
);
CREATE INDEX erasure_subject ON erasure (tenant, subject);
CREATE INDEX erasure_due ON erasure (id) WHERE completed_at IS NULL;

-- Users whose data must be kept.
CREATE TABLE held_user (
  tenant  text NOT NULL,
  user_id text NOT NULL,
  since   timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, user_id)
);
ALTER TABLE conversation ADD COLUMN legal_hold boolean NOT NULL DEFAULT false;

-- Finds the assertions of a user.
CREATE INDEX fact_source_asserted_by ON fact_source (asserted_by);
