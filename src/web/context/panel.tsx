// The panel "Context": the messages that a model would receive next, why each is there, and what was left out.

import { useState, type ReactNode } from 'react'
import type { Participant } from '../../client/index.ts'
import { useKept } from '../session/kept.ts'
import { useLoad, useSettled } from '../kit/load.ts'
import { Empty, Failure, Notice } from '../kit/notice.tsx'
import { countOf, formatNumber } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { Bar } from './bar.tsx'
import { Compare } from './compare.tsx'
import { Omissions } from './omissions.tsx'
import { Options } from './options.tsx'
import { readContext, type Built } from './read-context.ts'
import { Rendering } from './rendering.tsx'
import { SectionList } from './section-list.tsx'
import { omissionsOf, sectionsOf } from './sections.ts'
import type { Settings } from './settings.ts'

const DEFAULTS: Omit<Settings, 'actor'> = {
  budget: 4_000,
  strategy: null,
  facts: true,
  profiles: true,
  recall: 'CONVERSATION',
  query: '',
}

/** `changes`: the settings that the person has changed. `pinned`: the context to compare with; null for none. */
type State = { changes: Partial<Settings>; pinned: Built | null }

/** Returns the first agent, or else the viewer, or else any participant. The viewer may not have joined. */
function defaultActor(present: readonly Participant[], viewer: string): string {
  const agent = present.find(({ kind }) => kind === 'AGENT')
  const self = present.find(({ actor }) => actor === viewer)
  return (agent ?? self ?? present[0])?.actor ?? viewer
}

/** Says how many entries are newer than the context. */
function Newer({ asOfSeq, onRefresh }: { asOfSeq: number; onRefresh(): void }) {
  const { transcript } = useOpenConversation()
  const count = transcript.lastSeq - asOfSeq
  return (
    <div role="status" className="row">
      {count > 0 && (
        <>
          <span className="chip accent">{countOf(count, 'newer entry', 'newer entries')}</span>
          <button type="button" className="small" onClick={onRefresh}>
            Refresh
          </button>
        </>
      )}
    </div>
  )
}

const Part = ({ title, children }: { title: string; children: ReactNode }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="context-part" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h3>{title}</h3>
      </summary>
      {isOpen && children}
    </details>
  )
}

function Result({ built, children }: { built: Built; children: ReactNode }) {
  const { clientOf } = useSession()
  const { settings, context } = built
  const { tokenCount, tokenBudget, stablePrefixTokens, truncated } = context
  const client = clientOf(settings.actor)
  const sections = sectionsOf(context)
  const omissions = omissionsOf(context)
  return (
    <>
      <div className="context-total">
        <span className="number">
          <strong>{formatNumber(tokenCount)}</strong> of {formatNumber(tokenBudget)} tokens
        </span>
        <span className="muted">
          {countOf(context.messages.length, 'message')} ·{' '}
          {truncated ? 'some sources did not fit' : 'every source is included or summarised'}
        </span>
      </div>
      <Bar label="Tokens used" sections={sections} used={tokenCount} budget={tokenBudget} stable={stablePrefixTokens} />
      {stablePrefixTokens > 0 && (
        <p className="hint">
          The next context usually begins with the same {countOf(stablePrefixTokens, 'token')}, so a provider can cache
          them.
        </p>
      )}
      {children}
      <section className="stack" aria-label="Included">
        <h3 className="with-unit">
          Included <span className="muted">tokens</span>
        </h3>
        {sections.length === 0 && <p className="muted">Nothing: there are no messages yet.</p>}
        {sections.length > 0 && <SectionList client={client} actor={settings.actor} sections={sections} />}
      </section>
      <section className="stack" aria-label="Left out">
        <h3 className="with-unit">
          Left out <span className="muted">tokens</span>
        </h3>
        <Omissions client={client} actor={settings.actor} items={omissions} />
      </section>
      <Part title="As JSON for a provider">
        <Rendering client={client} settings={settings} asOfSeq={context.asOfSeq} />
      </Part>
    </>
  )
}

export default function Panel() {
  const { viewer, clientOf, mayViewAs } = useSession()
  const { id, present, transcript } = useOpenConversation()
  const [{ changes, pinned }, change] = useKept<State>(`context ${id}`, { changes: {}, pinned: null })
  const actor = mayViewAs ? defaultActor(present, viewer.actor) : viewer.actor
  const settings = { ...DEFAULTS, actor, ...changes }
  const text = useSettled(JSON.stringify(settings), 250)
  const settled = JSON.parse(text) as Settings
  // The default participant is known when the participants are.
  const isStranger = actor === viewer.actor && settings.actor === actor && transcript.viewer === null
  const key = transcript.conversation && !isStranger ? text : null
  const { value, error, isLoading, reload } = useLoad(
    (signal) => readContext(clientOf(settled.actor), id, settled, signal),
    key,
    // The result dims while another one is loaded: it would flicker while the person moves the slider.
    { keepsPrevious: true },
  )
  const set = (changed: Partial<Settings>) => change({ changes: { ...changes, ...changed } })
  const isBusy = isLoading || JSON.stringify(settings) !== text
  if (!transcript.conversation) {
    return transcript.error ? <Failure error={transcript.error.message} /> : <Empty>Loading …</Empty>
  }
  if (isStranger) return <Empty>A context is for a participant, and you have never joined this conversation.</Empty>
  return (
    <div className="stack context">
      <p className="hint">The messages that a model receives when this participant answers next, within the budget.</p>
      <Options settings={settings} onChange={set} />
      <Failure error={error} onRetry={reload} />
      {!value && error === null && <Empty>Loading …</Empty>}
      {value && 'required' in value && (
        <Notice kind="error">
          The system prompt and the newest turn need {countOf(value.required, 'token')}.{' '}
          <button type="button" className="link" onClick={() => set({ budget: value.required })}>
            Set the budget to {formatNumber(value.required)}
          </button>
        </Notice>
      )}
      {value && 'context' in value && (
        <div className="stack result" aria-busy={isBusy}>
          <Result built={value}>
            <div className="row">
              <button type="button" className="small" onClick={() => change({ pinned: value })}>
                {pinned ? 'Compare with this one instead' : 'Compare with this one'}
              </button>
              <Newer asOfSeq={value.context.asOfSeq} onRefresh={reload} />
            </div>
            {pinned && pinned !== value && (
              <Compare before={pinned} now={value} onEnd={() => change({ pinned: null })} />
            )}
            {pinned === value && (
              <Notice>
                Change the budget, the participant or an option to compare.{' '}
                <button type="button" className="link" onClick={() => change({ pinned: null })}>
                  End comparison
                </button>
              </Notice>
            )}
          </Result>
        </div>
      )}
    </div>
  )
}
