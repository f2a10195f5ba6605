// A window of old turns: its pages, and the events that change its turns.

import { ColloquyError, type Client, type ConversationHandle, type Turn } from '../../client/index.ts'
import { FRAGMENTS, withFragments } from '../../client/verbs/fragments.ts'

/** Number of turns that are read at once, unless they are too large for one answer. */
const PAGE = 50

const READ_PAGE = withFragments(
  `query Page($id: ID!, $as: String, $limit: Int!, $before: Int, $after: Int) {
  conversation(id: $id, as: $as) {
    history(limit: $limit, beforePosition: $before, afterPosition: $after) { ... on Turn { ...Turn } }
  }
}`,
  FRAGMENTS,
)
type Answer = { conversation: { history: Turn[] } | null }

/** `isFull`: whether there may be more turns in the direction of the page. */
export type Page = { turns: readonly Turn[]; isFull: boolean }

/**
 * Reads the turns next to a position.
 * @param request sends the query
 * @throws ColloquyError
 * @internal
 */
export async function readPage(
  request: (query: string, variables: Record<string, unknown>) => Promise<Answer>,
  variables: { id: string; as: string | undefined; before?: number; after?: number },
  limit = PAGE,
): Promise<Page> {
  try {
    const turns = (await request(READ_PAGE, { ...variables, limit })).conversation?.history ?? []
    return { turns, isFull: turns.length === limit }
  } catch (error) {
    // Together, the turns are too large.
    if (!(error instanceof ColloquyError) || error.code !== 'INVALID_INPUT' || limit === 1) throw error
    return readPage(request, variables, limit >> 1)
  }
}

/** Returns the function that reads pages of a conversation. */
export const pagesOf = (client: Client, id: string) => (bounds: { before?: number; after?: number }) =>
  readPage((query, variables) => client.request<Answer>(query, variables), { id, as: client.as, ...bounds })

/**
 * A window of old turns. `target`: the position around which it was read. `afterSeq`: number of an entry before it was
 * read. `changes`: the turns of the events since, by position; they may be newer than a page that is read later.
 */
export type Past = {
  target: number
  afterSeq: number
  turns: readonly Turn[]
  hasOlder: boolean
  changes: ReadonlyMap<number, Turn>
}

/** Whether the window has the turn with the position, or shows that there is none. */
export const covers = ({ target, turns }: Past, position: number): boolean => {
  const [first, last] = [turns[0], turns.at(-1)]
  return target === position || (first !== undefined && first.position <= position && last!.position >= position)
}

/** Types of the events that change old turns. */
const TYPES = ['TURN_UPDATED', 'TURN_SUPERSEDED', 'TURN_ERASED', 'TURN_COMMITTED', 'TURN_ABORTED'] as const

/**
 * Calls `onChange` with each old turn that changes after the entry, and `onGap` if changes were skipped.
 * @throws ColloquyError for a permanent failure
 */
export async function followChanges(
  conversation: ConversationHandle,
  afterSeq: number,
  { onChange, onGap }: { onChange(turn: Turn): void; onGap(): void },
  signal: AbortSignal,
): Promise<void> {
  for await (const event of conversation.follow({ afterSeq, types: TYPES, signal })) {
    switch (event.__typename) {
      case 'Gap':
        onGap()
        break
      case 'TurnSuperseded':
        onChange(event.by)
        break
      case 'TurnUpdated':
      case 'TurnErased':
      case 'TurnCommitted':
      case 'TurnAborted':
        onChange(event.turn)
    }
  }
}
