// The dialog before a turn is erased, and the receipt of the erasure.

import { useState } from 'react'
import type { ErasureReceipt, Turn } from '../../client/index.ts'
import { Dialog } from '../kit/dialog.tsx'
import { useAction } from '../kit/load.ts'
import { Failure, Notice } from '../kit/notice.tsx'
import { countOf, shorten } from '../kit/text.ts'
import { useSession } from '../session/session.tsx'

export function EraseDialog({ turn, onClose }: { turn: Turn; onClose(): void }) {
  const { client } = useSession()
  const [receipt, setReceipt] = useState<ErasureReceipt | null>(null)
  const erase = useAction(async () => setReceipt((await client.eraseTurn(turn.id)).receipt))
  return (
    <Dialog title="Erase this message" onClose={erase.isRunning ? null : onClose}>
      {receipt ? (
        <>
          <Notice kind="success">
            Erased: {countOf(receipt.turns, 'version')} of the message, {countOf(receipt.facts, 'fact')} and{' '}
            {countOf(receipt.summaries, 'summary', 'summaries')} made from it.
          </Notice>
          <p className="hint">Receipt {receipt.id}</p>
          <div className="row">
            <button type="button" className="primary" onClick={onClose}>
              Close
            </button>
          </div>
        </>
      ) : (
        <>
          <blockquote dir="auto">{shorten(turn.text, 300)}</blockquote>
          <p>
            The content is deleted permanently, in all versions, with the facts and summaries that are made from it.
            What remains is that there was a message.
          </p>
          <Failure error={erase.error} />
          <div className="row">
            <button type="button" className="dangerous" disabled={erase.isRunning} onClick={() => void erase.run()}>
              Erase permanently
            </button>
            <button type="button" disabled={erase.isRunning} onClick={onClose}>
              Cancel
            </button>
          </div>
        </>
      )}
    </Dialog>
  )
}
