// The tools that a model may call, as clients define them.

import { JSON_BYTES, JSON_DEPTH } from '../../domain/kernel/input.ts'
import {
  APPROVAL_SECONDS,
  MAX_TOOL_DESCRIPTION,
  type ToolDefinition as Definition,
} from '../../domain/agent/definition/tool-definition.ts'
import { STATE_TOOL } from '../../domain/agent/run/tools/state-tool.ts'
import { builder } from '../kernel/builder.ts'

const days = (seconds: number) => `${seconds / 86_400} days`
const NAME = '1 to 64 letters, digits, "_" or "-".'

export const ToolDefinitionInput = builder.inputType('ToolDefinitionInput', {
  description:
    'Tool that a model may call. A definition with only a `name` refers to the tool of that name registered on the '
    + `server, or to the built-in tool \`${STATE_TOOL}\`. Otherwise, a client executes the calls and `
    + 'appends a turn with the results.',
  fields: (t) => ({
    name: t.string({ required: true, description: `Name of the tool, ${NAME}` }),
    description: t.string({
      description:
        `Description of the tool for the model; at most ${MAX_TOOL_DESCRIPTION.toLocaleString('en-US')} characters. `
        + 'Defaults to null, for none.',
    }),
    schema: t.field({
      type: 'JSON',
      description:
        `JSON Schema of the arguments: a JSON object of at most ${JSON_BYTES / 1024} KiB, nested at most ${JSON_DEPTH} levels deep. `
        + 'Defaults to null, for any arguments.',
    }),
    requiresApproval: t.boolean({
      description:
        'Whether each call waits until an actor approves it by resolveApproval. Defaults to false; calls of a '
        + 'registered tool that requires approval always wait.',
    }),
    approvalSeconds: t.int({
      description:
        'Seconds until an approval of the tool expires. Defaults to the value of the registered tool, or to '
        + `${days(APPROVAL_SECONDS.default)}; 1 to ${APPROVAL_SECONDS.max.toLocaleString('en-US')} (${days(APPROVAL_SECONDS.max)}).`,
    }),
  }),
})

export const ToolDefinition = builder
  .objectRef<Definition>('ToolDefinition')
  .implement({
    description: 'Tool that a model may call.',
    fields: (t) => ({
      name: t.exposeString('name', { description: `Name of the tool, ${NAME}` }),
      description: t.exposeString('description', {
        nullable: true,
        description: 'Description of the tool for the model. Null if not given.',
      }),
      schema: t.expose('schema', {
        type: 'JSON',
        nullable: true,
        description: 'JSON Schema of the arguments. Null if not given.',
      }),
      requiresApproval: t.boolean({
        description: 'Whether the definition makes each call wait until an actor approves it.',
        sharing: 'SHAREABLE',
        resolve: ({ requiresApproval }) => requiresApproval ?? false,
      }),
      approvalSeconds: t.int({
        nullable: true,
        description: 'Number of seconds until an approval of the tool expires. Null if not given.',
        sharing: 'SHAREABLE',
        resolve: ({ approvalSeconds }) => approvalSeconds ?? null,
      }),
    }),
  })
