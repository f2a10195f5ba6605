// The tab "Recall": a query, and the memories that are most relevant to it.

import { useState } from 'react'
import type { MemoryKind, RecallInput, RecallScope } from '../../client/index.ts'
import { SCOPES } from '../context/settings.ts'
import { useKept } from '../session/kept.ts'
import { useAction, useLoad, useSettled } from '../kit/load.ts'
import { Empty, Failure } from '../kit/notice.tsx'
import { countOf } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { HitItem } from './hit.tsx'
import { planText } from './outcome.ts'
import { readRecall, type Recalled } from './queries.ts'

const KINDS: Record<MemoryKind, string> = { TURN: 'Turns', FACT: 'Facts', SUMMARY: 'Summaries' }

/** Number of hits on a page. */
const PAGE = 10

type Search = { query: string; scope: RecallScope; kinds: MemoryKind[] }

type Changing = { search: Search; onChange(changes: Partial<Search>): void }

function SearchForm({ search: { query, scope, kinds }, onChange }: Changing) {
  const { viewer } = useSession()
  const mayManage = viewer.rights.includes('MANAGE')
  return (
    <form role="search" className="stack" onSubmit={(event) => event.preventDefault()}>
      <label className="field">
        Question or topic
        <input
          type="search"
          dir="auto"
          maxLength={10_000}
          value={query}
          placeholder="In plain words; may name an author or a time"
          onChange={({ target }) => onChange({ query: target.value })}
        />
      </label>
      <label className="field">
        Where
        <select value={scope} onChange={({ target }) => onChange({ scope: target.value as RecallScope })}>
          {(Object.keys(SCOPES) as RecallScope[]).map((each) => (
            <option key={each} value={each} disabled={each === 'TENANT' && !mayManage}>
              In {SCOPES[each]}
              {each === 'TENANT' && !mayManage ? ' (needs the right manage)' : ''}
            </option>
          ))}
        </select>
      </label>
      <div className="row" role="group" aria-label="Kinds of memories">
        {(Object.keys(KINDS) as MemoryKind[]).map((kind) => (
          <label key={kind} className="check">
            <input
              type="checkbox"
              checked={kinds.includes(kind)}
              onChange={({ target }) =>
                onChange({ kinds: target.checked ? [...kinds, kind] : kinds.filter((each) => each !== kind) })
              }
            />
            {KINDS[kind]}
          </label>
        ))}
      </div>
    </form>
  )
}

/**
 * The hits of a search, page by page. A page is never read again for the next one, because each recall costs a search.
 * `read`: recalls the page after a cursor.
 */
function Found({
  first,
  query,
  read,
}: {
  first: Recalled
  query: string
  read(after: string | null): Promise<Recalled>
}) {
  const [further, setFurther] = useState<{ first: Recalled; pages: Recalled[] } | null>(null)
  // Further pages continue one first page, and are dropped with it.
  const pages = [first, ...(further?.first === first ? further.pages : [])]
  const { hasNextPage, endCursor } = pages.at(-1)!.pageInfo
  const more = useAction(async () => {
    const page = await read(endCursor)
    setFurther({ first, pages: [...pages.slice(1), page] })
  })
  const hits = pages.flatMap((page) => page.hits)
  const best = Math.max(...hits.map(({ score }) => score))
  return (
    <>
      <p className="hint" role="status">
        {countOf(hits.length, 'hit')}
        {hasNextPage ? ', and more' : ''}. {planText(first.plan)}
      </p>
      {hits.length === 0 && <Empty>Nothing was found.</Empty>}
      {hits.length > 0 && (
        <ol className="plain stack" aria-label="Hits, best first">
          {hits.map((hit) => (
            <HitItem key={hit.memory.id} hit={hit} query={query} best={best} />
          ))}
        </ol>
      )}
      <Failure error={more.error} onRetry={() => void more.run()} />
      {hasNextPage && (
        <button type="button" disabled={more.isRunning} onClick={() => void more.run()}>
          {more.isRunning ? 'Loading …' : 'Show more'}
        </button>
      )}
    </>
  )
}

export function RecallTab() {
  const { client } = useSession()
  const { id } = useOpenConversation()
  const [search, change] = useKept<Search>(`recall ${id}`, {
    query: '',
    scope: 'CONVERSATION',
    kinds: ['TURN', 'FACT'],
  })
  const text = useSettled(JSON.stringify({ ...search, query: search.query.trim() }), 350)
  const settled = JSON.parse(text) as Search
  const isEmpty = settled.query === '' || settled.kinds.length === 0
  const input: RecallInput = { ...settled, conversationId: id, k: PAGE }
  const read = (after: string | null, signal?: AbortSignal) => readRecall(client, { ...input, after }, signal)
  const { value, error, isLoading, reload } = useLoad((signal) => read(null, signal), isEmpty ? null : text)
  return (
    <>
      <SearchForm search={search} onChange={change} />
      <Failure error={error} onRetry={reload} />
      {settled.kinds.length === 0 && <Empty>Choose at least one kind of memory.</Empty>}
      {settled.query === '' && settled.kinds.length > 0 && (
        <Empty>Recall finds turns, facts and summaries by words and by meaning.</Empty>
      )}
      {!isEmpty && !value && error === null && <Empty>Searching …</Empty>}
      {value && (
        <div className="stack" aria-busy={isLoading}>
          {/* Another search begins anew, also with what failed. */}
          <Found key={text} first={value} query={settled.query} read={read} />
        </div>
      )}
    </>
  )
}
