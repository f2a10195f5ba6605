// The inbox: the changes in all conversations of the client's actor, and the live list of these conversations.

import type { RequestOptions, ResumeOptions } from '../verbs/calls.ts'
import type { Connection } from '../transport/connection.ts'
import { FOLLOW_INBOX, LIST_CONVERSATIONS } from '../verbs/documents.ts'
import type { ColloquyError } from '../transport/errors.ts'
import type { InboxEvent, ListedConversation } from '../generated.ts'
import { createLive, type Live } from './live.ts'

/**
 * Yields the events of the inbox. On each connection, the server first sends the turns to answer and the conversations
 * with unread turns. So an event may be delivered more than once, but no unread turn is missed.
 * @throws ColloquyError for a permanent failure
 */
export const followInbox = (connection: Connection, options?: ResumeOptions): AsyncGenerator<InboxEvent, void> =>
  connection.subscribe(FOLLOW_INBOX, () => ({}), options)

export type InboxState = {
  /** `loading` before the list is read, `waiting` while the connection is lost, `failed` after a permanent error. */
  readonly status: 'loading' | 'live' | 'waiting' | 'failed'
  /** The newest failure; null while `status` is `live`. */
  readonly error: ColloquyError | null
  /** The conversations of the actor, the most recently active first. */
  readonly conversations: readonly ListedConversation[]
  /** Number of unread turns in all of `conversations`. */
  readonly unreadCount: number
}

export type InboxAction =
  | { type: 'listed'; conversations: readonly ListedConversation[] }
  | { type: 'event'; event: InboxEvent }
  | { type: 'connection'; status: InboxState['status']; error: ColloquyError | null }

/** @internal */
export const EMPTY_INBOX: InboxState = { status: 'loading', error: null, conversations: [], unreadCount: 0 }

/** Maximum number of conversations that are read at once, newest activity first. Others are added when they change. */
const LISTED = 50

function withConversations(state: InboxState, conversations: readonly ListedConversation[]): InboxState {
  const sorted = conversations.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0))
  const unreadCount = sorted.reduce((sum, { viewerUnreadCount }) => sum + viewerUnreadCount, 0)
  return { ...state, conversations: sorted, unreadCount }
}

/** @internal */
export function reduceInbox(state: InboxState, action: InboxAction): InboxState {
  switch (action.type) {
    case 'listed':
      return withConversations(state, action.conversations)
    case 'event': {
      const { conversationId, reason, conversation } = action.event
      const others = state.conversations.filter(({ id }) => id !== conversationId)
      const isGone = reason === 'REMOVED' || reason === 'DELETED' || !conversation
      if (isGone && others.length === state.conversations.length) return state
      return withConversations(state, isGone ? others : [...others, conversation])
    }
    case 'connection':
      if (state.status === action.status && state.error === action.error) return state
      return { ...state, status: action.status, error: action.error }
  }
}

/** Reads the conversations of the actor, the LISTED most recently active ones. @throws ColloquyError */
export async function listConversations(
  connection: Connection,
  { signal }: RequestOptions,
): Promise<readonly ListedConversation[]> {
  const variables = { as: connection.as, actor: await connection.actor({ signal }), first: LISTED }
  return (await connection.send(LIST_CONVERSATIONS, variables, { signal })).conversations.nodes
}

/**
 * Creates the live list of the actor's conversations. The list is read on each new connection. Events that arrive while
 * it is read are applied immediately, and again to the list that was read.
 */
export function createInbox(connection: Connection): Live<InboxState> {
  return createLive<InboxState, InboxAction>(connection, EMPTY_INBOX, reduceInbox, async ({ apply, fail }, signal) => {
    /** The events that have arrived since the newest list was requested; null while none is. */
    let meanwhile = null as InboxEvent[] | null
    async function list(): Promise<void> {
      const arrived: InboxEvent[] = (meanwhile = [])
      const conversations = await listConversations(connection, { signal })
      // A newer list was requested.
      if (meanwhile !== arrived) return
      meanwhile = null
      apply({ type: 'listed', conversations })
      for (const event of arrived) apply({ type: 'event', event })
      apply({ type: 'connection', status: 'live', error: null })
    }
    const onConnection = (status: 'live' | 'waiting', error?: ColloquyError) => {
      if (status === 'live') list().catch(fail)
      else apply({ type: 'connection', status, error: error! })
    }
    for await (const event of followInbox(connection, { signal, onConnection })) {
      meanwhile?.push(event)
      apply({ type: 'event', event })
    }
  })
}
