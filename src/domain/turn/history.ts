// Reading a conversation's transcript as somebody sees it: pages both ways, and the newest turns at once.

import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import { Role } from '../../store/generated/enums.ts'
import { countTurns, type TurnCount } from '../../store/sql/turn/count-turns.ts'
import { pageTurns } from '../../store/sql/turn/page-turns.ts'
import { cursorFormat } from '../cursor.ts'
import type { Platform } from '../platform.ts'
import { count, name, parse, time } from '../input.ts'
import { paging, slice, type Page, type Paging } from '../page.ts'
import type { Viewer } from '../view.ts'
import { seenBy, withTextSoFar, type Turn } from './turn.ts'

const turnFilter = z.object({
  actors: z.array(name).max(1000).nullish(),
  roles: z.array(z.enum(Role)).nullish(),
  after: time.nullish(),
  before: time.nullish(),
  sinceSeq: count.nullish(),
})
export type TurnFilter = z.input<typeof turnFilter>

export type TurnsArgs = Paging & { filter?: TurnFilter | null; includeSuperseded?: boolean | null }

type Place = { rootSeq: number; seq: number }
/** Beyond every version of a place. */
const END = 2 ** 31 - 1

const CURSOR = cursorFormat<Place>(
  ({ rootSeq, seq }) => `turn:${rootSeq}:${seq}`,
  /^turn:(\d{1,10}):(\d{1,10})$/,
  (...groups) => {
    const [rootSeq, seq] = groups.map(Number) as [number, number]
    return rootSeq < 2 ** 31 && seq < 2 ** 31 ? { rootSeq, seq } : null
  },
)

/** A turn's place as an opaque cursor. It stays valid whatever is written later. */
export const turnCursor = (turn: Place): string => CURSOR.encode(turn)

/**
 * A page of each conversation's turns in the viewer's view, oldest first: one statement for the whole list. A conversation that has
 * none, or that the viewer's tenant has not, gets an empty page.
 * @throws InvalidInput
 */
export async function pageOfTurns(
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  args: TurnsArgs,
): Promise<Map<string, Page<Turn>>> {
  const page = paging(args, deps.limits.pageSize)
  const filter = parse(turnFilter, args.filter ?? {})
  const includeSuperseded = args.includeSuperseded ?? false
  // Where a place is listed once, a newer version of the cursor's turn stands where the cursor does.
  const edge = (place: Place, seq: number) => (includeSuperseded ? place : { ...place, seq })
  const found = await pageTurns(deps.pool, viewer, conversationIds, {
    limit: page.size + 1,
    from: page.backwards ? 'newest' : 'oldest',
    after: page.after == null ? null : edge(CURSOR.decode(page.after, 'after'), END),
    before: page.before == null ? null : edge(CURSOR.decode(page.before, 'before'), 0),
    includeSuperseded,
    actors: filter.actors,
    roles: filter.roles,
    since: filter.after,
    until: filter.before,
    sinceSeq: filter.sinceSeq,
  })
  await withTextSoFar(deps, viewer.tenant, [...found.values()].flat())
  return new Map(
    conversationIds.map((conversationId) => [
      conversationId,
      slice((found.get(conversationId) ?? []).map(seenBy(viewer)), page),
    ]),
  )
}

const historyArgs = z.object({ limit: count.nullish(), before: count.nullish() })
export type HistoryArgs = z.input<typeof historyArgs>

/** How many, before which place. @throws InvalidInput */
export function historyPage(
  { limits }: Pick<Platform, 'limits'>,
  args: HistoryArgs,
): { size: number; before: number | null } {
  const { limit, before } = parse(historyArgs, args)
  const size = limit ?? 50
  if (size < 1 || size > limits.pageSize) {
    throw InvalidInput.at('limit', `is ${size}; it must be 1 to ${limits.pageSize}`)
  }
  return { size, before: before ?? null }
}

/**
 * Each conversation's newest turns, at most `limit` (50), with a place before seq `before`; oldest first.
 * @throws InvalidInput
 */
export async function history(
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  args: HistoryArgs,
): Promise<Map<string, Turn[]>> {
  const { size, before } = historyPage(deps, args)
  const found = await pageTurns(deps.pool, viewer, conversationIds, {
    limit: size,
    from: 'newest',
    before: before == null ? null : { rootSeq: before, seq: 0 },
  })
  await withTextSoFar(deps, viewer.tenant, [...found.values()].flat())
  return new Map(
    conversationIds.map((conversationId) => [
      conversationId,
      (found.get(conversationId) ?? []).map(seenBy(viewer)).toReversed(),
    ]),
  )
}

/** Committed turns and their tokens in the viewer's view of each conversation, newest versions only. */
export const countOfTurns = (
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  conversationIds: readonly string[],
): Promise<Map<string, TurnCount>> => countTurns(pool, viewer, conversationIds)
