// React hooks over the client, the entry point `colloquy/react`. Each hook renders again when its value changes, and
// follows the server only while a component uses it.

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

/** Gives the client to the hooks of all components below it. */
export const ColloquyProvider = ({ client, children }: { client: Client; children?: ReactNode }) =>
  createElement(ClientContext.Provider, { value: client }, children)

/** The client of the nearest ColloquyProvider. @throws Error outside of one */
export function useClient(): Client {
  const client = useContext(ClientContext)
  if (!client) throw new Error('Render a ColloquyProvider with a client around the components that use its hooks.')
  return client
}

/** The current state of a live value. On a server, and while a page is hydrated, it is the state before the first read. */
const useLive = <State>({ subscribe, get }: Live<State>): State => useSyncExternalStore(subscribe, get, get)

/** A conversation, by its id or `{ key }`. The same object until the name changes. */
export function useConversation(name: string | { key: string }): ConversationHandle {
  const client = useClient()
  const [id, key] = typeof name === 'string' ? [name, undefined] : [undefined, name.key]
  return useMemo(() => client.conversation(id ?? { key }), [client, id, key])
}

/** The live transcript of a conversation, and the function that reads the page of turns before it. */
export function useTranscript(
  conversation: ConversationHandle,
  { pageSize, replies }: TranscriptOptions = {},
): TranscriptState & Pick<Transcript, 'older'> {
  const transcript = useMemo(() => conversation.transcript({ pageSize, replies }), [conversation, pageSize, replies])
  const state = useLive(transcript)
  return useMemo(() => ({ ...state, older: transcript.older }), [state, transcript])
}

/** The live list of the actor's conversations, with their unread counts. */
export function useInbox(): InboxState {
  const client = useClient()
  return useLive(useMemo(() => client.conversations(), [client]))
}
