// A run: clients load the servers while faults are injected. After the last fault has been undone, the checker and a
// second check in SQL examine the history.

import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom, type Random } from '../attacks/random.ts'
import { checkHistory } from './checker.ts'
import { ACTORS, append, read, send, subscribe, write, writeStreams } from './clients.ts'
import type { Conversation, Run, Subscriber } from './clients.ts'
import { openCluster, type Cluster, type Query } from './cluster.ts'
import { faultsOf, lengthOf, longOutage, type Fault } from './faults.ts'
import type { Entry, Journals, Operation } from './history.ts'

export const TENANTS = ['north', 'south']
const CONVERSATIONS_PER_TENANT = 2
const WRITERS = 6
const STREAM_WRITERS = 4
const READERS = 2
/** Number of subscribers of each conversation, half of them over WebSocket and half over Server-Sent Events. */
const SUBSCRIBERS = 4
/** Default of `recoveryMs`. */
const RECOVERY_MS = 60_000
/** Minimum duration of a run that includes the long outage of Redis, s. */
const LONG_RUN_S = 300

/**
 * One fault, or two injected together. `acknowledgedMs` is the time from their end until an append to each conversation
 * was acknowledged or given up; `deliveredMs`, until every subscriber received these turns, Infinity after `recoveryMs`.
 */
export type Injected = { name: string; acknowledgedMs: number; deliveredMs: number }

export type Report = {
  store: string
  injected: Injected[]
  operations: readonly Operation[]
  entries: number
  /** The violations of guarantees, with their rules. */
  violations: { rule: string; detail: string }[]
  /** The reasons why faults could not be injected. */
  notes: string[]
}

const CREATE = `mutation ($input: CreateConversationInput!) {
  r: createConversation(input: $input) { ... on CreateConversationPayload { conversation { id } } }
}`

async function createConversations(run: Pick<Run, 'members' | 'random' | 'credentials'>): Promise<Conversation[]> {
  const conversations: Conversation[] = []
  for (const tenant of TENANTS) {
    for (let n = 0; n < CONVERSATIONS_PER_TENANT; n++) {
      // Compaction is off, because it would take processor time from the clients.
      const input = { participants: ACTORS.map((actor) => ({ actor })), compaction: { strategy: 'NEVER' } }
      const create = () => send<{ conversation: { id: string } }>(run, { tenant }, ACTORS[0]!, CREATE, { input })
      // A connection to an earlier server with the same port may still be in fetch's pool. It fails once.
      const { conversation } = await create().catch(create)
      conversations.push({ id: conversation.id, tenant })
    }
  }
  return conversations
}

/** Appends a turn to each conversation. Returns the times until all turns were acknowledged and delivered, ms. */
async function recover(run: Run, subscribers: readonly Subscriber[], recoveryMs: number) {
  const startedAt = performance.now()
  const isLate = () => performance.now() - startedAt > recoveryMs
  const probes = await Promise.all(
    run.conversations.map((conversation) => append(run, conversation, { givesUp: isLate })),
  )
  const acknowledgedMs = performance.now() - startedAt
  const isDelivered = () =>
    probes.every(({ outcome }) => outcome === 'ok')
    && probes.every((probe) =>
      subscribers.every(
        ({ subscription, last }) => subscription.conversation !== probe.conversation || last() >= probe.seq!,
      ),
    )
  while (!isDelivered() && !isLate()) await sleep(10)
  return { acknowledgedMs, deliveredMs: isDelivered() ? performance.now() - startedAt : Infinity }
}

/** Yields the faults in random order without end, each equally often. */
function* shuffled(faults: readonly Fault[], random: Random): Generator<Fault, never> {
  for (;;) {
    const left = [...faults]
    while (left.length > 0) yield left.splice(random.below(left.length), 1)[0]!
  }
}

