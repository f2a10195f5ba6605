// The web app: the form by which a person enters, and then the workspace.

import { useEffect, useRef, useState } from 'react'
import { ColloquyError } from '../client/index.ts'
import { errorText } from './kit/text.ts'
import { Enter } from './session/enter.tsx'
import { forgetCredential, storeCredential, storedCredential } from './session/credentials.ts'
import { forgetDrafts } from './session/drafts.ts'
import { needsToken, openSession, SessionProvider, type Credential, type Session } from './session/session.tsx'
import { Workspace } from './workspace/workspace.tsx'

/** `isAuthenticated`: whether the server needs a token; null until it has answered. `reason`: why the form is shown. */
type Entry = { isAuthenticated: boolean | null; session: Session | null; reason: string | null }

const UNKNOWN: Entry = { isAuthenticated: null, session: null, reason: null }

export function App() {
  const [{ isAuthenticated, session, reason }, setEntry] = useState(UNKNOWN)
  /** The newest attempt to enter. Earlier ones are ignored. */
  const newest = useRef(0)

  /** Opens a session. Resolves with the reason if the server refuses the credential, and otherwise with null. */
  async function enter(credential: Credential, isKept: boolean): Promise<string | null> {
    const attempt = ++newest.current
    try {
      const opened = await openSession(credential)
      if (attempt !== newest.current) {
        opened.close()
        return null
      }
      storeCredential(credential, isKept)
      setEntry({ isAuthenticated: 'token' in credential, session: opened, reason: null })
      return null
    } catch (error) {
      if (error instanceof ColloquyError && error.code === 'UNAUTHENTICATED') forgetCredential()
      return errorText(error)
    }
  }

  async function start(): Promise<void> {
    const attempt = ++newest.current
    setEntry(UNKNOWN)
    try {
      const isNeeded = await needsToken()
      if (attempt !== newest.current) return
      const stored = storedCredential(isNeeded)
      const refusal = stored && (await enter(stored, false))
      if (!stored || refusal !== null) setEntry({ isAuthenticated: isNeeded, session: null, reason: refusal })
    } catch (error) {
      if (attempt === newest.current) setEntry({ ...UNKNOWN, reason: errorText(error) })
    }
  }
  useEffect(() => void start(), [])

  function leave(why: string | null): void {
    session?.close()
    forgetCredential()
    // Somebody else may enter next. A person whose token is refused enters again.
    if (why === null) forgetDrafts()
    setEntry({ isAuthenticated, session: null, reason: why })
  }

  if (session) {
    return (
      <SessionProvider session={session}>
        <Workspace onLeave={leave} />
      </SessionProvider>
    )
  }
  return <Enter isAuthenticated={isAuthenticated} reason={reason} onEnter={enter} onRetry={() => void start()} />
}
