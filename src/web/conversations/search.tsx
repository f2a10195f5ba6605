// The results of the search: conversations by their titles, and messages and facts of any conversation, by recall.

import type { Fact, RecallHit, Summary, Turn } from '../../client/index.ts'
import { useLoad, useSettled } from '../kit/load.ts'
import { Empty, Failure } from '../kit/notice.tsx'
import { shorten, whenOf } from '../kit/text.ts'
import { navigate } from '../session/route.ts'
import { Needs } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { titleOf } from './title.ts'

/** Time for which the person must not type before the search starts, ms. */
const PAUSE_MS = 250

type Place = { id: string; key: string | null; title: string | null }
type Found = { key: string; text: string; by: string; at: string; place: Place | null; position: number | null }

/** A hit as one line of the results. */
function foundOf({ memory }: RecallHit): Found {
  if (memory.__typename === 'Turn') {
    const turn = memory as Turn & { conversation: Place }
    const { id, text, actor, createdAt, position, author } = turn
    return { key: id, text, by: author?.displayName ?? actor, at: createdAt, place: turn.conversation, position }
  }
  if (memory.__typename === 'Fact') {
    const { id, subject, predicate, object, observedAt, sourceConversation } = memory as Fact
    const place = sourceConversation && { id: sourceConversation.id, key: null, title: null }
    return { key: id, text: `${subject} ${predicate} ${object}`, by: 'Fact', at: observedAt, place, position: null }
  }
  const summary = memory as Summary & { conversation: Place }
  const { id, content, createdAt, fromPosition } = summary
  return { key: id, text: content, by: 'Summary', at: createdAt, place: summary.conversation, position: fromPosition }
}

/** A result. One that belongs to no conversation, or whose place the viewer does not see, is text. */
function Result({ title, text, at, onOpen }: { title: string; text: string; at: string; onOpen: (() => void) | null }) {
  const content = (
    <>
      <span className="title" dir="auto">
        {title}
      </span>
      <time dateTime={at}>{whenOf(at)}</time>
      <span className="last" dir="auto">
        {shorten(text, 160)}
      </span>
    </>
  )
  return (
    <li>
      {onOpen ? (
        <button type="button" className="result" onClick={onOpen}>
          {content}
        </button>
      ) : (
        <span className="result">{content}</span>
      )}
    </li>
  )
}

export function SearchResults({ query }: { query: string }) {
  const { client, viewer } = useSession()
  // Without this right, recall reads only the conversations that the viewer owns.
  const scope = viewer.rights.includes('MANAGE') ? 'TENANT' : 'OWNER'
  const settled = useSettled(query, PAUSE_MS)
  const byTitle = useLoad(
    (signal) => client.findConversations({ filter: { search: settled }, orderBy: 'UPDATED_AT', first: 20, signal }),
    settled,
  )
  const said = useLoad((signal) => client.recall(settled, { scope, k: 20, signal }), settled)
  const titles = byTitle.value?.nodes ?? []
  const hits = said.value?.hits ?? []
  return (
    <div aria-busy={byTitle.isLoading || said.isLoading}>
      <h2 className="section">Titles</h2>
      <Failure error={byTitle.error} onRetry={byTitle.reload} />
      {byTitle.isLoading && !byTitle.value && <Empty>Searching …</Empty>}
      {byTitle.value && titles.length === 0 && <Empty>No title contains “{settled}”.</Empty>}
      <ul className="plain">
        {titles.map((each) => (
          <Result
            key={each.id}
            title={titleOf(each)}
            text={each.lastTurn?.text ?? ''}
            at={each.updatedAt}
            onOpen={() => navigate({ conversationId: each.id, position: null })}
          />
        ))}
      </ul>
      <h2 className="section">
        {scope === 'TENANT' ? 'Messages and facts' : 'Messages and facts of your own conversations'}
      </h2>
      <Needs right="MANAGE" purpose="search the messages and facts of the conversations of others" />
      <Failure error={said.error} onRetry={said.reload} />
      {said.isLoading && !said.value && <Empty>Searching …</Empty>}
      {said.value && hits.length === 0 && <Empty>No message or fact matches.</Empty>}
      <ul className="plain">
        {hits.map(foundOf).map(({ key, text, by, at, place, position }) => (
          <Result
            key={key}
            title={place && (place.title ?? place.key) ? `${by} in ${titleOf(place)}` : by}
            text={text}
            at={at}
            onOpen={place && (() => navigate({ conversationId: place.id, position }))}
          />
        ))}
      </ul>
    </div>
  )
}
