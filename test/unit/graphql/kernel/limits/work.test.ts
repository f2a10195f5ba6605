// The counter of an operation's work stops the operation at its limits.

import { execute, parse, type ExecutionResult } from 'graphql'
import { describe, expect, it, vi } from 'vitest'
import { sleep, systemClock, type Clock } from '../../../../../src/runtime/clock.ts'
import { loadConfig } from '../../../../../src/config/config.ts'
import { newId } from '../../../../../src/domain/kernel/id.ts'
import { createTenantActivity } from '../../../../../src/domain/kernel/limits/tenant-activity.ts'
import { createTenantGates } from '../../../../../src/domain/kernel/limits/tenant-gates.ts'
import { createGate } from '../../../../../src/runtime/limits/gate.ts'
import { Work } from '../../../../../src/graphql/kernel/limits/work.ts'
import { createRequestContext } from '../../../../../src/graphql/kernel/request.ts'
import { schema as serverSchema } from '../../../../../src/graphql/schema.ts'
import { fakeClock } from '../../../../support/fake-clock.ts'

const defaults = loadConfig({}).operationLimits
const workOf = (more: Partial<typeof defaults> = {}, isGone?: () => boolean, clock: Clock = systemClock) =>
  new Work({ ...defaults, ...more }, clock, isGone && { isGone })
const nextIteration = () => new Promise((resolve) => setImmediate(resolve))
const codeOf = (result: ExecutionResult) => result.errors?.map(({ extensions }) => extensions)
const exceeded = (limit: string, maximum: number) => [{ code: 'QUERY_TOO_COSTLY', limit, maximum }]

describe('an answer', () => {
  it.each([
    ['values', { values: 3 }, 3],
    ['answerBytes', { answerBytes: 9 }, 9],
  ])('with too many %s is replaced by an error', async (limit, more, maximum) => {
    const data = { a: 'xxxxx', b: ['yyyyy'] }
    expect(codeOf(await workOf(more).within('query', () => ({ data })))).toEqual(exceeded(limit, maximum))
    expect(codeOf(await workOf(more).within('query', async () => ({ data })))).toEqual(exceeded(limit, maximum))
    expect(await workOf().within('query', () => ({ data }))).toEqual({ data })
  })

  it('of a mutation reports that the mutation may have been executed', async () => {
    const { errors } = await workOf({ values: 1 }).within('mutation', () => ({ data: { a: 1 } }))
    expect(errors![0]!.message).toContain('may have been executed')
  })
})

