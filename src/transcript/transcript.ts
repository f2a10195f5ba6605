// The part of Colloquy that the conversation stores need: conversations and their turns, in one viewer's view.
// open-transcript.ts implements it on the library, connect.ts on a server's GraphQL API. Both throw errors with the
// `code` of the API's errors, for example `NOT_FOUND`.

export type TurnRole = 'SYSTEM' | 'USER' | 'ASSISTANT' | 'TOOL'

/** A part of a turn to write: an object with one field. The name of the field is the type of the part. */
export type GivenPart =
  | { text: string }
  | { toolCall: { callId: string; name: string; arguments: unknown } }
  | { toolResult: { callId: string; name: string; result: unknown } }
  | { data: unknown }

/** A part of a stored turn. */
export type StoredPart =
  | { type: 'text'; text: string }
  | { type: 'toolCall'; callId: string; name: string; arguments: unknown }
  | { type: 'toolResult'; callId: string; name: string; result: unknown }
  | { type: 'data'; data: unknown }
  | { type: 'file'; mediaType: string; url: string; fileName?: string | null; caption?: string | null }
  | { type: 'reasoning'; reasoning: string }
  | { type: 'source'; url: string; title?: string | null }

export type Citation = {
  documentId?: string | null
  documentName?: string | null
  chunk?: string | null
  score?: number | null
}

export type GivenTurn = {
  actor: string
  role: TurnRole
  parts: GivenPart[]
  /** Idempotency key: writing the same turn again changes nothing. */
  clientId: string
  /** Actors that see the turn besides its author. Default: every participant. */
  audience?: string[]
  metadata: Record<string, unknown>
  model?: string
  tokenUsage?: { prompt: number; completion: number }
  traceId?: string
  citations?: Citation[]
}

export type StoredTurn = {
  id: string
  actor: string
  role: TurnRole
  status: string
  parts: StoredPart[]
  metadata: Record<string, unknown>
  createdAt: Date
  traceId: string | null
  citations: Citation[]
}

/** A page of turns in the order of the transcript. */
export type TurnPage = {
  turns: StoredTurn[]
  /** Cursor of the page before this one; null if this is the first page. */
  before: string | null
}

export type GivenConversation = {
  key?: string
  agentName?: string
  title?: string
  metadata?: Record<string, unknown>
  participants: { actor: string; kind?: 'HUMAN' | 'AGENT' | 'TOOL' }[]
}

export type StoredConversation = {
  id: string
  key: string | null
  owner: string
  agentName: string | null
  title: string | null
  metadata: Record<string, unknown>
  createdAt: Date
  updatedAt: Date
  /** Number of committed turns in the view. */
  turnCount: number
}

export type ConversationQuery = {
  agentName?: string
  updatedBefore?: Date
  /** Conditions on the metadata, as in the API's ConversationFilter. */
  metadata?: { path: string[]; value: { equals: unknown } | { exists: boolean } }[]
}

export type ConversationPage = { conversations: StoredConversation[]; after: string | null }

/** The parameter `as` is the actor for whom a method acts. It defaults to the viewer of the transcript. */
export interface Transcript {
  /** The viewer: the actor in whose view conversations are read; null if the client's credential determines it. */
  readonly actor: string | null
  /** Creates a conversation owned by `as`; returns the existing one if the viewer sees a conversation with the key. */
  createConversation(
    input: GivenConversation,
    as?: string,
  ): Promise<{ conversation: StoredConversation; created: boolean }>
  /** Returns the conversation with the id or the key; null if the viewer sees none. */
  findConversation(idOrKey: string): Promise<StoredConversation | null>
  updateConversation(
    id: string,
    updates: { title?: string; metadata?: Record<string, unknown> },
    as?: string,
  ): Promise<StoredConversation>
  /** Returns a page of conversations, the newest `updatedAt` first. */
  listConversations(query: ConversationQuery, after: string | null): Promise<ConversationPage>
  /** Appends the turns in order, or none. */
  appendTurns(id: string, turns: GivenTurn[], as?: string): Promise<void>
  /** Returns the newest turns before the cursor: at most `atMost`, and fewer if the server's pages are smaller. */
  readTurns(id: string, options: { before: string | null; atMost: number; as?: string }): Promise<TurnPage>
  deleteConversation(id: string, as?: string): Promise<void>
}

/** Maximum number of turns that a store reads at once. */
export const PAGE_TURNS = 200

const STATES = new Set(['COMMITTED', 'ABORTED'])

/** Returns the pages of a transcript, newest first. Leaves out open turns and erased turns. */
export async function* pagesBackwards(
  transcript: Transcript,
  id: string,
  { atMost = PAGE_TURNS, as }: { atMost?: number; as?: string } = {},
): AsyncGenerator<StoredTurn[]> {
  let before: string | null = null
  do {
    const page: TurnPage = await transcript.readTurns(id, { before, atMost, ...(as !== undefined && { as }) })
    yield page.turns.filter(({ status, parts }) => STATES.has(status) && parts.length > 0)
    ;({ before } = page)
  } while (before !== null)
}

/** Returns the matching conversations, the newest `updatedAt` first. Reads a page at a time. */
export async function* conversationsOf(
  transcript: Transcript,
  query: ConversationQuery,
): AsyncGenerator<StoredConversation> {
  let after: string | null = null
  do {
    const page: ConversationPage = await transcript.listConversations(query, after)
    yield* page.conversations
    ;({ after } = page)
  } while (after !== null)
}
