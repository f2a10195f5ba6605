// The paths of the API over HTTP: GraphQL, the REST API, the MCP server and AG-UI. Separate from the faces, because the server
// needs them before it loads one.

/** The path of the GraphQL API, over HTTP and WebSocket. */
export const GRAPHQL = '/graphql'
/** The path with which those of the REST API begin. */
export const API = '/api/v1'
/** The path of the MCP server. */
export const MCP = '/mcp'
/** The path of AG-UI. */
export const AGUI = '/agui'

/** The protocol at a path. It determines the door that answers a request, and the format of errors. */
export type Protocol =
  /** GraphQL over HTTP, Server-Sent Events and WebSocket. */
  | 'graphql'
  /** The REST API, whose errors are problem details. */
  | 'rest'
  /** The MCP server, whose errors are those of JSON-RPC. */
  | 'mcp'
  /** AG-UI, whose errors are problem details. */
  | 'agui'

/** Whether the path is one of the REST API. A longer name, such as /api/v10, is not. */
const isRest = (path: string): boolean => path === API || path.startsWith(`${API}/`)

/** Returns the protocol at the path; null for a path without one. */
export function protocolAt(path: string): Protocol | null {
  if (path === GRAPHQL) return 'graphql'
  if (path === MCP) return 'mcp'
  if (path === AGUI) return 'agui'
  return isRest(path) ? 'rest' : null
}
