// Keeps a value of a conversation current: reads it, and reads it again after events that may have changed it.

import type { ConversationName } from '../verbs/calls.ts'
import type { Connection } from '../transport/connection.ts'
import type { ColloquyError } from '../transport/errors.ts'
import { follow, readHead, type FollowedEvent } from './follow.ts'
import type { ConversationEventType } from '../generated.ts'
import { createLive, type Live } from './live.ts'

/** A value that is read from the server. */
export type Watched<Value> = {
  /** The newest value; null before the first read. */
  value: Value | null
  /**
   * `loading` before the first read, then `live`; `waiting` while the connection is lost; `deleted` after the conversation
   * was; `failed` after a permanent failure.
   */
  status: 'loading' | 'live' | 'waiting' | 'deleted' | 'failed'
  /** The failure, if `status` is `waiting` or `failed`; otherwise null. */
  error: ColloquyError | null
}

/**
 * What a read is for: the value that was read last, null before the first read; and the events since, in order, none for a
 * read from the start.
 */
export type Changes<Value> = { value: Value | null; events: readonly FollowedEvent[] }

type Action<Value> =
  | { type: 'read'; value: Value }
  | { type: 'deleted' }
  | { type: 'connection'; status: 'live' | 'waiting' | 'failed'; error: ColloquyError | null }

function reduce<Value>(state: Watched<Value>, action: Action<Value>): Watched<Value> {
  if (action.type === 'read') return { value: action.value, status: 'live', error: null }
  if (action.type === 'deleted') return { ...state, status: 'deleted', error: null }
  const { status, error } = action
  // Before the first read, a connection does not make the value live.
  const next = status === 'live' && state.value === null ? 'loading' : status
  return next === state.status && error === state.error ? state : { ...state, status: next, error }
}

/**
 * Creates a live value.
 * @param read reads the value
 * @param types events after which the value is read again; events that arrive during a read cause one more
 */
export function createWatch<Value>(
  connection: Connection,
  name: ConversationName,
  read: (signal: AbortSignal, changes: Changes<Value>) => Promise<Value>,
  types: readonly ConversationEventType[],
): Live<Watched<Value>> {
  const initial: Watched<Value> = { value: null, status: 'loading', error: null }
  return createLive<Watched<Value>, Action<Value>>(
    connection,
    initial,
    reduce,
    async ({ get, apply, fail }, signal) => {
      let isReading = false
      let isStale = false
      let events: FollowedEvent[] = []
      async function refresh(): Promise<void> {
        isStale = true
        if (isReading) return
        isReading = true
        try {
          while (isStale && !signal.aborted) {
            isStale = false
            const changes = { value: get().value, events }
            events = []
            apply({ type: 'read', value: await read(signal, changes) })
          }
        } finally {
          isReading = false
        }
      }
      if (types.length === 0) return refresh()
      // Events after this entry are followed, so no change after the first read is missed.
      const { lastSeq } = await readHead(connection, name, { signal })
      refresh().catch(fail)
      const onConnection = (status: 'live' | 'waiting', error?: ColloquyError) =>
        apply({ type: 'connection', status, error: error ?? null })
      for await (const event of follow(connection, name, {
        afterSeq: lastSeq,
        types,
        replies: false,
        signal,
        onConnection,
      })) {
        if (event.__typename === 'ConversationDeleted') return apply({ type: 'deleted' })
        events.push(event)
        refresh().catch(fail)
      }
    },
  )
}
