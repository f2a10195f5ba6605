// Chooses the turns that a context has verbatim: kept turns and the window of recent turns. Lists the turns that are
// left out, with reasons, for the manifest.

import { fullness, plus, type Size } from './budget.ts'
import type { ContextItem } from './message.ts'
import {
  idsOf,
  leftOut,
  newestThatFit,
  sizesOf,
  type KeptTurn,
  type WeighedMessage,
  type WeighedTurns,
} from './weigh.ts'
import { windowStart } from './window.ts'

/** The kept turns: instructions, which every context has; of the others, those that fit and those that do not. */
type ChosenKeptTurns = { instructions: KeptTurn[]; taken: KeptTurn[]; left: KeptTurn[] }

/** Manifest reasons for kept turns that do not fit. */
const NO_SPACE = {
  PINNED: 'no space for older pinned turns',
  RECENT: 'no space for older turns that no summary covers',
}

export const isInstruction = (turn: KeptTurn) => turn.isInstruction

/** Chooses the newest kept turns that fit. */
export const chooseKept = (kept: readonly KeptTurn[], space: Size): ChosenKeptTurns => ({
  instructions: kept.filter(isInstruction),
  ...newestThatFit(
    kept.filter((turn) => !isInstruction(turn)),
    space,
  ),
})

type RecentTurns = {
  /** Root seqs of the recent turns, ascending. */
  rootSeqs: readonly number[]
  /** Whether there is no turn before the first of them. */
  complete: boolean
  recentTurns: number | null
  inSteps: boolean
}

export type ChosenTurns = {
  /** Kept turns before the window, by root seq. */
  before: KeptTurn[]
  /** The window without the newest turn, by root seq. A kept turn within it has its rendering as a kept turn. */
  window: WeighedMessage[]
  /** The size of the window with the newest turn and without kept turns. */
  size: Size
  /** Manifest items for turns that are left out. */
  left: ContextItem[]
}

/** Chooses the window. The chosen kept turns have been paid for, so they take no space of it. */
export function chooseTurns(
  weighing: WeighedTurns,
  kept: ChosenKeptTurns,
  request: RecentTurns,
  space: Size,
): ChosenTurns {
  const { turns, newest, groupOf, isStray } = weighing
  const isNewest = new Set(newest)
  const paid = new Map([...kept.instructions, ...kept.taken].map((each) => [each.sources[0]!, each]))
  const paidFor = (index: number) => paid.get(turns[index]!.sources[0]!)
  const sizes = sizesFrom(weighing, (index) => paidFor(index) !== undefined)
  const start = windowStart({
    rootSeqs: request.rootSeqs,
    complete: request.complete,
    turns: request.recentTurns,
    inSteps: request.inSteps,
    fill: (from) => fullness(sizes[from]!, space),
  })
  const window: WeighedMessage[] = []
  const strays: WeighedMessage[] = []
  for (let index = start; index < turns.length; index++) {
    if (isNewest.has(index)) continue
    const keptTurn = paidFor(index)
    if (keptTurn) window.push(keptTurn)
    else if (isStray(index) || groupOf(index)[0]! < start) strays.push(turns[index]!)
    else window.push(turns[index]!)
  }
  const inWindow = new Set(idsOf(window))
  const unkept = kept.left.filter(({ sources }) => !inWindow.has(sources[0]!))
  const unkeptIds = new Set(idsOf(unkept))
  const older = turns.filter(
    ({ sources: [id] }, index) => index < start && !isNewest.has(index) && !paid.has(id!) && !unkeptIds.has(id!),
  )
  return {
    before: [...paid.values()]
      .filter(({ sources }) => !inWindow.has(sources[0]!))
      .sort((a, b) => a.rootSeq - b.rootSeq),
    window,
    size: sizes[start]!,
    left: [...unkeptItems(unkept), ...olderItems(older, turns.length - start, request), ...strayItems(strays)],
  }
}

/** Returns, for each index, the size of a window that starts there, with the newest turn. Paid turns count nothing. */
function sizesFrom({ turns, newest, groupOf, isStray }: WeighedTurns, isPaid: (index: number) => boolean): Size[] {
  const isNewest = new Set(newest)
  const sizes: Size[] = new Array(turns.length + 1).fill(sizesOf(newest.map((index) => turns[index]!)))
  for (let index = turns.length - 1; index >= 0; index--) {
    const group = groupOf(index)
    const isFree = isNewest.has(index) || isPaid(index) || isStray(index) || group[0] !== index
    const after = sizes[index + 1]!
    sizes[index] = isFree ? after : plus(after, sizesOf(group.map((member) => turns[member]!)))
  }
  return sizes
}

const unkeptItems = (unkept: readonly KeptTurn[]): ContextItem[] =>
  (['PINNED', 'RECENT'] as const).flatMap((kind) => {
    const left = unkept.filter((each) => each.kind === kind)
    return left.length ? [leftOut(kind, left, NO_SPACE[kind])] : []
  })

function olderItems(
  older: readonly WeighedMessage[],
  taken: number,
  { complete, recentTurns }: RecentTurns,
): ContextItem[] {
  if (older.length === 0 && complete) return []
  const why =
    recentTurns !== null && taken >= recentTurns
      ? `older than the requested recent turns (at least ${recentTurns})`
      : 'no space for older turns'
  return [leftOut('RECENT', older, complete ? why : `${why}, nor for all turns before them`)]
}

const strayItems = (strays: readonly WeighedMessage[]): ContextItem[] =>
  strays.length ? [leftOut('RECENT', strays, 'results of tool calls that are not in the context')] : []
