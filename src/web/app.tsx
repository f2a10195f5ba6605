// The web app: the form by which a person enters, and then the workspace.

import { useEffect, useState } from 'react'
import { ColloquyError } from '../client/index.ts'
import { errorText } from './kit/text.ts'
import { Enter } from './session/enter.tsx'
import { forgetCredential, forgetDrafts, storeCredential, storedCredential } from './session/credentials.ts'
import { needsToken, openSession, SessionProvider, type Credential, type Session } from './session/session.tsx'
import { Workspace } from './workspace/workspace.tsx'

/** `isAuthenticated`: whether the server needs a token; null until it has answered. `reason`: why the form is shown. */
type Entry = { isAuthenticated: boolean | null; session: Session | null; reason: string | null }

export function App() {
  const [{ isAuthenticated, session, reason }, setEntry] = useState<Entry>({
    isAuthenticated: null,
    session: null,
    reason: null,
  })

  /** Opens a session. Resolves with the reason if the server refuses the credential, and otherwise with null. */
  async function enter(credential: Credential, isKept: boolean): Promise<string | null> {
    try {
      const opened = await openSession(credential)
      storeCredential(credential, isKept)
      setEntry({ isAuthenticated: 'token' in credential, session: opened, reason: null })
      return null
    } catch (error) {
      if (error instanceof ColloquyError && error.code === 'UNAUTHENTICATED') forgetCredential()
      return errorText(error)
    }
  }

  async function start(): Promise<void> {
    try {
      const isNeeded = await needsToken()
      const stored = storedCredential(isNeeded)
      const refusal = stored && (await enter(stored, false))
      if (!stored || refusal !== null) setEntry({ isAuthenticated: isNeeded, session: null, reason: refusal })
    } catch (error) {
      setEntry({ isAuthenticated: null, session: null, reason: errorText(error) })
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
