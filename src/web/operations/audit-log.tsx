// The audit log: its verification, and its lines with a filter.

import { useState, type FormEvent } from 'react'
import { JsonBlock } from '../kit/copy.tsx'
import { Empty, Failure } from '../kit/notice.tsx'
import { More, usePages } from '../kit/pages.tsx'
import { countOf, dateOf, formatNumber, whenOf } from '../kit/text.ts'
import { Needs } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { READ_AUDIT_LOG, type AuditLine } from './requests.ts'
import { Verification } from './verification.tsx'
import { verbWords } from './words.ts'

function Line({ line }: { line: AuditLine }) {
  const [isOpen, setOpen] = useState(false)
  const isDone = line.outcome === 'DONE'
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span className="seq number">{formatNumber(line.seq)}</span>
          <span className="what">
            <span className="line">
              <strong>{verbWords(line.verb)}</strong> {!isDone && <span className="chip danger">refused</span>}
              {line.count > 1 && <span className="chip">{formatNumber(line.count)} times</span>}
            </span>
            <span className="hint">
              <span dir="auto">{line.actor}</span>
              {line.actedAs !== null && (
                <>
                  {' as '}
                  <span dir="auto">{line.actedAs}</span>
                </>
              )}
              {' · '}
              <time dateTime={line.at} title={dateOf(line.at)}>
                {whenOf(line.at)}
              </time>
            </span>
            {line.resources.length > 0 && (
              <code className="hint">
                {line.resources[0]}
                {line.resources.length > 1 && `, and ${countOf(line.resources.length - 1, 'more id')}`}
              </code>
            )}
          </span>
        </summary>
        {isOpen && <JsonBlock value={line} label="JSON" />}
      </details>
    </li>
  )
}

type Filter = Record<string, string>

/** The fields of the filter that are text: the name in the API, and the label. */
const TEXTS = [
  ['actor', 'Actor'],
  ['verb', 'Operation, such as eraseUser'],
  ['resource', 'Id that it names'],
] as const

/** Returns the filter of a form; null for none. */
function filterOf(data: FormData): Filter | null {
  const given = TEXTS.map(([name]) => [name, String(data.get(name)).trim()])
  const times = ['from', 'to'].map((name) => {
    const time = String(data.get(name))
    return [name, time === '' ? '' : new Date(time).toISOString()]
  })
  const fields = [...given, ...times, ['outcome', String(data.get('outcome'))]].filter(([, value]) => value !== '')
  return fields.length > 0 ? Object.fromEntries(fields) : null
}

function FilterForm({ onChange }: { onChange(filter: Filter | null): void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    onChange(filterOf(new FormData(event.currentTarget)))
  }
  return (
    <details>
      <summary>Filter</summary>
      <form className="stack" onSubmit={submit} onReset={() => onChange(null)}>
        {TEXTS.map(([name, label]) => (
          <label className="field" key={name}>
            {label}
            <input name={name} maxLength={200} autoComplete="off" />
          </label>
        ))}
        <label className="field">
          Outcome
          <select name="outcome">
            <option value="">Done and refused</option>
            <option value="DONE">Done</option>
            <option value="DENIED">Refused</option>
          </select>
        </label>
        <label className="field">
          From
          <input name="from" type="datetime-local" />
        </label>
        <label className="field">
          Before
          <input name="to" type="datetime-local" />
        </label>
        <div className="row">
          <button type="submit" className="primary">
            Show
          </button>
          <button type="reset">Clear</button>
        </div>
      </form>
    </details>
  )
}

function Lines() {
  const { client } = useSession()
  const [filter, setFilter] = useState<Filter | null>(null)
  const list = usePages<AuditLine>(
    async (page, signal) => (await client.request(READ_AUDIT_LOG, { filter, ...page }, { signal })).auditLog,
    filter ?? 'all',
  )
  return (
    <section className="stack">
      <div className="row">
        <h3>Lines</h3>
        <button type="button" onClick={list.reload} disabled={list.isLoading}>
          {list.isLoading ? 'Loading …' : 'Read again'}
        </button>
      </div>
      <p className="hint">
        Operations that leave no entry in a journal: refusals, work as another actor, keys, erasures, holds, settings.
        Never their content.
      </p>
      <FilterForm onChange={setFilter} />
      <Failure error={list.error} onRetry={list.reload} />
      {list.items === null && !list.error && <Empty>Loading …</Empty>}
      {list.items?.length === 0 && <Empty>{filter ? 'No lines match the filter.' : 'The log has no lines yet.'}</Empty>}
      {list.items && list.items.length > 0 && (
        <ul className="plain log" aria-label="Lines, newest first">
          {list.items.map((line) => (
            <Line key={line.seq} line={line} />
          ))}
        </ul>
      )}
      <More more={list.more} isLoading={list.isLoadingMore} />
    </section>
  )
}

export const AuditLog = () => (
  <Needs right="OPERATE" purpose="read and verify the audit log">
    <div className="stack">
      <Verification />
      <Lines />
    </div>
  </Needs>
)
