// Operations that the client has no function for.

import type { Client, SendOptions } from '../../client/index.ts'
import { payloadOf } from '../../client/transport/errors.ts'
import { USER_ERROR_FRAGMENT } from '../../client/verbs/fragments.ts'

/** Selects the errors of a result that is a payload or an error. */
export const USER_ERROR = `... on ${USER_ERROR_FRAGMENT}`

/** Selects what a list of pages needs. */
export const PAGE_INFO = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'

/** Name and title of a conversation. */
export type Named = { id: string; title: string | null }
/** A turn that can be shown in its place. */
export type PlacedTurn = { position: number; conversation: Named }

type Operation = { document: string; input?: Record<string, unknown>; variables?: Record<string, unknown> }

/**
 * Sends an operation in the name of the client's actor, and returns its only field. A mutation is sent only once.
 * @throws ColloquyError, also if the result is an error
 */
export async function call<Value>(
  client: Client,
  { document, input, variables }: Operation,
  options: SendOptions = {},
): Promise<Value> {
  const own = client.as === undefined ? {} : { as: client.as }
  const sent = input ? { input: { ...own, ...input }, ...variables } : { ...own, ...variables }
  const once = document.startsWith('mutation')
  const data = await client.request<Record<string, Value>>(document, sent, { once, ...options })
  const [value] = Object.values(data) as [Value]
  if (value !== null) payloadOf(value as object)
  return value
}
