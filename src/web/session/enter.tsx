// The form by which a person enters: a name, or a token if the server authenticates its clients.

import { useId, useState, type FormEvent } from 'react'
import { Failure, Notice } from '../kit/notice.tsx'
import type { Credential } from './session.tsx'

/** What Colloquy is. */
export const ABOUT = 'Colloquy keeps conversations that people and AI agents share: live, searchable and remembered.'

/**
 * `isAuthenticated`: whether the server needs a token; null if it has not answered. `reason`: why the form is shown
 * again. `onEnter` resolves with the reason if the server refuses, and otherwise with null.
 */
export function Enter({
  isAuthenticated,
  reason,
  onEnter,
  onRetry,
}: {
  isAuthenticated: boolean | null
  reason: string | null
  onEnter(credential: Credential, isKept: boolean): Promise<string | null>
  onRetry(): void
}) {
  const [refusal, setRefusal] = useState<string | null>(null)
  const [isSending, setSending] = useState(false)
  const id = useId()

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const given = String(data.get('credential')).trim()
    if (given === '') return
    setSending(true)
    const refused = await onEnter(isAuthenticated ? { token: given } : { name: given }, data.has('kept'))
    setSending(false)
    setRefusal(refused)
  }

  return (
    <main className="enter">
      <h1>Colloquy</h1>
      <p>{ABOUT}</p>
      {isAuthenticated === null ? (
        reason === null ? (
          <Notice>Connecting …</Notice>
        ) : (
          <Failure error={reason} onRetry={onRetry} />
        )
      ) : (
        <form onSubmit={(event) => void submit(event)}>
          <label htmlFor={id}>{isAuthenticated ? 'API key or token' : 'Your name'}</label>
          <input
            id={id}
            name="credential"
            type={isAuthenticated ? 'password' : 'text'}
            autoComplete={isAuthenticated ? 'off' : 'username'}
            pattern={isAuthenticated ? '\\s*[!-~]+\\s*' : undefined}
            title={isAuthenticated ? 'ASCII characters without spaces' : undefined}
            maxLength={isAuthenticated ? undefined : 200}
            required
            autoFocus
          />
          {isAuthenticated && (
            <label className="check">
              <input type="checkbox" name="kept" /> Keep it until this tab is closed
            </label>
          )}
          {!isAuthenticated && <p className="hint">This server does not authenticate anybody: any name will do.</p>}
          <Failure error={refusal ?? reason} />
          <button type="submit" className="primary" disabled={isSending}>
            {isSending ? 'Entering …' : 'Enter'}
          </button>
        </form>
      )}
    </main>
  )
}
