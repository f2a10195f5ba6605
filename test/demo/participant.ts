// One participant of the demo: a stock graphql-ws client, and all that it asks of the server. Nothing here knows the
// story. Whoever writes a client finds the two things that matter in `follow` and in `hear`: where to resume after a
// drop, and how deltas become text.

import { createClient } from 'graphql-ws'
import WebSocket from 'ws'

export type Turn = { id: string; seq: number; actor: string; status: string; text: string; audience: string[] | null }
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
}
export type Unread = { actor: string; unreadCount: number }
export type Conversation = { turnCount: number; lastSeq: number; participants: Unread[]; history: Turn[] }

const TURN = 'id seq actor status text audience'
const FAILED = '... on Error { code message }'
const FOLLOW = `
  subscription Follow($conversationId: ID!, $after: Int) {
    conversationEvents(conversationId: $conversationId, after: $after) {
      __typename
      seq
      ... on TurnAppended { turn { ${TURN} } }
      ... on TurnOpened { turn { ${TURN} } }
      ... on TurnDelta { turnId start text }
      ... on TurnCommitted { turn { ${TURN} } }
      ... on TurnAborted { turn { ${TURN} } }
      ... on TurnSuperseded { turn { ${TURN} } by { ${TURN} } }
      ... on PresenceChanged { participant { actor } state }
    }
  }`

export type Participant = ReturnType<typeof connect>

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** How long to wait before a new socket is tried, in ms. */
const PAUSE = 500

export function connect(url: string, actor: string) {
  let socket: WebSocket | null = null
  let over = false
  /** The newest entry at hand: where the next subscription goes on. */
  let last = 0
  /** After a cut: resolves when a new socket may be tried. */
  let away: Promise<void> | null = null
  let comeBack = () => {}
  let isBack = () => {}
  /** Texts as deltas made them, by turn. */
  const texts = new Map<string, string>()
  const events: Event[] = []

  const client = createClient({
    url: url.replace(/^http/, 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: { 'x-actor': actor },
    // Left to itself, the client would subscribe again with the `after` it began with, and so repeat events.
    retryAttempts: 0,
    lazyCloseTimeout: 1_000,
    on: { connected: (opened) => void (socket = opened as WebSocket) },
  })

  /** The one answer to a query or mutation; throws what is wrong with it. */
  async function ask<T>(query: string, variables: Record<string, unknown>): Promise<T> {
    for await (const { data, errors } of client.iterate({ query, variables })) {
      if (errors?.length) throw new Error(errors[0]!.message)
      const [answer] = Object.values(data!) as (T & { code?: string; message?: string })[]
      if (answer?.code) throw new Error(`${answer.code}: ${answer.message}`)
      return answer!
    }
    throw new Error('no answer')
  }

  /** The event, with a delta reduced to what is new in it. */
  function hear(event: Event): Event {
    if (event.seq !== null) last = event.seq
    if (event.__typename !== 'TurnDelta') return event
    const known = texts.get(event.turnId!) ?? ''
    // Ranges may begin anew after a drop: what is known already is said once.
    const text = known.slice(0, event.start) + event.text!
    texts.set(event.turnId!, text)
    return { ...event, start: known.length, text: text.slice(known.length) }
  }

  /**
   * Follows the conversation for good: `heard` is told each event, `dropped` when the socket is gone, `resumed` with the entry
   * after which it goes on.
   */
  async function follow(
    conversationId: string,
    heard: (event: Event) => void,
    dropped = () => {},
    resumed = (_after: number) => {},
  ): Promise<void> {
    while (!over) {
      try {
        const variables = { conversationId, after: last }
        const following = client.iterate<{ conversationEvents: Event }>({ query: FOLLOW, variables })
        for await (const { data, errors } of following) {
          if (errors?.length) throw new Error(errors[0]!.message)
          isBack()
          const event = hear(data!.conversationEvents)
          events.push(event)
          heard(event)
        }
        return
      } catch (drop) {
        if (over) return
        // A lost connection is an event, not an Error; codes from 4000 on say that something is wrong with what we ask.
        if (drop instanceof Error || (drop as { code?: number }).code! >= 4000) throw drop
        dropped()
        await (away ?? new Promise((resolve) => setTimeout(resolve, PAUSE)))
        away = null
        resumed(last)
      }
    }
  }

  const readConversation = `query Conversation($conversationId: ID!) {
    conversation(id: $conversationId) {
      turnCount lastSeq
      participants { actor unreadCount }
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
      ask<{ id: string }>(
        `mutation Create($input: CreateConversationInput!) {
        createConversation(input: $input) { ... on Conversation { id } ${FAILED} }
      }`,
        { input },
      ),
    say: (conversationId: string, turn: object) =>
      ask<Turn>(
        `mutation Say($input: AppendTurnInput!) {
        appendTurn(input: $input) { ... on Turn { ${TURN} } ${FAILED} }
      }`,
        { input: { conversationId, turn } },
      ),
    open: (conversationId: string, turn: object) =>
      ask<Turn>(
        `mutation Open($input: OpenTurnInput!) {
        openTurn(input: $input) { ... on Turn { ${TURN} } ${FAILED} }
      }`,
        { input: { conversationId, turn } },
      ),
    write: (turnId: string, start: number, text: string) =>
      ask<{ end: number }>(
        `mutation Write($input: AppendDeltaInput!) {
        appendDelta(input: $input) { ... on DeltaReceipt { end } ${FAILED} }
      }`,
        { input: { turnId, start, text } },
      ),
    commit: (turnId: string) =>
      ask<Turn>(
        `mutation Commit($input: CommitTurnInput!) {
        commitTurn(input: $input) { ... on Turn { ${TURN} } ${FAILED} }
      }`,
        { input: { turnId } },
      ),
    edit: (turnId: string, turn: object) =>
      ask<Turn>(
        `mutation Edit($input: SupersedeTurnInput!) {
        supersedeTurn(input: $input) { ... on Turn { ${TURN} } ${FAILED} }
      }`,
        { input: { turnId, turn } },
      ),
    be: (conversationId: string, state: 'ONLINE' | 'TYPING' | 'THINKING') =>
      ask(
        `mutation Be($input: SetPresenceInput!) {
        setPresence(input: $input) { ... on Participant { actor } ${FAILED} }
      }`,
        { input: { conversationId, state } },
      ),
    /** Marks as read all that has come. */
    read: (conversationId: string) =>
      ask(
        `mutation Read($input: MarkReadInput!) {
        markRead(input: $input) { ... on Participant { actor } ${FAILED} }
      }`,
        { input: { conversationId, seq: last } },
      ),
    conversation: (conversationId: string) => ask<Conversation>(readConversation, { conversationId }),
    node: (id: string) => ask<Turn | null>(`query Node($id: ID!) { node(id: $id) { id } }`, { id }),
    /** Cuts the wire, until `reconnect`. */
    cut(): void {
      away = new Promise((resolve) => (comeBack = resolve))
      socket?.terminate()
    },
    /** Resolves when events come again. */
    reconnect(): Promise<void> {
      const again = new Promise<void>((resolve) => (isBack = resolve))
      comeBack()
      return again
    },
    /** Resolves once the entry has come. */
    hasHeard: (seq: number) => until(() => last >= seq),
    /** Resolves once the open turn's text has come up to `end`. */
    hasText: (turnId: string, end: number) => until(() => (texts.get(turnId)?.length ?? 0) >= end),
    async leave(): Promise<void> {
      over = true
      await client.dispose()
    },
  }
}
