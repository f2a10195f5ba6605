// `npm run check:answers [-- --turns 1000] [--replicas 8] [--servers 2] [--store embedded|postgres]`: an agent in
// several processes (replicas) answers questions that mention it. The replicas do not know each other. Two of them are
// killed while they answer, and a third one is cut off from the network by a proxy that first withholds the servers'
// answers and then resets all connections. At the end, each question must have exactly one committed answer. Runs on
// the Postgres and the Redis of TEST_DATABASE_URL and TEST_REDIS_URL, with several server processes, or without them on
// an embedded database, with one. Prints a table, and the violations on stderr. Exits with 1 if a row is not ok.

import { spawn, type ChildProcess } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { append, createServerProcess, createSite, tenant, type Server } from '../../test/system/processes.ts'
import { newDataDir } from '../../test/support/backend.ts'
import { createProxy } from '../../test/support/proxy.ts'
import { startEmbedded } from '../../src/store/embedded/embedded.ts'
import { median } from '../bench/figures.ts'
import { violationsOf, type Row } from './check.ts'
import { counted, informed, reportOf } from './results.ts'
import { questionOf, type Report } from './question.ts'

const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env
const hasServices = Boolean(TEST_DATABASE_URL && TEST_REDIS_URL)
const { values: options } = parseArgs({
  options: {
    turns: { type: 'string', default: '1000' },
    replicas: { type: 'string', default: '8' },
    servers: { type: 'string', default: '2' },
    store: { type: 'string', default: hasServices ? 'postgres' : 'embedded' },
  },
})
const isEmbedded = options.store === 'embedded'
const [turns, replicas] = [Number(options.turns), Number(options.replicas)]
const CONVERSATIONS = 20
/** Seconds after which a streaming turn of a lost process is aborted. */
const LEASE_SECONDS = 3
/** Maximum time without a new answer, ms. After it, the run ends even if questions are unanswered. */
const PATIENCE_MS = 60_000
/** Time for which the proxy withholds answers before it resets the connections, ms. */
const SILENCE_MS = 6_000

type Replica = { child: ChildProcess; counts: Record<'refused' | 'opened' | 'answered' | 'lost', number> }

