// The metrics of a process, for Prometheus. A scrape reads plain numbers: src/runtime/counters.ts, and the sizes of queues,
// pools and caches. So hot paths only increment numbers. Labels have fixed sets of values: no label contains a name
// that a client chose.

import { counters, type Histogram } from '../../runtime/counters.ts'
import type { Deps } from '../../domain/deps.ts'
import { queueSizes } from '../../domain/background/job/job.ts'
import type { Admission } from './admission.ts'
import { waitingBytes } from '../live/outbox.ts'

/** The connections of one pool of the database. */
type PoolSize = { totalCount: number; idleCount: number; waitingCount: number }

/** The objects of one process whose numbers the metrics read. */
export type Measured = {
  deps: Pick<Deps, 'gates' | 'answers' | 'feeds' | 'vectors' | 'knownActors' | 'jobs' | 'db' | 'log'>
  pools: Readonly<Record<string, PoolSize>>
  /** Memory that the server uses for the bodies of requests, and for parsed documents, in bytes. */
  usage(): { bodies: number; documents: number }
  admission: Pick<Admission, 'inProgress' | 'limit' | 'delays'>
}

type Labels = Record<string, string>
export type Sample = { labels: Labels; value: number; metricName?: string }
type Definition = {
  name: string
  type: 'counter' | 'gauge' | 'histogram'
  help: string
  labels: readonly string[]
  read(measured: Measured): Sample[] | Promise<Sample[]>
}

const one = (value: number): Sample[] => [{ labels: {}, value }]
const by = (label: string, values: Iterable<[string, number]>): Sample[] =>
  [...values].map(([name, value]) => ({ labels: { [label]: name }, value }))

/** Returns the samples of a histogram, with cumulative buckets as Prometheus expects them. */
function samplesOf(name: string, { bounds, counts, sum }: Histogram, labels: Labels): Sample[] {
  let total = 0
  const buckets = counts.map((count, index) => {
    total += count
    const le = index < bounds.length ? String(bounds[index]) : '+Inf'
    return { labels: { ...labels, le }, value: total, metricName: `${name}_bucket` }
  })
  return [
    ...buckets,
    { labels, value: sum, metricName: `${name}_sum` },
    { labels, value: total, metricName: `${name}_count` },
  ]
}

const TRAFFIC: Definition[] = [
  {
    name: 'colloquy_operation_seconds',
    type: 'histogram',
    help:
      'Duration of operations; of a subscription, until it is open. `kind`: query, mutation or subscription. `outcome`: '
      + 'ok (also with an expected error in a result union), refused (an error of the client) or failed.',
    labels: ['kind', 'outcome'],
    read: () =>
      Object.entries(counters.operations).flatMap(([kind, outcomes]) =>
        Object.entries(outcomes).flatMap(([outcome, histogram]) =>
          samplesOf('colloquy_operation_seconds', histogram, { kind, outcome }),
        ),
      ),
  },
  {
    name: 'colloquy_refusals_total',
    type: 'counter',
    help:
      'Refused requests, closed WebSockets and expected errors of operations. `reason`: the code, for example '
      + '`RATE_LIMITED`, or `WS_` and the close code.',
    labels: ['reason'],
    read: () => by('reason', counters.refusals),
  },
  {
    name: 'colloquy_shed_total',
    type: 'counter',
    help:
      'Operations and connections that were refused before they started, because the process was overloaded. '
      + '`transport`: http (also event streams) or websocket.',
    labels: ['transport'],
    read: () => by('transport', Object.entries(counters.shed)),
  },
  {
    name: 'colloquy_turns_total',
    type: 'counter',
    help: 'Turns that were appended or opened.',
    labels: [],
    read: () => one(counters.turns),
  },
  {
    name: 'colloquy_deltas_total',
    type: 'counter',
    help: 'Deltas of streaming turns that were written, heartbeats included.',
    labels: [],
    read: () => one(counters.deltas),
  },
  {
    name: 'colloquy_redactions_total',
    type: 'counter',
    help: 'Values that `REDACT=turns` removed from what clients wrote. `kind`: the kind of the detector, for example email.',
    labels: ['kind'],
    read: () => by('kind', counters.redactions),
  },
  {
    name: 'colloquy_deliveries_total',
    type: 'counter',
    help: 'Events of conversations that were passed to the connections of readers.',
    labels: [],
    read: () => one(counters.deliveries),
  },
  {
    name: 'colloquy_delivery_lag_seconds',
    type: 'histogram',
    help:
      'Time from the creation of a journal entry to its delivery to the readers in this process, by the clocks of the '
      + 'database and of the process.',
    labels: [],
    read: () => samplesOf('colloquy_delivery_lag_seconds', counters.lag, {}),
  },
]

