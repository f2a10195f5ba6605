// `npm run bench:compare -- DIRECTORY [rounds] [words]`: compares this checkout with another one in one run, by all
// measures or by those whose names contain `words`. Both must have the same GraphQL contract. Each server has its own
// database with equal data, on the same Postgres and Redis, and the rounds of the two servers alternate. The ratio of a
// measure is the median over the rounds, above 1 if this checkout is faster.

import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  measureBurst,
  connectSubscribers,
  openTurns,
  measureSingleTurns,
  SUBSCRIBERS,
  type FanOutSide,
} from './fan-out.ts'
import { format, median, table } from './figures.ts'
import { openConnection } from './http-client.ts'
import type { Load, LoadResult } from './http-load.ts'
import { endProcesses, startCheckout, startWorker, type ServerProcess, type Worker } from './process.ts'
import { dropDatabases, findServices, withDatabase, type Services } from './services.ts'

const ROUND_MS = 1_500
const LARGE_TURNS = 2_000
const CONVERSATIONS = 50
const TURNS = 40
const BATCH = 500

const ERROR = '... on UserError { message }'
const CREATE = `mutation ($key: String!) {
  createConversation(input: { key: $key, participants: [{ actor: "ada" }, { actor: "scout", kind: AGENT }] }) {
    ... on CreateConversationPayload { conversation { id } } ${ERROR}
  }
}`
const FOLLOWED = `mutation ($readers: [ParticipantInput!]!) {
  createConversation(input: { participants: $readers, compaction: { strategy: NEVER }, automaticTitle: false }) {
    ... on CreateConversationPayload { conversation { id } } ${ERROR}
  }
}`
const JOIN = `mutation ($id: ID!) {
  addParticipant(input: { conversationId: $id, participant: { actor: "speaker", kind: AGENT } }) {
    ... on AddParticipantPayload { participant { actor } } ${ERROR}
  }
}`
const APPEND_ALL = `mutation ($id: ID!, $turns: [AuthoredTurnInput!]!) {
  appendTurns(input: { conversationId: $id, turns: $turns }) { ... on AppendTurnsPayload { turns { seq } } ${ERROR} }
}`
const APPEND = `mutation ($id: ID!, $text: String!) {
  appendTurn(input: { conversationId: $id, turn: { role: USER, content: $text } }) {
    ... on AppendTurnPayload { turn { seq } } ${ERROR}
  }
}`
const APPENDED_TEXT = 'The launch moves to a later day.'
const NODE = 'edges { node { id seq actor role text createdAt } }'
const PAGE = `query ($id: ID!) { conversation(id: $id) { turns(last: 50) { ${NODE} } } }`
const NESTED = `{ conversations(first: ${CONVERSATIONS}) { edges { node { id title turns(last: 20) { ${NODE} } } } } }`
const RECALL = `query ($id: ID!, $query: String!) {
  recall(input: { conversationId: $id, query: $query, k: 10 }) {
    ... on Recall { hits { score memory { ... on Turn { seq text } } } } ${ERROR}
  }
}`
const RECALL_OWNED = `query ($id: ID!, $query: String!) {
  recall(input: { scope: OWNER, conversationId: $id, query: $query, k: 10 }) {
    ... on Recall { hits { score memory { ... on Turn { seq text } } } } ${ERROR}
  }
}`
const RECALL_ALL = `query ($query: String!) {
  recall(input: { scope: TENANT, query: $query, k: 10 }) {
    ... on Recall { hits { score memory { ... on Turn { seq text } } } } ${ERROR}
  }
}`
const CONTEXT = `query ($id: ID!, $query: String!) {
  buildContext(input: {
    conversationId: $id, tokenBudget: 8000, recentTurns: 20, semanticRecall: { k: 10 }, query: $query
  }) { ... on Context { truncated messages { content } } ${ERROR} }
}`

const WORDS = (
  'the launch moves to another day because its review was not done and nobody read what billing wants harbour rome '
  + 'garden invoice piano winter bridge market ticket summer doctor window coffee letter mountain river'
).split(' ')
const textOf = (number: number) =>
  Array.from({ length: 30 }, (_, index) => WORDS[(number * 7 + index * (1 + (number % 11))) % WORDS.length]).join(' ')
