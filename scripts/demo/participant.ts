// One participant of the demo: a graphql-ws client and its operations, independent of the story. It contains the two
// essential parts of a client: `follow` resumes after a lost connection, and `apply` joins deltas to the text of a
// turn.

import { createClient } from 'graphql-ws'
import WebSocket from 'ws'

type Part = { toolCall?: string; arguments?: object; toolResult?: string; result?: unknown }
export type Turn = {
  id: string
  seq: number
  actor: string
  status: string
  text: string
  audience: string[] | null
  mentions: { actor: string }[]
  parts: Part[]
}
export type Run = {
  actor: string
  state: string
  endedAt: string | null
  replyTo: { id: string } | null
  error: { message: string } | null
}
type Approval = {
  id: string
  toolName: string
  state: string
  arguments: Record<string, unknown>
  edited: boolean
  decidedBy: string | null
}
export type Event = {
  __typename: string
  seq: number | null
  turn?: Turn
  by?: Turn
  turnId?: string
  start?: number
  text?: string
  participant?: { actor: string }
  state?: string
  run?: Run
  approval?: Approval
}
export type Conversation = { turnCount: number; lastSeq: number; history: Turn[] }

const TURN = `id seq actor status text audience mentions { actor }
  parts { ... on ToolCallPart { toolCall: name arguments } ... on ToolResultPart { toolResult: name result } }`
const RUN = 'actor state endedAt replyTo { id } error { message }'
const APPROVAL = 'id toolName state arguments edited decidedBy'
const ERROR = '... on UserError { code message }'
const FOLLOW = `
  subscription Follow($conversationId: ID!, $afterSeq: Int) {
    conversationEvents(conversationId: $conversationId, afterSeq: $afterSeq) {
      __typename
      seq
      ... on TurnAppended { turn { ${TURN} } }
      ... on TurnOpened { turn { ${TURN} } }
      ... on TurnDelta { turnId start text }
      ... on TurnCommitted { turn { ${TURN} } }
      ... on TurnAborted { turn { ${TURN} } }
      ... on TurnSuperseded { turn { ${TURN} } by { ${TURN} } }
      ... on RunChanged { run { ${RUN} } }
      ... on ApprovalRequested { approval { ${APPROVAL} } }
      ... on ApprovalResolved { approval { ${APPROVAL} } }
    }
  }`

export type Participant = ReturnType<typeof connect>

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Time before a reconnect, ms. */
const RETRY_MS = 500

