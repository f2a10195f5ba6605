// React hooks for the client: the entry points `colloquy-client/react` and `colloquy/react`. A component renders again
// when the value of its hook changes. A value is kept current only while a component uses it.

import { createContext, createElement, useContext, useMemo, useSyncExternalStore, type ReactNode } from 'react'
import type {
  Client,
  ConversationEventType,
  ConversationHandle,
  Fact,
  InboxState,
  Live,
  Page,
  Participant,
  Recall,
  RequestedApproval,
  Run,
  SharedStateValue,
  LiveSharedState,
  Summary,
  Transcript,
  TranscriptOptions,
  TranscriptState,
  Watched,
} from '../client/index.ts'
import { sharedStateOf } from '../client/index.ts'

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

/** Maximum time for which a change waits for a frame, ms. A hidden page has no frames. */
const MAX_WAIT_MS = 100

/** Shows the changes of a value once in each frame: while agents write, it may change hundreds of times per second. */
const byFrame = <State>({ get, subscribe }: Live<State>): Live<State> => ({
  get,
  subscribe(listener) {
    let timer: ReturnType<typeof setTimeout> | undefined
    const end = () => {
      clearTimeout(timer)
      timer = undefined
    }
    const show = () => {
      if (timer === undefined) return
      end()
      listener()
    }
    const remove = subscribe(() => {
      if (timer !== undefined) return
      timer = setTimeout(show, MAX_WAIT_MS)
      globalThis.requestAnimationFrame?.(show)
    })
    return () => {
      remove()
      end()
    }
  },
})

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
  const state = useLive(useMemo(() => byFrame(transcript), [transcript]))
  return useMemo(() => ({ ...state, older: transcript.older }), [state, transcript])
}

/** Event types after which the participants of a conversation, or their presence, may have changed. */
const PARTICIPANT_EVENTS = [
  'PARTICIPANT_JOINED',
  'PARTICIPANT_LEFT',
  'PARTICIPANT_UPDATED',
  'PRESENCE_CHANGED',
] as const satisfies ConversationEventType[]

/**
 * Returns a value of the conversation, and keeps it current.
 * @param read see `watch` of ConversationHandle
 * @param options the value is read anew if they change
 */
function useWatched<Value>(
  conversation: ConversationHandle,
  read: (signal: AbortSignal) => Promise<Value>,
  types: readonly ConversationEventType[],
  options: unknown,
): Watched<Value> {
  // The options are compared by their JSON, because a component may create a new object for each rendering.
  const key = JSON.stringify(options)
  return useLive(useMemo(() => conversation.watch(read, types), [conversation, key]))
}

/**
 * Returns the hits of a query in a conversation. They are not updated by new turns. With an empty query, `value` is null.
 */
export function useRecall(
  conversation: ConversationHandle,
  query: string,
  options: Parameters<ConversationHandle['recall']>[1] = {},
): Watched<Recall | null> {
  const read = async (signal: AbortSignal) =>
    query.trim() === '' ? null : conversation.recall(query, { ...options, signal })
  return useWatched(conversation, read, [], ['recall', query, options])
}

/** Returns the page of facts from a conversation, and keeps it current. */
export function useFacts(
  conversation: ConversationHandle,
  options: Parameters<ConversationHandle['facts']>[0] = {},
): Watched<Page<Fact>> {
  const read = (signal: AbortSignal) => conversation.facts({ ...options, signal })
  return useWatched(conversation, read, ['FACTS_CHANGED'], ['facts', options])
}

/** Returns the participants of a conversation with their presence, the first 200 by default, and keeps them current. */
export function useParticipants(
  conversation: ConversationHandle,
  options: Parameters<ConversationHandle['participants']>[0] = { first: 200 },
): Watched<Page<Participant>> {
  const read = (signal: AbortSignal) => conversation.participants({ ...options, signal })
  return useWatched(conversation, read, PARTICIPANT_EVENTS, ['participants', options])
}

/** Returns the page of runs of agents in a conversation, newest first, and keeps it current. */
export function useRuns(
  conversation: ConversationHandle,
  options: Parameters<ConversationHandle['runs']>[0] = {},
): Watched<Page<Run>> {
  const read = (signal: AbortSignal) => conversation.runs({ ...options, signal })
  return useWatched(conversation, read, ['RUN_STARTED', 'RUN_CHANGED'], ['runs', options])
}

/** Returns the page of approvals in a conversation, newest first, and keeps it current. */
export function useApprovals(
  conversation: ConversationHandle,
  options: Omit<NonNullable<Parameters<Client['approvals']>[0]>, 'conversationId' | 'signal'> = {},
): Watched<Page<RequestedApproval>> {
  const client = useClient()
  const read = async (signal: AbortSignal) => {
    const { id: conversationId } = 'id' in conversation.name ? conversation.name : await conversation.read({ signal })
    return client.approvals({ ...options, conversationId, signal })
  }
  return useWatched(conversation, read, ['APPROVAL_REQUESTED', 'APPROVAL_RESOLVED'], ['approvals', options])
}

/** Returns the page of summaries of a conversation, oldest first, and keeps it current. */
export function useSummaries(
  conversation: ConversationHandle,
  options: Parameters<ConversationHandle['summaries']>[0] = {},
): Watched<Page<Summary>> {
  const read = (signal: AbortSignal) => conversation.summaries({ ...options, signal })
  return useWatched(conversation, read, ['SUMMARY_WRITTEN'], ['summaries', options])
}

/**
 * Returns the live shared state of a conversation at a key, and the function that changes it: its changes are shown at
 * once, and taken back if the server refuses them.
 */
export function useSharedState<T = any>(
  conversation: ConversationHandle,
  key: string,
): SharedStateValue<T> & Pick<LiveSharedState<T>, 'update'> {
  const live = useMemo(() => sharedStateOf<T>(conversation, key), [conversation, key])
  const state = useLive(live)
  return useMemo(() => ({ ...state, update: live.update }), [state, live])
}

/** Returns the live list of the actor's conversations, with their unread counts. */
export function useInbox(): InboxState {
  const client = useClient()
  return useLive(useMemo(() => client.conversations(), [client]))
}
