// The path of the MCP server.

export const MCP = '/mcp'
