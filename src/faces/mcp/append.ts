// Appends a turn, and creates the conversation with a new key first.

import { VerbFailed } from '../call.ts'
import type { Caller } from './caller.ts'

/**
 * Appends the turn. If there is no conversation with the key, creates one first: the call then needs the rights of both
 * verbs. A conversation that the caller may not see stays hidden, because creating one with the same key is allowed.
 * @throws VerbFailed
 */
export async function appendTurn(caller: Caller, input: Record<string, any>): Promise<object> {
  const { conversationKey: key } = input
  try {
    return await caller.call('appendTurn', input)
  } catch (error) {
    if (!(error instanceof VerbFailed) || error.code !== 'NOT_FOUND' || key === undefined) throw error
    // The turn that it replies to may be missing instead.
    if (input.turn?.replyToId != null) throw error
  }
  await caller.call('createConversation', { key })
  return caller.call('appendTurn', input)
}
