// Quotas of concurrent runs: two processes on one database reserve the tokens of calls in progress together.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { cancelRun } from '../../../../../src/domain/agent/run/cancel.ts'
import { getRuns } from '../../../../../src/domain/agent/run/run.ts'
import { runTurn } from '../../../../../src/domain/agent/run/start.ts'
import { updateTenantSettings } from '../../../../../src/domain/conversation/tenant-settings.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { backends } from '../../../../support/backend.ts'
import { isLong } from '../../../../support/long.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { createScriptedProvider, forever, gate } from '../../../../support/scripted-provider.ts'
import { sql } from '../../../../support/sql.ts'

const LIMIT = 3_000
const CALL = { inputTokens: 1_000, outputTokens: 500 }

describe.each(backends)('the quota of a tenant with two processes on $name', (backend) => {
  const provider = createScriptedProvider(CALL)
  let site: Site
  let processes: Process[]
  let ada: Viewer
  beforeAll(async () => {
    site = await openSite(backend, { providers: { scripted: provider } })
    processes = [await site.start(), await site.start()]
  })
  afterAll(() => site?.close())
  beforeEach(async () => {
    provider.reset()
    ada = newViewer()
    await updateTenantSettings(processes[0]!.deps, ada, { tokensPerDay: LIMIT })
  })

  /** Starts a run of a new agent in a process. Returns the id of the run. */
  async function start(process: number, maxTokens?: number): Promise<string> {
    const { deps } = processes[process]!
    const agent = { provider: 'scripted' }
    const participants = [{ actor: 'bot', kind: 'AGENT' as const, agent }]
    const { conversation } = await createConversation(deps, ada, { participants })
    const turns = [{ role: 'USER' as const, content: 'Who?' }]
    const input = { conversationId: conversation.id, actor: 'bot', turns, wait: false, maxTokens }
    return (await runTurn(deps, ada, input)).run.id
  }
  const read = async (id: string) => (await getRuns(processes[0]!.deps, ada, [id])).get(id)!
  const ended = async (id: string) => {
    await expect.poll(async () => (await read(id)).state).not.toBe('RUNNING')
  }
  /** Resolves once the provider has received that number of calls. */
  const asked = async (count: number) => {
    await expect.poll(() => provider.asked.length).toBe(count)
  }
  const usedToday = async () => {
    const { rows } = await sql(processes[0]!.deps.pool).query(
      'SELECT (prompt_tokens + completion_tokens)::integer AS used FROM tenant_usage WHERE tenant = $1',
      [ada.tenant],
    )
    return (rows[0] as { used: number } | undefined)?.used ?? 0
  }

  it('is exceeded by at most one call, however many runs start at once', async () => {
    const { pause, open } = gate()
    provider.next([pause, 'first'])
    const first = await start(0)
    await asked(1)
    const others = await Promise.all(Array.from({ length: isLong ? 59 : 11 }, (_, n) => start(n % 2)))
    open()
    for (const id of [first, ...others]) await ended(id)
    const used = await usedToday()
    expect(used).toBeGreaterThanOrEqual(LIMIT)
    expect(used).toBeLessThan(LIMIT + 1_500)
    const runs = await Promise.all([first, ...others].map(read))
    expect(new Set(runs.map(({ state, errorCode }) => `${state} ${errorCode}`))).toEqual(
      new Set(['COMPLETED null', 'FAILED QUOTA_EXCEEDED']),
    )
  })

  it('lets calls run at the same time whose maxTokens fit', async () => {
    provider.next([forever], [forever])
    const ids = [await start(0, 500), await start(1, 500)]
    await asked(2)
    for (const runId of ids) await cancelRun(processes[0]!.deps, ada, { runId })
  })

  it('makes a call wait for the calls in progress, without an open turn, and continues after them', async () => {
    const { pause, open } = gate()
    provider.next([pause, 'first'])
    const first = await start(0)
    await asked(1)
    const second = await start(1)
    const reservations = async () => {
      const { rows } = await sql(processes[0]!.deps.pool).query(
        'SELECT id FROM run WHERE tenant = $1 AND reserved_tokens IS NOT NULL',
        [ada.tenant],
      )
      return rows.map(({ id }) => id as string)
    }
    expect(await reservations()).toEqual([first])
    expect(await read(second)).toMatchObject({ state: 'RUNNING', turnId: null })
    open()
    await ended(first)
    await ended(second)
    expect(await read(second)).toMatchObject({ state: 'COMPLETED' })
    expect(await reservations()).toEqual([])
  })

  it('does not count the reservation of a process that has died', async () => {
    provider.next([forever])
    const dead = await start(0)
    await asked(1)
    await sql(processes[0]!.deps.pool).query(
      `UPDATE run SET holder = 'dead', lease_until = now() - interval '1 hour' WHERE id = $1`,
      [dead],
    )
    const next = await start(1)
    await ended(next)
    expect(await read(next)).toMatchObject({ state: 'COMPLETED' })
  })

  it('fails a run that still waits after the time limit, and says that calls in progress hold the rest', async () => {
    provider.next([forever])
    const first = await start(0)
    await asked(1)
    const { deps } = processes[1]!
    const { stallMs } = deps.runLimits
    deps.runLimits.stallMs = 0
    const second = await start(1)
    await ended(second)
    deps.runLimits.stallMs = stallMs
    expect(await read(second)).toMatchObject({
      errorCode: 'QUOTA_EXCEEDED',
      errorMessage: expect.stringMatching(
        /has used 0 of today's 3000 tokens, and its calls in progress have reserved \d+/,
      ),
    })
    await cancelRun(deps, ada, { runId: first })
  })
})
