// The parts of a call: the conversation that it names, its options, its idempotency key, and the pages that it returns.

import { ColloquyError } from '../transport/errors.ts'
import type { AsOf, PageInfo } from '../generated.ts'

/** Identifies a conversation by its id or its key. */
export type ConversationName = { id: string } | { key: string }

/** Returns the variables or input fields that identify the conversation in a subscription or mutation. */
export const fieldsOf = (name: ConversationName): { conversationId?: string; conversationKey?: string } =>
  'id' in name ? { conversationId: name.id } : { conversationKey: name.key }

export const notFound = (name: ConversationName) =>
  new ColloquyError('NOT_FOUND', `There is no conversation ${JSON.stringify(name)}, or it is outside the view.`)

export type RequestOptions = {
  /** Aborts the call: a request rejects with the signal's reason; a subscription or `answer` ends without an error. */
  signal?: AbortSignal | null
}

/** Options of writing a turn that may answer a claimed turn. */
export type AnsweringOptions = RequestOptions & {
  /** Token of the claim on the turn `replyToId`. The claim ends with the answer. Defaults to no claim. */
  claimToken?: string
}

export type SendOptions = RequestOptions & {
  /** Whether to send the call only once. Set it if the call is not safe to repeat. Defaults to false. */
  once?: boolean
  /** Time within which the server must answer the call, ms. Defaults to the client's `timeoutMs`. */
  timeoutMs?: number
}

/** Options of a subscription that is resumed after each loss of the connection. */
export type ResumeOptions = RequestOptions & {
  /** Called with `live` when the subscription is connected, and with `waiting` and the error after each loss. */
  onConnection?(state: 'live' | 'waiting', error?: ColloquyError): void
}

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

/** Returns 128 random bits, in hexadecimal. Not by `crypto.randomUUID`, which is missing on pages without https. */
export const randomId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** One page of a list. */
export type Page<Item> = { nodes: Item[]; pageInfo: PageInfo }

/** Selects a page: `first` items after the cursor `after`, or `last` items before the cursor `before`. */
export type PageOptions = { first?: number; after?: string | null; last?: number; before?: string | null }

/**
 * Yields the items of all pages, from the first to the last.
 * @param read reads the page after the cursor; null for the first page
 */
export async function* itemsOf<Item>(read: (after: string | null) => Promise<Page<Item>>): AsyncGenerator<Item, void> {
  let after: string | null = null
  do {
    const { nodes, pageInfo }: Page<Item> = await read(after)
    yield* nodes
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null
  } while (after !== null)
}
