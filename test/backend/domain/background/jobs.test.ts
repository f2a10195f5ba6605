// Automatic jobs on real databases: each crossed threshold causes exactly one run, regardless of failures and of the
// number of processes.

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createConversation } from '../../../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../../../src/domain/deps.ts'
import type { AutomaticThresholds } from '../../../../src/domain/kernel/automatic-thresholds.ts'
import { startJobs } from '../../../../src/domain/background/jobs.ts'
import { GATHER_MS } from '../../../../src/domain/background/job/find-work.ts'
import { QUEUES } from '../../../../src/domain/background/job/worker.ts'
import { appendTurn } from '../../../../src/domain/turn/append/append.ts'
import type { Viewer } from '../../../../src/domain/kernel/view.ts'
import { CallFailed } from '../../../../src/providers/ports/call-failed.ts'
import { fakeClock } from '../../../support/fake-clock.ts'
import { readRuns, summariesOf, untilAborted, withExtractor } from '../../../support/automatic.ts'
import { backends } from '../../../support/backend.ts'
import { newViewer, openSite, type Site } from '../../../support/process.ts'
import { isLong } from '../../../support/long.ts'
import { sql } from '../../../support/sql.ts'
import type { Subject } from '../../../../src/store/jobs/job-queue.ts'
import { SYSTEM } from '../../../../src/store/db/scope.ts'

const ALL: AutomaticThresholds = { titles: false, threadSummaryEvery: 10, factExtractionEvery: 7, userSummaryEvery: 9 }
const NONE: AutomaticThresholds = { titles: false, threadSummaryEvery: 0, factExtractionEvery: 0, userSummaryEvery: 0 }
const runsIn = (turns: number, every: number) => Math.floor(turns / every)

