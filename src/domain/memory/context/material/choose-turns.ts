// Chooses the turns that a context contains verbatim: kept turns and the window of recent turns. Returns manifest items
// for the omitted turns, with reasons.

import { fits, fullness, INSTRUCTION_SHARE, minus, NOTHING, plus, type Size } from '../budget/budget.ts'
import type { ContextItem } from '../message.ts'
import {
  idsOf,
  omittedItem,
  newestThatFit,
  sizesOf,
  type KeptTurn,
  type MeasuredMessage,
  type MeasuredTurns,
} from '../budget/measure.ts'
import { windowStart } from './window.ts'

/** The chosen turns and the omitted ones. */
export type Choice = { taken: KeptTurn[]; omitted: KeptTurn[] }
type ChosenKeptTurns = Choice & { instructions: Choice }

/** Manifest reasons for kept turns that do not fit, by kind. */
const NO_SPACE = {
  PINNED: 'no space for older pinned turns',
  RECENT: 'no space for older turns that no summary covers',
}
const NO_SPACE_FOR_INSTRUCTIONS = `instructions take at most ${INSTRUCTION_SHARE * 100} % of the space; the oldest are included first`

/**
 * Chooses the instructions that fit. Takes the oldest first and skips each that does not fit, so that a later
 * instruction never displaces an earlier one.
 */
export function chooseInstructions(kept: readonly KeptTurn[], space: Size): Choice {
  const choice: Choice = { taken: [], omitted: [] }
  let size = NOTHING
  for (const turn of kept.filter(({ isInstruction }) => isInstruction)) {
    const grown = plus(size, turn.size)
    if (fits(grown, space)) {
      choice.taken.push(turn)
      size = grown
    } else choice.omitted.push(turn)
  }
  return choice
}

/** Chooses the newest kept turns that fit, without instructions. */
export const chooseKept = (kept: readonly KeptTurn[], space: Size): Choice =>
  newestThatFit(
    kept.filter(({ isInstruction }) => !isInstruction),
    space,
  )

export type RecentTurns = {
  /** Positions of the recent turns, ascending. */
  positions: readonly number[]
  /** True if no turn precedes the first one in `positions`. */
  complete: boolean
  /** Number of newest turns to include if they fit (window.ts); null for as many as fit. */
  recentTurns: number | null
  /** Whether the window is trimmed in steps. */
  inSteps: boolean
}

export type ChosenTurns = {
  /** Kept turns before the window, by position. */
  before: KeptTurn[]
  /**
   * The turns of the window, by position, without the newest turn and its tool call and results. Chosen kept turns in
   * it are `KeptTurn`s.
   */
  window: MeasuredMessage[]
  /**
   * The size of the window, including the newest turn and its tool call and results, and excluding chosen kept turns.
   */
  size: Size
  /** Ids of turns that are left out because they do not fit, newest first. Excludes instructions. */
  unfitting: string[]
  /** Returns the manifest items for the omitted turns. @param quoted ids of turns that are quoted instead */
  omittedExcept(quoted: ReadonlySet<string>): ContextItem[]
  /** Whether no turn precedes the window. */
  isWhole: boolean
}

/** Returns the index of the first turn that the window may contain. */
const earliestStart = ({ positions, recentTurns, inSteps }: RecentTurns): number =>
  recentTurns === null ? 0 : Math.max(0, positions.length - (inSteps ? Math.max(0, 2 * recentTurns - 1) : recentTurns))

/**
 * Returns the size of all turns that the window may contain, without the newest turn and kept turns. `isAll`: these are
 * all turns.
 * @param space the size to return if some of these turns were not read
 */
export function needOfWindow(
  measured: MeasuredTurns,
  request: RecentTurns,
  space: Size,
): { size: Size; isAll: boolean } {
  const start = earliestStart(request)
  if (start === 0 && !request.complete) return { size: space, isAll: false }
  const keptIds = new Set(idsOf(measured.kept))
  const sizes = sizesFrom(measured, (index) => keptIds.has(measured.turns[index]!.sourceIds[0]!))
  return { size: minus(sizes[start]!, sizes.at(-1)!), isAll: start === 0 }
}

