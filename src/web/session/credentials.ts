// Stores the credential in the browser. A name stays in the browser; a token stays in memory or, if the person asks for
// it, in the session storage of the tab.

import type { Credential } from './session.tsx'
import { local, ofTab, readFrom, writeTo } from './storage.ts'

const NAME = 'colloquy.name'
const TOKEN = 'colloquy.token'

/** Returns the stored credential for a server that needs a token, or for one that does not; null if there is none. */
export function storedCredential(isAuthenticated: boolean): Credential | null {
  if (isAuthenticated) {
    const token = readFrom(ofTab, TOKEN)
    return token === null ? null : { token }
  }
  const name = readFrom(local, NAME)
  return name === null ? null : { name }
}

/** Stores the credential. A token is stored only if `isKept`. */
export function storeCredential(credential: Credential, isKept: boolean): void {
  if ('name' in credential) writeTo(local, NAME, credential.name)
  else if (isKept) writeTo(ofTab, TOKEN, credential.token)
}

export function forgetCredential(): void {
  writeTo(local, NAME, null)
  writeTo(ofTab, TOKEN, null)
}
