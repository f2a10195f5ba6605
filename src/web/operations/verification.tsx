// Verifies the hash chain of the audit log, part by part, and says whether it is intact.

import { useEffect, useRef, useState } from 'react'
import { CopyButton } from '../kit/copy.tsx'
import { useAction } from '../kit/load.ts'
import { Failure, Notice } from '../kit/notice.tsx'
import { formatNumber } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'
import { verifyLog, type Verified } from './requests.ts'
import { verificationText } from './words.ts'

export function Verification() {
  const { client } = useSession()
  const [state, setState] = useState<Verified | null>(null)
  const running = useRef<AbortController | null>(null)
  const action = useAction(async () => {
    running.current = new AbortController()
    setState(null)
    for await (const part of verifyLog(client, running.current.signal)) setState(part)
  })
  useEffect(() => () => running.current?.abort(), [])
  const result = state && !action.isRunning && !action.error ? verificationText(state.part) : null
  return (
    <section className="card stack">
      <div className="row">
        <h3 id="verification">Verification</h3>
        <button type="button" onClick={() => void action.run()} disabled={action.isRunning}>
          {action.isRunning ? 'Verifying …' : 'Verify the log'}
        </button>
      </div>
      {!state && !action.isRunning && (
        <p className="hint">The hash of each line covers the line before it, so a changed line breaks the chain.</p>
      )}
      {action.isRunning && (
        <>
          <progress
            aria-labelledby="verification"
            max={Math.max(1, state?.newest ?? 1)}
            value={Number(state?.part.verifiedThrough ?? 0)}
          />
          <p className="hint" role="status">
            {state
              ? `${formatNumber(state.part.verifiedThrough)} of ${formatNumber(state.newest)} lines`
              : 'Reading the first lines …'}
          </p>
        </>
      )}
      {result && <Notice kind={result.isIntact ? 'success' : 'error'}>{result.text}</Notice>}
      {state && result?.isIntact && Number(state.part.verifiedThrough) > 0 && (
        <div className="hash">
          <p className="hint">
            Store this hash of line {formatNumber(state.part.verifiedThrough)} elsewhere, to find out later whether the
            newest lines were removed:
          </p>
          <code>{state.part.hash}</code> <CopyButton text={state.part.hash} />
        </div>
      )}
      <Failure error={action.error} onRetry={() => void action.run()} />
    </section>
  )
}
