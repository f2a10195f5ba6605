// Where the page keeps who the person is. A name stays in the browser; a token stays in memory or, if the person asks for
// it, in the session storage of the tab.

import type { Credential } from './session.tsx'

const NAME = 'colloquy.name'
const TOKEN = 'colloquy.token'

/** Reads a value of a storage; null if there is none, or if the browser forbids storage. */
const read = (storage: () => Storage, key: string): string | null => {
  try {
    return storage().getItem(key)
  } catch {
    return null
  }
}

/** Stores a value, or removes it if it is null. Does nothing if the browser forbids storage. */
const write = (storage: () => Storage, key: string, value: string | null): void => {
  try {
    if (value === null) storage().removeItem(key)
    else storage().setItem(key, value)
  } catch {
    // The value is lost when the page is closed.
  }
}

const local = () => localStorage
const ofTab = () => sessionStorage

/** Returns the stored credential for a server that needs a token, or for one that does not; null if there is none. */
export function storedCredential(isAuthenticated: boolean): Credential | null {
  if (isAuthenticated) {
    const token = read(ofTab, TOKEN)
    return token === null ? null : { token }
  }
  const name = read(local, NAME)
  return name === null ? null : { name }
}

/** Stores the credential. A token is stored only if `isKept`. */
export function storeCredential(credential: Credential, isKept: boolean): void {
  if ('name' in credential) write(local, NAME, credential.name)
  else if (isKept) write(ofTab, TOKEN, credential.token)
}

export function forgetCredential(): void {
  write(local, NAME, null)
  write(ofTab, TOKEN, null)
}

const DRAFT = 'colloquy.draft.'
const draftKey = (actor: string, conversationId: string) => DRAFT + JSON.stringify([actor, conversationId])

/**
 * Returns the text that the actor has not sent in the conversation yet. It survives a reload of the tab, and the loss of
 * a token.
 */
export const readDraft = (actor: string, conversationId: string): string =>
  read(ofTab, draftKey(actor, conversationId)) ?? ''

export const storeDraft = (actor: string, conversationId: string, text: string): void =>
  write(ofTab, draftKey(actor, conversationId), text === '' ? null : text)

/** Removes all drafts of the tab. */
export function forgetDrafts(): void {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(DRAFT)) sessionStorage.removeItem(key)
  } catch {
    // The browser forbids storage, so there are none.
  }
}
