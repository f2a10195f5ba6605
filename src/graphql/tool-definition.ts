// The tools that a model may call, as clients define them.

import { JSON_BYTES, JSON_DEPTH } from '../domain/input.ts'
import { MAX_TOOL_DESCRIPTION, type ToolDefinition as Definition } from '../domain/tool-definition.ts'
import { builder } from './builder.ts'

const NAME = '1 to 64 letters, digits, "_" or "-".'

export const ToolDefinitionInput = builder.inputType('ToolDefinitionInput', {
  description:
    'Tool that a model may call. With only a `name`, it is the tool of that name that is registered on the server. '
    + 'Otherwise a client executes the calls, and appends a turn with the results.',
  fields: (t) => ({
    name: t.string({ required: true, description: `Name of the tool, ${NAME}` }),
    description: t.string({
      description:
        `What the tool does, for the model; at most ${MAX_TOOL_DESCRIPTION.toLocaleString('en-US')} characters. Defaults to `
        + 'null, for none.',
    }),
    schema: t.field({
      type: 'JSON',
      description:
        `JSON Schema of the arguments: a JSON object of at most ${JSON_BYTES / 1024} KiB, nested at most ${JSON_DEPTH} deep. `
        + 'Defaults to null, for any arguments.',
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
        description: 'What the tool does, for the model. Null if not given.',
      }),
      schema: t.expose('schema', {
        type: 'JSON',
        nullable: true,
        description: 'JSON Schema of the arguments. Null if not given.',
      }),
    }),
  })
