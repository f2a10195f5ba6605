// The tab "Facts": the facts of the conversation, their history, and the actions that change them.

import { useState } from 'react'
import { useKept } from '../session/kept.ts'
import { useAction, useSettled } from '../kit/load.ts'
import { Empty, Failure, Notice } from '../kit/notice.tsx'
import { More, usePages } from '../kit/pages.tsx'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { FactCard, type FactAct } from './fact-card.tsx'
import { RecordDialog, RestoreDialog, RetractDialog } from './fact-forms.tsx'
import { FactHistory } from './fact-history.tsx'
import { useChanges } from './changes.ts'
import { extractedText, isPresent, reconciledText, refusalOf } from './outcome.ts'
import { readFacts, reconcileFacts, type FactDetails } from './queries.ts'

const CHANGES = ['FACTS_CHANGED'] as const

type Shown = 'active' | 'all' | 'history'
type Filter = { text: string; shown: Shown }
type Dialogs = FactAct | { kind: 'record' }

const SHOWN: Record<Shown, string> = { active: 'Active', all: 'With superseded', history: 'History' }

function FilterForm({ filter, onChange }: { filter: Filter; onChange(changes: Partial<Filter>): void }) {
  return (
    <form role="search" className="two" onSubmit={(event) => event.preventDefault()}>
      <label className="field">
        Contains
        <input
          type="search"
          dir="auto"
          maxLength={200}
          value={filter.text}
          onChange={({ target }) => onChange({ text: target.value })}
        />
      </label>
      <label className="field">
        Show
        <select value={filter.shown} onChange={({ target }) => onChange({ shown: target.value as Shown })}>
          {(Object.keys(SHOWN) as Shown[]).map((shown) => (
            <option key={shown} value={shown}>
              {SHOWN[shown]}
            </option>
          ))}
        </select>
      </label>
    </form>
  )
}

/** Actions about all facts of the conversation. `onDone` receives the outcome, in words. */
function Actions({ onDone, onRecord }: { onDone(outcome: string): void; onRecord(): void }) {
  const { client, viewer } = useSession()
  const { id, conversation, transcript } = useOpenConversation()
  const extract = useAction(async () => onDone(extractedText(await conversation.extractFacts())))
  const reconcile = useAction(async () => onDone(reconciledText(await reconcileFacts(client, id))))
  const refusal = refusalOf(viewer, isPresent(transcript))
  if (refusal !== null) return <p className="hint">{refusal}</p>
  return (
    <>
      <div className="row">
        <button type="button" className="small" onClick={onRecord}>
          Record a fact
        </button>
        <button type="button" className="small" disabled={extract.isRunning} onClick={() => void extract.run()}>
          {extract.isRunning ? 'Reading turns …' : 'Extract from turns'}
        </button>
        <button type="button" className="small" disabled={reconcile.isRunning} onClick={() => void reconcile.run()}>
          {reconcile.isRunning ? 'Comparing …' : 'Reconcile'}
        </button>
      </div>
      <Failure error={extract.error} onRetry={() => void extract.run()} />
      <Failure error={reconcile.error} onRetry={() => void reconcile.run()} />
    </>
  )
}

function List({
  facts,
  shown,
  onAct,
}: {
  facts: readonly FactDetails[]
  shown: Shown
  onAct: ((act: FactAct) => void) | null
}) {
  if (shown === 'history') return <FactHistory facts={facts} />
  return (
    <ul className="plain stack" aria-label="Facts, newest first">
      {facts.map((fact) => (
        <FactCard
          key={fact.id}
          fact={fact}
          supersedes={facts.filter(({ supersededBy }) => supersededBy?.id === fact.id)}
          onAct={onAct}
        />
      ))}
    </ul>
  )
}

export function Facts() {
  const { client, viewer } = useSession()
  const { id, conversation, transcript } = useOpenConversation()
  const [filter, change] = useKept<Filter>(`facts ${id}`, { text: '', shown: 'active' })
  const [outcome, setOutcome] = useState<string | null>(null)
  const [dialog, setDialog] = useState<Dialogs | null>(null)
  const changes = useChanges(conversation, CHANGES)
  const text = useSettled(filter.text.trim(), 300)
  const includeSuperseded = filter.shown !== 'active'
  const { items, error, isLoading, reload, more, isLoadingMore } = usePages(
    (page, signal) =>
      readFacts(
        client,
        { ...page, filter: { conversationId: id, includeSuperseded, text: text === '' ? null : text } },
        signal,
      ),
    changes === null ? null : [id, text, includeSuperseded],
    { version: changes },
  )
  const mayChange = refusalOf(viewer, isPresent(transcript)) === null
  const ending = { onDone: setOutcome, onClose: () => setDialog(null) }
  return (
    <>
      <FilterForm filter={filter} onChange={change} />
      <Actions onDone={setOutcome} onRecord={() => setDialog({ kind: 'record' })} />
      {outcome !== null && <Notice kind="success">{outcome}</Notice>}
      <Failure error={error} onRetry={reload} />
      {!items && error === null && <Empty>Loading …</Empty>}
      {items?.length === 0 && (
        <Empty>
          {text !== '' && 'No fact contains this.'}
          {text === ''
            && `No ${includeSuperseded ? '' : 'active '}facts.${mayChange ? ' Extract them from the turns, or record one.' : ''}`}
        </Empty>
      )}
      {items && (
        <div aria-busy={isLoading}>
          <List facts={items} shown={filter.shown} onAct={mayChange ? setDialog : null} />
        </div>
      )}
      <More more={more} isLoading={isLoadingMore} />
      {dialog?.kind === 'record' && <RecordDialog {...ending} draft={null} />}
      {dialog?.kind === 'again' && <RecordDialog {...ending} draft={dialog.fact} />}
      {dialog?.kind === 'retract' && <RetractDialog {...ending} fact={dialog.fact} />}
      {dialog?.kind === 'restore' && <RestoreDialog {...ending} fact={dialog.fact} />}
    </>
  )
}
