// One fact: the statement, who said it, its sources and its use.

import { TurnLink } from '../context/sources/turn-link.tsx'
import { Menu } from '../kit/menu.tsx'
import { dateOf, whenOf } from '../kit/text.ts'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { periodText, statementOf, supersededText } from './history.ts'
import { percentOf } from './outcome.ts'
import type { KnownFact, PlacedTurn } from './queries.ts'

const SAID_BY: Record<KnownFact['saidBy'], string> = { HUMAN: 'a person', AGENT: 'an agent', TOOL: 'a tool' }

export type FactAct = { kind: 'retract' | 'restore' | 'again'; fact: KnownFact }

/** Returns the actions that the state of the fact allows. */
function itemsOf(fact: KnownFact, onAct: (act: FactAct) => void) {
  const item = (kind: FactAct['kind'], label: string) => ({ label, onSelect: () => onAct({ kind, fact }) })
  if (fact.supersedeReason === null) return [{ ...item('retract', 'Retract …'), isDangerous: true }]
  if (fact.supersedeReason === 'DUPLICATED' || fact.supersedeReason === 'CONTRADICTED') {
    return [item('restore', 'Make active again …')]
  }
  return [item('again', 'Record again …')]
}

function Said({ turn: { position, conversation, actor } }: { turn: PlacedTurn }) {
  const { nameOf } = useOpenConversation()
  return (
    <>
      Said in <TurnLink position={position} conversation={conversation} label={`turn ${position}`} /> by {nameOf(actor)}
    </>
  )
}

function Sources({ fact: { sources } }: { fact: KnownFact }) {
  const { nameOf } = useOpenConversation()
  return (
    <ul className="plain sources" aria-label="Sources">
      {sources.nodes.map(({ turn, assertedBy, observedAt }, index) => (
        <li key={turn?.id ?? index}>
          {turn ? (
            <Said turn={turn} />
          ) : (
            <>
              Recorded by {assertedBy === null ? 'an unknown actor' : nameOf(assertedBy)}, {whenOf(observedAt)}
            </>
          )}
        </li>
      ))}
      {sources.pageInfo.hasNextPage && <li className="muted">and more</li>}
    </ul>
  )
}

function Details({ fact }: { fact: KnownFact }) {
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
        <dd>{userId === null ? 'no participant' : nameOf(userId)}</dd>
        <dt>Importance</dt>
        <dd>{percentOf(importance)}, from how often and how recently it was stated and recalled</dd>
        {restoredAt && (
          <>
            <dt>Restored</dt>
            <dd>
              {dateOf(restoredAt)}
              {restoreNote && `: ${restoreNote}`}
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
  fact: KnownFact
  supersedes: readonly KnownFact[]
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
        {assertedBy === null ? 'Unknown' : nameOf(assertedBy)}, {SAID_BY[saidBy]} · confidence {percentOf(confidence)}
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
