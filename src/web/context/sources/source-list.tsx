// The sources of a message or a comparison, with links to the turns.

import { useState, type ReactNode } from 'react'
import type { Client } from '../../../client/index.ts'
import { useLoad } from '../../kit/load.ts'
import { Failure } from '../../kit/notice.tsx'
import { countOf, shorten } from '../../kit/text.ts'
import { useOpenConversation } from '../../workspace/open-conversation.tsx'
import { readSources, type Source, type SourceRef } from './sources.ts'
import { TurnLink } from './turn-link.tsx'

/** Returns a source, or why there is none: `gone` if the actor does not see it, `unknown` if it could not be read. */
export type Lookup = (id: string) => Source | 'loading' | 'gone' | 'unknown'

/** Reads the sources, as the client's actor sees them. */
export function useSources(client: Client, actor: string, sources: readonly SourceRef[]) {
  // The value may be that of fewer sources while more are loaded, or after that failed.
  const { value, error, isLoading, reload } = useLoad((signal) => readSources(client, sources, signal), actor, {
    version: sources,
  })
  const absent = isLoading ? 'loading' : error === null ? 'gone' : 'unknown'
  const lookup: Lookup = (id) => value?.get(id) ?? absent
  return { lookup, error, reload }
}

/** Number of sources that are shown at first, and that a button adds. */
const PAGE = 5

const ABSENT = {
  loading: 'Loading …',
  gone: 'A source that is not visible any more',
  unknown: 'A source that could not be read',
}

function SourceText({ source: { id, kind }, lookup }: { source: SourceRef; lookup: Lookup }) {
  const { nameOf } = useOpenConversation()
  if (kind === 'PROFILE') {
    return (
      <>
        Profile of <bdi>{nameOf(id)}</bdi>
      </>
    )
  }
  const source = lookup(id)
  if (typeof source === 'string') return <span className="muted">{ABSENT[source]}</span>
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
      <TurnLink position={source.position} conversation={source.conversation} /> by <bdi>{nameOf(source.actor)}</bdi>
      {source.text !== '' && (
        <span className="muted" dir="auto">
          {' '}
          {shorten(source.text, 90)}
        </span>
      )}
    </>
  )
}

type Shown = { sources: readonly SourceRef[]; note?: (id: string) => ReactNode }

function Items({
  sources,
  note,
  limit,
  lookup,
  onMore,
}: Shown & { limit: number; lookup: Lookup; onMore(limit: number): void }) {
  const more = Math.min(sources.length - limit, 4 * PAGE)
  return (
    <>
      <ul className="plain sources">
        {sources.slice(0, limit).map((source) => (
          <li key={source.id}>
            <SourceText source={source} lookup={lookup} /> {note?.(source.id)}
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
export function SourceList({ sources, lookup }: { sources: readonly SourceRef[]; lookup: Lookup }) {
  const [limit, setLimit] = useState(PAGE)
  return <Items sources={sources} limit={limit} lookup={lookup} onMore={setLimit} />
}

/** Reads the sources that it shows, as the client's actor sees them. `note`: follows each source. */
export function LoadedSourceList({ client, actor, ...shown }: Shown & { client: Client; actor: string }) {
  const [limit, setLimit] = useState(PAGE)
  const { lookup, error, reload } = useSources(client, actor, shown.sources.slice(0, limit))
  return (
    <>
      <Failure error={error} onRetry={reload} />
      <Items {...shown} limit={limit} lookup={lookup} onMore={setLimit} />
    </>
  )
}
