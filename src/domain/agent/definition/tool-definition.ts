// The tools that a model may call, as callers define them.

import { z } from 'zod'
import { between, json, JSON_BYTES, text } from '../../kernel/input.ts'

/** Maximum number of tools of one run or one agent. */
export const MAX_TOOLS = 128
/** Maximum length of a tool's description, in characters. */
export const MAX_TOOL_DESCRIPTION = 10_000

const schema = json.pipe(
  z.unknown().superRefine((value, context) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      return context.addIssue({ code: 'custom', message: 'must be a JSON Schema: a JSON object' })
    }
    if (Buffer.byteLength(JSON.stringify(value)) > JSON_BYTES) {
      context.addIssue({ code: 'custom', message: `must be at most ${JSON_BYTES} bytes of JSON` })
    }
  }),
) as unknown as z.ZodType<Record<string, unknown>>

/** Name of a tool, in the characters and the length that all providers accept. */
const toolName = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"')

/** Time after which an approval expires, in seconds: the default (7 days), and the maximum for a tool (90 days). */
export const APPROVAL_SECONDS = { default: 7 * 86_400, max: 90 * 86_400 }

/** A tool that the model may call. Without schema and description, it is the server's registered tool of that name. */
export const toolDefinition = z.object({
  name: toolName,
  description: text(MAX_TOOL_DESCRIPTION).nullish(),
  schema: schema.nullish(),
  requiresApproval: z.boolean().nullish(),
  approvalSeconds: between(1, APPROVAL_SECONDS.max).nullish(),
})
export type ToolDefinition = z.output<typeof toolDefinition>

export const toolDefinitions = z
  .array(toolDefinition)
  .max(MAX_TOOLS, `must have at most ${MAX_TOOLS} tools`)
  .refine((tools) => new Set(tools.map((tool) => tool.name)).size === tools.length, 'must name each tool only once')
