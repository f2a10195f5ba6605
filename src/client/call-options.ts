// The options of a call of a verb: the fields of its input, and the options of the request.

import type { RequestOptions } from './connection.ts'
import type { AsOf } from './generated.ts'

/** The fields of an input, without those that name the conversation and the actor. */
type Given<Input> = Omit<Input, 'as' | 'conversationId' | 'conversationKey'>

/** Options of a verb: those of its input, and those of the request. */
export type With<Input> = Given<Input> & RequestOptions

/** Option of a read: the moment in the past as of which it is answered; by default the present. */
export type AsOfOption = { asOf?: AsOf | null }

/** Separates the options of the request from the fields of an input. */
export function split(given: object = {}) {
  const { signal, ...input } = given as RequestOptions & Record<string, unknown>
  return { options: { signal }, input }
}

/** Options of a call for which the server may call a model, which takes longer than other calls. */
export const BY_MODEL = { timeoutMs: 120_000 }
