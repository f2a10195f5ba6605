// Which turns a context has verbatim: kept ones and the window of recent ones; and, for the manifest, which turns it
// leaves out and why.

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

/** Kept turns: instructions, which every context has, and those of the others that fit. */
type ChosenKeptTurns = { instructions: KeptTurn[]; taken: KeptTurn[]; left: KeptTurn[] }

/** Reasons of kept turns that do not fit. */
const NO_SPACE = {
  PINNED: 'no space for older pinned turns',
  RECENT: 'no space for older turns that no summary covers',
}

export const isInstruction = (turn: KeptTurn) => turn.isInstruction

/** Chooses among the kept turns, the newest first. */
export const chooseKept = (standing: readonly KeptTurn[], space: Size): ChosenKeptTurns => ({
  instructions: standing.filter(isInstruction),
  ...newestThatFit(
    standing.filter((turn) => !isInstruction(turn)),
    space,
  ),
})

type RecentTurns = {
  /** Places of the recent turns, ascending. */
  places: readonly number[]
  /** Whether no turn lies before the first of them. */
  complete: boolean
  recentTurns: number | null
  inSteps: boolean
}

export type ChosenTurns = {
  /** Kept turns before the window, by place. */
  before: KeptTurn[]
  /** The window, by place, the newest turn aside. Kept turns within it are in it as they are kept. */
  window: WeighedMessage[]
  /** The size of the window, the newest turn included, kept ones not. */
  size: Size
  /** Lines of the manifest for turns that are left out. */
  left: ContextItem[]
}

/** Chooses the window, given the kept turns: those are paid for already, so they take no space of it. */
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
    places: request.places,
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
    before: [...paid.values()].filter(({ sources }) => !inWindow.has(sources[0]!)).sort((a, b) => a.place - b.place),
    window,
    size: sizes[start]!,
    left: [...unkeptItems(unkept), ...olderItems(older, turns.length - start, request), ...strayItems(strays)],
  }
}

/** For each index, the size of the window from that turn on, and of the newest turn. Paid turns take nothing. */
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
      ? `before the recent turns that were asked for (${recentTurns} at least)`
      : 'no space for older turns'
  return [leftOut('RECENT', older, complete ? why : `${why}; neither for all before them`)]
}

const strayItems = (strays: readonly WeighedMessage[]): ContextItem[] =>
  strays.length ? [leftOut('RECENT', strays, 'results of tool calls that are not in the context')] : []