describe('reads', () => {
  it('start one at a time while they are large, and none starts after too many bytes were read', async () => {
    const work = workOf({ answerBytes: 1_000 })
    let running = 0
    let peak = 0
    const load = vi.fn(async () => {
      peak = Math.max(peak, ++running)
      await nextIteration()
      running -= 1
      return ['x'.repeat(300)]
    })
    const result = await work.within('query', async () => {
      await Promise.all(Array.from({ length: 40 }, () => work.read(load)))
      return { data: {} }
    })
    expect(codeOf(result)).toEqual(exceeded('answerBytes', 1_000))
    // Four reads together would exceed the limit, so they run one at a time, and the fourth one exceeds it.
    expect(peak).toBe(1)
    expect(load).toHaveBeenCalledTimes(4)
  })

  it('run four at a time once they have proved to be small', async () => {
    const work = workOf()
    let running = 0
    const seen: number[] = []
    const load = async () => {
      seen.push(++running)
      await nextIteration()
      running -= 1
      return ['x']
    }
    await Promise.all(Array.from({ length: 20 }, () => work.read(load)))
    expect(seen).toHaveLength(20)
    expect(seen.slice(0, 2)).toEqual([1, 1])
    expect(Math.max(...seen)).toBe(4)
  })

  it('do not start for a query after its client has disconnected, but start for a mutation', async () => {
    const read = (kind: 'query' | 'mutation') => {
      const work = workOf({}, () => true)
      return work.within(kind, async () => ({ data: { read: await work.read(() => 'x') } }))
    }
    expect(codeOf(await read('query'))).toEqual([{ code: 'CLIENT_GONE' }])
    expect(await read('mutation')).toEqual({ data: { read: 'x' } })
  })

  it('charge the tenant for their bytes', async () => {
    const charges: number[] = []
    const pauseAfter = (_tenant: string, ms: number) => (charges.push(ms), 0)
    const gates = {
      ...createTenantGates(systemClock, 4, createTenantActivity(systemClock)),
      reads: createGate(systemClock, () => 4, { pauseAfter, charged: 'nothing' }),
    }
    const reads = { timeoutMs: 1_000, isTimeout: () => false }
    const work = new Work(defaults, systemClock, undefined, {
      gates,
      reads,
      viewer: { tenant: 'acme', actor: 'ada' },
    } as never)
    await work.read(() => ['x'.repeat(2 ** 20)])
    await work.read(() => ['x'])
    expect(charges).toHaveLength(2)
    expect(charges[0]).toBeGreaterThan(1)
    expect(charges[0]! / charges[1]!).toBeGreaterThan(2 ** 20 - 1)
  })

  it('release their slot when they fail', async () => {
    const work = workOf()
    for (let at = 0; at < 10; at++) await expect(work.read(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await work.read(() => 'x')).toBe('x')
  })
})

describe('every field of Query', () => {
  /** The arguments and selection of each field; null for a field that reads nothing. */
  const fields: Record<string, string | null> = {
    apiKeys: '{ nodes { id } }',
    approvals: '{ nodes { id } }',
    auditLog: '{ nodes { seq } }',
    buildContext: '(input: { conversationId: "conv_x", tokenBudget: 100 }) { __typename }',
    contextById: '(id: "ctx_x") { __typename }',
    conversation: '(id: "conv_x") { id }',
    conversations: '{ edges { cursor } }',
    embedding: '{ done }',
    erasure: '(id: "x") { id }',
    facts: '{ edges { cursor } }',
    jobs: '{ nodes { id } }',
    memoryAudit: '{ activeFacts }',
    node: `(id: "${newId('turn')}") { id }`,
    nodes: `(ids: ["${newId('turn')}"]) { id }`,
    providers: '{ name }',
    recall: '(input: { query: "x" }) { __typename }',
    run: `(id: "${newId('run')}") { id }`,
    tenantSettings: '{ retention }',
    transfer: '(id: "x") { id }',
    userProfile: '(userId: "ada") { content }',
    verifyAuditLog: '{ isComplete }',
    verifyErasureReceipt: '(document: "x", signature: "y")',
    viewer: null,
    wakeUps: '{ edges { cursor } }',
  }

  it('is tested here', () => {
    expect(Object.keys(fields)).toEqual(Object.keys(serverSchema.getQueryType()!.getFields()).sort())
  })

  const reading = Object.entries(fields).filter(([, rest]) => rest !== null)
  it.each([...reading, ['conversation', '(key: "k") { id }']])('reads within the limits: %s%s', async (name, rest) => {
    const viewer = { tenant: 'acme', actor: 'ada' }
    const gates = createTenantGates(systemClock, 4, createTenantActivity(systemClock))
    const deps = { clock: systemClock, gates, reads: {} }
    const contextValue = createRequestContext(deps as never, viewer, defaults, { client: { isGone: () => true } })
    const args = { schema: serverSchema, document: parse(`{ ${name}${rest} }`), contextValue }
    const result = await contextValue.work.within('query', () => execute(args))
    expect(codeOf(result)).toEqual([{ code: 'CLIENT_GONE' }])
  })
})

describe('lists that were read at the same time', () => {
  it('are completed in several iterations of the event loop', async () => {
    const work = workOf()
    let itemsInIteration = 0
    let peak = 0
    let isDone = false
    const watch = () => {
      itemsInIteration = 0
      if (!isDone) setImmediate(watch)
    }
    watch()
    const list = Array.from({ length: 200 })
    const lists = Array.from({ length: 40 }, (_, at) => (at % 2 ? list : { items: list }))
    const read = Promise.resolve()
    const completed = lists.map(async (each) => {
      await read
      await work.pace(each)
      itemsInIteration += 200
      peak = Math.max(peak, itemsInIteration)
    })
    await Promise.all(completed)
    isDone = true
    expect(peak).toBe(1_000)
  })
})

describe('the time limit', () => {
  const never = () => new Promise<never>(() => {})

  it('ends a waiting query and prevents further reads', async () => {
    const clock = fakeClock()
    const work = workOf({ timeMs: 20 }, undefined, clock)
    const result = work.within('query', never)
    await clock.advance(20)
    expect(codeOf(await result)).toEqual([{ code: 'QUERY_TIMEOUT', limit: 'timeMs', maximum: 20 }])
    await expect(work.read(() => 'x')).rejects.toThrow(/0\.02 seconds/)
  })

  it('does not apply to mutations', async () => {
    const clock = fakeClock()
    const slow = sleep(clock, 40).then((): ExecutionResult => ({ data: {} }))
    const result = workOf({ timeMs: 1 }, undefined, clock).within('mutation', () => slow)
    await clock.advance(40)
    expect(await result).toEqual({ data: {} })
  })
})

describe('an unexpected error', () => {
  it('is not changed', async () => {
    const fault = new Error('fault')
    const failing = () => {
      throw fault
    }
    expect(() => workOf().within('query', failing)).toThrow(fault)
    await expect(workOf().within('query', () => Promise.reject(fault))).rejects.toBe(fault)
  })
})

describe('each event of a subscription', () => {
  it('has limits of its own', async () => {
    const work = workOf({ answerBytes: 10 })
    for (let event = 0; event < 5; event++) {
      expect(await work.read(() => 'xxxxxxxx')).toBe('xxxxxxxx')
      expect(work.checked({ data: {} })).toEqual({ data: {} })
      work.renew()
    }
    await expect(work.read(() => 'x'.repeat(11))).rejects.toThrow(/bytes of data, read or returned/)
    expect(work.checked({ data: {} }).errors).toHaveLength(1)
    work.renew()
    expect(work.checked({ data: {} })).toEqual({ data: {} })
  })
})
