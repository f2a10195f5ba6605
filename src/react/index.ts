// React hooks for the client: the entry point `colloquy/react`. A component renders again when the value of its hook
// changes. A value is kept current only while a component uses it.

import { createContext, createElement, useContext, useMemo, useSyncExternalStore, type ReactNode } from 'react'
import type {
  Client,
  ConversationHandle,
  InboxState,
  Live,
  Transcript,
  TranscriptOptions,
  TranscriptState,
} from '../client/index.ts'

const ClientContext = createContext<Client | null>(null)

/** Provides the client to the hooks of all components below it. */
export const ColloquyProvider = ({ client, children }: { client: Client; children?: ReactNode }) =>
  createElement(ClientContext.Provider, { value: client }, children)

/** Returns the client of the nearest ColloquyProvider. @throws Error outside of a ColloquyProvider */
export function useClient(): Client {
  const client = useContext(ClientContext)
  if (!client) throw new Error('Render a ColloquyProvider with a client around the components that use its hooks.')
  return client
}

/** Returns the current state of a live value; on a server and during hydration, the state before the first read. */
const useLive = <State>({ subscribe, get }: Live<State>): State => useSyncExternalStore(subscribe, get, get)

/** Returns a conversation, by its id or `{ key }`. Returns the same object until the name changes. */
export function useConversation(name: string | { key: string }): ConversationHandle {
  const client = useClient()
  const [id, key] = typeof name === 'string' ? [name, undefined] : [undefined, name.key]
  return useMemo(() => client.conversation(id ?? { key }), [client, id, key])
}

/** Returns the live transcript of a conversation, and the function that reads the page of turns before it. */
export function useTranscript(
  conversation: ConversationHandle,
  { pageSize, replies }: TranscriptOptions = {},
): TranscriptState & Pick<Transcript, 'older'> {
  const transcript = useMemo(() => conversation.transcript({ pageSize, replies }), [conversation, pageSize, replies])
  const state = useLive(transcript)
  return useMemo(() => ({ ...state, older: transcript.older }), [state, transcript])
}

/** Returns the live list of the actor's conversations, with their unread counts. */
export function useInbox(): InboxState {
  const client = useClient()
  return useLive(useMemo(() => client.conversations(), [client]))
}
