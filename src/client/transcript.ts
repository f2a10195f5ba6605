// Keeps a transcript current: reads the newest turns, follows the conversation, and reads again after a gap.

import type { Connection } from './connection.ts'
import { READ_OLDER, READ_TRANSCRIPT } from './documents.ts'
import { ColloquyError } from './errors.ts'
import { follow, type ConversationName } from './follow.ts'
import type { Turn } from './generated.ts'
import { createLive, type Live } from './live.ts'
import { EMPTY, reduceTranscript, type TranscriptAction, type TranscriptState } from './transcript-state.ts'

export type TranscriptOptions = {
  /** Number of turns that are read at the start and by each call of `older`. Defaults to 50; at most 200. */
  pageSize?: number
  /** Whether turns have `replyTo`; see FollowOptions. Defaults to true. */
  replies?: boolean
}

export type Transcript = Live<TranscriptState> & {
  /** Reads the page of turns before the first turn shown. Does nothing if there are none. @throws ColloquyError */
  older(): Promise<void>
}

const notFound = (name: ConversationName) =>
  new ColloquyError('NOT_FOUND', `There is no conversation ${JSON.stringify(name)}, or it is outside the view.`)

/** Returns the turns of a history page. The documents request no summaries, but the type of a page includes them. */
const turnsOf = (history: readonly (Turn & { __typename: string })[]): Turn[] =>
  history.filter(({ __typename }) => __typename === 'Turn')

async function readHistory(
  connection: Connection,
  name: ConversationName,
  limit: number,
  signal: AbortSignal,
): Promise<TranscriptAction> {
  const variables = { ...name, as: connection.as, limit }
  const { conversation } = await connection.send(READ_TRANSCRIPT, variables, { signal })
  if (!conversation) throw notFound(name)
  const { history, participants, viewerParticipant, ...rest } = conversation
  return {
    type: 'read',
    conversation: rest,
    viewer: viewerParticipant?.actor ?? null,
    participants: participants.nodes,
    turns: turnsOf(history),
    hasOlder: history.length === limit,
  }
}

/** Creates a live transcript. It starts with the first listener, and later resumes after the last entry received. */
export function createTranscript(
  connection: Connection,
  name: ConversationName,
  { pageSize = 50, replies = true }: TranscriptOptions = {},
): Transcript {
  let reading: Promise<void> | null = null

  const live = createLive<TranscriptState, TranscriptAction>(
    EMPTY,
    reduceTranscript,
    async ({ get, apply }, signal) => {
      try {
        if (!get().conversation) apply(await readHistory(connection, name, pageSize, signal))
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
          if (get().isStale) apply(await readHistory(connection, name, pageSize, signal))
        }
        apply({ type: 'connection', status: 'failed', error: notFound(name) })
      } catch (error) {
        const failure = error instanceof ColloquyError ? error : new ColloquyError('BAD_RESPONSE', String(error))
        apply({ type: 'connection', status: 'failed', error: failure })
      }
    },
  )

  async function readOlder(): Promise<void> {
    const { turns, hasOlder } = live.get()
    if (!hasOlder || !turns[0]) return
    const variables = { ...name, as: connection.as, limit: pageSize, before: turns[0].position }
    const { conversation } = await connection.send(READ_OLDER, variables)
    const history = conversation?.history ?? []
    live.apply({ type: 'older', turns: turnsOf(history), hasOlder: history.length === pageSize })
  }

  return {
    get: live.get,
    subscribe: live.subscribe,
    older: () => (reading ??= readOlder().finally(() => (reading = null))),
  }
}
