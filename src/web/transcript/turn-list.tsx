// The scrolling list of turns. Only the turns near the window are rendered, so a list of 50,000 turns scrolls as fast
// as a short one. It stays at its end while turns arrive, and stays where it is while older turns are added above.

import { defaultRangeExtractor, useVirtualizer, type Range } from '@tanstack/react-virtual'
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type FocusEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
} from 'react'

/** Height of a row before it is rendered, px. */
const ESTIMATE = 72
/** Distance from the end within which the list follows it, px. */
const END = 80
/** Number of rows between the window and either end at which more turns are read. */
const NEAR = 16

type TurnListProps = {
  label: string
  /** Number of rows. */
  count: number
  /** Key of a row. It identifies the row when rows are added before it. */
  keyOf(index: number): string | number
  render(index: number): ReactNode
  /** Index of the row to show, or the end; null if the row is not loaded yet. Shown once for each `targetKey`. */
  target: number | 'end' | null
  targetKey: string
  /** Whether the last row is the newest turn, so that the list follows new ones. */
  isLive: boolean
  onStart(): void
  onEnd(): void
  /** Called when the reader reaches or leaves the newest turn. */
  onAtEnd?(isAtEnd: boolean): void
}

/** Maximum number of frames until a row is rendered after the list has scrolled to it. */
const FRAMES = 60

/** Focuses the turn of a row, once the row is rendered. */
function focusRow(list: HTMLElement, index: number, frames = FRAMES): void {
  const turn = list.querySelector<HTMLElement>(`[data-index="${index}"] .turn`)
  // The list scrolls, not the browser: a second scroll would end that of the list, which corrects heights on its way.
  if (turn) turn.focus({ preventScroll: true })
  else if (frames > 0) requestAnimationFrame(() => focusRow(list, index, frames - 1))
}

/** Moves the focus to the next or previous turn. */
function moveFocus(event: KeyboardEvent<HTMLElement>, scrollTo: (index: number) => void, count: number): void {
  const row = (event.target as HTMLElement).closest<HTMLElement>('[data-index]')
  const isTurn = event.target instanceof HTMLElement && event.target.matches('.turn')
  if (!isTurn && event.target !== event.currentTarget) return
  const index = row ? Number(row.dataset.index) : count
  const next = { ArrowUp: index - 1, ArrowDown: index + 1, Home: 0, End: count - 1 }[event.key]
  if (next === undefined || next < 0 || next >= count) return
  event.preventDefault()
  const list = event.currentTarget
  scrollTo(next)
  focusRow(list, next)
}

/** Keeps a list that was scrolled to its end there when it gets lower, for example because the field below it grows. */
function useStayAtEnd(scroller: RefObject<HTMLDivElement | null>, scrollToEnd: () => void): void {
  useEffect(() => {
    const list = scroller.current!
    let wasAtEnd = true
    const onScroll = () => {
      wasAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < END
    }
    const observer = new ResizeObserver(() => wasAtEnd && scrollToEnd())
    observer.observe(list)
    list.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      observer.disconnect()
      list.removeEventListener('scroll', onScroll)
    }
  }, [])
}

/** Keeps the row that has the focus rendered while it is outside of the window. */
function useFocusedRow(keyOf: (index: number) => string | number) {
  /** The row; its index changes when rows are added above it. */
  const focused = useRef<{ index: number; key: string | number } | null>(null)
  const rangeExtractor = useCallback(
    (range: Range) => {
      const shown = defaultRangeExtractor(range)
      const row = focused.current
      if (!row) return shown
      if (keyOf(row.index) !== row.key) {
        const index = Array.from({ length: range.count }, (_, n) => n).find((n) => keyOf(n) === row.key)
        if (index === undefined) return shown
        row.index = index
      }
      return [...new Set([...shown, row.index])].toSorted((a, b) => a - b)
    },
    [keyOf],
  )
  const onFocus = (event: FocusEvent) => {
    const index = Number(event.target.closest<HTMLElement>('[data-index]')?.dataset.index)
    focused.current = Number.isNaN(index) ? null : { index, key: keyOf(index) }
  }
  const onBlur = () => {
    focused.current = null
  }
  return { rangeExtractor, onFocus, onBlur }
}

export function TurnList(props: TurnListProps) {
  const { label, count, keyOf, render, target, targetKey, isLive, onStart, onEnd, onAtEnd } = props
  const scroller = useRef<HTMLDivElement>(null)
  // Written while rendering: the virtualizer calls it then. With another function, it would compute the place of each
  // row anew.
  const newestKeyOf = useRef(keyOf)
  newestKeyOf.current = keyOf
  const getItemKey = useCallback((index: number) => newestKeyOf.current(index), [])
  const { rangeExtractor, onFocus, onBlur } = useFocusedRow(getItemKey)
  // Not yet when the newest turns are added below an old window: a reader at its end reads on there.
  const [isFollowing, setFollowing] = useState(isLive)
  useEffect(() => setFollowing(isLive), [isLive])
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATE,
    getItemKey,
    rangeExtractor,
    anchorTo: 'end',
    followOnAppend: isLive && isFollowing,
    scrollEndThreshold: END,
    overscan: 6,
  })
  const items = virtualizer.getVirtualItems()
  // Not those of the items, which may include a row that has the focus. Null while the list is hidden.
  const { startIndex: first = null, endIndex: last = null } = virtualizer.range ?? {}

  const shown = useRef<string | null>(null)
  /** Whether the range is still that of before the list scrolled: rows that are added now would displace the target. */
  const isMoving = useRef(false)
  const [moves, setMoves] = useState(0)
  useLayoutEffect(() => {
    if (count === 0 || target === null || shown.current === targetKey) return
    shown.current = targetKey
    if (target === 'end') virtualizer.scrollToEnd()
    else virtualizer.scrollToIndex(target, { align: 'center' })
    isMoving.current = true
    requestAnimationFrame(() => {
      isMoving.current = false
      setMoves((count) => count + 1)
    })
  }, [count, target, targetKey, virtualizer])

  useEffect(() => {
    if (isMoving.current || count === 0 || shown.current === null || first === null || last === null) return
    if (first < NEAR) onStart()
    if (last >= count - NEAR) onEnd()
  }, [first, last, count, moves, onStart, onEnd])

  // A panel may hide the list, which then has no height.
  const isAtEnd = isLive && (virtualizer.scrollRect?.height ?? 0) > 0 && virtualizer.isAtEnd(END)
  useEffect(() => onAtEnd?.(isAtEnd), [isAtEnd, onAtEnd])
  useStayAtEnd(scroller, () => virtualizer.scrollToEnd())

  return (
    <div
      className="turns"
      ref={scroller}
      role="log"
      aria-label={label}
      // Each open turn would be announced anew with each word.
      aria-live="off"
      tabIndex={0}
      onFocus={onFocus}
      onBlur={onBlur}
      onKeyDown={(event) => moveFocus(event, (index) => virtualizer.scrollToIndex(index), count)}
    >
      <div className="rows" style={{ height: virtualizer.getTotalSize() }}>
        {/* Not a transform: with another one, the browser draws all rows anew. */}
        <div className="shown" style={{ top: items[0]?.start ?? 0 }}>
          {items.map(({ index, key, start }, n) => (
            <div
              key={key}
              data-index={index}
              ref={virtualizer.measureElement}
              // The place of the rows that are not rendered, next to a row that has the focus.
              style={{ marginBlockStart: start - (items[n - 1]?.end ?? start) || undefined }}
            >
              {render(index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}
