// The tools of runs. The engine executes tools that a library user registers, and those that are built in. For tools that
// a run defines, the caller appends the results.

import type { ProviderToolCall, ProviderToolDefinition } from '../../../../providers/ports/provider-adapter.ts'
import type { Platform } from '../../../kernel/platform.ts'
import { isTooDeep, storable, TOO_DEEP } from '../../../kernel/input.ts'
import { APPROVAL_SECONDS, type ToolDefinition } from '../../definition/tool-definition.ts'
import { problemOf } from '../../../kernel/json-schema.ts'

export type ToolContext = {
  tenant: string
  conversationId: string
  /** The agent that calls the tool. */
  actor: string
  runId: string
  /** The turn that makes the call. */
  turnId: string
  /** The participants who see the turn; null for every participant. */
  audience: readonly string[] | null
  /** Unique within the turn that makes the call; use it with `turnId` as an idempotency key. */
  callId: string
  /** Aborts when the run is cancelled or out of time, when the process stops, and when the call has taken 60 s. */
  signal: AbortSignal
}

/** A tool that the engine executes. */
export type Tool = {
  /** 1 to 64 letters, digits, "_" or "-". */
  name: string
  description?: string
  /** JSON Schema of the arguments. Default: any arguments. */
  schema?: Record<string, unknown>
  /** Whether each call waits for an approval. Default: false. */
  requiresApproval?: boolean
  /** Seconds until an approval expires, at most APPROVAL_SECONDS.max. Default: APPROVAL_SECONDS.default. */
  approvalSeconds?: number
  /**
   * Returns the result, a JSON value. A thrown error is logged, and the model receives only "The tool failed."; return
   * an error as a result if the model needs its details.
   */
  execute(this: void, args: unknown, context: ToolContext): unknown
}
/** The tools that the engine executes, by name. A built-in tool is offered only to runs that name it. */
export type Tools = ReadonlyMap<string, Tool & { isBuiltIn?: boolean }>

/** Time limit of one execution, ms. */
const TOOL_MS = 60_000
/** Maximum size of a result, in bytes of JSON. */
const MAX_RESULT_BYTES = 256 * 1024
/** Maximum number of calls in one reply. */
export const MAX_CALLS = 128

/**
 * Returns the tools by name. A registered tool replaces the built-in one with its name.
 * @throws Error for an invalid name or `approvalSeconds`, or two tools with one name
 */
export function toolsOf(tools: readonly Tool[], builtIn: readonly Tool[] = []): Tools {
  const byName = new Map<string, Tool>()
  for (const tool of tools) {
    if (!/^[\w-]{1,64}$/.test(tool.name)) throw new Error(`${JSON.stringify(tool.name)} is not a valid tool name.`)
    if (byName.has(tool.name)) throw new Error(`Two tools are named ${tool.name}.`)
    const { approvalSeconds: seconds } = tool
    if (seconds !== undefined && !(Number.isInteger(seconds) && seconds >= 1 && seconds <= APPROVAL_SECONDS.max)) {
      throw new Error(`approvalSeconds of the tool ${tool.name} must be 1 to ${APPROVAL_SECONDS.max}.`)
    }
    byName.set(tool.name, tool)
  }
  const ofServer = builtIn.map((tool) => [tool.name, { ...tool, isBuiltIn: true }] as const)
  return new Map([...ofServer, ...byName])
}

/**
 * A tool that a run offers to the model. `execute` is null if the caller appends the results; `approval` is null if
 * calls need no approval.
 */
export type OfferedTool = ProviderToolDefinition & {
  schema: Record<string, unknown> | undefined
  execute: Tool['execute'] | null
  approval: { seconds: number } | null
}

/** Whether the definition contains only the name of a registered or built-in tool. */
const namesRegistered = ({ description, schema }: ToolDefinition): boolean => description == null && schema == null

type ApprovalOf = Pick<ToolDefinition, 'requiresApproval' | 'approvalSeconds'>

