// The memory for large answers: which operations take a share of it, when they wait, and when they release it.

import type { ExecutionResult } from 'graphql'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../../../src/runtime/clock.ts'
import { loadConfig } from '../../../../../src/config/config.ts'
import { createByteBudget, type ByteBudget } from '../../../../../src/domain/kernel/limits/byte-budget.ts'
import { createTenantActivity } from '../../../../../src/domain/kernel/limits/tenant-activity.ts'
import { createTenantGates } from '../../../../../src/domain/kernel/limits/tenant-gates.ts'
import { FREE_BYTES } from '../../../../../src/graphql/kernel/limits/answer-share.ts'
import { Work, type HeldAnswer } from '../../../../../src/graphql/kernel/limits/work.ts'

const limits = loadConfig({}).operationLimits
const MiB = 1024 * 1024
const text = (bytes: number) => 'x'.repeat(bytes)

/** The work of an operation of the actor, and the functions of its client. */
function operation(answers: ByteBudget, actor = 'ada') {
  const held: HeldAnswer[] = []
  const client = { isGone: () => client.gone, gone: false, holdAnswer: (answer: HeldAnswer) => void held.push(answer) }
  const gates = createTenantGates(systemClock, 10, createTenantActivity(systemClock))
  const reads = { timeoutMs: 1_000, isTimeout: () => false }
  const work = new Work(limits, systemClock, client, {
    gates,
    reads,
    answers,
    viewer: { tenant: 'acme', actor },
  } as never)
  /** Reads so many bytes, one read after the other, and answers with the last one. */
  const run = (kind: 'query' | 'mutation', ...bytes: number[]) =>
    work.within(kind, async (): Promise<ExecutionResult> => {
      let last = ''
      for (const each of bytes) last = await work.read(() => text(each))
      return { data: { last } }
    }) as Promise<ExecutionResult>
  return {
    work,
    run,
    client,
    held,
    /** The client has received the answer, or has disconnected. */
    sent: () => held.forEach((answer) => answer.release()),
  }
}

/** Resolves when `count` operations wait for memory. */
async function untilWaiting(answers: ByteBudget, count: number): Promise<void> {
  while (answers.waiting < count) await new Promise((resolve) => setImmediate(resolve))
}

describe('an operation', () => {
  it('with little data takes no share', async () => {
    const answers = createByteBudget(64 * MiB)
    const { run, held } = operation(answers)
    await run('query', FREE_BYTES / 2, FREE_BYTES / 2)
    expect([answers.used, held]).toEqual([0, []])
  })

  it('has a share of the size of its answer until the answer is sent', async () => {
    const answers = createByteBudget(64 * MiB)
    const { run, held, sent } = operation(answers)
    await run('query', MiB, 3 * MiB)
    expect(answers.used).toBe(3 * MiB)
    expect(held.map(({ bytes }) => bytes)).toEqual([3 * MiB])
    sent()
    expect(answers.used).toBe(0)
  })

  it('releases its share before the answer is sent if the answer is small', async () => {
    const answers = createByteBudget(64 * MiB)
    await operation(answers).run('query', 3 * MiB, 10)
    expect(answers.used).toBe(0)
  })

  it('takes a share for an answer that is larger than the data it has read', async () => {
    const answers = createByteBudget(64 * MiB)
    const { work } = operation(answers)
    await work.within('query', () => ({ data: { a: text(2 * MiB) } }))
    expect(answers.used).toBe(2 * MiB)
  })

  it('waits, before its next read, until answers of its viewer are sent', async () => {
    const answers = createByteBudget(64 * MiB)
    const first = operation(answers)
    await first.run('query', 2 * MiB, 9 * MiB)
    const second = operation(answers)
    let isDone = false
    const running = second.run('query', 2 * MiB, 2 * MiB).then(() => (isDone = true))
    await untilWaiting(answers, 1)
    expect([isDone, answers.waiting]).toEqual([false, 1])
    await operation(answers, 'bob').run('query', 2 * MiB, 2 * MiB)
    first.sent()
    await running
    expect(answers.used).toBe(2 * 2 * MiB)
  })

  it('withdraws its request if its client disconnects while it waits', async () => {
    const answers = createByteBudget(64 * MiB)
    await operation(answers).run('query', 2 * MiB, 9 * MiB)
    const { run, client, sent } = operation(answers)
    const running = run('query', 2 * MiB, 2 * MiB)
    await untilWaiting(answers, 1)
    client.gone = true
    sent()
    expect((await running).errors?.[0]?.extensions.code).toBe('CLIENT_GONE')
    expect([answers.used, answers.waiting]).toEqual([9 * MiB, 0])
  })

  it('that is a mutation keeps its share until its end if its client disconnects', async () => {
    const answers = createByteBudget(64 * MiB)
    const { work, sent } = operation(answers)
    const running = work.within('mutation', async () => {
      await work.read(() => text(2 * MiB))
      sent()
      await work.read(() => text(2 * MiB))
      expect(answers.used).toBeGreaterThan(0)
      return { data: { last: text(2 * MiB) } }
    })
    await running
    expect(answers.used).toBe(0)
  })

  it('releases its share if its execution fails', async () => {
    const answers = createByteBudget(64 * MiB)
    const { work } = operation(answers)
    const running = work.within('query', async () => {
      await work.read(() => text(2 * MiB))
      throw new Error('defect')
    })
    await expect(running).rejects.toThrow('defect')
    expect(answers.used).toBe(0)
  })

  it.each([
    ['query', ''],
    ['mutation', ' Mutations of this operation may have been executed.'],
  ] as const)('that is a %s fails with SERVER_BUSY if too many others wait', async (kind, note) => {
    const answers = createByteBudget(64 * MiB, { perViewer: 1, total: 10 })
    await operation(answers).run('query', 2 * MiB, 9 * MiB)
    void operation(answers).run('query', 2 * MiB, 2 * MiB)
    await untilWaiting(answers, 1)
    const { errors } = await operation(answers).run(kind, 2 * MiB, 2 * MiB)
    expect(errors).toMatchObject([
      {
        message: `1 requests of your viewer are already waiting for this kind of work, the maximum. Try again later.${note}`,
        extensions: { code: 'SERVER_BUSY' },
      },
    ])
    expect([answers.used, answers.waiting]).toEqual([9 * MiB, 1])
  })

  it('that waits fails with SERVER_BUSY if another tenant takes its place among those that wait', async () => {
    const answers = createByteBudget(64 * MiB, { perViewer: 2, total: 2 })
    await operation(answers).run('query', 2 * MiB, 9 * MiB)
    const running = [1, 2].map(() => operation(answers).run('query', 2 * MiB, 2 * MiB))
    await untilWaiting(answers, 2)
    expect(answers.waiting).toBe(2)
    answers.take({ tenant: 'other', actor: 'eve' }, 64 * MiB)
    expect((await running[1])?.errors).toMatchObject([
      { message: expect.stringContaining('2 requests of all viewers'), extensions: { code: 'SERVER_BUSY' } },
    ])
    expect([answers.used, answers.waiting]).toEqual([9 * MiB, 2])
  })
})