/** Chooses the window. Chosen kept turns need no space in it, because the caller has already counted their sizes. */
export function chooseTurns(
  measured: MeasuredTurns,
  kept: ChosenKeptTurns,
  request: RecentTurns,
  space: Size,
): ChosenTurns {
  const { turns, newest, groupOf, isOrphanResult } = measured
  const isNewest = new Set(newest)
  const counted = new Map([...kept.instructions.taken, ...kept.taken].map((each) => [each.sourceIds[0]!, each]))
  const countedAt = (index: number) => counted.get(turns[index]!.sourceIds[0]!)
  const omittedInstructionIds = new Set(idsOf(kept.instructions.omitted))
  const isOmittedInstruction = (index: number) => omittedInstructionIds.has(turns[index]!.sourceIds[0]!)
  const sizes = sizesFrom(measured, (index) => countedAt(index) !== undefined || isOmittedInstruction(index))
  const start = windowStart({
    positions: request.positions,
    complete: request.complete,
    turns: request.recentTurns,
    inSteps: request.inSteps,
    fill: (from) => fullness(sizes[from]!, space),
  })
  const window: MeasuredMessage[] = []
  const orphans: MeasuredMessage[] = []
  for (let index = start; index < turns.length; index++) {
    if (isNewest.has(index) || isOmittedInstruction(index)) continue
    const keptTurn = countedAt(index)
    if (keptTurn) window.push(keptTurn)
    else if (isOrphanResult(index) || groupOf(index)[0]! < start) orphans.push(turns[index]!)
    else window.push(turns[index]!)
  }
  const inWindow = new Set(idsOf(window))
  const omitted = kept.omitted.filter(({ sourceIds }) => !inWindow.has(sourceIds[0]!))
  const omittedIds = new Set([...idsOf(omitted), ...omittedInstructionIds])
  const older = turns.filter(
    ({ sourceIds: [id] }, index) => index < start && !isNewest.has(index) && !counted.has(id!) && !omittedIds.has(id!),
  )
  // The window has as many turns as requested, or as many as fit.
  const missing = (request.recentTurns ?? Infinity) - (turns.length - start)
  return {
    before: [...counted.values()]
      .filter(({ sourceIds }) => !inWindow.has(sourceIds[0]!))
      .sort((a, b) => a.position - b.position),
    window,
    size: sizes[start]!,
    unfitting: [...omitted, ...older.slice(Math.max(0, older.length - Math.max(0, missing)))]
      .flatMap(({ sourceIds }) => sourceIds)
      .toReversed(),
    isWhole: start === 0 && request.complete,
    omittedExcept(quoted) {
      const isQuoted = ({ sourceIds: [id] }: MeasuredMessage) => quoted.has(id!)
      return [
        ...instructionItems(kept.instructions.omitted),
        ...omittedItems(omitted.filter((each) => !isQuoted(each))),
        ...olderItems(
          older.filter((each) => !isQuoted(each)),
          turns.length - start,
          request,
        ),
        ...orphanItems(orphans),
      ]
    },
  }
}

/**
 * Returns, for each index, the size of a window that starts at that index, including the newest turn and its tool call
 * and results. Turns for which `isExcluded` is true, and results of calls that are not in the list, add nothing.
 */
function sizesFrom(
  { turns, newest, groupOf, isOrphanResult }: MeasuredTurns,
  isExcluded: (index: number) => boolean,
): Size[] {
  const isNewest = new Set(newest)
  const sizes: Size[] = new Array(turns.length + 1).fill(sizesOf(newest.map((index) => turns[index]!)))
  for (let index = turns.length - 1; index >= 0; index--) {
    const group = groupOf(index)
    const addsNothing = isNewest.has(index) || isExcluded(index) || isOrphanResult(index) || group[0] !== index
    const after = sizes[index + 1]!
    sizes[index] = addsNothing ? after : group.reduce((size, member) => plus(size, turns[member]!.size), after)
  }
  return sizes
}

const instructionItems = (omitted: readonly KeptTurn[]): ContextItem[] =>
  omitted.length ? [omittedItem('PINNED', omitted, NO_SPACE_FOR_INSTRUCTIONS)] : []

const omittedItems = (omitted: readonly KeptTurn[]): ContextItem[] =>
  (['PINNED', 'RECENT'] as const).flatMap((kind) => {
    const ofKind = omitted.filter((each) => each.kind === kind)
    return ofKind.length ? [omittedItem(kind, ofKind, NO_SPACE[kind])] : []
  })

function olderItems(
  older: readonly MeasuredMessage[],
  taken: number,
  { complete, recentTurns }: RecentTurns,
): ContextItem[] {
  if (older.length === 0 && complete) return []
  const why =
    recentTurns !== null && taken >= recentTurns
      ? `older than the recent turns (recentTurns: ${recentTurns})`
      : 'no space for older turns'
  return [omittedItem('RECENT', older, complete ? why : `${why}; some older turns were not read`)]
}

const orphanItems = (orphans: readonly MeasuredMessage[]): ContextItem[] =>
  orphans.length ? [omittedItem('RECENT', orphans, 'results of tool calls that are not in the context')] : []
