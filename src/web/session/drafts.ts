// Stores the messages that a person has not sent yet, with their audiences, in the session storage of the tab. They
// survive a reload, and the loss of a token.

import { useCallback, useEffect } from 'react'
import { ColloquyError } from '../../client/index.ts'
import { createStore, useStore } from '../kit/store.ts'
import { keysIn, ofTab, readFrom, writeTo } from './storage.ts'

/** `audience`: the actors who may see the message, besides its author; empty for everybody. */
export type Draft = { text: string; audience: readonly string[] }

const EMPTY: Draft = { text: '', audience: [] }
const PREFIX = 'colloquy.draft.'
const keyOf = (actor: string, conversationId: string) => PREFIX + JSON.stringify([actor, conversationId])

/**
 * Returns the draft that was stored as the text. A text that is not a draft is none: without an audience, what it
 * contains might become public.
 * @internal
 */
export function parseDraft(stored: string | null): Draft {
  try {
    const { text, audience } = JSON.parse(stored ?? 'null') ?? EMPTY
    const isDraft = typeof text === 'string' && Array.isArray(audience)
    return isDraft ? { text, audience: audience.filter((each) => typeof each === 'string') } : EMPTY
  } catch {
    return EMPTY
  }
}

/**
 * Returns the draft with the message before its text. Nobody sees more than before: the audience is that of both, or
 * only the author.
 * @internal
 */
export function withReturned(draft: Draft, message: Draft, author: string): Draft {
  if (draft.text.trim() === '') return message
  const text = `${message.text}\n\n${draft.text}`
  if (message.audience.length === 0) return { text, audience: draft.audience }
  if (draft.audience.length === 0) return { text, audience: message.audience }
  const both = message.audience.filter((actor) => draft.audience.includes(actor))
  return { text, audience: both.length > 0 ? both : [author] }
}

/** The drafts that were read or changed, by key. */
const drafts = createStore<ReadonlyMap<string, Draft>>(new Map())

const read = (key: string): Draft => drafts.get().get(key) ?? parseDraft(readFrom(ofTab, key))

function store(key: string, draft: Draft): void {
  const isEmpty = draft.text === '' && draft.audience.length === 0
  writeTo(ofTab, key, isEmpty ? null : JSON.stringify(draft))
  drafts.set(new Map(drafts.get()).set(key, draft))
}

/** Returns the draft of the actor in the conversation, and the function that changes parts of it. */
export function useDraft(actor: string, conversationId: string): [Draft, (changes: Partial<Draft>) => void] {
  const key = keyOf(actor, conversationId)
  const draft = useStore(drafts).get(key) ?? read(key)
  const change = useCallback((changes: Partial<Draft>) => store(key, { ...read(key), ...changes }), [key])
  return [draft, change]
}

/** A message that the server has not acknowledged. `clientId`: its idempotency key. */
type Unsent = Draft & { clientId: string }

/** The messages whose calls have not ended. */
const sending = createStore<readonly { key: string; message: Unsent }[]>([])
/** Idempotency keys of the messages that are drafts again. */
const returned = new Set<string>()

/** Makes messages drafts again, in their order, before what the person has written since. Each is returned once. */
export function returnToDraft(actor: string, conversationId: string, messages: readonly Unsent[]): void {
  const key = keyOf(actor, conversationId)
  const lost = messages.filter(({ clientId }) => !returned.has(clientId))
  if (lost.length === 0) return
  for (const { clientId } of lost) returned.add(clientId)
  const drafted = lost.map(({ text, audience }): Draft => ({ text, audience }))
  store(
    key,
    drafted.reduceRight((below, message) => withReturned(below, message, actor), read(key)),
  )
}

/** Follows the call that sends a message. If the server refuses the credential, the message becomes a draft again. */
export async function followSending(
  actor: string,
  conversationId: string,
  message: Unsent,
  call: Promise<unknown>,
): Promise<void> {
  const entry = { key: keyOf(actor, conversationId), message }
  sending.set([...sending.get(), entry])
  try {
    await call
  } catch (error) {
    // The transcript shows any other failure, and offers to send the message again. The later calls will fail, too.
    if (!(error instanceof ColloquyError) || error.code !== 'UNAUTHENTICATED') return
    const all = sending.get().filter(({ key }) => key === entry.key)
    returnToDraft(
      actor,
      conversationId,
      all.map((each) => each.message),
    )
  } finally {
    sending.set(sending.get().filter((each) => each !== entry))
  }
}

/** Asks the person before the page is closed or reloaded while messages are not sent: these, or any other ones. */
export function useUnsentWarning(hasUnsent: boolean): void {
  const isNeeded = useStore(sending).length > 0 || hasUnsent
  useEffect(() => {
    if (!isNeeded) return
    const warn = (event: Event) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isNeeded])
}

/** Removes all drafts of the tab. */
export function forgetDrafts(): void {
  for (const key of keysIn(ofTab, PREFIX)) writeTo(ofTab, key, null)
  drafts.set(new Map())
}
