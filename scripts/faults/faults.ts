// The faults: how each is injected, how long it lasts, and how it is undone. Each fault restores the cluster at its
// end, except that a shifted clock stays shifted.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Random } from '../attacks/random.ts'
import { signal, startServices } from '../../test/system/processes.ts'
import { PAIR, type Cluster, type Member, type Services } from './cluster.ts'

export type Fault = {
  name: string
  /** The part of the cluster that the fault affects. Two faults with the same target do not run at the same time. */
  target: 'server' | 'services'
  /** Injects the fault, waits, and undoes it, unless it is a clock jump. */
  run(cluster: Cluster, random: Random, seconds: number): Promise<void>
}

/** Duration of most faults, s: the minimum, and the maximum (exclusive). */
const LENGTH_S = [2, 6] as const
/** Duration of the long outage of Redis, s. */
const LONG_OUTAGE_S = 60

const onServer = (name: string, run: (member: Member, random: Random, cluster: Cluster) => Promise<void>): Fault => ({
  name,
  target: 'server',
  run: (cluster, random) => run(random.pick(cluster.members), random, cluster),
})
const onServices = (name: string, run: (services: Services, ms: number) => Promise<void>): Fault => ({
  name,
  target: 'services',
  run: (cluster, _, seconds) => run(cluster.services!, seconds * 1_000),
})

const serverFaults: Fault[] = [
  onServer('server: SIGKILL', async (member, random, { start }) => {
    await member.server.kill()
    await sleep(random.below(1_500))
    await start(member)
  }),
  onServer('server: SIGSTOP', async ({ server }, random) => {
    server.signal('SIGSTOP')
    await sleep(2_000 + random.below(6_000))
    server.signal('SIGCONT')
  }),
  onServer('server: clock jumps by 5 or 10 minutes', async ({ server }, random) => {
    server.signal('SIGUSR2')
    await sleep(random.below(2_000))
  }),
  onServer('clients: sockets cut', async (_, random, { members }) => {
    for (let n = 0; n < 5; n++) {
      random.pick(members).proxy.drop()
      await sleep(random.below(600))
    }
  }),
  onServer('clients: answers lost', async ({ proxy }, random) => {
    proxy.silence('new connections')
    await sleep(500 + random.below(2_000))
    proxy.drop()
    proxy.resume()
  }),
]

const serviceFaults: Fault[] = [
  onServices('Postgres: SIGKILL', async () => {
    await signal('postgres', 'KILL', PAIR)
    await sleep(500)
    await startServices(PAIR)
  }),
  onServices('Postgres: connections cut', async ({ postgres }, ms) => {
    for (const end = Date.now() + ms; Date.now() < end; await sleep(1_000)) postgres.drop()
  }),
  onServices('Postgres: rows locked', ({ databaseUrl }, ms) =>
    connected(databaseUrl, async (client) => {
      await client.query('BEGIN')
      await client.query('SELECT 1 FROM journal ORDER BY conversation_id FOR UPDATE')
      await sleep(ms)
    }),
  ),
  onServices('Postgres: no connection left', exhaustConnections),
  onServices('Redis: SIGKILL', async (_, ms) => {
    await signal('redis', 'KILL', PAIR)
    await sleep(ms)
    await startServices(PAIR)
  }),
  onServices('Redis: SIGSTOP', pauseRedis),
  onServices('Redis: connections cut', async ({ redis }, ms) => {
    for (const end = Date.now() + ms; Date.now() < end; await sleep(1_000)) redis.drop()
  }),
]

const diskFull = onServices('Postgres: disk full', async ({ disk }, ms) => {
  if (!('fill' in disk)) return
  const free = await disk.fill()
  await sleep(ms)
  await free()
})

async function pauseRedis(_: Services, ms: number): Promise<void> {
  await signal('redis', 'STOP', PAIR)
  await sleep(ms)
  await signal('redis', 'CONT', PAIR)
}

async function connected(url: string, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  try {
    await use(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/** Opens every connection that Postgres allows, then ends the connections of the servers. */
async function exhaustConnections({ server, postgres }: Services, ms: number): Promise<void> {
  const taken: pg.Client[] = []
  const take = async () => {
    for (;;) {
      const client = new pg.Client(server)
      client.on('error', () => {})
      try {
        await client.connect()
      } catch {
        return
      }
      taken.push(client)
    }
  }
  await take()
  postgres.drop()
  for (const end = Date.now() + ms; Date.now() < end; await sleep(100)) await take()
  await Promise.all(taken.map((client) => client.end().catch(() => {})))
}

/** The faults that can be injected into the cluster. */
export const faultsOf = ({ services }: Cluster): Fault[] => [
  ...serverFaults,
  ...(services ? serviceFaults : []),
  ...(services && 'fill' in services.disk ? [diskFull] : []),
]

/** The longest fault. A run of at least LONG_RUN_S (run.ts) injects it once, at its start. */
export const longOutage: Fault = {
  ...onServices(`Redis: SIGSTOP for ${LONG_OUTAGE_S} s`, pauseRedis),
  run: (cluster) => pauseRedis(cluster.services!, LONG_OUTAGE_S * 1_000),
}

/** Returns a random duration of a fault, s. */
export const lengthOf = (random: Random): number => LENGTH_S[0] + random.below(LENGTH_S[1] - LENGTH_S[0])
