// The history of the facts about each subject, as a timeline.

import { TurnLink } from '../context/sources/turn-link.tsx'
import { whenOf } from '../kit/text.ts'
import { useOpenConversation } from '../workspace/open-conversation.tsx'
import { historyOf, supersededText, type FactEvent } from './history.ts'
import type { FactDetails } from './queries.ts'

const MARKS: Record<FactEvent['kind'], string> = { stated: '+', superseded: '−', restored: '↺' }

function EventText({ event: { kind, fact } }: { event: FactEvent }) {
  const { nameOf } = useOpenConversation()
  const statement = `${fact.predicate} ${fact.object}`
  if (kind === 'superseded') {
    return (
      <>
        <del dir="auto">{statement}</del>
        <span className="muted" dir="auto">
          {supersededText(fact)}
        </span>
      </>
    )
  }
  const turn = fact.sources.nodes.find((source) => source.turn)?.turn
  return (
    <>
      <span dir="auto">{statement}</span>
      <span className="muted">
        {kind === 'restored' && <bdi>{`Active again${note(fact.restoreNote)}`}</bdi>}
        {kind === 'stated' && 'Stated'}
        {kind === 'stated' && fact.assertedBy !== null && (
          <>
            {' by '}
            <bdi>{nameOf(fact.assertedBy)}</bdi>
          </>
        )}
        {kind === 'stated' && turn && (
          <>
            {' '}
            in <TurnLink position={turn.position} conversation={turn.conversation} label={`turn ${turn.position}`} />
          </>
        )}
      </span>
    </>
  )
}

const note = (text: string | null): string => (text ? `: ${text}` : '')

export const FactHistory = ({ facts }: { facts: readonly FactDetails[] }) => (
  <ul className="plain stack" aria-label="History by subject">
    {historyOf(facts).map(({ subject, events }) => (
      <li key={subject} className="card">
        <h3 dir="auto">{subject}</h3>
        <ol className="plain timeline">
          {events.map((event) => (
            <li key={`${event.fact.id} ${event.kind}`} className={event.kind}>
              <span className="mark" aria-hidden="true">
                {MARKS[event.kind]}
              </span>
              <span className="event">
                <EventText event={event} />
              </span>
              <time className="muted" dateTime={event.at}>
                {whenOf(event.at)}
              </time>
            </li>
          ))}
        </ol>
      </li>
    ))}
  </ul>
)
