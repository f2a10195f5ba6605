// Keeps a transcript current: reads the newest turns, follows the conversation, and reads again after a gap.

import { notFound, type ConversationName } from '../verbs/calls.ts'
import type { Connection } from '../transport/connection.ts'
import { READ_OLDER, READ_TRANSCRIPT } from '../verbs/documents.ts'
import { follow } from './follow.ts'
import { createLive, type Live } from './live.ts'
import type { Acknowledged } from './outbox.ts'
import { EMPTY, reduceTranscript, type TranscriptAction, type TranscriptState } from './transcript-state.ts'

export type TranscriptOptions = {
  /**
   * Number of turns that are read at the start and by each call of `older`, fewer if they are large. Defaults to 50; at
   * most 200.
   */
  pageSize?: number
  /** Whether turns have `replyTo`; see FollowOptions. Defaults to true. */
  replies?: boolean
}

export type Transcript = Live<TranscriptState> & {
  /** Reads the page of turns before the first turn shown. Does nothing if there are none. @throws ColloquyError */
  older(): Promise<void>
}

/** The action for the conversation with its newest turns. A page of large turns has fewer of them than requested. */
function readOf({ turns, participants, viewerParticipant, ...conversation }: any): TranscriptAction {
  return {
    type: 'read',
    conversation,
    viewer: viewerParticipant?.actor ?? null,
    participants: participants.nodes,
    turns: turns.nodes,
    hasOlder: turns.pageInfo.hasPreviousPage,
  }
}

/** Creates a live transcript. It starts with the first listener, and later resumes after the last entry received. */
export function createTranscript(
  connection: Connection,
  name: ConversationName,
  { pageSize = 50, replies = true }: TranscriptOptions = {},
): Transcript {
  let reading: Promise<void> | null = null
  /** Cursor of the first turn shown. */
  let start: string | null

  /** Reads a page of turns. Returns the conversation that has them. */
  async function read(document: string, variables?: object, signal?: AbortSignal): Promise<any> {
    const given = { ...name, as: connection.as, limit: pageSize, ...variables }
    const { conversation } = await connection.send(document, given, { signal })
    if (!conversation) throw notFound(name)
    start = conversation.turns.pageInfo.startCursor
    return conversation
  }

  const live = createLive<TranscriptState, TranscriptAction>(
    connection,
    EMPTY,
    reduceTranscript,
    async ({ get, apply }, signal) => {
      const show = (acknowledged?: Acknowledged) =>
        apply({ type: 'outbox', pending: connection.outbox.of({ ...name, ...get().conversation }), acknowledged })
      signal.addEventListener('abort', connection.outbox.listen(show))
      show()
      if (!get().conversation) apply(readOf(await read(READ_TRANSCRIPT, {}, signal)))
      // A pending turn may name the conversation by its key, and the transcript by its id.
      show()
      const events = follow(
        connection,
        { id: get().conversation!.id },
        {
          afterSeq: get().lastSeq,
          replies,
          signal,
          onConnection: (status, error) => apply({ type: 'connection', status, error: error ?? null }),
        },
      )
      for await (const event of events) {
        apply({ type: 'event', event })
        if (get().isStale) apply(readOf(await read(READ_TRANSCRIPT, {}, signal)))
      }
      if (get().status !== 'deleted') throw notFound(name)
    },
  )

  async function readOlder(): Promise<void> {
    const { turns, hasOlder } = live.get()
    if (!hasOlder || !turns[0]) return
    const { nodes, pageInfo } = (await read(READ_OLDER, { before: start })).turns
    live.apply({ type: 'older', turns: nodes, hasOlder: pageInfo.hasPreviousPage })
  }

  return {
    get: live.get,
    subscribe: live.subscribe,
    older: () => (reading ??= readOlder().finally(() => (reading = null))),
  }
}