const QUERIES = ['when does the launch move', 'who pays the invoice', 'coffee in rome', 'the piano by the window']

/** A server, its large conversation, its conversations for appended turns, and its side of the fan-out benchmark. */
type Contestant = { server: ServerProcess; large: string; written: string[]; side: FanOutSide }

async function ask<T>(port: number, query: string, variables: object): Promise<T> {
  const connection = await openConnection(port)
  try {
    const { body } = await connection.post('/graphql', JSON.stringify({ query, variables }))
    const { data, errors } = JSON.parse(body.toString()) as { data?: Record<string, T>; errors?: unknown }
    const [value] = Object.values(data ?? {})
    if (errors || value === undefined || (value as { message?: string }).message) throw new Error(body.toString())
    return value
  } finally {
    connection.close()
  }
}

/** Creates one large conversation, many small ones, and empty ones for appends. Waits until all turns are embedded. */
async function fill({ port }: ServerProcess): Promise<{ large: string; written: string[] }> {
  const create = async (key: string) =>
    (await ask<{ conversation: { id: string } }>(port, CREATE, { key })).conversation.id
  const append = async (id: string, count: number, offset: number) => {
    for (let from = 0; from < count; from += BATCH) {
      const turns = Array.from({ length: Math.min(BATCH, count - from) }, (_, index) => ({
        role: index % 2 ? 'ASSISTANT' : 'USER',
        actor: index % 2 ? 'scout' : 'ada',
        content: textOf(offset + from + index),
      }))
      await ask(port, APPEND_ALL, { id, turns })
    }
  }
  const large = await create('large')
  await append(large, LARGE_TURNS, 0)
  for (let index = 0; index < CONVERSATIONS; index++) await append(await create(`small-${index}`), TURNS, index * TURNS)
  const written = await Promise.all(Array.from({ length: 16 }, (_, index) => create(`written-${index}`)))
  for (;;) {
    const { remaining } = await ask<{ remaining: number }>(port, '{ embedding { remaining } }', {})
    if (remaining === 0) return { large, written }
    await new Promise((done) => setTimeout(done, 200))
  }
}

type Measure = {
  label: string
  run(contestant: Contestant): Promise<number>
  better: 'larger' | 'smaller'
  unit: string
}

function measures(load: Worker<Load, LoadResult>): Measure[] {
  const rate = (
    label: string,
    connections: number,
    bodies: (contestant: Contestant) => { query: string; variables: object }[],
    expectedText: string,
  ): Measure => ({
    label,
    unit: '/s',
    better: 'larger',
    async run(contestant) {
      const sent = bodies(contestant).map((body) => JSON.stringify(body))
      const { port } = contestant.server
      return (await load.ask({ port, path: '/graphql', bodies: sent, connections, ms: ROUND_MS, expectedText }))
        .perSecond
    },
  })
  const queries = (query: string) => (contestant: Contestant) =>
    QUERIES.map((text) => ({ query, variables: { id: contestant.large, query: text } }))
  const appends = (contestant: Contestant) =>
    contestant.written.map((id) => ({ query: APPEND, variables: { id, text: APPENDED_TEXT } }))
  return [
    rate('page of 50 turns, 16 clients', 16, ({ large }) => [{ query: PAGE, variables: { id: large } }], '"seq"'),
    rate('50 conversations × 20 turns, 16 clients', 16, () => [{ query: NESTED, variables: {} }], '"seq"'),
    rate(`recall in ${format(LARGE_TURNS)} turns, 1 client`, 1, queries(RECALL), '"seq"'),
    rate(`recall in ${format(LARGE_TURNS)} turns, 16 clients`, 16, queries(RECALL), '"seq"'),
    rate("recall in the owner's conversations, 1 client", 1, queries(RECALL_OWNED), '"seq"'),
    rate('recall in the tenant, 1 client', 1, queries(RECALL_ALL), '"seq"'),
    rate('context of 20 turns and 10 recalled, 1 client', 1, queries(CONTEXT), '"truncated"'),
    rate('context of 20 turns and 10 recalled, 16 clients', 16, queries(CONTEXT), '"truncated"'),
    // After the reads, which search all conversations: the servers append different numbers of turns.
    rate('append, 1 client', 1, appends, '"seq"'),
    rate('append, 16 clients', 16, appends, '"seq"'),
    {
      label: 'fan-out of single turns, server CPU per delivery',
      unit: 'µs',
      better: 'smaller',
      run: async ({ side }) => (await measureSingleTurns(side)).cpu,
    },
    {
      label: 'fan-out of deltas, deliveries',
      unit: '/s',
      better: 'larger',
      run: async ({ side }) => (await measureBurst(side)).rate,
    },
    {
      label: 'fan-out of deltas, server CPU per delivery',
      unit: 'µs',
      better: 'smaller',
      run: async ({ side }) => (await measureBurst(side)).cpu,
    },
  ]
}

