-- A user has one profile for each visibility set of facts about the user. A viewer gets those whose facts the viewer sees.
ALTER TABLE user_profile ADD COLUMN visibility text NOT NULL DEFAULT '';
ALTER TABLE user_profile DROP CONSTRAINT user_profile_pkey, ADD PRIMARY KEY (tenant, user_id, visibility);

-- Counts the changes of facts in each set, so that a change refreshes no profile of another set.
CREATE TABLE profile_progress (
  tenant           text NOT NULL,
  user_id          text NOT NULL,
  visibility       text NOT NULL,
  fact_changes     bigint NOT NULL DEFAULT 0,
  profiled_changes bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, user_id, visibility)
);
CREATE INDEX profile_progress_due ON profile_progress (tenant, user_id, visibility) WHERE fact_changes > profiled_changes;
INSERT INTO profile_progress (tenant, user_id, visibility, fact_changes, profiled_changes)
SELECT u.tenant, u.user_id, '', u.fact_changes, u.profiled_changes FROM user_progress u WHERE u.fact_changes > 0;
INSERT INTO profile_progress (tenant, user_id, visibility, fact_changes)
SELECT f.tenant, f.user_id, f.visibility, 1 FROM fact f WHERE f.user_id IS NOT NULL AND f.visibility <> ''
GROUP BY f.tenant, f.user_id, f.visibility;
ALTER TABLE user_progress DROP COLUMN fact_changes, DROP COLUMN profiled_changes;

GRANT SELECT, INSERT, UPDATE, DELETE ON profile_progress TO colloquy_app, colloquy_system;
ALTER TABLE profile_progress ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON profile_progress TO colloquy_app USING (tenant = current_setting('colloquy.tenant', true));
CREATE POLICY system ON profile_progress TO colloquy_system USING (true);
