// Lists the tools that a caller may use, and calls them.

import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/sdk/types.js'
import { schema } from '../../graphql/schema.ts'
import { nearest } from '../../text/nearest.ts'
import { operationOf, VerbFailed } from '../call.ts'
import { createJsonSchemas, type JsonSchema } from '../json-schema.ts'
import type { Caller } from './caller.ts'
import { failureOfTool, schemaOfInput, verbInputOf } from './tool-input.ts'
import { TOOLS, type Tool } from './tools.ts'
import { RpcError } from './rpc-error.ts'

const PREFIX = '#/$defs/'

/** Removes the descriptions: clients validate answers with the schema, and models would read it with every tool. */
const withoutDescriptions = (value: unknown): any =>
  JSON.parse(
    JSON.stringify(value, (key, each) => (key === 'description' && typeof each === 'string' ? undefined : each)),
  )

/** Returns the schema with the definitions that it references. MCP requires the type `object` at its root. */
function complete(own: JsonSchema, definitions: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const { $ref, ...root } = own
  const resolved = $ref === undefined ? root : { ...definitions[String($ref).slice(PREFIX.length)], ...root }
  return { ...resolved, ...(Object.keys(definitions).length > 0 && { $defs: definitions }) }
}

function outputOf(tool: Tool): JsonSchema {
  if (tool.output) return tool.output
  const { document, type, selection } = operationOf(tool.verb)
  const schemas = createJsonSchemas(schema, [document], PREFIX)
  return withoutDescriptions(complete(schemas.outputOf(type, selection), schemas.definitions))
}

function inputOf(tool: Tool, isLimited: boolean): JsonSchema {
  const schemas = createJsonSchemas(schema, [], PREFIX)
  return complete(schemaOfInput(tool, schemas, isLimited), schemas.definitions)
}

function describe(name: string, tool: Tool, isLimited: boolean): ListedTool {
  const { title, description, annotations } = tool
  return {
    name,
    title,
    description,
    annotations: { title, ...annotations },
    inputSchema: inputOf(tool, isLimited) as ListedTool['inputSchema'],
    outputSchema: outputOf(tool) as ListedTool['outputSchema'],
  }
}

/** The tools of credentials that are limited to one conversation, and of others. They are described once. */
const described = new Map<boolean, readonly (readonly [Tool, ListedTool])[]>()

function describeAll(isLimited: boolean) {
  let tools = described.get(isLimited)
  if (!tools) {
    const entries = Object.entries(TOOLS).filter(([name]) => !isLimited || name !== 'list_conversations')
    tools = entries.map(([name, tool]) => [tool, describe(name, tool, isLimited)] as const)
    described.set(isLimited, tools)
  }
  return tools
}

/**
 * Returns the tools that the caller has the rights for. A credential that is limited to one conversation has no list of
 * conversations, and no argument that names one.
 */
export const listTools = ({ conversationId, rights }: Caller): ListedTool[] =>
  describeAll(conversationId !== null)
    .filter(([{ right }]) => rights === null || rights.has(right))
    .map(([, listed]) => listed)

/** Returns the failure of a call as a result, which the model reads, so that it can correct the call. */
const failed = ({ code, message, issues, details }: VerbFailed): CallToolResult => ({
  isError: true,
  content: [{ type: 'text', text: `${code}: ${message}` }],
  _meta: { code, ...(issues.length > 0 && { issues }), ...details },
})

/**
 * Calls a tool. A failed verb is a result with `isError`.
 * @throws RpcError for an unknown tool, and names the most similar one
 */
export async function callTool(
  caller: Caller,
  name: string,
  args: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const known = describeAll(caller.conversationId !== null).map(([, listed]) => listed.name)
  if (!known.includes(name)) {
    const similar = nearest(name, known)
    throw new RpcError('invalidParams', `Unknown tool: ${name}.${similar ? ` Did you mean ${similar}?` : ''}`)
  }
  const tool = TOOLS[name]!
  try {
    const input = verbInputOf(tool, caller, args)
    const answer = tool.call ? await tool.call(caller, input, signal) : await caller.call(tool.verb, input)
    return { content: [{ type: 'text', text: tool.toText(answer) }], structuredContent: { ...answer } }
  } catch (error) {
    if (error instanceof VerbFailed) return failed(failureOfTool(tool, error))
    throw error
  }
}
