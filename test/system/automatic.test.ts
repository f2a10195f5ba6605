// Automatic jobs in several real processes on one Postgres: each run processes exactly the configured number of new
// turns, even if all processes append turns and run jobs, and some processes are killed.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../src/domain/deps.ts'
import type { AutomaticThresholds } from '../../src/domain/kernel/automatic-thresholds.ts'
import { getJobs } from '../../src/domain/background/job/job.ts'
import { startJobs } from '../../src/domain/background/jobs.ts'
import { appendTurn } from '../../src/domain/turn/append/append.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'
import { readRuns, summariesOf } from '../support/automatic.ts'
import { backends, type Opened } from '../support/backend.ts'
import { openSite, newViewer, type Site } from '../support/process.ts'
import type { Assignment, Settings, WorkerMessage } from './automatic-process.ts'
import { sql } from '../support/sql.ts'
import { SYSTEM } from '../../src/store/db/scope.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i)

const PROCESSES = 8
const CONVERSATIONS = 8
const PEOPLE = 10
const TURNS = 1_600
const EVERY: AutomaticThresholds = {
  titles: false,
  threadSummaryEvery: 10,
  factExtractionEvery: 10,
  userSummaryEvery: 10,
}

type Worker = {
  /** Resolves when the process has sent a message that the condition accepts; rejects if the process ends before. */
  received(condition: (message: WorkerMessage) => boolean): Promise<void>
  append(assignment: Assignment): void
  kill(): Promise<void>
}

const running: ChildProcess[] = []
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')))

