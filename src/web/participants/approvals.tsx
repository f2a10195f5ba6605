// The tool calls that wait for a decision, each as a card: approve, approve with other arguments, or deny.

import { useState } from 'react'
import type { RequestedApproval } from '../../client/index.ts'
import { useApprovals } from '../../react/index.ts'
import { JsonBlock } from '../kit/copy.tsx'
import { Failure } from '../kit/notice.tsx'
import { useAction } from '../kit/load.ts'
import { countOf } from '../kit/text.ts'
import { Needs } from '../session/needs.tsx'
import { useSession } from '../session/session.tsx'
import { useOpenConversation } from '../workspace/open-conversation.tsx'

/** Returns the arguments in the field. @throws Error if they are not JSON */
function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`The arguments are not JSON: ${(error as Error).message}`)
  }
}

function ApprovalCard({ approval }: { approval: RequestedApproval }) {
  const { client } = useSession()
  const { transcript, nameOf } = useOpenConversation()
  const [edited, setEdited] = useState<string | null>(null)
  const [reason, setReason] = useState('')
  const resolve = useAction(async (decision: 'APPROVE' | 'DENY') =>
    client.resolveApproval(approval.id, decision, {
      ...(decision === 'APPROVE' && edited !== null && { arguments: parseArguments(edited) }),
      ...(reason.trim() !== '' && { reason: reason.trim() }),
      expectedCallHash: approval.callHash ?? undefined,
    }),
  )
  const agent = transcript.turns.findLast(({ id }) => id === approval.turn.id)?.actor
  return (
    <section className="card approval" aria-label={`Approval of ${approval.toolName}`}>
      <h3>
        <bdi>{agent ? nameOf(agent) : 'An agent'}</bdi> wants to call <code>{approval.toolName}</code>
      </h3>
      {edited === null ? (
        <JsonBlock value={approval.arguments} label="arguments" />
      ) : (
        <label className="field">
          Arguments, as JSON
          <textarea rows={4} value={edited} spellCheck={false} onChange={(event) => setEdited(event.target.value)} />
        </label>
      )}
      <Needs right="WRITE" purpose="decide">
        <input
          value={reason}
          maxLength={1_000}
          aria-label="Reason of the decision, for the agent"
          placeholder="Reason, for the agent (optional)"
          onChange={(event) => setReason(event.target.value)}
        />
        <Failure error={resolve.error} />
        <div className="row">
          <button
            type="button"
            className="primary"
            disabled={resolve.isRunning}
            onClick={() => void resolve.run('APPROVE')}
          >
            {edited === null ? 'Approve' : 'Approve as edited'}
          </button>
          <button
            type="button"
            disabled={resolve.isRunning}
            onClick={() => setEdited(edited === null ? JSON.stringify(approval.arguments, null, 2) : null)}
          >
            {edited === null ? 'Edit' : 'Undo the edit'}
          </button>
          <button
            type="button"
            className="dangerous"
            disabled={resolve.isRunning}
            onClick={() => void resolve.run('DENY')}
          >
            Deny
          </button>
        </div>
      </Needs>
    </section>
  )
}

/** Codes of the errors that the workspace or the transcript shows. */
const SHOWN_ELSEWHERE = new Set(['NETWORK', 'NOT_FOUND', 'UNAUTHENTICATED'])

/** The approvals that wait in the open conversation, oldest first. */
export function Approvals() {
  const { conversation } = useOpenConversation()
  const { value, error } = useApprovals(conversation, { state: 'PENDING' })
  const pending = value?.nodes.toReversed() ?? []
  return (
    <>
      <p className="hidden" role="status">
        {pending.length > 0 && `${countOf(pending.length, 'tool call')} to approve or deny`}
      </p>
      <div className="approvals" role="group" aria-label="Tool calls to approve or deny">
        <Failure error={error && !SHOWN_ELSEWHERE.has(error.code) ? error.message : null} />
        {pending.map((approval) => (
          <ApprovalCard key={approval.id} approval={approval} />
        ))}
      </div>
    </>
  )
}