/** Measures both servers in each round, in reverse order in every other round. Prints one row per measure. */
async function compare(rounds: number, measured: Measure[], ours: Contestant, theirs: Contestant): Promise<void> {
  const rows: string[][] = []
  for (const { label, run, better, unit } of measured) {
    const pairs: [ours: number, theirs: number][] = []
    await run(ours)
    await run(theirs)
    for (let round = 0; round < rounds; round++) {
      const pair: [number, number] = [0, 0]
      for (const index of round % 2 ? ([1, 0] as const) : ([0, 1] as const)) {
        pair[index] = await run(index === 0 ? ours : theirs)
      }
      pairs.push(pair)
    }
    const ratios = pairs.map(([one, other]) => (better === 'larger' ? one / other : other / one))
    const middle = (index: 0 | 1) => format(median(pairs.map((pair) => pair[index])))
    rows.push([
      label,
      middle(0),
      middle(1),
      unit,
      `${median(ratios).toFixed(2)}×`,
      `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
    ])
    console.error(rows.at(-1)!.join('  '))
  }
  const header = ['', 'this', 'other', 'unit', 'ratio', 'range']
  console.log(table(header, rows, (column) => column > 0 && column !== 3).join('\n'))
}

/** Runs `use` with the server of a checkout on its own database. */
async function withContestant<T>(
  root: string,
  { databaseUrl, redisUrl }: Services,
  redisDatabase: number,
  use: (contestant: Contestant) => Promise<T>,
): Promise<T> {
  return withDatabase(databaseUrl, async (url) => {
    const redis = Object.assign(new URL(redisUrl), { pathname: `/${redisDatabase}` }).href
    const server = await startCheckout(root, { DATABASE_URL: url, REDIS_URL: redis, STREAM_LEASE_SECONDS: '3600' })
    try {
      const filled = await fill(server)
      const readers = Array.from({ length: SUBSCRIBERS }, (_, index) => ({ actor: `reader-${index}` }))
      const { conversation } = await ask<{ conversation: { id: string } }>(server.port, FOLLOWED, { readers })
      const followed = conversation.id
      await ask(server.port, JOIN, { id: followed })
      const side = await connectSubscribers(server, followed, (message) => console.error(`${root}: ${message}`))
      await openTurns(side)
      try {
        return await use({ server, side, ...filled })
      } finally {
        await side.subscribers.stop()
      }
    } finally {
      await server.stop()
    }
  })
}

const [other, rounds = '5', words = ''] = process.argv.slice(2)
const services = findServices(process.env)
if (!other || Array.isArray(services)) {
  console.error(
    Array.isArray(services)
      ? `The comparison needs Postgres with pgvector, and Redis. Set ${services.join(', and ')}.`
      : 'Usage: npm run bench:compare -- DIRECTORY [rounds] [words], where DIRECTORY is another checkout after npm ci.',
  )
  process.exit(2)
}
process.once('SIGINT', () => {
  endProcesses()
  void dropDatabases().finally(() => process.exit(130))
})
const load = startWorker<Load, LoadResult>('./http-load.ts')
await withContestant(fileURLToPath(new URL('../..', import.meta.url)), services, 1, (ours) =>
  withContestant(resolve(other), services, 2, (theirs) => {
    const chosen = measures(load).filter(({ label }) => label.includes(words))
    return compare(Number(rounds), chosen, ours, theirs)
  }),
)
await load.stop()
process.exit(0)
