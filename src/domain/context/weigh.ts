// Turns as messages, each with its size; and which of them a context must keep or leave out together.

import type { TokenCounter } from '../../text/tokens.ts'
import { fits, plus, sizeOf, sum, tokensOf, NOTHING, type Size } from './budget.ts'
import type { ContextItem, Message } from './message.ts'
import { isStray, seenFrom, tie, type Perspective, type ContextTurn, type Ties } from './perspective.ts'

export type WeighedMessage = Message & { size: Size }

export type Tokens = Pick<TokenCounter, 'count'>

export const weighMessage = async (
  tokens: Tokens,
  message: Message,
  unanswered?: ReadonlySet<string>,
): Promise<WeighedMessage> => ({ ...message, size: await sizeOf(tokens, message, unanswered) })

export const sizesOf = (weighed: readonly WeighedMessage[]) => sum(weighed.map(({ size }) => size))
export const idsOf = (messages: readonly Message[]) => messages.flatMap(({ sources }) => sources)

/** The line of the manifest for messages that are left out together. */
export const leftOut = (
  kind: ContextItem['kind'],
  weighed: readonly WeighedMessage[],
  reason: string,
): ContextItem => ({ kind, sourceIds: idsOf(weighed), tokens: tokensOf(sizesOf(weighed)), included: false, reason })

/** Takes messages from the end, where the newer ones are, until one does not fit. */
export function newestThatFit<T extends WeighedMessage>(weighed: readonly T[], space: Size): { taken: T[]; left: T[] } {
  let from = weighed.length
  let taken = NOTHING
  while (from > 0 && fits(plus(taken, weighed[from - 1]!.size), space)) taken = plus(taken, weighed[--from]!.size)
  return { taken: weighed.slice(from), left: weighed.slice(0, from) }
}

/** Ids of the calls of each turn that no result belongs to, by the turn's place in the list. */
function unansweredIn(turns: readonly ContextTurn[], { callers }: Ties): Map<number, Set<string>> {
  const answers = new Map<string, number>()
  for (const [key, caller] of callers) {
    const [place, part] = key.split(':').map(Number)
    const { callId } = turns[place!]!.parts![part!] as { callId: string }
    answers.set(`${caller} ${callId}`, (answers.get(`${caller} ${callId}`) ?? 0) + 1)
  }
  const open = new Map<number, Set<string>>()
  for (const [place, { parts }] of turns.entries()) {
    for (const part of (parts ?? []) as { type: string; callId: string }[]) {
      if (part.type !== 'toolCall') continue
      const left = answers.get(`${place} ${part.callId}`) ?? 0
      if (left > 0) answers.set(`${place} ${part.callId}`, left - 1)
      else open.set(place, (open.get(place) ?? new Set()).add(part.callId))
    }
  }
  return open
}

/** A turn that stays verbatim at any age. */
export type KeptTurn = WeighedMessage & { place: number; isInstruction: boolean }

export type WeighedTurns = {
  /** The recent turns, by place. */
  turns: WeighedMessage[]
  /** The kept turns but the newest turn, rendered without reference to other turns. */
  standing: KeptTurn[]
  /** The newest turn, and the call and the results that belong to it: indices of `turns`, ascending. */
  newest: number[]
  /** Indices of the turns that are kept or left out together with that one, itself included. */
  groupOf(index: number): number[]
  /** Whether that turn has only results of calls that are not among the turns. */
  isStray(index: number): boolean
}

/** @param kept turns that stay verbatim at any age; some may be recent too */
export async function weighTurns(
  tokens: Tokens,
  perspective: Perspective,
  recent: readonly ContextTurn[],
  kept: readonly (ContextTurn & { pinned: boolean })[],
): Promise<WeighedTurns> {
  const ties = tie(recent)
  const newest = recent.length ? ties.groups.get(recent.length - 1)! : []
  const isNewest = new Set(newest)
  const newestIds = new Set(newest.map((place) => recent[place]!.id))
  const keptIds = new Set(kept.map(({ id }) => id).filter((id) => !newestIds.has(id)))
  // What is kept on its own stands without its call or results; those are then told in words too.
  const alone = (place: number) =>
    !isNewest.has(place) && ties.groups.get(place)!.some((member) => keptIds.has(recent[member]!.id))
  const inWords = (turn: ContextTurn) => seenFrom(perspective, [turn], { tools: false })[0]!
  const open = unansweredIn(recent, ties)
  const seen = seenFrom(perspective, recent, { ties })
  const turns: WeighedMessage[] = []
  for (const [place, turn] of recent.entries()) {
    const reason = isNewest.has(place)
      ? place === recent.length - 1
        ? 'the newest turn'
        : 'belongs to the newest turn: a tool call and its results'
      : 'one of the recent turns'
    turns.push(
      await weighMessage(
        tokens,
        { kind: 'RECENT', reason, ...(alone(place) ? inWords(turn) : seen[place]!) },
        alone(place) ? undefined : open.get(place),
      ),
    )
  }
  const standing: KeptTurn[] = []
  for (const turn of kept) {
    if (!keptIds.has(turn.id)) continue
    const isInstruction = turn.role === 'SYSTEM'
    const about = isInstruction
      ? { kind: 'PINNED' as const, reason: 'an instruction: every context keeps it' }
      : turn.pinned
        ? { kind: 'PINNED' as const, reason: 'pinned: every context that has space keeps it' }
        : { kind: 'RECENT' as const, reason: 'said to some only, so that no summary covers it' }
    standing.push({
      ...(await weighMessage(tokens, { ...about, ...inWords(turn) })),
      place: turn.rootSeq,
      isInstruction,
    })
  }
  const groupOf = (place: number) => (alone(place) ? [place] : ties.groups.get(place)!)
  return { turns, standing, newest, groupOf, isStray: (place: number) => !alone(place) && isStray(recent, place, ties) }
}
