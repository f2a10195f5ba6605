// The door of MCP: makes the calls of verbs that a tool can express with the tool, and the others with another door.

import { operationOf } from '../../src/faces/call.ts'
import { TOOLS, type Tool } from '../../src/faces/mcp/tools.ts'
import type { VerbName } from '../../src/faces/verbs.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'
import { connectMcp, type McpClient } from '../support/mcp.ts'
import type { Door, Outcome } from './verbs.ts'

type Leaf = { path: string; value: unknown }

/** The values in an input, with their paths. A list of scalars is one value. */
function leavesOf(value: unknown, path: readonly string[] = []): Leaf[] {
  const isBranch =
    typeof value === 'object'
    && value !== null
    && !(Array.isArray(value) && value.every((each) => typeof each !== 'object'))
  if (!isBranch) return [{ path: path.join('.'), value }]
  return Object.entries(value).flatMap(([key, each]) => leavesOf(each, [...path, key]))
}

const pathsOf = ({ arguments: given }: Tool): [string, string][] =>
  Object.entries(given).map(([name, each]) => [name, typeof each === 'string' ? each : each.input])

/** Returns the default of an input of the API; undefined if it has none. */
const defaultOf = (verb: VerbName, path: string): unknown =>
  operationOf(verb).inputs.find(({ name }) => name === path)?.definition.defaultValue

/** Returns the arguments of the tool for that input of its verb; null if the tool cannot express it. */
function argumentsOf(tool: Tool, input: object): Record<string, unknown> | null {
  const at = tool.conversation?.at === undefined ? '' : `${tool.conversation.at}.`
  const args: Record<string, unknown> = {}
  for (const { path, value } of leavesOf(input)) {
    if (tool.conversation && path === `${at}conversationId`) args.conversation = value
    else {
      const argument = pathsOf(tool).find(([, each]) => each === path)
      if (!argument) return null
      args[argument[0]] = value
    }
  }
  // The tool searches without being asked to, and in another scope.
  if (tool.verb === 'buildContext' && args.query !== undefined && !('semanticRecall' in input)) return null
  if (tool.verb === 'recall' && args.conversation === undefined) return null
  for (const [name, path] of pathsOf(tool)) {
    const initial = defaultOf(tool.verb, path)
    if (initial !== undefined) args[name] ??= initial
  }
  return args
}

/** Returns the path of the verb's input that an error of the tool names. */
function inputPath(tool: Tool, [first, ...rest]: readonly string[]): string {
  const found = pathsOf(tool).find(([name]) => name === first)
  if (first === 'conversation') return [tool.conversation?.at, 'conversationId'].filter(Boolean).join('.')
  return [found?.[1] ?? first, ...rest].join('.')
}

/** @param onCall called for each call that a tool makes */
export function mcpDoor(url: string, other: Door, onCall: () => void): Door {
  const clients = new Map<string, Promise<McpClient>>()
  const clientOf = ({ tenant, actor }: Viewer): Promise<McpClient> => {
    const key = `${tenant} ${actor}`
    let client = clients.get(key)
    if (!client) clients.set(key, (client = connectMcp(url, { 'x-tenant': tenant, 'x-actor': actor })))
    return client
  }
  return async (viewer, verb, input): Promise<Outcome> => {
    const [name, tool] = Object.entries(TOOLS).find(([, each]) => each.verb === verb) ?? []
    const args = tool && argumentsOf(tool, input)
    if (!args) return other(viewer, verb, input)
    onCall()
    const { client } = await clientOf(viewer)
    const result = await client.callTool({ name: name!, arguments: args })
    if (!result.isError) return { answer: result.structuredContent }
    const { code, issues = [] } = result._meta as { code: string; issues?: { path: string[] }[] }
    return { code, paths: issues.map(({ path }) => inputPath(tool, path)) }
  }
}