const CLIENTS: Definition[] = [
  {
    name: 'colloquy_websockets',
    type: 'gauge',
    help: 'Open WebSockets.',
    labels: [],
    read: () => one(counters.webSockets),
  },
  {
    name: 'colloquy_event_streams',
    type: 'gauge',
    help: 'Open event streams (Server-Sent Events).',
    labels: [],
    read: () => one(counters.eventStreams),
  },
  {
    name: 'colloquy_outbox_bytes',
    type: 'gauge',
    help: 'Bytes that clients have not read: of WebSockets, of event streams, and of answers over HTTP.',
    labels: [],
    read: () => one(waitingBytes()),
  },
  {
    name: 'colloquy_answer_bytes',
    type: 'gauge',
    help: 'Bytes of the large answers that are being rendered or wait to be written.',
    labels: [],
    read: ({ deps }) => one(deps.answers.used),
  },
  {
    name: 'colloquy_unread_connections_total',
    type: 'counter',
    help:
      'Connections that were closed because their clients did not read. `reason`: timeout (no data was accepted for '
      + '`WRITE_TIMEOUT_SECONDS`) or budget (others waited for the memory).',
    labels: ['reason'],
    read: () => by('reason', Object.entries(counters.unread)),
  },
  {
    name: 'colloquy_catch_up_bytes',
    type: 'gauge',
    help: 'Bytes of the journal pages in memory for readers that catch up.',
    labels: [],
    read: ({ deps }) => one(deps.feeds.catchUp.used),
  },
  {
    name: 'colloquy_body_bytes',
    type: 'gauge',
    help: 'Bytes of the bodies of requests in progress.',
    labels: [],
    read: ({ usage }) => one(usage().bodies),
  },
]

const RESOURCES: Definition[] = [
  {
    name: 'colloquy_operations_in_progress',
    type: 'gauge',
    help: 'Operations that have started and have not ended; of subscriptions, those that are not open yet.',
    labels: [],
    read: ({ admission }) => one(admission.inProgress),
  },
  {
    name: 'colloquy_operations_limit',
    type: 'gauge',
    help: 'Number of operations in progress beyond which further ones are refused.',
    labels: [],
    read: ({ admission }) => one(admission.limit),
  },
  {
    name: 'colloquy_queue_delay_seconds',
    type: 'gauge',
    help:
      'Shortest wait in a queue within the last second, which is near 0 unless the queue is never empty. `queue`: '
      + 'eventLoop, appends, reads (of the tenant that waits longest), or the connections of a pool.',
    labels: ['queue'],
    read: ({ admission }) =>
      by(
        'queue',
        [...admission.delays].map(([name, ms]) => [name, ms / 1000]),
      ),
  },
  {
    name: 'colloquy_pool_connections',
    type: 'gauge',
    help: 'Connections to the database. `pool`: reads, writes or appends; `state`: busy or idle.',
    labels: ['pool', 'state'],
    read: ({ pools }) =>
      Object.entries(pools).flatMap(([pool, { totalCount, idleCount }]) => [
        { labels: { pool, state: 'busy' }, value: totalCount - idleCount },
        { labels: { pool, state: 'idle' }, value: idleCount },
      ]),
  },
  {
    name: 'colloquy_pool_waiting',
    type: 'gauge',
    help: 'Statements that wait for a connection. `pool`: reads, writes or appends.',
    labels: ['pool'],
    read: ({ pools }) =>
      by(
        'pool',
        Object.entries(pools).map(([pool, { waitingCount }]) => [pool, waitingCount]),
      ),
  },
  {
    name: 'colloquy_gate_waiting',
    type: 'gauge',
    help:
      "Work items that wait because of their tenant's limit. `gate`: the kind of work; answerBytes: operations that wait "
      + 'for the memory for their answers.',
    labels: ['gate'],
    read: ({ deps }) =>
      by(
        'gate',
        Object.entries({ ...deps.gates, answerBytes: deps.answers }).map(([gate, { waiting }]) => [gate, waiting]),
      ),
  },
  {
    name: 'colloquy_jobs',
    type: 'gauge',
    help: 'Unfinished background jobs of all tenants. `kind`: the kind of work; `state`: waiting, retrying or active.',
    labels: ['kind', 'state'],
    read: async ({ deps }) =>
      (await queueSizes(deps)).map(({ name, state, count }) => ({ labels: { kind: name, state }, value: count })),
  },
  {
    name: 'colloquy_job_age_seconds',
    type: 'gauge',
    help: 'Age of the oldest unfinished background job. `kind` and `state` as in `colloquy_jobs`.',
    labels: ['kind', 'state'],
    read: async ({ deps }) =>
      (await queueSizes(deps)).map(({ name, state, ageSeconds }) => ({
        labels: { kind: name, state },
        value: ageSeconds,
      })),
  },
  {
    name: 'colloquy_cache_bytes',
    type: 'gauge',
    help: 'Estimated size of a cache. `cache`: documents (parsed operations) or vectors (embedded database only).',
    labels: ['cache'],
    read: ({ deps, usage }) =>
      by('cache', [
        ['documents', usage().documents],
        ['vectors', deps.vectors.cacheBytes()],
      ]),
  },
  {
    name: 'colloquy_known_actors',
    type: 'gauge',
    help: 'Actors in the cache of known actors.',
    labels: [],
    read: ({ deps }) => one(deps.knownActors.size),
  },
]

/** Every metric of Colloquy, in the order of docs/operations.md. The registry adds the default ones of prom-client. */
export const METRICS: readonly Definition[] = [...TRAFFIC, ...CLIENTS, ...RESOURCES]