async function injectFaults(
  run: Run,
  cluster: Cluster,
  subscribers: readonly Subscriber[],
  { seconds, seed, log, recoveryMs = RECOVERY_MS }: Settings,
) {
  // The clients' random source would make the faults depend on the duration of requests.
  const random = createRandom(seed)
  const end = performance.now() + seconds * 1_000
  const all = shuffled(faultsOf(cluster), random)
  const ofServers = shuffled(
    faultsOf(cluster).filter(({ target }) => target === 'server'),
    random,
  )
  const injected: Injected[] = []
  const inject = async (name: string, faults: Fault[]) => {
    await Promise.all(faults.map((fault) => fault.run(cluster, random, lengthOf(random))))
    const result = { name, ...(await recover(run, subscribers, recoveryMs)) }
    const delivery =
      result.deliveredMs === Infinity
        ? `not delivered within ${recoveryMs} ms`
        : `delivered after ${result.deliveredMs.toFixed(0)} ms`
    log(`${name}: acknowledged or given up after ${result.acknowledgedMs.toFixed(0)} ms, ${delivery}`)
    injected.push(result)
  }
  if (cluster.services && seconds >= LONG_RUN_S) await inject(longOutage.name, [longOutage])
  while (performance.now() < end) {
    const fault = all.next().value
    if (fault.target === 'services' && random.chance(0.3)) {
      const other = ofServers.next().value
      await inject('two faults at once', [fault, other])
    } else await inject(fault.name, [fault])
    await sleep(random.below(1_000))
  }
  return injected
}

const JOURNALS = `SELECT e.conversation_id AS conversation, e.seq, e.kind::text, e.turn_id AS "turnId", t.text,
    t.status::text, t.actor, t.audience, t.client_id AS "clientId"
  FROM entry e LEFT JOIN turn t ON t.id = e.turn_id ORDER BY 1, 2`
/** The second check, in SQL. It shares no code with the checker. */
const COUNT_CHECK = `SELECT conversation_id || ': ' || count(*) || ' entries, last seq ' || max(seq) AS detail
    FROM entry GROUP BY conversation_id HAVING count(*) <> max(seq)
  UNION ALL SELECT j.conversation_id || ': last_seq is ' || last_seq || ', which is not the number of entries' FROM journal j
    WHERE last_seq <> (SELECT count(*) FROM entry e WHERE e.conversation_id = j.conversation_id)
  UNION ALL SELECT conversation_id || ': ' || count(*) || ' turns of clientId ' || client_id
    FROM turn WHERE client_id IS NOT NULL GROUP BY conversation_id, actor, client_id HAVING count(*) > 1
  UNION ALL SELECT conversation_id || ': ' || count(*) || ' turns with the same text'
    FROM turn WHERE length(text) > 36 AND role = 'USER' GROUP BY conversation_id, text HAVING count(*) > 1`

async function readJournals(query: Query): Promise<Journals> {
  const journals = new Map<string, Entry[]>()
  for (const { conversation, ...entry } of await query<Entry & { conversation: string }>(JOURNALS)) {
    const entries = journals.get(conversation) ?? []
    entries.push(entry)
    journals.set(conversation, entries)
  }
  return journals
}

/**
 * Waits until every subscriber has received the last entry, at most `recoveryMs`. Then waits another 0.5 s for entries
 * that arrive twice.
 */
async function catchUp(subscribers: readonly Subscriber[], expected: ReadonlyMap<string, number>, recoveryMs: number) {
  const end = performance.now() + recoveryMs
  const isBehind = ({ subscription, last }: Subscriber) => last() < (expected.get(subscription.conversation) ?? 0)
  while (subscribers.some(isBehind) && performance.now() < end) await sleep(50)
  await sleep(500)
}

/** Ids of the streaming turns that a subscriber has seen open, and not end. */
function openTurns({ subscription }: Subscriber): Set<string> {
  const open = new Set<string>()
  for (const event of subscription.sessions.flatMap(({ events }) => events)) {
    if (event.seq === null || !event.turn) continue
    if (event.type === 'TurnOpened') open.add(event.turn.turnId)
    if (event.type === 'TurnCommitted' || event.type === 'TurnAborted') open.delete(event.turn.turnId)
  }
  return open
}

