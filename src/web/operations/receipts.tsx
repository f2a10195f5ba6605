// The erasures that the page knows, with their receipts. They are kept while the person is logged in, so that the
// receipt of a conversation outlives it.

import { useEffect, useState } from 'react'
import { CodeBlock, CopyButton } from '../kit/copy.tsx'
import { useAction } from '../kit/load.ts'
import { Failure, Notice } from '../kit/notice.tsx'
import { createStore, useStore, type Store } from '../kit/store.ts'
import { countOf, dateOf, errorText, formatNumber } from '../kit/text.ts'
import { rightName } from '../session/needs.tsx'
import { useSession, type Session } from '../session/session.tsx'
import { READ_ERASURE, VERIFY_RECEIPT, type Erasure, type Receipt } from './requests.ts'
import { receiptFile, receiptRows } from './words.ts'

/** An erasure. `subject`: what was erased, as the person named it. */
type SessionErasure = { subject: string; erasure: Erasure }

const erasures = new WeakMap<Session, Store<readonly SessionErasure[]>>()

/** Returns the erasures of the session. `put` adds one as the newest, or replaces the one with the same id. */
export function useErasures() {
  const session = useSession()
  const own = erasures.get(session) ?? createStore<readonly SessionErasure[]>([])
  erasures.set(session, own)
  function put(added: SessionErasure): void {
    const known = own.get()
    const index = known.findIndex(({ erasure }) => erasure.id === added.erasure.id)
    own.set(index < 0 ? [added, ...known] : known.with(index, added))
  }
  return { known: useStore(own), put }
}

/** Downloads the text as a file. */
function download({ name, content }: { name: string; content: string }): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([content], { type: 'application/json' }))
  link.download = name
  link.click()
  // Leaves the browser time to read the file.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

function Signature({ document, signature }: { document: string; signature: string | null }) {
  const { client, viewer } = useSession()
  const [isGenuine, setGenuine] = useState<boolean | null>(null)
  const verify = useAction(async () => {
    setGenuine(null)
    setGenuine((await client.request(VERIFY_RECEIPT, { document, signature })).verifyErasureReceipt)
  })
  if (signature === null) return <Notice>The receipt has no signature: the server has no INTEGRITY_KEY.</Notice>
  return (
    <>
      <div className="row">
        <button
          type="button"
          disabled={!viewer.rights.includes('OPERATE') || verify.isRunning}
          onClick={() => void verify.run()}
        >
          {verify.isRunning ? 'Verifying …' : 'Verify the signature'}
        </button>
        {!viewer.rights.includes('OPERATE') && <span className="hint">Needs the right {rightName('OPERATE')}</span>}
      </div>
      {isGenuine !== null && (
        <Notice kind={isGenuine ? 'success' : 'error'}>
          {isGenuine
            ? 'Genuine: this server signed the receipt with its present key.'
            : 'Not genuine: this server did not sign the receipt with its present key.'}
        </Notice>
      )}
      <Failure error={verify.error} />
    </>
  )
}

function ReceiptView({ receipt }: { receipt: Receipt }) {
  const { document, signature } = receipt
  const file = receiptFile(receipt)
  const rows = Object.entries(receipt.counts).filter(([, count]) => count > 0)
  return (
    <>
      <table>
        <caption className="hint">Completed {dateOf(receipt.completedAt)}</caption>
        <tbody>
          {receiptRows(receipt).map(([name, count]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="number">{formatNumber(count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {receipt.held > 0 && (
        <Notice>
          {countOf(receipt.held, 'conversation')} under legal hold {receipt.held === 1 ? 'was' : 'were'} skipped: the
          content there is kept. Erase again after the hold.
        </Notice>
      )}
      <details>
        <summary>Removed rows by table</summary>
        <table>
          <tbody>
            {rows.length === 0 && (
              <tr>
                <td>None</td>
              </tr>
            )}
            {rows.map(([table, count]) => (
              <tr key={table}>
                <th scope="row">
                  <code>{table}</code>
                </th>
                <td className="number">{formatNumber(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
      <details>
        <summary>Document and signature</summary>
        <div className="stack">
          <CodeBlock code={document} label="document" />
          {signature !== null && <CodeBlock code={signature} label="signature" />}
        </div>
      </details>
      <div className="row">
        <button type="button" onClick={() => download(file)}>
          Download the receipt
        </button>
        <CopyButton text={file.content} label="Copy the receipt" />
      </div>
      <Signature document={document} signature={signature} />
    </>
  )
}

/** Time after which an unfinished erasure is read again, ms. */
const POLL_MS = 1_000

/** An erasure, which is read again until it has its receipt. */
export function ErasureItem({ known: { subject, erasure } }: { known: SessionErasure }) {
  const { client } = useSession()
  const { put } = useErasures()
  const [attempt, setAttempt] = useState(0)
  const [error, setError] = useState<string | null>(null)
  const isDone = erasure.receipt !== null
  useEffect(() => {
    if (isDone) return
    const ending = new AbortController()
    async function poll(): Promise<void> {
      try {
        const read = await client.request(READ_ERASURE, { id: erasure.id }, { signal: ending.signal })
        setError(read.erasure ? null : 'The server does not know this erasure.')
        if (read.erasure?.receipt) put({ subject, erasure: read.erasure })
        else if (read.erasure) setAttempt(attempt + 1)
      } catch (failure) {
        if (!ending.signal.aborted) setError(errorText(failure))
      }
    }
    const timer = setTimeout(() => void poll(), POLL_MS)
    return () => {
      clearTimeout(timer)
      ending.abort()
    }
  }, [client, erasure.id, isDone, attempt])
  return (
    <li className="card stack">
      <p className="line">
        <strong dir="auto">{subject}</strong>{' '}
        <span className={`chip ${isDone ? 'success' : 'accent'}`}>{isDone ? 'Erased' : 'Erasing …'}</span>
      </p>
      <p className="hint">
        Erasure <code>{erasure.id}</code>
      </p>
      {!isDone && (
        <>
          <progress aria-label={`Erasing ${subject}`} />
          <p className="hint" role="status">
            In batches, in the background. It continues if you leave, and after a crash of the server.
          </p>
        </>
      )}
      <Failure error={error} onRetry={() => setAttempt(attempt + 1)} />
      {erasure.receipt && <ReceiptView receipt={erasure.receipt} />}
    </li>
  )
}
