// The sources of a message or a comparison, with links to the turns.

import { useState, type ReactNode } from 'react'
import type { Client } from '../../../client/index.ts'
import { useLoad } from '../../kit/load.ts'
import { Failure } from '../../kit/notice.tsx'
import { countOf, shorten } from '../../kit/text.ts'
import { useOpenConversation } from '../../workspace/open-conversation.tsx'
import { isObjectId, readSources, type Source } from './sources.ts'
import { TurnLink } from './turn-link.tsx'

/** Returns a source, or why there is none. */
export type Lookup = (id: string) => Source | 'loading' | 'gone'

/** Reads the sources with these ids, as the client's actor sees them. */
export function useSources(client: Client, actor: string, ids: readonly string[]) {
  const { value, error, isLoading, reload } = useLoad((signal) => readSources(client, ids, signal), [actor, ids])
  // The value may still be that of fewer ids.
  const lookup: Lookup = (id) => value?.get(id) ?? (isLoading ? 'loading' : 'gone')
  return { lookup, error, reload }
}

/** Number of sources that are shown at first, and that a button adds. */
const PAGE = 5

function SourceText({ id, lookup }: { id: string; lookup: Lookup }) {
  const { nameOf } = useOpenConversation()
  if (!isObjectId(id)) return <>Profile of {nameOf(id)}</>
  const source = lookup(id)
  if (source === 'loading') return <span className="muted">Loading …</span>
  if (source === 'gone') return <span className="muted">A source that is not visible any more</span>
  if (source.__typename === 'Fact') {
    const { subject, predicate, object, sourceTurn: turn } = source
    return (
      <>
        <span dir="auto">Fact: {shorten(`${subject} ${predicate} ${object}`, 160)}</span>{' '}
        {turn && <TurnLink position={turn.position} conversation={turn.conversation} />}
      </>
    )
  }
  if (source.__typename === 'Summary') {
    const { fromPosition: from, toPosition: to, conversation } = source
    return (
      <>
        Summary of <TurnLink position={from} conversation={conversation} label={`turns ${from}`} /> to{' '}
        <TurnLink position={to} conversation={conversation} label={String(to)} />
      </>
    )
  }
  return (
    <>
      <TurnLink position={source.position} conversation={source.conversation} /> by {nameOf(source.actor)}
      {source.text !== '' && (
        <span className="muted" dir="auto">
          {' '}
          {shorten(source.text, 90)}
        </span>
      )}
    </>
  )
}

type Shown = { ids: readonly string[]; note?: (id: string) => ReactNode }

function Items({
  ids,
  note,
  limit,
  lookup,
  onMore,
}: Shown & { limit: number; lookup: Lookup; onMore(limit: number): void }) {
  const more = Math.min(ids.length - limit, 4 * PAGE)
  return (
    <>
      <ul className="plain sources">
        {ids.slice(0, limit).map((id) => (
          <li key={id}>
            <SourceText id={id} lookup={lookup} /> {note?.(id)}
          </li>
        ))}
      </ul>
      {more > 0 && (
        <button type="button" className="link small" onClick={() => onMore(limit + more)}>
          Show {countOf(more, 'more source', 'more sources')}
        </button>
      )}
    </>
  )
}

/** Sources that are read already. */
export function SourceList({ ids, lookup }: { ids: readonly string[]; lookup: Lookup }) {
  const [limit, setLimit] = useState(PAGE)
  return <Items ids={ids} limit={limit} lookup={lookup} onMore={setLimit} />
}

/** Reads the sources that it shows, as the client's actor sees them. `note`: follows each source. */
export function LoadedSourceList({ client, actor, ...shown }: Shown & { client: Client; actor: string }) {
  const [limit, setLimit] = useState(PAGE)
  const { lookup, error, reload } = useSources(client, actor, shown.ids.slice(0, limit))
  return (
    <>
      <Failure error={error} onRetry={reload} />
      <Items {...shown} limit={limit} lookup={lookup} onMore={setLimit} />
    </>
  )
}
