// What happens in the open conversation right now: who writes or thinks, and which agents run, with a button that stops
// each.

import type { Run } from '../../client/index.ts'
import { useRuns } from '../../react/index.ts'
import { useAction } from '../kit/load.ts'
import { Failure } from '../kit/notice.tsx'
import { shorten } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from './open-conversation.tsx'

/** Returns what the others do, in words. An agent that runs, and one whose turn is on the screen, is not named. */
function useTexts(runs: readonly Run[]): string[] {
  const { transcript, present, nameOf } = useOpenConversation()
  const { viewer } = useSession()
  const streaming = transcript.turns.slice(-20).filter(({ status }) => status === 'STREAMING')
  const shown = new Set([viewer.actor, ...[...streaming, ...runs].map(({ actor }) => actor)])
  return present
    .filter(({ actor, presence }) => !shown.has(actor) && (presence === 'TYPING' || presence === 'THINKING'))
    .map(({ actor, presence }) => `${nameOf(actor)} ${presence === 'TYPING' ? 'is writing' : 'is thinking'}`)
}

function Running({ run }: { run: Run }) {
  const { client, viewer } = useSession()
  const { nameOf } = useOpenConversation()
  const stop = useAction(() => client.cancelRun(run.id))
  return (
    <span className="row">
      <span dir="auto">{shorten(nameOf(run.actor), 40)} is answering …</span>
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

export function Activity() {
  const { conversation } = useOpenConversation()
  const { value } = useRuns(conversation, { first: 20 })
  const running = (value?.nodes ?? []).filter(({ state }) => state === 'RUNNING')
  const texts = useTexts(running)
  return (
    <div className="activity row" role="status">
      {texts.length > 0 && `${shorten(texts.join(', '), 120)} …`}
      {running.map((run) => (
        <Running key={run.id} run={run} />
      ))}
    </div>
  )
}
