// The tools that a model may call, as callers define them.

import { z } from 'zod'
import { between, text } from '../../kernel/input.ts'
import { jsonSchema } from '../../kernel/json-schema.ts'

/** Maximum number of tools of one run or one agent. */
export const MAX_TOOLS = 128
/** Maximum length of a tool's description, in characters. */
export const MAX_TOOL_DESCRIPTION = 10_000

/** Name of a tool, in the characters and the length that all providers accept. */
const toolName = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"')

/** Time after which an approval expires, in seconds: the default (7 days), and the maximum for a tool (90 days). */
export const APPROVAL_SECONDS = { default: 7 * 86_400, max: 90 * 86_400 }

/** A tool that the model may call. Without schema and description, it is the server's own tool of that name. */
export const toolDefinition = z.object({
  name: toolName,
  description: text(MAX_TOOL_DESCRIPTION).nullish(),
  schema: jsonSchema.nullish(),
  requiresApproval: z.boolean().nullish(),
  approvalSeconds: between(1, APPROVAL_SECONDS.max).nullish(),
})
export type ToolDefinition = z.output<typeof toolDefinition>

export const toolDefinitions = z
  .array(toolDefinition)
  .max(MAX_TOOLS, `must have at most ${MAX_TOOLS} tools`)
  .refine((tools) => new Set(tools.map((tool) => tool.name)).size === tools.length, 'must name each tool only once')
