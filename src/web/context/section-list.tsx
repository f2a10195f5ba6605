// The sections of a context, each with its messages and their sources.

import { useState } from 'react'
import type { Client, ContextMessage } from '../../client/index.ts'
import { Failure } from '../kit/notice.tsx'
import { countOf, formatNumber } from '../kit/text.ts'
import { Swatch } from './bar.tsx'
import { OtherParts } from './parts.tsx'
import { usualReasonOf, type Entry, type Section } from './sections.ts'
import { SourceList, useSources, type Lookup } from './sources/source-list.tsx'
import type { SourceRef } from './sources/sources.ts'
import { TurnLink } from './sources/turn-link.tsx'

/** Number of messages that are shown at first, and that a button adds. */
const PAGE = 10

/** Length above which the content of a message is shortened at first, in UTF-16 units. */
const MAX_SHOWN = 600

function Content({ message: { content, parts } }: { message: ContextMessage }) {
  const [isWhole, setWhole] = useState(content.length <= MAX_SHOWN)
  return (
    <>
      {content !== '' && (
        <p className="context-content" dir="auto">
          {isWhole ? content : `${content.slice(0, MAX_SHOWN)}…`}
        </p>
      )}
      {!isWhole && (
        <button type="button" className="link small" onClick={() => setWhole(true)}>
          Show all {formatNumber(content.length)} characters
        </button>
      )}
      <OtherParts parts={parts} />
    </>
  )
}

const sourcesIn = ({ message, item: { kind } }: Entry): SourceRef[] => message.sourceIds.map((id) => ({ id, kind }))

const isPlaced = (source: ReturnType<Lookup> | null) =>
  source !== null && typeof source !== 'string' && source.__typename === 'Turn'

/** `hasReason`: whether to say why the message is in the context. */
function Message({
  entry: { message, item },
  lookup,
  hasReason,
}: {
  entry: Entry
  lookup: Lookup
  hasReason: boolean
}) {
  const { role, name, tokenCount } = message
  const sources = sourcesIn({ message, item })
  // A message that is one turn repeats its text, so a link is enough.
  const isTurn = sources.length === 1 && (item.kind === 'RECENT' || item.kind === 'PINNED')
  const turn = isTurn ? lookup(sources[0]!.id) : null
  return (
    <li className="context-message">
      <div className="row">
        <span className="chip">{role.toLowerCase()}</span>
        {name !== null && <strong dir="auto">{name}</strong>}
        {isPlaced(turn) && <TurnLink position={turn.position} conversation={turn.conversation} />}
        <span className="muted number">{countOf(tokenCount, 'token')}</span>
      </div>
      {hasReason && <p className="muted">Why: {item.reason}.</p>}
      <Content message={message} />
      {sources.length > 0 && !isTurn && (
        <div className="from">
          <span className="muted">From</span>
          <SourceList sources={sources} lookup={lookup} />
        </div>
      )}
    </li>
  )
}

function Messages({ client, actor, entries }: { client: Client; actor: string; entries: readonly Entry[] }) {
  const usual = usualReasonOf(entries)
  const [limit, setLimit] = useState(PAGE)
  const shown = entries.slice(0, limit)
  const { lookup, error, reload } = useSources(client, actor, shown.flatMap(sourcesIn))
  const rest = entries.length - limit
  return (
    <>
      <p className="muted">Why: {usual}.</p>
      <Failure error={error} onRetry={reload} />
      <ol className="plain">
        {shown.map((entry, index) => (
          <Message
            key={entry.message.sourceIds[0] ?? index}
            entry={entry}
            lookup={lookup}
            hasReason={entry.item.reason !== usual}
          />
        ))}
      </ol>
      {rest > 0 && (
        <button type="button" onClick={() => setLimit(limit + 2 * PAGE)}>
          Show {countOf(Math.min(rest, 2 * PAGE), 'more message', 'more messages')}
        </button>
      )}
    </>
  )
}

function SectionDetails({
  client,
  actor,
  section,
  number,
}: {
  client: Client
  actor: string
  section: Section
  number: number
}) {
  const [isOpen, setOpen] = useState(false)
  const { label, tokens, isStable, entries } = section
  return (
    <details className="context-section" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Swatch kind={section.kind} number={number} />
        <span className="name">
          {label}
          {isStable && <span className="hidden"> (stable prefix)</span>}
        </span>
        <span className="muted number">{countOf(entries.length, 'message')}</span>
        <span className="number tokens">{formatNumber(tokens)}</span>
      </summary>
      {isOpen && (
        <div className="stack">
          <Messages client={client} actor={actor} entries={entries} />
        </div>
      )}
    </details>
  )
}

/** `client`: client of the actor, for whom the context is. */
export const SectionList = ({
  client,
  actor,
  sections,
}: {
  client: Client
  actor: string
  sections: readonly Section[]
}) => (
  <ol className="plain context-sections" aria-label="Sections">
    {sections.map((section, index) => (
      <li key={section.key}>
        <SectionDetails client={client} actor={actor} section={section} number={index + 1} />
      </li>
    ))}
  </ol>
)