/**
 * Waits until no streaming turn is open, at most `recoveryMs`. The servers abort turns whose writers have stopped; a
 * server that has just started first gives their writers time to connect.
 */
async function untilStreamsEnd(subscribers: readonly Subscriber[], recoveryMs: number): Promise<void> {
  const end = performance.now() + recoveryMs
  while (subscribers.some((each) => openTurns(each).size > 0) && performance.now() < end) await sleep(100)
}

export type Settings = {
  store: string
  seconds: number
  /** Seed of the faults and of the clients' random choices. */
  seed: number
  log: (line: string) => void
  /** Environment variables of the servers. */
  env?: Record<string, string>
  credentials: Run['credentials']
  /** Time within which writers and subscribers must recover after a fault, ms. Defaults to RECOVERY_MS. */
  recoveryMs?: number
  /** SQL that plants a bug in the database before the clients start. */
  plant?: string
}

/** Loads servers for `seconds`, injects faults, and checks the history. */
export async function runFaults(settings: Settings): Promise<Report> {
  const { store, seed, credentials, recoveryMs = RECOVERY_MS } = settings
  const random = createRandom(seed + 1)
  const cluster = await openCluster(settings, random)
  try {
    let overAt = Infinity
    const basis = { members: cluster.members, random, credentials }
    const conversations = await createConversations(basis)
    const run: Run = {
      ...basis,
      conversations,
      operations: [],
      isOver: () => overAt < Infinity,
      isPastRecovery: () => performance.now() - overAt > recoveryMs,
    }
    const subscribers = conversations.flatMap((conversation) =>
      Array.from({ length: SUBSCRIBERS }, (_, n) =>
        subscribe(run, conversation, ACTORS[n % ACTORS.length]!, n % 2 ? 'socket' : 'stream', n),
      ),
    )
    run.operations.push(...subscribers.map(({ subscription }) => subscription))
    const times = <T>(count: number, start: () => T) => Array.from({ length: count }, start)
    const clients = [
      ...times(WRITERS, () => write(run)),
      ...times(STREAM_WRITERS, () => writeStreams(run)),
      ...times(READERS, () => read(run)),
    ]
    const injected = await injectFaults(run, cluster, subscribers, settings)
    overAt = performance.now()
    await Promise.all(clients)
    await untilStreamsEnd(subscribers, recoveryMs)
    // The last turn of each conversation has no audience, so it is in every view.
    const last = await Promise.all(conversations.map((conversation) => append(run, conversation)))
    await catchUp(subscribers, new Map(last.map(({ conversation, seq }) => [conversation, seq ?? 0])), recoveryMs)
    for (const subscriber of subscribers) subscriber.stop()
    const { journals, miscounts } = await cluster.finish(async (query) => ({
      journals: await readJournals(query),
      miscounts: await query<{ detail: string }>(COUNT_CHECK),
    }))
    const { exits, services } = cluster
    return {
      store,
      injected,
      operations: run.operations,
      entries: [...journals.values()].reduce((sum, { length }) => sum + length, 0),
      violations: [
        ...checkHistory(run.operations, journals),
        ...miscounts.map(({ detail }) => ({ rule: 'SQL counts agree', detail })),
        ...exits.map((reason) => ({ rule: 'no process ends by itself', detail: `ended with ${reason}` })),
        ...injected
          .filter(({ deliveredMs }) => deliveredMs === Infinity)
          .map(({ name }) => ({
            rule: 'clients recover',
            detail: `no recovery within ${recoveryMs} ms after ${name}`,
          })),
      ],
      notes: services && 'reason' in services.disk ? [`The disk was not filled: ${services.disk.reason}`] : [],
    }
  } finally {
    await cluster.close()
  }
}