export function connect(url: string, actor: string) {
  let socket: WebSocket | null = null
  let hasLeft = false
  /** Seq of the newest entry received; 0 at first. The next subscription resumes after it. */
  let last = 0
  /** After `disconnect`, resolves when `reconnect` is called; otherwise null. */
  let reconnectAllowed: Promise<void> | null = null
  let allowReconnect = () => {}
  let onReconnected = () => {}
  /** The joined deltas of each turn, by turn id. */
  const texts = new Map<string, string>()
  const events: Event[] = []

  const client = createClient({
    url: url.replace(/^http/, 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: { 'x-actor': actor },
    // `follow` reconnects itself, because it must wait for `reconnect` after `disconnect`.
    retryAttempts: 0,
    lazyCloseTimeout: 1_000,
    on: { connected: (opened) => void (socket = opened as WebSocket) },
  })

  /** Sends a query or mutation and returns the value of its field. @throws Error with the server's message */
  async function ask<T>(query: string, variables: Record<string, unknown>): Promise<T> {
    for await (const { data, errors } of client.iterate({ query, variables })) {
      if (errors?.length) throw new Error(errors[0]!.message)
      const [answer] = Object.values(data!) as (T & { code?: string; message?: string })[]
      if (answer?.code) throw new Error(`${answer.code}: ${answer.message}`)
      return answer!
    }
    throw new Error('The server sent no result.')
  }

  /** Runs a mutation that writes a turn. */
  const askForTurn = async (query: string, variables: Record<string, unknown>): Promise<Turn> =>
    (await ask<{ turn: Turn }>(query, variables)).turn

  /** Records the seq of an entry or the text of a delta. Returns the event; a delta contains only the new text. */
  function apply(event: Event): Event {
    if (event.seq !== null) last = event.seq
    if (event.__typename !== 'TurnDelta') return event
    const current = texts.get(event.turnId!) ?? ''
    // After a reconnect, a delta may begin with text that was already received.
    const text = current.slice(0, event.start) + event.text!
    texts.set(event.turnId!, text)
    return { ...event, start: current.length, text: text.slice(current.length) }
  }

  /**
   * Subscribes to the conversation until `leave`, and resumes after a lost connection. Calls `onEvent` for each event,
   * `onDrop` when the connection is lost, and `onResume` with the seq after which it resumes.
   */
  async function follow(
    conversationId: string,
    onEvent: (event: Event) => void,
    onDrop = () => {},
    onResume = (_after: number) => {},
  ): Promise<void> {
    while (!hasLeft) {
      try {
        const variables = { conversationId, afterSeq: last }
        const following = client.iterate<{ conversationEvents: Event }>({ query: FOLLOW, variables })
        for await (const { data, errors } of following) {
          if (errors?.length) throw new Error(errors[0]!.message)
          onReconnected()
          const event = apply(data!.conversationEvents)
          events.push(event)
          onEvent(event)
        }
        return
      } catch (reason) {
        if (hasLeft) return
        // A lost connection rejects with a close event, not an Error; codes from 4000 on mean that the server rejected
        // the client.
        if (reason instanceof Error || (reason as { code?: number }).code! >= 4000) throw reason
        onDrop()
        await (reconnectAllowed ?? new Promise((resolve) => setTimeout(resolve, RETRY_MS)))
        reconnectAllowed = null
        onResume(last)
      }
    }
  }

  const readConversation = `query Conversation($conversationId: ID!) {
    conversation(id: $conversationId) {
      turnCount lastSeq
      history(limit: 50) { ... on Turn { ${TURN} } }
    }
  }`

  return {
    actor,
    events,
    texts,
    follow,
    get last() {
      return last
    },
    createConversation: (input: object) =>
      ask<{ conversation: { id: string } }>(
        `mutation Create($input: CreateConversationInput!) {
        createConversation(input: $input) { ... on CreateConversationPayload { conversation { id } } ${ERROR} }
      }`,
        { input },
      ),
    appendTurn: (conversationId: string, turn: object) =>
      askForTurn(
        `mutation Append($input: AppendTurnInput!) {
        appendTurn(input: $input) { ... on AppendTurnPayload { turn { ${TURN} } } ${ERROR} }
      }`,
        { input: { conversationId, turn } },
      ),
    /** Approves a tool call, with these arguments. */
    resolveApproval: (approvalId: string, args: object) =>
      ask(
        `mutation Resolve($input: ResolveApprovalInput!) {
        resolveApproval(input: $input) { ... on ResolveApprovalPayload { approval { state } } ${ERROR} }
      }`,
        { input: { approvalId, decision: 'APPROVE', arguments: args } },
      ),
    /** The runs of the conversation that the participant sees. */
    runs: async (conversationId: string) =>
      (
        await ask<{ runs: { nodes: Run[] } }>(
          `query Runs($id: ID!) { conversation(id: $id) { runs(first: 50) { nodes { ${RUN} } } } }`,
          { id: conversationId },
        )
      ).runs.nodes,
    conversation: (conversationId: string) => ask<Conversation>(readConversation, { conversationId }),
    node: (id: string) => ask<Turn | null>(`query Node($id: ID!) { node(id: $id) { id } }`, { id }),
    /** Terminates the connection; `follow` waits for `reconnect`. */
    disconnect(): void {
      reconnectAllowed = new Promise((resolve) => (allowReconnect = resolve))
      socket?.terminate()
    },
    /** Reconnects; resolves when the first event arrives. */
    reconnect(): Promise<void> {
      const again = new Promise<void>((resolve) => (onReconnected = resolve))
      allowReconnect()
      return again
    },
    /** Resolves with the first event, from the given index on, that `fits` accepts. */
    async hasEvent(from: number, fits: (event: Event) => boolean): Promise<Event> {
      await until(() => events.slice(from).some(fits))
      return events.slice(from).find(fits)!
    },
    /** Resolves when an entry with this seq or a higher one has been received. */
    hasReceived: (seq: number) => until(() => last >= seq),
    /** Resolves when the open turn's text has been received up to `end`. */
    hasText: (turnId: string, end: number) => until(() => (texts.get(turnId)?.length ?? 0) >= end),
    /** Ends `follow` and closes the connection. The actor stays a participant. */
    async leave(): Promise<void> {
      hasLeft = true
      await client.dispose()
    },
  }
}
