// Presence and running agents of the open conversation.

import { Fragment } from 'react'
import type { Participant, Run } from '../../client/index.ts'
import { useRuns } from '../../react/index.ts'
import { useAction } from '../kit/load.ts'
import { Failure } from '../kit/notice.tsx'
import { shorten } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from './open-conversation.tsx'

/**
 * Returns the others who write or think. An agent that runs, and one whose turn is on the screen, is not one of them.
 */
function useActive(runs: readonly Run[]): readonly Participant[] {
  const { transcript, present } = useOpenConversation()
  const { viewer } = useSession()
  const streaming = transcript.turns.slice(-20).filter(({ status }) => status === 'STREAMING')
  const shown = new Set([viewer.actor, ...[...streaming, ...runs].map(({ actor }) => actor)])
  return present.filter(
    ({ actor, presence }) => !shown.has(actor) && (presence === 'TYPING' || presence === 'THINKING'),
  )
}

function Running({ run }: { run: Run }) {
  const { client, viewer } = useSession()
  const { nameOf } = useOpenConversation()
  const stop = useAction(() => client.cancelRun(run.id))
  return (
    <span className="row">
      <span>
        <bdi>{shorten(nameOf(run.actor), 40)}</bdi> is answering …
      </span>
      {viewer.rights.includes('WRITE') && (
        <button
          type="button"
          className="quiet"
          aria-label={`Stop ${nameOf(run.actor)}`}
          disabled={stop.isRunning}
          onClick={() => void stop.run()}
        >
          Stop
        </button>
      )}
      <Failure error={stop.error} />
    </span>
  )
}

/** Maximum number of participants that are named. */
const NAMED = 3

export function Activity() {
  const { conversation, nameOf } = useOpenConversation()
  const { value } = useRuns(conversation, { first: 20 })
  const running = (value?.nodes ?? []).filter(({ state }) => state === 'RUNNING')
  const active = useActive(running)
  const answering = running.map(({ actor }) => nameOf(actor)).join(', ')
  return (
    <div className="activity row">
      <span role="status">
        {active.slice(0, NAMED).map(({ actor, presence }, index) => (
          <Fragment key={actor}>
            {index > 0 && ', '}
            <bdi>{shorten(nameOf(actor), 40)}</bdi> {presence === 'TYPING' ? 'is writing' : 'is thinking'}
          </Fragment>
        ))}
        {active.length > 0 && ' …'}
        <span className="hidden">{answering && `Answering: ${answering}`}</span>
      </span>
      {running.map((run) => (
        <Running key={run.id} run={run} />
      ))}
    </div>
  )
}
