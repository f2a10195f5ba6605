// Implements Transcript with the requests of the client (src/client/transport/http.ts). It sends each request once, and converts
// failures to RequestFailed.

import { endpointOf, exchange, namesOf } from '../client/transport/http.ts'
import * as documents from './documents.ts'
import { RequestFailed } from './errors.ts'
import type { StoredConversation, StoredPart, StoredTurn, Transcript } from './transcript.ts'

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

type Wire<T> = Omit<T, 'createdAt' | 'updatedAt'> & { createdAt: string; updatedAt: string }

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
  SourcePart: 'source',
}

type WireTurn = Omit<StoredTurn, 'createdAt' | 'parts'> & { createdAt: string; parts: { __typename: string }[] }

const turnOf = (wire: WireTurn): StoredTurn => ({
  ...wire,
  createdAt: new Date(wire.createdAt),
  parts: wire.parts.map(({ __typename, ...part }) => ({ type: PART_TYPES[__typename], ...part }) as StoredPart),
})

/** Maximum number of turns per request: the default page size, which a server allows unless MAX_PAGE_SIZE is lower. */
const MAX_TURNS = 50

const CONVERSATION_ID = /^conv_[0-9A-HJKMNP-TV-Z]{26}$/

/** Returns a function that sends a document and returns the data of the answer. It throws RequestFailed. */
function requester({ url, token, actor, tenant, timeoutSeconds = 60, fetch }: ConnectOptions) {
  // Unlike the client, names the tenant also with a token, so that a server refuses another tenant than the token's.
  const names = namesOf({ tenant, actor: token === undefined ? actor : undefined })
  const endpoint = endpointOf({ url, token, names, timeoutMs: timeoutSeconds * 1000, fetch })
  return async (query: string, variables: Record<string, unknown>): Promise<Record<string, any>> => {
    const { response, result } = await exchange(endpoint, { query, variables }).catch((error: unknown) => {
      throw new RequestFailed('UNREACHABLE', `${url} did not answer. The request may have been executed.`, error)
    })
    const { status } = response
    const [error] = result?.errors ?? []
    if (error) throw new RequestFailed(error.extensions?.code ?? `HTTP_${status}`, error.message)
    if (!result?.data) throw new RequestFailed(`HTTP_${status}`, `${url} answered ${status} without data.`)
    return result.data
  }
}

/** Connects to the GraphQL API of a server. Sends nothing until the first call. */
export function connectTranscript(options: ConnectOptions): Transcript {
  const request = requester(options)
  // Without a token, the header x-actor names the actor, who may be unknown to the server.
  const own = options.token === undefined ? undefined : options.actor
  const acting = (as: string | undefined) => ((as ?? own) === undefined ? {} : { as: as ?? own })
  const mutate = async (document: string, given: object, as: string | undefined): Promise<any> => {
    const [result] = Object.values(await request(document, { input: { ...given, ...acting(as) } }))
    if (result.code !== undefined) throw new RequestFailed(result.code, result.message)
    return result
  }
  const find = async (name: { id: string } | { key: string }) => {
    try {
      const { conversation } = await request(documents.FIND_CONVERSATION, { ...name, ...acting(undefined) })
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
      const { created, conversation } = await mutate(documents.CREATE_CONVERSATION, input, as)
      return { created, conversation: conversationOf(conversation) }
    },
    findConversation: async (idOrKey) =>
      (CONVERSATION_ID.test(idOrKey) ? await find({ id: idOrKey }) : null) ?? (await find({ key: idOrKey })),
    async updateConversation(conversationId, updates, as) {
      const { conversation } = await mutate(documents.UPDATE_CONVERSATION, { conversationId, ...updates }, as)
      return conversationOf(conversation)
    },
    async listConversations(filter, after) {
      const variables = { filter, after, ...acting(undefined) }
      const { nodes, pageInfo } = (await request(documents.LIST_CONVERSATIONS, variables)).conversations
      return { conversations: nodes.map(conversationOf), after: pageInfo.hasNextPage ? pageInfo.endCursor : null }
    },
    async appendTurns(conversationId, turns, as) {
      await mutate(documents.APPEND_TURNS, { conversationId, turns }, as)
    },
    async readTurns(id, { before, atMost, as }) {
      const variables = { id, last: Math.min(atMost, MAX_TURNS), before, ...acting(as) }
      const { conversation } = await request(documents.READ_TURNS, variables)
      if (conversation === null) return { turns: [], before: null }
      const { nodes, pageInfo } = conversation.turns
      return { turns: nodes.map(turnOf), before: pageInfo.hasPreviousPage ? pageInfo.startCursor : null }
    },
    async deleteConversation(conversationId, as) {
      await mutate(documents.DELETE_CONVERSATION, { conversationId }, as)
    },
  }
}
