// Converts turns to messages with sizes, and finds the turns that a context must include or omit together.

import type { TokenCounter } from '../../../../text/tokens.ts'
import { createYield } from '../../../../runtime/yield.ts'
import { fits, plus, sizeOf, sum, tokensOf, NOTHING, type Size } from './budget.ts'
import type { ContextItem, Message } from '../message.ts'
import type { SizeCache } from './size-cache.ts'
import {
  isOrphanResult,
  renderFrom,
  matchCalls,
  type Perspective,
  type ContextTurn,
  type CallMatches,
} from '../perspective.ts'

export type MeasuredMessage = Message & { size: Size }

/** Counts tokens. `sizes` caches the sizes of messages; undefined for no cache. */
export type Tokens = Pick<TokenCounter, 'count'> & { sizes?: SizeCache }

const NONE: ReadonlySet<string> = new Set()

/** Returns the message with its size; a promise if the size is not cached. @param unanswered see piecesOf */
export function measureMessage(
  tokens: Tokens,
  message: Message,
  unanswered = NONE,
): MeasuredMessage | Promise<MeasuredMessage> {
  const measure = () => sizeOf(tokens, message, unanswered)
  const size = tokens.sizes ? tokens.sizes(message, unanswered, measure) : measure()
  return size instanceof Promise ? size.then((measured) => ({ ...message, size: measured })) : { ...message, size }
}

export const sizesOf = (measured: readonly MeasuredMessage[]) => sum(measured.map(({ size }) => size))
export const idsOf = (messages: readonly Message[]) => messages.flatMap(({ sourceIds }) => sourceIds)

/** Creates the manifest item for messages that are omitted for the same reason. */
export const omittedItem = (
  kind: ContextItem['kind'],
  measured: readonly MeasuredMessage[],
  reason: string,
): ContextItem => ({
  kind,
  sourceIds: idsOf(measured),
  tokenCount: tokensOf(sizesOf(measured)),
  included: false,
  reason,
})

/** Takes messages from the end, newest first, until one does not fit. */
export function newestThatFit<T extends MeasuredMessage>(
  measured: readonly T[],
  space: Size,
): { taken: T[]; omitted: T[] } {
  let from = measured.length
  let taken = NOTHING
  while (from > 0 && fits(plus(taken, measured[from - 1]!.size), space)) taken = plus(taken, measured[--from]!.size)
  return { taken: measured.slice(from), omitted: measured.slice(0, from) }
}

/** Returns the ids of each turn's calls that have no result in the list, by the turn's index. */
function unansweredIn(turns: readonly ContextTurn[], { callTurns }: CallMatches): Map<number, Set<string>> {
  const answers = new Map<string, number>()
  for (const [key, callTurn] of callTurns) {
    const [index, partIndex] = key.split(':').map(Number)
    const { callId } = turns[index!]!.parts![partIndex!] as { callId: string }
    answers.set(`${callTurn} ${callId}`, (answers.get(`${callTurn} ${callId}`) ?? 0) + 1)
  }
  const unanswered = new Map<number, Set<string>>()
  for (const [index, { parts }] of turns.entries()) {
    for (const part of (parts ?? []) as { type: string; callId: string }[]) {
      if (part.type !== 'toolCall') continue
      const available = answers.get(`${index} ${part.callId}`) ?? 0
      if (available > 0) answers.set(`${index} ${part.callId}`, available - 1)
      else unanswered.set(index, (unanswered.get(index) ?? new Set()).add(part.callId))
    }
  }
  return unanswered
}

/** A turn that is considered regardless of age: an instruction, a pinned turn, or a turn that summaries never cover. */
export type KeptTurn = MeasuredMessage & { position: number; isInstruction: boolean }

export type MeasuredTurns = {
  /** The recent turns, by position. */
  turns: MeasuredMessage[]
  /** The kept turns except those in `newest`. Each is rendered alone: its tool calls and results become text. */
  kept: KeptTurn[]
  /** Ascending indices in `turns` of the newest turn, and of the call and results that belong to it. */
  newest: number[]
  /** Returns the indices of the turns to include or omit together with that turn, including its own index. */
  groupOf(index: number): number[]
  /** Whether the turn has only results of calls that are not in `turns`. */
  isOrphanResult(index: number): boolean
}

/**
 * Renders and measures the turns.
 * @param kept turns to consider regardless of age; they may be in `recent`, too
 */
export async function measureTurns(
  tokens: Tokens,
  perspective: Perspective,
  recent: readonly ContextTurn[],
  kept: readonly (ContextTurn & { pinned: boolean })[],
): Promise<MeasuredTurns> {
  const matches = matchCalls(recent)
  const newest = recent.length ? matches.groups.get(recent.length - 1)! : []
  const isNewest = new Set(newest)
  const newestIds = new Set(newest.map((index) => recent[index]!.id))
  const keptIds = new Set(kept.map(({ id }) => id).filter((id) => !newestIds.has(id)))
  // A kept turn is rendered without the rest of its group, so calls and results of the whole group become text.
  const isAlone = (index: number) =>
    !isNewest.has(index) && matches.groups.get(index)!.some((member) => keptIds.has(recent[member]!.id))
  const asText = (turn: ContextTurn) => renderFrom(perspective, [turn], { tools: false })[0]!
  const unanswered = unansweredIn(recent, matches)
  const rendered = renderFrom(perspective, recent, { matches })
  const turns: MeasuredMessage[] = []
  const yieldIfDue = createYield()
  for (const [index, turn] of recent.entries()) {
    const reason = isNewest.has(index)
      ? index === recent.length - 1
        ? 'the newest turn'
        : 'belongs to the newest turn: a tool call and its results'
      : 'one of the recent turns'
    const message = { kind: 'RECENT' as const, reason, ...(isAlone(index) ? asText(turn) : rendered[index]!) }
    const measured = measureMessage(tokens, message, isAlone(index) ? undefined : unanswered.get(index))
    // Awaiting values that are no promises would take longer than reading the cached sizes.
    turns.push(measured instanceof Promise ? await measured : measured)
    const due = yieldIfDue()
    if (due) await due
  }
  const keptTurns: KeptTurn[] = []
  for (const turn of kept) {
    if (!keptIds.has(turn.id)) continue
    const isInstruction = turn.role === 'SYSTEM'
    const about = isInstruction
      ? { kind: 'PINNED' as const, reason: 'an instruction: included if it fits the share for instructions' }
      : turn.pinned
        ? { kind: 'PINNED' as const, reason: 'pinned: included if it fits' }
        : { kind: 'RECENT' as const, reason: 'no summary covers it, because it has an audience or was aborted' }
    keptTurns.push({
      ...(await measureMessage(tokens, { ...about, ...asText(turn) })),
      position: turn.position,
      isInstruction,
    })
    await yieldIfDue()
  }
  const groupOf = (index: number) => (isAlone(index) ? [index] : matches.groups.get(index)!)
  return {
    turns,
    kept: keptTurns,
    newest,
    groupOf,
    isOrphanResult: (index: number) => !isAlone(index) && isOrphanResult(recent, index, matches),
  }
}
