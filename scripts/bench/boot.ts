// Starts the server of this checkout as `npm start` does, embedded and on Postgres: first on an empty database, then
// once more on the same one. Measures the time to the first answer and the resident memory when idle.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median, type Figure, type Report } from './figures.ts'
import { startCheckout } from './process.ts'
import { withDatabase, type Bench } from './services.ts'

const ROUNDS = 5
/** Time from the first answer of the last start until the memory is read, ms. */
const IDLE_MS = 30_000

/** Maximum seconds to the first answer of the first and of the second start, and maximum MB when idle. */
const TARGETS = { embedded: { first: 3, second: 1.5, memory: 350 }, Postgres: { first: 3, second: 1.5, memory: 180 } }

type Times = { first: number[]; second: number[]; memory: number[] }

/** Starts a server, waits for its first answer, and stops it. Returns the seconds; with `memory`, also adds the MB. */
async function start(env: Record<string, string>, memory?: number[]): Promise<number> {
  const begin = performance.now()
  const server = await startCheckout(process.cwd(), env)
  try {
    const response = await fetch(`http://127.0.0.1:${server.port}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ embedding { remaining } }' }),
    })
    if (!response.ok) throw new Error(`the first answer has status ${response.status}`)
    await response.text()
    const seconds = (performance.now() - begin) / 1_000
    if (memory) {
      await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
      const status = await readFile(`/proc/${server.pid}/status`, 'utf8')
      memory.push(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024)
    }
    return seconds
  } finally {
    await server.stop()
  }
}

/** Starts the server twice per round, and reads its memory after the last start. `use` prepares an empty database. */
async function rounds(use: (run: (env: Record<string, string>) => Promise<void>) => Promise<void>): Promise<Times> {
  const times: Times = { first: [], second: [], memory: [] }
  for (let round = 0; round < ROUNDS; round++) {
    await use(async (env) => {
      times.first.push(await start(env))
      times.second.push(await start(env, round === ROUNDS - 1 ? times.memory : undefined))
    })
  }
  return times
}

export async function boot({ services, progress }: Bench): Promise<Report> {
  const stores = {
    embedded: await rounds(async (run) => {
      const directory = await mkdtemp(join(tmpdir(), 'colloquy-boot-'))
      await run({ DATABASE_URL: '', REDIS_URL: '', DATA_DIR: directory }).finally(() =>
        rm(directory, { recursive: true, force: true }),
      )
    }),
    Postgres: await rounds((run) =>
      withDatabase(services.databaseUrl, (url) => run({ DATABASE_URL: url, REDIS_URL: services.redisUrl })),
    ),
  }
  const figures: Figure[] = []
  for (const store of ['embedded', 'Postgres'] as const) {
    for (const name of ['first', 'second', 'memory'] as const) {
      const ours = median(stores[store][name])
      progress(`${store}, ${name}: ${ours.toFixed(2)}`)
      figures.push({
        label: `${store}: ${name === 'memory' ? `memory ${IDLE_MS / 1_000} s after` : name} start`,
        ours,
        theirs: TARGETS[store][name],
        against: 'the target',
        unit: name === 'memory' ? 'MB' : 's',
        better: 'smaller',
        target: 1,
      })
    }
  }
  return {
    title: 'boot: time from npm start to the first answer',
    figures,
    notes: [`Medians of ${ROUNDS} first starts, each on an empty database, and of the second start on each of them.`],
  }
}
