// The MCP server of one request: answers the methods of the protocol with the tools, resources and prompts. It keeps no
// state, so that any process can answer any request of a client.

import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { VerbFailed } from '../call.ts'
import { callTool, listTools } from './call-tool.ts'
import type { Caller } from './caller.ts'
import { getPrompt, listPrompts } from './prompts.ts'
import { listResources, notFound, readResource, TEMPLATES } from './resources.ts'
import { RpcError } from './rpc-error.ts'

/** The subscriptions of the client's session. */
export type Subscriptions = {
  /** @throws VerbFailed @throws RpcError */
  add(uri: string): Promise<void>
  remove(uri: string): Promise<void>
}

export type McpOptions = {
  caller: Caller
  /** Null for a request without a session. */
  subscriptions: Subscriptions | null
  version: string
  /** Logs an unexpected error, and returns the message to send in its place. */
  mask(error: unknown): string
}

const INSTRUCTIONS = `Colloquy keeps conversations that people and agents share. At the start of a session, call \
get_context for the conversation that you continue, or list_conversations to find it. Before you answer a question about \
earlier events, call recall. Record what is worth keeping: turns with append_turn, lasting facts with remember_fact.`

/** Returns the error of the protocol for a failed verb. */
function errorOf({ code, message }: VerbFailed, uri: string | undefined): RpcError {
  if (code === 'NOT_FOUND' && uri !== undefined) return notFound(uri)
  return new RpcError(code === 'INVALID_INPUT' ? 'invalidParams' : 'failed', message, { code })
}

/** Returns an MCP server that must be connected to a transport. */
export function createMcpServer({ caller, subscriptions, version, mask }: McpOptions): Server {
  // McpServer, the SDK's newer class, announces changes of lists, which this server does not send.
  const server = new Server(
    { name: 'colloquy', title: 'Colloquy', version },
    { capabilities: { tools: {}, resources: { subscribe: true }, prompts: {} }, instructions: INSTRUCTIONS },
  )
  /** Answers, or throws an error of the protocol. */
  const answer = async <Result>(work: () => Result | Promise<Result>, uri?: string): Promise<Result> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof RpcError) throw error
      if (error instanceof VerbFailed) throw errorOf(error, uri)
      throw new RpcError('internal', mask(error))
    }
  }
  const session = (): Subscriptions => {
    if (subscriptions) return subscriptions
    throw new RpcError('invalidRequest', 'Subscriptions need a session: send the header Mcp-Session-Id.')
  }

  server.setRequestHandler(ListToolsRequestSchema, () => answer(() => ({ tools: listTools(caller) })))
  server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: args = {} } }, { signal }) =>
    answer(() => callTool(caller, name, args, signal)),
  )
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }) =>
    answer(() => listResources(caller, params?.cursor)),
  )
  // A credential that is limited to one conversation finds its resources in the list.
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: caller.conversationId === null ? [...TEMPLATES] : [],
  }))
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) =>
    answer(() => readResource(caller, uri), uri),
  )
  server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) =>
    answer(async () => {
      await session().add(uri)
      return {}
    }, uri),
  )
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) =>
    answer(async () => {
      await session().remove(uri)
      return {}
    }, uri),
  )
  server.setRequestHandler(ListPromptsRequestSchema, () => answer(() => ({ prompts: listPrompts(caller) })))
  server.setRequestHandler(GetPromptRequestSchema, ({ params: { name, arguments: args } }) =>
    answer(() => getPrompt(caller, name, args)),
  )
  return server
}