/** A definition may require approval of a registered tool, but cannot remove a requirement of that tool. */
const approvalOf = (defined: ApprovalOf, registered: ApprovalOf = {}): OfferedTool['approval'] =>
  defined.requiresApproval || registered.requiresApproval
    ? { seconds: defined.approvalSeconds ?? registered.approvalSeconds ?? APPROVAL_SECONDS.default }
    : null

/** Returns the tools that a run offers: all registered ones if `defined` is null, without the built-in ones. */
export function offeredTools(defined: readonly ToolDefinition[] | null | undefined, registered: Tools): OfferedTool[] {
  const offer = (tool: Tool, definition: ApprovalOf = {}): OfferedTool => ({
    name: tool.name,
    ...(tool.description === undefined ? null : { description: tool.description }),
    schema: tool.schema,
    execute: tool.execute,
    approval: approvalOf(definition, tool),
  })
  if (defined == null) return [...registered.values()].filter((tool) => !tool.isBuiltIn).map((tool) => offer(tool))
  return defined.map((tool) => {
    const own = namesRegistered(tool) ? registered.get(tool.name) : undefined
    if (own) return offer(own, tool)
    const { name, description, schema } = tool
    return {
      name,
      ...(description == null ? null : { description }),
      schema: schema ?? undefined,
      execute: null,
      approval: approvalOf(tool),
    }
  })
}

const UNCHECKED = 'The arguments cannot be checked against the schema of the tool.'

/** Returns why the arguments do not match the schema; null if they match. */
function argumentsProblem(schema: Record<string, unknown>, given: object): string | null {
  const problem = problemOf(schema, given)
  return problem && (problem.isOf === 'value' ? problem.reason : UNCHECKED)
}

/** Returns the problems by call id: the tool is unknown, or the arguments do not match its schema. */
export function invalidCalls(calls: readonly ProviderToolCall[], tools: readonly OfferedTool[]): Map<string, string> {
  const problems = new Map<string, string>()
  for (const { id, name, arguments: given } of calls) {
    const tool = tools.find((each) => each.name === name)
    const problem = !tool
      ? `There is no tool ${JSON.stringify(name.slice(0, 64))}.`
      : given === null || typeof given !== 'object' || Array.isArray(given)
        ? 'The arguments are not a JSON object.'
        : tool.schema && argumentsProblem(tool.schema, given)
    if (problem) problems.set(id, problem)
  }
  return problems
}

const failed = (error: string) => ({ error })

/** Executes a tool. Never rejects: returns `{ error }` after a failure. */
export async function executeTool(
  { clock, log }: Pick<Platform, 'clock' | 'log'>,
  execute: Tool['execute'],
  args: unknown,
  context: ToolContext,
): Promise<unknown> {
  const expiry = new AbortController()
  const timer = clock.setTimeout(() => expiry.abort(), TOOL_MS)
  const signal = AbortSignal.any([context.signal, expiry.signal])
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true })
  })
  stopped.catch(() => {})
  try {
    const result = (await Promise.race([execute(args, { ...context, signal }), stopped])) ?? null
    if (isTooDeep(result)) return failed(`The result of the tool ${TOO_DEEP}.`)
    const printed = JSON.stringify(result)
    if (printed === undefined || storable(printed) !== null || /\\u(?:0000|d[89a-f]..)/i.test(printed)) {
      return failed('The result of the tool is not JSON that can be stored.')
    }
    const bytes = Buffer.byteLength(printed)
    if (bytes > MAX_RESULT_BYTES) {
      return failed(`The result of the tool has ${bytes} bytes; at most ${MAX_RESULT_BYTES} are allowed.`)
    }
    return result
  } catch (err) {
    if (expiry.signal.aborted) return failed(`The tool took longer than ${TOOL_MS / 1000} s.`)
    if (context.signal.aborted) return failed('The run ended before the tool returned a result.')
    log.warn({ err, runId: context.runId, callId: context.callId }, 'a tool failed')
    return failed('The tool failed.')
  } finally {
    clock.clearTimeout(timer)
  }
}