/** Starts a process of the agent. `onOpened` is called whenever it has written the first words of an answer. */
function startReplica(servers: readonly string[], onOpened: (replica: Replica) => void): Replica {
  const child = spawn(process.execPath, ['--import', 'tsx', 'scripts/answers/replica.ts', tenant, 'bot', ...servers], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const replica: Replica = { child, counts: { refused: 0, opened: 0, answered: 0, lost: 0 } }
  createInterface(child.stdout).on('line', (line) => {
    const [kind] = Object.keys(JSON.parse(line) as Report) as [keyof Replica['counts']]
    replica.counts[kind] += 1
    if (kind === 'opened') onOpened(replica)
  })
  return replica
}

async function post<T>(server: Server, query: string, variables: object): Promise<T> {
  const response = await fetch(`http://${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-tenant': tenant, 'x-actor': 'ann' },
    body: JSON.stringify({ query, variables }),
  })
  return ((await response.json()) as { data: T }).data
}

async function createConversation(server: Server): Promise<string> {
  const query = `mutation($p: [ParticipantInput!]) {
    r: createConversation(input: { participants: $p, compaction: { strategy: NEVER } }) {
      ... on CreateConversationPayload { conversation { id } }
    }
  }`
  const participants = [{ actor: 'ann' }, { actor: 'bot', kind: 'AGENT', respond: 'MENTIONED' }]
  return (await post<{ r: { conversation: { id: string } } }>(server, query, { p: participants })).r.conversation.id
}

/** Returns the number of questions that wait for an answer, at most 200. */
async function countWaiting(server: Server): Promise<number> {
  const query = '{ wakeUps(first: 200, as: "bot") { nodes { createdAt } } }'
  return (await post<{ wakeUps: { nodes: unknown[] } }>(server, query, {})).wakeUps.nodes.length
}

const ROWS = `
  SELECT q.id, q.text,
    coalesce((SELECT jsonb_agg(jsonb_build_object('id', r.id, 'actor', r.actor, 'status', r.status, 'text', r.text) ORDER BY r.seq)
              FROM turn r WHERE r.conversation_id = q.conversation_id AND r.reply_to_id = q.id), '[]') AS replies,
    (SELECT jsonb_build_object('outcome', k.outcome, 'answerId', k.answer_id) FROM claim k WHERE k.turn_id = q.id) AS claim,
    (SELECT count(*)::integer FROM entry e WHERE e.conversation_id = q.conversation_id AND e.turn_id = q.id AND e.kind = 'CLAIMED') AS claimed,
    (SELECT count(*)::integer FROM entry e WHERE e.conversation_id = q.conversation_id AND e.turn_id = q.id AND e.kind = 'CLAIM_RELEASED')
      AS released,
    coalesce((SELECT w.answered_at IS NULL FROM wake_up w WHERE w.turn_id = q.id AND w.actor = 'bot'), true) AS "isWaiting",
    (SELECT (extract(epoch FROM e.at - q.created_at) * 1000)::float8 FROM entry e JOIN turn r ON r.id = e.turn_id
     WHERE e.conversation_id = q.conversation_id AND r.reply_to_id = q.id AND e.kind = 'COMMITTED' LIMIT 1) AS ms
  FROM turn q WHERE q.actor = 'ann' ORDER BY q.conversation_id, q.seq`
const JOURNALS = `
  SELECT j.last_seq AS "lastSeq", (SELECT count(*)::integer FROM entry e WHERE e.conversation_id = j.conversation_id) AS entries
  FROM journal j`

/** Reads the rows of the questions and journals. Call it after the servers have ended. */
async function readRows(connect: string | pg.ClientConfig) {
  const client = new pg.Client(connect)
  await client.connect()
  const rows = (await client.query<Row & { ms: number | null }>(ROWS)).rows
  const journals = (await client.query<{ entries: number; lastSeq: number }>(JOURNALS)).rows
  await client.end()
  return { rows, journals }
}

async function dropDatabase(databaseUrl: string): Promise<void> {
  const client = new pg.Client(TEST_DATABASE_URL)
  await client.connect()
  await client.query(`DROP DATABASE ${new URL(databaseUrl).pathname.slice(1)} WITH (FORCE)`)
  await client.end()
}

async function run(): Promise<boolean> {
  const dataDir = isEmbedded ? await newDataDir() : null
  const site = dataDir ? { dataDir } : await createSite(TEST_DATABASE_URL!, TEST_REDIS_URL!)
  const env = () => ({ STREAM_LEASE_SECONDS: String(LEASE_SECONDS), LOG_LEVEL: 'info', RATE_LIMIT_POINTS: '0' })
  const servers: Server[] = []
  for (let n = 0; n < (isEmbedded ? 1 : Number(options.servers)); n++)
    servers.push(await createServerProcess(site, { env }))
  for (const server of servers) await server.start()
  const urls = servers.map(({ url }) => url)
  const proxy = await createProxy(`http://${urls[0]!}`)
  const conversations = await Promise.all(Array.from({ length: CONVERSATIONS }, () => createConversation(servers[0]!)))

  /** The faults so far, for the report. */
  const done: string[] = []
  const started: Replica[] = []
  const total = () => started.reduce((sum, { counts }) => sum + counts.answered, 0)
  const isThird = (replica: Replica) => replica === started[2]
  const kill = (replica: Replica) => void replica.child.kill('SIGKILL')
  /** Faults, in order. Each is injected into a replica that has begun an answer, after `at` answers of all replicas. */
  const faults = [
    { at: turns * 0.15, name: 'killed a replica', appliesTo: (each: Replica) => !isThird(each), inject: kill },
    { at: turns * 0.3, name: 'killed another replica', appliesTo: (each: Replica) => !isThird(each), inject: kill },
    {
      at: turns * 0.45,
      name: 'cut off the third replica',
      // On a slow machine, the third replica may get no turn. Then it is cut off while it waits for one.
      appliesTo: (each: Replica) => isThird(each) || total() >= turns * 0.6,
      inject() {
        proxy.silence('new connections')
        setTimeout(() => void proxy.cut(), SILENCE_MS)
      },
    },
  ]
  const affected = new Set<Replica>()
  const onOpened = (replica: Replica) => {
    const [due] = faults
    if (!due || affected.has(replica) || !due.appliesTo(replica) || total() < due.at) return
    faults.shift()
    affected.add(replica)
    done.push(`${due.name} after ${total()} answers`)
    due.inject(replica)
  }
  for (let n = 0; n < replicas; n++) {
    // The third replica reaches a server only through the proxy; the others use the servers in rotation.
    const own =
      n === 2 ? [new URL(proxy.url).host] : [...urls.slice(n % urls.length), ...urls.slice(0, n % urls.length)]
    started.push(startReplica(own, onOpened))
  }
  const began = performance.now()
  const numbers = Array.from({ length: turns }, (_, n) => n)
  await Promise.all(
    conversations.map(async (conversationId, index) => {
      for (const n of numbers.filter((each) => each % CONVERSATIONS === index)) {
        await append(servers, conversationId, 'ann', questionOf(n))
      }
    }),
  )
  const askedMs = performance.now() - began
  let [answers, changedAt] = [0, performance.now()]
  while ((await countWaiting(servers[0]!)) > 0 && performance.now() - changedAt < PATIENCE_MS) {
    if (total() !== answers) [answers, changedAt] = [total(), performance.now()]
    await sleep(200)
  }
  const answeredMs = performance.now() - began
  // Wait until every open answer is committed or its lease expires, so that the check finds late duplicates.
  await sleep((LEASE_SECONDS + 2) * 1_000)
  for (const { child } of started) child.kill('SIGKILL')
  await proxy.cut()
  for (const server of servers) await server.kill('SIGTERM')
  const embedded = dataDir ? await startEmbedded(dataDir) : null
  const { rows, journals } = await readRows('databaseUrl' in site ? site.databaseUrl : embedded!.connection)
  await embedded?.close()
  if (dataDir) await rm(dataDir, { recursive: true })
  if ('databaseUrl' in site) await dropDatabase(site.databaseUrl)

  const problems = violationsOf(rows, journals)
  const committed = rows.map(({ replies }) => replies.filter(({ status }) => status === 'COMMITTED').length)
  const aborted = rows.flatMap(({ replies }) => replies.filter(({ status }) => status === 'ABORTED')).length
  const claims = rows.reduce((sum, { claimed }) => sum + claimed, 0)
  const released = rows.reduce((sum, row) => sum + row.released, 0)
  for (const problem of problems.slice(0, 20)) console.error(problem)
  const { lines, isOk } = reportOf([
    counted('questions', rows.length, turns),
    counted('answered once', committed.filter((count) => count === 1).length, turns),
    counted('not answered', committed.filter((count) => count === 0).length, 0),
    counted('answered more than once', committed.filter((count) => count > 1).length, 0),
    counted('violations of answers, claims and journals', problems.length, 0),
    ...done.map((fault) => informed('fault', fault)),
    ...faults.map(({ name }) => ({ name: 'fault', value: `never ${name}`, gate: 'occurs', ok: false })),
    informed(
      'setting',
      `${options.store}, ${servers.length} servers, ${replicas} replicas, ${CONVERSATIONS} conversations`,
    ),
    informed('time until all questions were asked', `${(askedMs / 1000).toFixed(1)} s`),
    informed('time until the last answer or the timeout', `${(answeredMs / 1000).toFixed(1)} s`),
    informed('question to committed answer', `${median(rows.flatMap(({ ms }) => ms ?? [])).toFixed(0)} ms (median)`),
    informed('claims', `${claims}, ${released} released or expired`),
    informed('aborted answers', String(aborted)),
    ...started.map(({ counts: { answered, refused, lost } }, index) =>
      informed(`replica ${index + 1}`, `${answered} answered, ${refused} refused, ${lost} abandoned`),
    ),
  ])
  console.log(lines.join('\n'))
  return isOk
}

process.exit((await run()) ? 0 : 1)
