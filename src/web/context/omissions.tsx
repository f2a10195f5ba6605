// The sources that a context leaves out, each group with the reason.

import { useState } from 'react'
import type { Client, ContextItem } from '../../client/index.ts'
import { countOf, formatNumber } from '../kit/text.ts'
import { KINDS } from './sections.ts'
import { LoadedSourceList } from './sources/source-list.tsx'

function Omission({ client, actor, item }: { client: Client; actor: string; item: ContextItem }) {
  const [isOpen, setOpen] = useState(false)
  const { kind, reason, tokenCount, sourceIds } = item
  const head = (
    <>
      <span className="name">
        {KINDS[kind]}
        <span className="muted reason">{reason}</span>
      </span>
      <span className="muted number">{sourceIds.length > 0 && countOf(sourceIds.length, 'source')}</span>
      <span className="number tokens">{formatNumber(tokenCount)}</span>
    </>
  )
  if (sourceIds.length === 0) return <div className="context-section plain-head">{head}</div>
  return (
    <details className="context-section" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{head}</summary>
      {isOpen && <LoadedSourceList client={client} actor={actor} sources={sourceIds.map((id) => ({ id, kind }))} />}
    </details>
  )
}

export function Omissions({ client, actor, items }: { client: Client; actor: string; items: readonly ContextItem[] }) {
  if (items.length === 0) return <p className="muted">Nothing was left out.</p>
  return (
    <ul className="plain context-sections">
      {items.map((item) => (
        <li key={`${item.kind} ${item.reason}`}>
          <Omission client={client} actor={actor} item={item} />
        </li>
      ))}
    </ul>
  )
}
