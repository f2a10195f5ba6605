// The tab "Summaries": the current summaries, and the actions that write them.

import { useState } from 'react'
import type { Summary } from '../../client/index.ts'
import { TurnLink } from '../context/sources/turn-link.tsx'
import { useAction, useLoad } from '../kit/load.ts'
import { Markdown } from '../kit/markdown.tsx'
import { Empty, Failure, Notice } from '../kit/notice.tsx'
import { More, usePages } from '../kit/pages.tsx'
import { countOf, dateOf } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { useChanges } from './changes.ts'
import { compactedText, isPresent, policyText, refusalOf } from './outcome.ts'
import { readCoverage } from './queries.ts'

/** An edited or erased turn can end the summary that covers it. */
const CHANGES = ['SUMMARY_WRITTEN', 'TURN_SUPERSEDED', 'TURN_ERASED', 'CONVERSATION_UPDATED'] as const

function SummaryItem({ summary }: { summary: Summary }) {
  const { fromPosition, toPosition, level, tokenCount, model, createdAt, content } = summary
  return (
    <li className="card stack summary-item">
      <div className="bar">
        <h3>
          <TurnLink position={fromPosition} label={`Turn ${fromPosition}`} /> to{' '}
          <TurnLink position={toPosition} label={`turn ${toPosition}`} />
        </h3>
        <span className="muted number">{countOf(tokenCount, 'token')}</span>
      </div>
      <Markdown text={content} />
      <p className="muted">
        {level === 0 ? 'Summary of turns' : `Summary of summaries, level ${level}`} ·{' '}
        {model === 'extractive' ? 'sentences of the turns' : (model ?? 'unknown model')} · {dateOf(createdAt)}
      </p>
    </li>
  )
}

/** `onDone` receives the outcome, in words. */
function Actions({ onDone }: { onDone(outcome: string): void }) {
  const { viewer } = useSession()
  const { conversation, transcript } = useOpenConversation()
  const summarize = useAction(async () => {
    const { fromPosition, toPosition, tokenCount } = await conversation.summarize()
    onDone(`Turns ${fromPosition} to ${toPosition} are summarised in ${countOf(tokenCount, 'token')}.`)
  })
  const compact = useAction(async () => onDone(compactedText(await conversation.compact())))
  const refusal = refusalOf(viewer, isPresent(transcript))
  if (refusal !== null) return <p className="hint">{refusal}</p>
  const isRunning = summarize.isRunning || compact.isRunning
  return (
    <>
      <div className="row">
        <button type="button" className="small" disabled={isRunning} onClick={() => void compact.run()}>
          {compact.isRunning ? 'Compacting …' : 'Compact the oldest half'}
        </button>
        <button type="button" className="small" disabled={isRunning} onClick={() => void summarize.run()}>
          {summarize.isRunning ? 'Summarising …' : 'Summarise all turns'}
        </button>
      </div>
      <Failure error={compact.error} />
      <Failure error={summarize.error} />
    </>
  )
}

export function Summaries() {
  const { client } = useSession()
  const { id, conversation } = useOpenConversation()
  const [outcome, setOutcome] = useState<string | null>(null)
  const changes = useChanges(conversation, CHANGES)
  const key = changes === null ? null : id
  const version = { version: changes }
  const { items, error, isLoading, reload, more, isLoadingMore } = usePages(
    (page, signal) => conversation.summaries({ ...page, signal }),
    key,
    version,
  )
  const { value: coverage } = useLoad((signal) => readCoverage(client, id, signal), key, version)
  const through = coverage?.summarizedThrough
  return (
    <>
      {coverage && (
        <p className="hint">
          {through ? (
            <>
              The turns up to <TurnLink position={through.position} label={`turn ${through.position}`} /> are
              summarised.
            </>
          ) : (
            'No turns are summarised.'
          )}{' '}
          {policyText(coverage.compaction)}
        </p>
      )}
      <Actions onDone={setOutcome} />
      {outcome !== null && <Notice kind="success">{outcome}</Notice>}
      <Failure error={error} onRetry={reload} />
      {!items && error === null && <Empty>Loading …</Empty>}
      {items?.length === 0 && <Empty>No summaries yet.</Empty>}
      {items && (
        <ol className="plain stack" aria-label="Summaries, oldest first" aria-busy={isLoading}>
          {items.map((summary) => (
            <SummaryItem key={summary.id} summary={summary} />
          ))}
        </ol>
      )}
      <More more={more} isLoading={isLoadingMore} />
    </>
  )
}
