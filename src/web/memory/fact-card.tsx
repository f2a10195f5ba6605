// One fact: the statement, who said it, its sources and its use.

import { TurnLink } from '../context/sources/turn-link.tsx'
import { Menu } from '../kit/menu.tsx'
import { dateOf, percentOf, whenOf } from '../kit/text.ts'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { periodText, statementOf, supersededText } from './history.ts'
import type { FactDetails, TurnRef } from './queries.ts'

const SAID_BY: Record<FactDetails['saidBy'], string> = { HUMAN: 'a person', AGENT: 'an agent', TOOL: 'a tool' }

export type FactAct = { kind: 'retract' | 'restore' | 'again'; fact: FactDetails }

/** Returns the actions that the state of the fact allows. */
function itemsOf(fact: FactDetails, onAct: (act: FactAct) => void) {
  const item = (kind: FactAct['kind'], label: string) => ({ label, onSelect: () => onAct({ kind, fact }) })
  if (fact.supersedeReason === null) return [{ ...item('retract', 'Retract …'), isDangerous: true }]
  if (fact.supersedeReason === 'DUPLICATED' || fact.supersedeReason === 'CONTRADICTED') {
    return [item('restore', 'Make active again …')]
  }
  return [item('again', 'Record again …')]
}

function Said({ turn: { position, conversation, actor } }: { turn: TurnRef }) {
  const { nameOf } = useOpenConversation()
  return (
    <>
      Said in <TurnLink position={position} conversation={conversation} label={`turn ${position}`} /> by{' '}
      <bdi>{nameOf(actor)}</bdi>
    </>
  )
}

function Sources({ fact: { sources } }: { fact: FactDetails }) {
  const { nameOf } = useOpenConversation()
  return (
    <ul className="plain sources" aria-label="Sources">
      {sources.nodes.map(({ turn, assertedBy, observedAt }, index) => (
        <li key={turn?.id ?? index}>
          {turn ? (
            <Said turn={turn} />
          ) : (
            <>
              Recorded by {assertedBy === null ? 'an unknown actor' : <bdi>{nameOf(assertedBy)}</bdi>},{' '}
              {whenOf(observedAt)}
            </>
          )}
        </li>
      ))}
      {sources.pageInfo.hasNextPage && <li className="muted">and more</li>}
    </ul>
  )
}

function Details({ fact }: { fact: FactDetails }) {
  const { nameOf } = useOpenConversation()
  const { usedIn, userId, observedAt, importance, restoredAt, restoreNote } = fact
  const period = periodText(fact)
  return (
    <details>
      <summary className="muted">Details</summary>
      <dl className="details">
        <dt>Observed</dt>
        <dd>{dateOf(observedAt)}</dd>
        <dt>True</dt>
        <dd>{period ?? 'no period is known'}</dd>
        <dt>About</dt>
        <dd>{userId === null ? 'no participant' : <bdi>{nameOf(userId)}</bdi>}</dd>
        <dt>Importance</dt>
        <dd>{percentOf(importance)}, from how often and how recently it was stated and recalled</dd>
        {restoredAt && (
          <>
            <dt>Restored</dt>
            <dd>
              {dateOf(restoredAt)}
              {restoreNote && (
                <>
                  : <bdi>{restoreNote}</bdi>
                </>
              )}
            </dd>
          </>
        )}
        <dt>Used in</dt>
        <dd>
          {usedIn.nodes.length === 0 && 'no reply with a stored context'}
          {usedIn.nodes.map(({ id, position, conversation }) => (
            <span key={id}>
              <TurnLink position={position} conversation={conversation} />{' '}
            </span>
          ))}
          {usedIn.pageInfo.hasNextPage && 'and more'}
        </dd>
      </dl>
    </details>
  )
}

/** `onAct`: null if the viewer cannot change facts. `supersedes`: the shown facts that this one has replaced. */
export function FactCard({
  fact,
  supersedes,
  onAct,
}: {
  fact: FactDetails
  supersedes: readonly FactDetails[]
  onAct: ((act: FactAct) => void) | null
}) {
  const { nameOf } = useOpenConversation()
  const { subject, predicate, object, confidence, saidBy, assertedBy } = fact
  const reason = supersededText(fact)
  return (
    <li className="card fact">
      <div className="bar">
        <p className="statement" dir="auto">
          <strong>{subject}</strong> {predicate} <strong>{object}</strong>
        </p>
        {onAct && (
          <Menu label={`Change: ${statementOf(fact)}`} items={itemsOf(fact, onAct)}>
            ⋯
          </Menu>
        )}
      </div>
      {reason !== null && (
        <p>
          <span className="chip danger" dir="auto">
            {reason}
          </span>
        </p>
      )}
      <p className="muted">
        {assertedBy === null ? 'Unknown' : <bdi>{nameOf(assertedBy)}</bdi>}, {SAID_BY[saidBy]} · confidence{' '}
        {percentOf(confidence)}
      </p>
      <Sources fact={fact} />
      {supersedes.length > 0 && (
        <p className="muted" dir="auto">
          Supersedes {supersedes.map((each) => `“${statementOf(each)}”`).join(', ')}
        </p>
      )}
      <Details fact={fact} />
    </li>
  )
}
