// The conversation of an AG-UI thread: opened or created, with its live transcript and its live shared state.

import { ColloquyError, itemsOf, type Client, type Live, type SharedState, type Watched } from '../../client/index.ts'
import { createChat, readyToRead, type Chat } from '../../client/chat/chat.ts'
import { kindOf } from '../../domain/kernel/id.ts'
import { VerbFailed } from '../call.ts'
import { createPieces, isOfServer, type Piece } from './pieces.ts'
import { shownStates } from './state.ts'

export type Thread = {
  client: Client
  chat: Chat
  /** The shared state that is shown, by key. */
  states: Live<Watched<SharedState[]>>
  /** Actor in whose view the thread is shown. */
  viewer: string
  /** Agent that answers; null for the participants whom a message wakes up. */
  agent: string | null
  /** Returns what the viewer has of the conversation, and the position from which on it is complete. */
  shown(): { pieces: Piece[]; from: number }
  /** Ends the following of the conversation. */
  release(): void
}

/** Maximum number of entries of the journal that a thread goes back to what the client has. */
const MAX_BACK = 200

const isMissing = (error: unknown) => error instanceof ColloquyError && error.code === 'NOT_FOUND'

/** Returns an agent for a new conversation, which the first provider of the server answers. */
async function newAgent(client: Client, actor: string) {
  const { providers } = await client.request('query Providers { providers { name } }')
  const [first] = providers as { name: string }[]
  const agent = first ? { provider: first.name } : null
  return { actor, kind: 'AGENT' as const, respond: 'NEVER' as const, agent }
}

/** Returns the id of the conversation that the thread names by its id or its key. Creates one for a new key. */
async function conversationOf(client: Client, threadId: string, agent: string | null): Promise<string> {
  const isId = kindOf(threadId) === 'conversation'
  try {
    return (await client.conversation(isId ? threadId : { key: threadId }).read()).id
  } catch (error) {
    if (isId || !isMissing(error)) throw error
  }
  const participants = agent === null ? [] : [await newAgent(client, agent)]
  return (await client.createConversation({ key: threadId, participants })).id
}

/** Follows the shared state: reads all of it, and then the keys that change. */
function followStates({ conversation }: Chat): Thread['states'] {
  return conversation.watch<SharedState[]>(
    async (signal, { value, events }) => {
      const keys = new Set(events.flatMap((event) => (event.__typename === 'SharedStateChanged' ? [event.key] : [])))
      if (!value || events.length === 0 || keys.size === 0) {
        const all: SharedState[] = []
        for await (const state of itemsOf((after) => conversation.sharedStates({ after, signal }))) all.push(state)
        return shownStates(all)
      }
      const changed = await Promise.all([...keys].map((key) => conversation.sharedState(key, { signal })))
      const others = value.filter(({ key }) => !keys.has(key))
      const all = [...others, ...changed.filter((state) => state !== null)]
      return shownStates(all.toSorted((a, b) => (a.key < b.key ? -1 : 1)))
    },
    ['SHARED_STATE_CHANGED'],
  )
}

/** Resolves when the shared state has been read. */
async function statesRead({ get, subscribe }: Thread['states']): Promise<void> {
  for (;;) {
    const { value, status, error } = get()
    if (status === 'failed') throw error!
    if (value || status === 'deleted') return
    await new Promise<void>((resolve) => {
      const remove = subscribe(() => {
        remove()
        resolve()
      })
    })
  }
}

/**
 * Opens the conversation of a thread, and follows it until `release` is called.
 * @param newest the ids of the messages that the client has, by which the newest turn that it has is found
 * @throws ColloquyError
 */
export async function openThread(
  client: Client,
  { threadId, agent, newest }: { threadId: string; agent: string | null; newest: readonly string[] },
): Promise<Thread> {
  const { viewer } = await client.request('query Viewer($as: String) { viewer(as: $as) { actor } }', { as: client.as })
  const chat = createChat(client, await conversationOf(client, threadId, agent))
  const states = followStates(chat)
  const removers = [chat.subscribe(() => {}), states.subscribe(() => {})]
  const release = () => removers.forEach((remove) => remove())
  try {
    await Promise.all([readyToRead(chat), statesRead(states)])
    await reachKnown(client, chat, newest)
    const piecesOf = createPieces(viewer.actor, client.fileUrl)
    const shown = () => {
      const { turns, hasOlder } = chat.get().transcript
      return { pieces: piecesOf(turns), from: hasOlder ? (turns[0]?.position ?? 0) : 0 }
    }
    return { client, chat, states, viewer: viewer.actor, agent, shown, release }
  } catch (error) {
    release()
    throw error
  }
}

/** Reads the history back to the newest turn that the client has, if it is not too far back. */
async function reachKnown(client: Client, chat: Chat, ids: readonly string[]): Promise<void> {
  const id = ids.findLast(isOfServer)?.split(':')[0]
  const { turns, lastSeq } = chat.get().transcript
  if (id === undefined || turns.some((turn) => turn.id === id)) return
  const read = 'query Position($ids: [ID!]!, $as: String) { nodes(ids: $ids, as: $as) { ... on Turn { position } } }'
  const { nodes } = await client.request(read, { ids: [id], as: client.as }).catch((error: unknown) => {
    // The client has made the id up.
    if (error instanceof ColloquyError && error.code === 'INVALID_INPUT') return { nodes: [] }
    throw error
  })
  const position = nodes[0]?.position as number | undefined
  if (position !== undefined) await chat.reach(Math.max(position, lastSeq - MAX_BACK))
}

/** Returns the error as a failed verb, which a face can answer; other errors as they are. */
export const failureOf = (error: unknown): unknown =>
  error instanceof ColloquyError ? new VerbFailed(error.code, error.message, { issues: error.issues }) : error