describe.each(backends)('automatic jobs on $name', (backend) => {
  const clock = fakeClock()
  let site: Site
  const stops: (() => Promise<void>)[] = []
  beforeAll(async () => void (site = await openSite(backend, {}, { clock })))
  afterEach(async () => void (await Promise.all(stops.splice(0).map((stop) => stop()))))
  afterAll(() => site.close())

  const process = async (automatic: AutomaticThresholds): Promise<Deps> => ({ ...(await site.start()).deps, automatic })
  const start = async (deps: Deps) => {
    const stop = await startJobs(deps)
    stops.push(stop)
    return stop
  }
  /** Waits until the check passes. Makes the processes look for due work before each attempt. */
  const waitForJobs = (check: () => unknown) =>
    vi.waitFor(async () => {
      await clock.advance(GATHER_MS)
      await check()
    })
  /** Records the names of the jobs for which a process looks, and the subjects of due ones, in the order of the calls. */
  const recordSends = (deps: Deps) => {
    const sends: { name: string; subjects: readonly Subject[] }[] = []
    const send: Deps['jobs']['send'] = (name, subjects) => {
      sends.push({ name, subjects })
      return deps.jobs.send(name, subjects)
    }
    return { sends, deps: { ...deps, jobs: { ...deps.jobs, send } } }
  }
  const newConversation = async (deps: Deps, viewer: Viewer, extractsFacts = true) => {
    const {
      conversation: { id },
    } = await createConversation(deps, viewer, {})
    if (extractsFacts) await deps.db.of(SYSTEM).conversation.update({ where: { id }, data: { factExtraction: true } })
    return id
  }
  const append = (deps: Deps, viewer: Viewer, conversationId: string, actor: string, overrides: object = {}) =>
    appendTurn(deps, viewer, {
      conversationId,
      turn: { actor, role: 'USER', content: `${actor} speaks`, ...overrides },
    })

  it.runIf(isLong)('run once per crossed threshold while four processes append and work', async () => {
    const processes: Deps[] = []
    while (processes.length < 4) processes.push(await process(ALL))
    const viewer = newViewer()
    const conversationIds: string[] = []
    for (let n = 0; n < 8; n++) conversationIds.push(await newConversation(processes[0]!, viewer))
    await Promise.all(processes.map((deps) => start(deps)))
    await Promise.all(
      processes.map(async (deps, p) => {
        for (let n = 0; n < 100; n++) {
          // About 50 turns per conversation: 80 % by five people, all in every conversation, 20 % by an agent.
          const actor = n % 5 === 0 ? 'bot' : `person-${(n + p) % 5}`
          await append(deps, viewer, conversationIds[n % 8]!, actor, actor === 'bot' ? { role: 'ASSISTANT' } : {})
        }
      }),
    )
    const { pool } = processes[0]!
    const turnsByUser = new Map(
      (
        await sql(pool).query(
          `SELECT actor, count(*)::integer AS turns FROM turn
       WHERE conversation_id = ANY ($1) AND actor <> 'bot' GROUP BY 1`,
          [conversationIds],
        )
      ).rows.map(({ actor, turns }) => [actor as string, turns as number]),
    )
    const turnsByConversation = new Map(
      (
        await sql(pool).query(
          'SELECT conversation_id AS "conversationId", turn_count AS turns FROM journal WHERE conversation_id = ANY ($1)',
          [conversationIds],
        )
      ).rows.map(({ conversationId, turns }) => [conversationId as string, turns as number]),
    )
    expect([...turnsByUser.values(), 80].reduce((a, b) => a + b)).toBe(400)
    const expected = {
      conversations: Object.fromEntries(
        [...turnsByConversation].map(([conversationId, turns]) => [
          conversationId,
          { summaries: summariesOf(turns, 10), extractions: runsIn(turns, 7) },
        ]),
      ),
      users: Object.fromEntries(
        [...turnsByUser].map(([user, turns]) => [user, { turns, profilings: runsIn(turns, 9) }]),
      ),
    }
    await waitForJobs(async () => expect(await readRuns(processes[0]!, viewer.tenant)).toEqual(expected))
    // When every process checks every conversation again, nothing is due.
    await Promise.all(stops.splice(0).map((stop) => stop()))
    for (const { sends, deps } of processes.map(recordSends)) {
      await start(deps)
      // The last kind of work for which the sweep at the start looks.
      await vi.waitFor(() => expect(sends.map(({ name }) => name)).toContain(QUEUES.REFRESH_PROFILE))
      expect(sends.flatMap(({ subjects }) => subjects).filter(({ tenant }) => tenant === viewer.tenant)).toEqual([])
    }
    expect(await readRuns(processes[0]!, viewer.tenant)).toEqual(expected)
  })

  it.runIf(isLong)('retry a failed run, count it once, and store no text of an unexpected error', async () => {
    const deps = await process({ ...ALL, threadSummaryEvery: 0 })
    const viewer = newViewer()
    const conversationId = await newConversation(deps, viewer)
    let failures = 0
    const quiet = { ...deps, log: { ...deps.log, warn: () => {} } }
    await start(
      withExtractor(quiet, async (turns, options, extractor) => {
        failures++
        if (failures === 1) throw new CallFailed('The provider is down.', true)
        if (failures < 4) throw new TypeError('ada speaks of secret things')
        return extractor.extract(turns, options)
      }),
    )
    for (let n = 0; n < 7; n++) await append(deps, viewer, conversationId, 'ada')
    const errors = new Set<string>()
    await waitForJobs(async () => {
      const { rows } = await sql(deps.pool).query(`SELECT output->>'message' AS message, output FROM pgboss.job
         WHERE name = 'extract-facts' AND output IS NOT NULL`)
      for (const { message, output } of rows) {
        errors.add(message)
        expect(JSON.stringify(output)).not.toContain('secret')
        expect(output).not.toHaveProperty('stack')
      }
      await sql(deps.pool).query(`UPDATE pgboss.job SET start_after = now() WHERE state = 'retry'`)
      expect((await readRuns(deps, viewer.tenant)).conversations[conversationId]!.extractions).toBe(1)
    })
    expect(failures).toBeGreaterThanOrEqual(4)
    expect([...errors]).toEqual(['The provider is down.', 'Unexpected error (TypeError): see the log.'])
  })

  it('skip conversations that disable facts or summaries, and turns not written by a person', async () => {
    const deps = await process(ALL)
    const viewer = newViewer()
    const [extracting, other] = [await newConversation(deps, viewer), await newConversation(deps, viewer, false)]
    await deps.db.of(SYSTEM).conversation.update({ where: { id: extracting }, data: { compactionStrategy: 'NEVER' } })
    await start(deps)
    for (let n = 0; n < 14; n++) {
      await append(deps, viewer, extracting, 'ada')
      await append(deps, viewer, other, 'tool', { role: 'ASSISTANT' })
    }
    await waitForJobs(async () =>
      expect(await readRuns(deps, viewer.tenant)).toEqual({
        conversations: {
          [extracting]: { summaries: [], extractions: 2 },
          [other]: { summaries: [10], extractions: 0 },
        },
        users: { ada: { turns: 14, profilings: 1 } },
      }),
    )
  })

  it('count no turns and run no handlers if they are disabled', async () => {
    const { sends, deps } = recordSends(await process(NONE))
    const viewer = newViewer()
    const conversationId = await newConversation(deps, viewer)
    const query = vi.spyOn(deps.pool, 'query')
    await start(deps)
    for (let n = 0; n < 20; n++) await append(deps, viewer, conversationId, 'ada')
    // The sweep at the start and the first check after the appends look for this kind of work last.
    const decisions = () => sends.filter(({ name }) => name === QUEUES.CONTINUE_RUNS).length
    await waitForJobs(() => expect(decisions()).toBeGreaterThanOrEqual(2))
    const texts = query.mock.calls.map(([call]) => (call as unknown as { text?: string }).text ?? String(call))
    query.mockRestore()
    // Compaction still looks for work, but no statement uses the progress of users or of extraction.
    expect(texts.filter((text) => /\bsummarized_turns\b/.test(text))).not.toEqual([])
    const working = texts.filter((text) => !text.startsWith('VACUUM'))
    expect(working.filter((text) => /\b(user_progress|conversation_progress)\b/.test(text))).toEqual([])
    expect(await readRuns(deps, viewer.tenant)).toEqual({
      conversations: { [conversationId]: { summaries: [], extractions: 0 } },
      users: {},
    })
  })

  it.runIf(isLong)('stop completely, and resume where they stopped', async () => {
    const deps = await process({ ...ALL, threadSummaryEvery: 0, userSummaryEvery: 0 })
    const viewer = newViewer()
    const conversationId = await newConversation(deps, viewer)
    let started = 0
    let running = 0
    const ids = new Set<string>()
    const stop = await start(
      withExtractor(deps, async (turns, options) => {
        // Work left by other tests is due as well.
        if (!turns.some(({ id }) => ids.has(id))) return { facts: [] }
        started++
        running++
        return untilAborted(options?.signal).finally(() => running--)
      }),
    )
    for (let n = 0; n < 21; n++) ids.add((await append(deps, viewer, conversationId, 'ada')).turn.id)
    await waitForJobs(() => expect(started).toBe(1))
    await stop()
    expect({ started, running }).toEqual({ started: 1, running: 0 })
    for (let n = 0; n < 7; n++) await append(deps, viewer, conversationId, 'ada')
    await start(deps)
    await waitForJobs(async () =>
      expect((await readRuns(deps, viewer.tenant)).conversations[conversationId]!.extractions).toBe(4),
    )
    expect({ started, running }).toEqual({ started: 1, running: 0 })
  })
})
