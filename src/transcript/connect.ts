// Implements Transcript with requests to a server's GraphQL API. Uses only fetch, so that it runs in browsers and Node
// without dependencies.

import * as documents from './documents.ts'
import { RequestFailed } from './errors.ts'
import type {
  Citation,
  ConversationPage,
  StoredConversation,
  StoredPart,
  StoredTurn,
  Transcript,
  TurnPage,
} from './transcript.ts'

export type ConnectOptions = {
  /** URL of the GraphQL endpoint, for example `http://127.0.0.1:4000/graphql`. */
  url: string
  /** API key or JWT. Default: none, for a server without authentication. */
  token?: string
  /** Actor in whose view conversations are read. Default: the actor of the token, or the server's default actor. */
  actor?: string
  /** Tenant, for a server without authentication. Default: the server's default tenant. */
  tenant?: string
  /** Time limit of a request, in seconds. Default: 60. */
  timeoutSeconds?: number
  /** Function that sends the requests. Default: the global fetch. */
  fetch?: typeof fetch
}

type Failure = { code: string; message: string }
type Wire<T> = Omit<T, 'createdAt' | 'updatedAt'> & { createdAt: string; updatedAt: string }
type Edges<T> = { edges: { node: T }[] }

const conversationOf = (wire: Wire<StoredConversation>): StoredConversation => ({
  ...wire,
  createdAt: new Date(wire.createdAt),
  updatedAt: new Date(wire.updatedAt),
})

const PART_TYPES: Record<string, StoredPart['type']> = {
  TextPart: 'text',
  ToolCallPart: 'toolCall',
  ToolResultPart: 'toolResult',
  DataPart: 'data',
  FilePart: 'file',
  ReasoningPart: 'reasoning',
}

type WireTurn = Omit<StoredTurn, 'createdAt' | 'parts'> & {
  createdAt: string
  parts: { __typename: string }[]
  citations: Citation[]
}

const turnOf = (wire: WireTurn): StoredTurn => ({
  ...wire,
  createdAt: new Date(wire.createdAt),
  parts: wire.parts.map(({ __typename, ...part }) => ({ type: PART_TYPES[__typename], ...part }) as StoredPart),
})

/** Maximum number of turns per request: the default page size, which a server allows unless MAX_PAGE_SIZE is lower. */
const MAX_TURNS = 50

const CONVERSATION_ID = /^conv_[0-9A-HJKMNP-TV-Z]{26}$/

/** Returns a function that sends a document and returns the data of the answer, or throws RequestFailed. */
function requester({ url, token, actor, tenant, timeoutSeconds = 60, fetch: send = fetch }: ConnectOptions) {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (token !== undefined) headers.authorization = `Bearer ${token}`
  else if (actor !== undefined) headers['x-actor'] = encodeURIComponent(actor)
  if (tenant !== undefined) headers['x-tenant'] = encodeURIComponent(tenant)
  return async <Data>(query: string, variables: object): Promise<Data> => {
    let response: Response
    let text: string
    try {
      const signal = AbortSignal.timeout(timeoutSeconds * 1000)
      response = await send(url, { method: 'POST', headers, body: JSON.stringify({ query, variables }), signal })
      text = await response.text()
    } catch (error) {
      throw new RequestFailed('UNREACHABLE', `${url} did not answer. The request may have been executed.`, error)
    }
    let body: { data?: Data | null; errors?: { message: string; extensions?: { code?: string } }[] }
    try {
      body = JSON.parse(text)
    } catch {
      throw new RequestFailed(`HTTP_${response.status}`, `${url} answered ${response.status} without JSON.`)
    }
    const [error] = body.errors ?? []
    if (error) throw new RequestFailed(error.extensions?.code ?? `HTTP_${response.status}`, error.message)
    if (!body.data)
      throw new RequestFailed(`HTTP_${response.status}`, `${url} answered ${response.status} without data.`)
    return body.data
  }
}

/** Returns the payload of a mutation. @throws RequestFailed for a failure in the result */
function payloadOf<Payload extends object>({ result }: { result: Payload | Failure }): Payload {
  if ('code' in result && 'message' in result) throw new RequestFailed(result.code, result.message)
  return result
}

/** Connects to the GraphQL API of a server. Sends nothing until the first call. */
export function connectTranscript(options: ConnectOptions): Transcript {
  const request = requester(options)
  // Without a token, the header x-actor names the actor, who may be unknown to the server.
  const own = options.token === undefined ? undefined : options.actor
  const acting = (as: string | undefined) => ((as ?? own) === undefined ? {} : { as: as ?? own })
  const find = async (variables: { id: string } | { key: string }) => {
    type Found = { conversation: Wire<StoredConversation> | null }
    try {
      const { conversation } = await request<Found>(documents.FIND_CONVERSATION, { ...variables, ...acting(undefined) })
      return conversation && conversationOf(conversation)
    } catch (error) {
      // An actor who is unknown to the server sees no conversation.
      if (error instanceof RequestFailed && error.code === 'UNKNOWN_ACTOR') return null
      throw error
    }
  }
  return {
    actor: options.actor ?? null,
    async createConversation(input, as) {
      type Created = { created: boolean; conversation: Wire<StoredConversation> }
      const payload = payloadOf(
        await request<{ result: Created | Failure }>(documents.CREATE_CONVERSATION, {
          input: { ...input, ...acting(as) },
        }),
      )
      return { created: payload.created, conversation: conversationOf(payload.conversation) }
    },
    findConversation: async (idOrKey) =>
      (CONVERSATION_ID.test(idOrKey) ? await find({ id: idOrKey }) : null) ?? (await find({ key: idOrKey })),
    async updateConversation(conversationId, updates, as) {
      const input = { conversationId, ...updates, ...acting(as) }
      type Updated = { conversation: Wire<StoredConversation> }
      const payload = payloadOf(await request<{ result: Updated | Failure }>(documents.UPDATE_CONVERSATION, { input }))
      return conversationOf(payload.conversation)
    },
    async listConversations(filter, after): Promise<ConversationPage> {
      const { conversations } = await request<{
        conversations: Edges<Wire<StoredConversation>> & { pageInfo: { hasNextPage: boolean; endCursor: string } }
      }>(documents.LIST_CONVERSATIONS, { filter, after, ...acting(undefined) })
      const { pageInfo, edges } = conversations
      return {
        conversations: edges.map(({ node }) => conversationOf(node)),
        after: pageInfo.hasNextPage ? pageInfo.endCursor : null,
      }
    },
    async appendTurns(conversationId, turns, as) {
      const input = { conversationId, turns, ...acting(as) }
      payloadOf(await request<{ result: { lastSeq: number } | Failure }>(documents.APPEND_TURNS, { input }))
    },
    async readTurns(id, { before, atMost, as }): Promise<TurnPage> {
      const { conversation } = await request<{
        conversation: {
          turns: Edges<WireTurn> & { pageInfo: { hasPreviousPage: boolean; startCursor: string } }
        } | null
      }>(documents.READ_TURNS, { id, last: Math.min(atMost, MAX_TURNS), before, ...acting(as) })
      if (conversation === null) return { turns: [], before: null }
      const { pageInfo, edges } = conversation.turns
      return {
        turns: edges.map(({ node }) => turnOf(node)),
        before: pageInfo.hasPreviousPage ? pageInfo.startCursor : null,
      }
    },
    async deleteConversation(conversationId, as) {
      const input = { conversationId, ...acting(as) }
      payloadOf(await request<{ result: object | Failure }>(documents.DELETE_CONVERSATION, { input }))
    },
  }
}
