// The tool of the server with which an agent changes the shared state of its conversation. It is offered only to runs
// that name it, so that it changes the prompts of no other agent.

import { hash } from 'node:crypto'
import { DomainError } from '../../../../errors.ts'
import { MAX_OPERATIONS } from '../../../conversation/shared-state/shared-state.ts'
import { updateSharedState } from '../../../conversation/shared-state/update-shared-state.ts'
import { OPERATIONS } from '../../../kernel/json-patch.ts'
import type { Platform } from '../../../kernel/platform.ts'
import type { Tool } from './tools.ts'

export const STATE_TOOL = 'update_shared_state'

const SCHEMA = {
  type: 'object',
  properties: {
    key: { type: 'string', minLength: 1, maxLength: 200, description: 'Key of the state. A new key is created.' },
    patch: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_OPERATIONS,
      description: 'JSON Patch (RFC 6902). "/list/-" appends to a list. A failed "test" changes nothing.',
      items: {
        type: 'object',
        properties: {
          op: { enum: [...OPERATIONS] },
          path: { type: 'string', description: 'JSON Pointer, for example "/steps/0/done".' },
          from: { type: 'string', description: 'JSON Pointer, for "move" and "copy".' },
          value: { description: 'Value, for "add", "replace" and "test".' },
        },
        required: ['op', 'path'],
      },
    },
    merge: { type: 'object', description: 'JSON Merge Patch (RFC 7396): null removes a key.' },
    value: { description: 'A whole value. To replace that of an existing key, also give expectedVersion.' },
    expectedVersion: {
      type: 'integer',
      minimum: 0,
      description:
        'Fails if the state has another version; 0 if it must not exist. Omit it to patch or merge the current value.',
    },
  },
  required: ['key'],
  additionalProperties: false,
}

type Arguments = Omit<Parameters<typeof updateSharedState>[2], 'conversationId' | 'clientId' | 'audience' | 'schema'>

/**
 * Creates the tool. It changes only keys whose audience is that of the reply, and creates keys with it. Returns the new
 * version, or the error as a text for the model.
 */
export const createStateTool = (deps: Platform): Tool => ({
  name: STATE_TOOL,
  description:
    'Changes the shared state of the conversation, which people and other agents see and change too. Give one of '
    + '`patch`, `merge` and `value`. Prefer `patch` and `merge`, which keep the concurrent changes of others.',
  schema: SCHEMA,
  async execute(args, { tenant, conversationId, actor, audience, turnId, callId }) {
    const clientId = hash('sha256', `${turnId} ${callId}`, 'hex')
    try {
      const { value, expectedVersion } = args as Arguments
      // A model must not replace what it was not shown.
      const expected = expectedVersion ?? (value === undefined ? null : 0)
      const input = { ...(args as Arguments), expectedVersion: expected, conversationId, clientId }
      const { version } = await updateSharedState(deps, { tenant, actor }, input, { audience })
      return { version }
    } catch (error) {
      if (error instanceof DomainError) return { error: error.message }
      throw error
    }
  },
})
