// The events of the journal as they arrive, newest at the bottom, and the check of their numbers.

import { memo, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { JsonBlock } from '../kit/copy.tsx'
import { useAction } from '../kit/load.ts'
import { Empty, Failure, Notice } from '../kit/notice.tsx'
import { countOf, dateOf, isolated } from '../kit/text.ts'
import { cutSockets } from '../session/sockets.ts'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { categoryOf, gistOf, partWordsOf, wordsOf, type Category } from './events.ts'
import { isDelta, sentEvent, type EventLine, type Line, type NoteLine } from './lines.ts'
import { comparisonText, verdictOf, type Verdict } from './order.ts'
import { readAgain, useEvents, type Followed } from './follow-events.ts'

/** For how long the button cuts the connection, ms: long enough to see entries that are written meanwhile. */
const CUT_MS = 3_000

type Filter = 'all' | 'durable' | Category

const FILTERS: readonly (readonly [Filter, string])[] = [
  ['all', 'All events'],
  ['durable', 'Entries only'],
  ['turns', 'Turns'],
  ['participants', 'Participants'],
  ['runs', 'Runs and approvals'],
  ['memory', 'Memory'],
  ['conversation', 'Conversation'],
]

const times = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** Whether the line is shown. Notes always are. */
function isShown(line: Line, filter: Filter): boolean {
  if (line.kind === 'note' || filter === 'all') return true
  return filter === 'durable' ? line.event.seq !== null : categoryOf(line.event.__typename) === filter
}

const Time = ({ at }: { at: string }) => (
  <time dateTime={at} title={dateOf(at)}>
    {times.format(new Date(at))}
  </time>
)

const NoteItem = memo(function NoteItem({ line }: { line: NoteLine }) {
  return (
    <li className={`note ${line.tone}`}>
      <Time at={line.at} /> {line.text}
    </li>
  )
})

/** Returns what the events of a line did. */
function summaryOf({ event, count, characters, author }: EventLine, nameOf: (actor: string) => string): string {
  const name = (actor: string) => isolated(nameOf(actor))
  if (isDelta(event)) {
    const part = event.__typename === 'TurnPartDelta' ? `${partWordsOf(event)}, ` : ''
    const text = `${part}${countOf(characters, 'character')} in ${countOf(count, 'delta')}`
    return author === null ? text : `${name(author)}: ${text}`
  }
  return `${gistOf(event, name)}${count > 1 ? ` (${count} events)` : ''}`
}

const EventItem = memo(function EventItem({ line, nameOf }: { line: EventLine; nameOf(actor: string): string }) {
  const [isOpen, setOpen] = useState(false)
  const { event } = line
  const type = event.__typename
  return (
    <li className={event.seq === null ? 'ephemeral' : undefined}>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span className="seq number">
            {event.seq ?? (
              <>
                <span aria-hidden="true">–</span>
                <span className="hidden">No number</span>
              </>
            )}
          </span>
          <span className="what">
            <span className="head">
              <strong>{wordsOf(type)}</strong> <Time at={line.at} />
            </span>
            <span>
              <code>{type}</code>{' '}
              <bdi className="gist" dir="auto">
                {summaryOf(line, nameOf)}
              </bdi>
            </span>
          </span>
        </summary>
        {isOpen && (
          <>
            {line.count > 1 && <p className="hint">The newest of {line.count} events:</p>}
            <JsonBlock value={sentEvent(event)} label="JSON" />
          </>
        )}
      </details>
    </li>
  )
})

/** The list, which follows its end unless the person has scrolled up. */
function List({ lines, dropped, isHidden }: { lines: readonly Line[]; dropped: number; isHidden: boolean }) {
  const { nameOf } = useOpenConversation()
  const list = useRef<HTMLOListElement>(null)
  const [isAtEnd, setAtEnd] = useState(true)
  useLayoutEffect(() => {
    // A hidden list has no heights. The browser restores the place of one that does not follow its end.
    if (isHidden) return
    const { scrollHeight, clientHeight } = list.current!
    if (isAtEnd) list.current!.scrollTo({ top: scrollHeight })
    else if (scrollHeight <= clientHeight) setAtEnd(true)
  }, [lines, isAtEnd, isHidden])
  const onScroll = () => {
    const { scrollHeight, scrollTop, clientHeight } = list.current!
    setAtEnd(scrollHeight - scrollTop - clientHeight < 32)
  }
  return (
    <div className="event-list">
      {/* A region that scrolls must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <ol className="plain" ref={list} onScroll={onScroll} tabIndex={0} aria-label="Events, newest last">
        {dropped > 0 && (
          <li className="note">{countOf(dropped, 'earlier line')} dropped, to limit the memory of this page</li>
        )}
        {lines.map((line) =>
          line.kind === 'note' ? (
            <NoteItem key={line.id} line={line} />
          ) : (
            <EventItem key={line.id} line={line} nameOf={nameOf} />
          ),
        )}
      </ol>
      {!isAtEnd && (
        <button type="button" className="to-end" onClick={() => setAtEnd(true)}>
          Newest ↓
        </button>
      )}
    </div>
  )
}

const STATES: Record<Followed['connection'], readonly [label: string, tone: string]> = {
  connecting: ['Connecting …', ''],
  live: ['Live', 'success'],
  waiting: ['Connection lost', 'danger'],
  ended: ['Ended', ''],
}

/** Says whether the numbers are gapless and in order, and compares them with a second reading. */
function Check({ followed: { order, lines } }: { followed: Followed }) {
  const { conversation } = useOpenConversation()
  const [compared, setCompared] = useState<Verdict | null>(null)
  const reading = useRef<AbortController | null>(null)
  useEffect(() => () => reading.current?.abort(), [])
  const compare = useAction(async () => {
    const seqs = lines.lines.flatMap((line) => (line.kind === 'event' ? (line.event.seq ?? []) : []))
    if (seqs.length === 0) return
    setCompared(null)
    reading.current = new AbortController()
    const range = { from: seqs[0]!, to: seqs.at(-1)! }
    setCompared(comparisonText(seqs, await readAgain(conversation, range, reading.current.signal)))
  })
  if (!order) return null
  const verdict = verdictOf(order)
  return (
    <div className="check-line">
      <p className={verdict.isGood ? 'hint' : 'bad'}>
        <span aria-hidden="true">{verdict.isGood ? '✓ ' : '✗ '}</span>
        {verdict.text}{' '}
        {order.count > 0 && (
          <button type="button" className="link" disabled={compare.isRunning} onClick={() => void compare.run()}>
            {compare.isRunning ? 'Reading again …' : 'Compare with a second reading'}
          </button>
        )}
      </p>
      {compared && <Notice kind={compared.isGood ? 'success' : 'error'}>{compared.text}</Notice>}
      <Failure error={compare.error} />
    </div>
  )
}

function emptyText(connection: Followed['connection'], filter: Filter): string {
  if (connection === 'connecting') return 'Loading …'
  return filter === 'all' ? 'No events yet. They appear here as they happen.' : 'No events of this kind yet.'
}

/** `isHidden`: whether another tab is shown. The events are followed all the same. */
export function Events({ isHidden }: { isHidden: boolean }) {
  const { conversation } = useOpenConversation()
  const [start, setStart] = useState<number | null>(null)
  const [attempt, setAttempt] = useState(0)
  const [filter, setFilter] = useState<Filter>('all')
  const followed = useEvents(conversation, start, attempt)
  const shown = followed.lines.lines.filter((line) => isShown(line, filter))
  const newestNote = followed.lines.lines.findLast((line) => line.kind === 'note')
  const [label, tone] = STATES[followed.connection]
  return (
    <div className="events stack">
      <p className="hint">
        Each change of the conversation is a numbered entry, which arrives once and in order, also after a lost
        connection. Events without a number are ephemeral: they are not stored.
      </p>
      <div className="row">
        <span className={`chip ${tone}`}>{label}</span>
        <select
          aria-label="Events to show"
          value={filter}
          onChange={(event) => setFilter(event.target.value as Filter)}
        >
          {FILTERS.map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
        <button type="button" aria-pressed={start === 0} onClick={() => setStart(start === 0 ? null : 0)}>
          From the start
        </button>
        <button type="button" disabled={followed.connection !== 'live'} onClick={() => cutSockets(CUT_MS)}>
          Cut the connection for {CUT_MS / 1_000} s
        </button>
      </div>
      <p className="hidden" role="status">
        {newestNote?.kind === 'note' ? newestNote.text : ''}
      </p>
      <Failure error={followed.error} onRetry={() => setAttempt(attempt + 1)} />
      {shown.length === 0 ? (
        <Empty>{emptyText(followed.connection, filter)}</Empty>
      ) : (
        <List lines={shown} dropped={followed.lines.dropped} isHidden={isHidden} />
      )}
      <Check followed={followed} key={`${start} ${attempt}`} />
    </div>
  )
}
