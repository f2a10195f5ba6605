// The server that fan-out.ts and peers/sockets.ts compare with our server: graphql-ws with yoga's pub/sub, and the part
// of our schema that the benchmarks use. It publishes events to subscribers, in memory or through the Redis at
// FAN_OUT_REDIS_URL, and stores nothing.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomUUID } from 'node:crypto'
import { useServer } from 'graphql-ws/use/ws'
import { createPubSub, createSchema, createYoga } from 'graphql-yoga'
import { WebSocketServer } from 'ws'
import { loadPeer } from './peers/install.ts'

type Turn = { id: string; seq: number; actor: string; role: string; text: string; createdAt: string }
type Delta = { turnId: string; start: number; end: number; text: string }
type Event = { __typename: string; seq: number | null; turn?: Turn } & Partial<Delta>
type TurnInput = { conversationId: string; as?: string; turn: { role: string; content?: string } }
type DeltaInput = { turnId: string; text: string; start: number }

type Channels = { conversation: [conversationId: string, event: Event] }
type EventTarget = NonNullable<Parameters<typeof createPubSub<Channels>>[0]>['eventTarget']

/** Yoga's event target on Redis. Only the comparison with peers installs its packages. */
function redisTarget(url: string): EventTarget {
  const { Redis } = loadPeer('ioredis') as { Redis: new (url: string) => object }
  const { createRedisEventTarget } = loadPeer('@graphql-yoga/redis-event-target') as {
    createRedisEventTarget(clients: object): EventTarget
  }
  return createRedisEventTarget({ publishClient: new Redis(url), subscribeClient: new Redis(url) })
}

const redisUrl = process.env.FAN_OUT_REDIS_URL
const pubSub = createPubSub<Channels>(redisUrl ? { eventTarget: redisTarget(redisUrl) } : {})
const conversationOfTurn = new Map<string, string>()
let seq = 0

const makeTurn = ({ conversationId, as, turn }: TurnInput): Turn => {
  const id = `turn_${randomUUID().slice(0, 26)}`
  conversationOfTurn.set(id, conversationId)
  const createdAt = new Date().toISOString()
  return { id, seq: ++seq, actor: as ?? 'speaker', role: turn.role, text: turn.content ?? '', createdAt }
}

const schema = createSchema({
  typeDefs: /* GraphQL */ `
    enum Role {
      USER
      ASSISTANT
    }
    type Turn {
      id: ID!
      seq: Int!
      actor: String!
      role: Role!
      text: String!
      createdAt: String!
    }
    type AppendTurnPayload {
      turn: Turn!
    }
    type OpenTurnPayload {
      turn: Turn!
    }
    type AppendDeltaPayload {
      turnId: ID!
      end: Int!
    }
    interface ConversationEvent {
      seq: Int
    }
    type TurnAppended implements ConversationEvent {
      seq: Int
      turn: Turn!
    }
    type TurnOpened implements ConversationEvent {
      seq: Int
      turn: Turn!
    }
    type TurnDelta implements ConversationEvent {
      seq: Int
      turnId: ID!
      start: Int!
      end: Int!
      text: String!
    }
    input TurnInput {
      role: Role!
      content: String
    }
    input AppendTurnInput {
      conversationId: ID!
      as: String
      turn: TurnInput!
    }
    input OpenTurnInput {
      writerToken: String!
      conversationId: ID!
      as: String
      turn: TurnInput!
    }
    input AppendDeltaInput {
      writerToken: String!
      turnId: ID!
      text: String!
      start: Int!
    }
    type Query {
      ok: Boolean
    }
    type Mutation {
      appendTurn(input: AppendTurnInput!): AppendTurnPayload!
      openTurn(input: OpenTurnInput!): OpenTurnPayload!
      appendDelta(input: AppendDeltaInput!): AppendDeltaPayload!
    }
    type Subscription {
      conversationEvents(conversationId: ID!, types: [ConversationEventType!]): ConversationEvent!
    }
    enum ConversationEventType {
      TURN_APPENDED
      TURN_DELTA
    }
  `,
  resolvers: {
    Mutation: {
      appendTurn(_: unknown, { input }: { input: TurnInput }) {
        const turn = makeTurn(input)
        pubSub.publish('conversation', input.conversationId, { __typename: 'TurnAppended', seq: turn.seq, turn })
        return { turn }
      },
      openTurn(_: unknown, { input }: { input: TurnInput }) {
        const turn = makeTurn(input)
        pubSub.publish('conversation', input.conversationId, { __typename: 'TurnOpened', seq: turn.seq, turn })
        return { turn }
      },
      appendDelta(_: unknown, { input: { turnId, text, start } }: { input: DeltaInput }) {
        const end = start + text.length
        pubSub.publish('conversation', conversationOfTurn.get(turnId)!, {
          __typename: 'TurnDelta',
          seq: null,
          turnId,
          start,
          end,
          text,
        })
        return { turnId, end }
      },
    },
    Subscription: {
      conversationEvents: {
        subscribe: (_: unknown, { conversationId }: { conversationId: string }) =>
          pubSub.subscribe('conversation', conversationId),
        resolve: (event: Event) => event,
      },
    },
  },
})

const yoga = createYoga({ schema, logging: false, graphiql: false })
const http = createServer((request, response) => void yoga(request, response))
// Subscriptions run on the bare schema, which is faster than through yoga.
useServer({ schema }, new WebSocketServer({ server: http, path: '/graphql' }))
// The pub/sub adds one listener per subscriber, and Node warns about more than ten.
process.removeAllListeners('warning')
// A burst occupies the server for longer than Node's default of 5 s, after which it would close waiting connections.
http.keepAliveTimeout = 120_000
http.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` }))
})
process.once('SIGTERM', () => process.exit())
