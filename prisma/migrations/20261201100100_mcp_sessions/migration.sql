-- Sessions of MCP clients: the resources whose changes each client wants to be notified of. They are stored, so that
-- every process can serve them, and that they survive a restart.
CREATE TABLE mcp_session (
  id            text PRIMARY KEY,
  tenant        text NOT NULL,
  actor         text NOT NULL,
  subscriptions jsonb NOT NULL DEFAULT '{}',
  expires_at    timestamptz(3) NOT NULL
);
CREATE INDEX mcp_session_actor ON mcp_session (tenant, actor, expires_at);
CREATE INDEX mcp_session_expires ON mcp_session (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON mcp_session TO colloquy_app, colloquy_system;
ALTER TABLE mcp_session ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON mcp_session TO colloquy_app USING (tenant = current_setting('colloquy.tenant', true));
CREATE POLICY system ON mcp_session TO colloquy_system USING (true);
