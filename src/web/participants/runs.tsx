// The runs of the agents in the open conversation, newest first, with a button that stops one from any device.

import type { Run, RunState } from '../../client/index.ts'
import { useRuns } from '../../react/index.ts'
import { useAction } from '../kit/load.ts'
import { Empty, Failure } from '../kit/notice.tsx'
import { dateOf, formatNumber, timeOf } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'

const STATES: Record<RunState, { text: string; className: string }> = {
  RUNNING: { text: 'running', className: 'chip accent' },
  WAITING_FOR_APPROVAL: { text: 'needs an approval', className: 'chip private' },
  WAITING_FOR_TOOLS: { text: 'needs tool results', className: 'chip private' },
  COMPLETED: { text: 'completed', className: 'chip success' },
  FAILED: { text: 'failed', className: 'chip danger' },
  CANCELLED: { text: 'stopped', className: 'chip' },
}

/** Returns how long a run took, such as `1.2 s`. */
function durationOf({ createdAt, endedAt }: Run): string | null {
  if (endedAt === null) return null
  const seconds = (new Date(endedAt).getTime() - new Date(createdAt).getTime()) / 1_000
  return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)}\u00A0s`
}

function RunItem({ run }: { run: Run }) {
  const { client, viewer } = useSession()
  const { nameOf } = useOpenConversation()
  const stop = useAction(() => client.cancelRun(run.id))
  const { text, className } = STATES[run.state]
  const { prompt, completion } = run.tokenUsage
  const facts = [
    run.provider === run.model ? run.model : `${run.provider} ${run.model}`,
    `${formatNumber(prompt)} tokens read, ${formatNumber(completion)} written`,
    durationOf(run),
  ]
  return (
    <li className="card run">
      <div className="row">
        <strong dir="auto">{nameOf(run.actor)}</strong>
        <span className={className}>{text}</span>
        <time className="muted" dateTime={run.createdAt} title={dateOf(run.createdAt)}>
          {timeOf(run.createdAt)}
        </time>
        {run.endedAt === null && viewer.rights.includes('WRITE') && (
          <button type="button" className="dangerous" disabled={stop.isRunning} onClick={() => void stop.run()}>
            Stop
          </button>
        )}
      </div>
      <p className="muted">{facts.filter(Boolean).join(' · ')}</p>
      {run.error && (
        <p className="notice error">
          {run.error.message} <code>{run.error.code}</code>
        </p>
      )}
      <Failure error={stop.error} />
    </li>
  )
}

export function Runs() {
  const { conversation } = useOpenConversation()
  const { value, status, error } = useRuns(conversation)
  if (status === 'loading') return <Empty>Loading …</Empty>
  return (
    <>
      <Failure error={error?.message ?? null} />
      {value?.nodes.length === 0 && <Empty>No agent has run yet. Mention one.</Empty>}
      <ul className="plain stack">
        {value?.nodes.map((run) => (
          <RunItem key={run.id} run={run} />
        ))}
      </ul>
    </>
  )
}