function startWorker(settings: Settings): Worker {
  const script = ['--import', 'tsx', 'test/system/automatic-process.ts', JSON.stringify(settings)]
  const child = spawn(process.execPath, script, { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] })
  running.push(child)
  child.stdin.on('error', () => {})
  const messages: WorkerMessage[] = []
  const lines = createInterface(child.stdout)
  lines.on('line', (line) => messages.push(JSON.parse(line) as WorkerMessage))
  const ended = once(lines, 'close').then(() => Promise.reject(new Error('The process ended.')))
  ended.catch(() => {})
  return {
    received: (condition) =>
      Promise.race([
        ended,
        new Promise<void>((resolve) => {
          const check = () => {
            if (!messages.some(condition)) return
            lines.off('line', check)
            resolve()
          }
          lines.on('line', check)
          check()
        }),
      ]),
    append: (assignment) => void child.stdin.write(`${JSON.stringify(assignment)}\n`),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

/** Postgres, if available; other processes cannot connect to the embedded database. */
const backend = backends.at(-1)!

describe.runIf(backend.name === 'postgres')('with several processes (needs TEST_DATABASE_URL),', () => {
  let site: Site
  let deps: Deps
  let storage: Pick<Settings, 'databaseUrl' | 'redisUrl'>
  let viewer: Viewer
  let stop = async () => {}

  beforeEach(async () => {
    let opened: Opened | null = null
    site = await openSite({ ...backend, open: async () => (opened = await backend.open()) })
    deps = { ...(await site.start()).deps, automatic: EVERY }
    storage = { databaseUrl: opened!.url!, redisUrl: opened!.redisUrl! }
    viewer = newViewer()
    stop = async () => {}
  })
  afterEach(async () => {
    for (const child of running.splice(0)) {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    }
    await stop()
    await site.close()
  })

  const newConversation = async () => {
    const {
      conversation: { id },
    } = await createConversation(deps, viewer, {})
    await deps.db.of(SYSTEM).conversation.update({ where: { id }, data: { factExtraction: true } })
    return id
  }
  const append = async ({ turns }: Assignment) => {
    for (const { conversationId, actor, clientId } of turns) {
      await appendTurn(
        deps,
        { ...viewer, actor },
        { conversationId, turn: { role: 'USER', content: `${actor} says ${clientId}.`, clientId } },
      )
    }
  }

  test(`each automatic job runs once per threshold although two of ${PROCESSES} processes are killed`, async () => {
    const conversationIds: string[] = []
    while (conversationIds.length < CONVERSATIONS) conversationIds.push(await newConversation())
    const workers = upTo(PROCESSES).map(() => startWorker({ ...storage, automatic: EVERY, hangs: false }))
    await Promise.all(workers.map(({ received }) => received(({ is }) => is === 'ready')))

    const share = TURNS / PROCESSES
    const assignments = workers.map((_, p): Assignment => ({
      tenant: viewer.tenant,
      turns: upTo(share)
        .map((n) => p * share + n)
        .map((i) => ({
          conversationId: conversationIds[i % CONVERSATIONS]!,
          actor: `person-${Math.floor(i / CONVERSATIONS) % PEOPLE}`,
          clientId: `turn-${i}`,
        })),
    }))
    workers.forEach((worker, p) => worker.append(assignments[p]!))
    const killed = [0, 1]
    await Promise.all(
      killed.map(async (p) => {
        await workers[p]!.received((message) => message.is === 'appended' && message.count >= 30)
        await workers[p]!.kill()
      }),
    )
    const survivors = workers.filter((_, p) => !killed.includes(p))
    await Promise.all(
      survivors.map(({ received }) => received((message) => message.is === 'appended' && message.count === share)),
    )
    // Append the killed processes' turns again, and run jobs in this process. The clientIds prevent duplicates.
    for (const p of killed) await append(assignments[p]!)
    stop = await startJobs(deps)

    const perConversation = TURNS / CONVERSATIONS
    const perPerson = TURNS / PEOPLE
    const expected = {
      conversations: Object.fromEntries(
        conversationIds.map((conversationId) => [
          conversationId,
          { summaries: summariesOf(perConversation, 10), extractions: perConversation / 10 },
        ]),
      ),
      users: Object.fromEntries(
        upTo(PEOPLE).map((n) => [`person-${n}`, { turns: perPerson, profilings: perPerson / 10 }]),
      ),
    }
    await vi.waitFor(async () => expect(await readRuns(deps, viewer.tenant)).toEqual(expected), { interval: 500 })
    const { conversations: done, users } = await readRuns(deps, viewer.tenant)
    const sum = (counts: number[]) => counts.reduce((a, b) => a + b)
    expect([
      sum(Object.values(done).map(({ summaries }) => summaries.length)),
      sum(Object.values(done).map(({ extractions }) => extractions)),
      sum(Object.values(users).map(({ profilings }) => profilings)),
    ]).toEqual([160, 160, 160])
    // Leave time for another sweep, which must find no work.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    expect(await readRuns(deps, viewer.tenant)).toEqual(expected)
  })

  test('another process runs the job of a killed process once, and the interrupted job remains listed', async () => {
    const conversationId = await newConversation()
    const turns = (from: number, count: number): Assignment => ({
      tenant: viewer.tenant,
      turns: upTo(count).map((n) => ({ conversationId, actor: 'ada', clientId: `turn-${from + n}` })),
    })
    const interrupted = startWorker({ ...storage, automatic: EVERY, hangs: true })
    await interrupted.received(({ is }) => is === 'ready')
    interrupted.append(turns(0, 10))
    await interrupted.received(({ is }) => is === 'extracting')
    await interrupted.kill()
    const extractions = async () => (await readRuns(deps, viewer.tenant)).conversations[conversationId]!.extractions
    expect(await extractions()).toBe(0)

    const successor = startWorker({ ...storage, automatic: EVERY, hangs: false })
    await successor.received(({ is }) => is === 'ready')
    await vi.waitFor(async () => expect(await extractions()).toBe(1), { interval: 100 })
    successor.append(turns(10, 10))
    await vi.waitFor(async () => expect(await extractions()).toBe(2), { interval: 100 })
    const activeExtractions = async () =>
      (await getJobs(deps, viewer, { state: 'ACTIVE' })).items.filter(({ name }) => name === 'EXTRACT_FACTS')
    // The successor's last job stays active for a moment after its result is stored.
    await vi.waitFor(async () => expect(await activeExtractions()).toHaveLength(1), { interval: 100 })
    await sql(deps.pool).query(
      `UPDATE pgboss.job SET created_on = created_on - interval '4 minutes' WHERE state = 'active'`,
    )
    const interruptedJobs = await activeExtractions()
    expect(interruptedJobs).toMatchObject([{ conversationId, attempts: 1 }])
    expect(interruptedJobs[0]!.ageSeconds).toBeGreaterThan(240)
    await vi.waitFor(
      async () =>
        expect(await readRuns(deps, viewer.tenant)).toEqual({
          conversations: { [conversationId]: { summaries: [10, 20], extractions: 2 } },
          users: { ada: { turns: 20, profilings: 2 } },
        }),
      { interval: 100 },
    )
  })
})
