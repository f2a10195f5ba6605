// Concurrent changes of shared state from two processes lose nothing, and subscribers in both replay the patches to
// exactly the final value.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { getSharedStates } from '../../../../../src/domain/conversation/shared-state/shared-state.ts'
import { updateSharedState } from '../../../../../src/domain/conversation/shared-state/update-shared-state.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { applyPatch, type Operation } from '../../../../../src/domain/kernel/json-patch.ts'
import type { SharedStateChanged } from '../../../../../src/domain/turn/journal/event.ts'
import { Conflict } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../support/process.ts'
import { read, sawSeq } from '../../../../support/reading.ts'

const WRITERS = 50
/** Number of writers that also count, all at once: each waits for most of the others. */
const COUNTERS = 10

describe.each(backends)('50 writers in two processes on $name', (backend) => {
  let site: Site
  let processes: Process[]
  beforeAll(async () => {
    site = await openSite(backend)
    processes = [await site.start(), await site.start()]
  })
  afterAll(() => site.close())

  it('append, and count by test and retry, without a lost change', async () => {
    const { deps } = processes[0]!
    const owner = newViewer('owner')
    const { tenant } = owner
    const participants = Array.from({ length: WRITERS }, (_, n) => ({ actor: `writer ${n}` }))
    const conversationId = (await createConversation(deps, owner, { participants })).conversation.id
    const name = { conversationId, key: 'board' }
    await updateSharedState(deps, owner, { ...name, value: { log: [], count: 0 } })
    const readings = await Promise.all(
      processes.map((each) => read(each.deps, owner, { conversationId, as: 'owner', afterSeq: 0 })),
    )
    let conflicts = 0
    async function increment(n: number): Promise<number> {
      const { deps: own } = processes[n % 2]!
      const viewer = { tenant, actor: `writer ${n}` }
      for (;;) {
        const [state] = await getSharedStates(own, viewer, [name])
        const { count } = state!.value as { count: number }
        const patch: Operation[] = [
          { op: 'test', path: '/count', value: count },
          { op: 'replace', path: '/count', value: count + 1 },
        ]
        try {
          return (await updateSharedState(own, viewer, { ...name, patch })).version
        } catch (error) {
          if (!(error instanceof Conflict)) throw error
          conflicts++
        }
      }
    }
    const append = async (n: number) => {
      const viewer = { tenant, actor: `writer ${n}` }
      const patch: Operation[] = [{ op: 'add', path: '/log/-', value: n }]
      const change = { ...name, patch, clientId: `append ${n}` }
      const calls = [0, 1].map((each) => updateSharedState(processes[each]!.deps, viewer, change))
      // The answer of one of them might have been lost.
      const [first, second] = await Promise.all(calls)
      expect(first!.version).toBe(second!.version)
      expect([first, second].filter((call) => call!.deduplicated)).toHaveLength(1)
      return first!.version
    }
    // A transaction waits at most 15 s for the only connection of the embedded database, which writes 10 at a time.
    const atOnce = backend.name === 'postgres' ? WRITERS : 10
    const versions: number[] = []
    for (let first = 0; first < WRITERS; first += atOnce) {
      const writers = Array.from({ length: atOnce }, (_, n) => first + n)
      const calls = writers.flatMap((n) => (n < COUNTERS ? [append(n), increment(n)] : append(n)))
      versions.push(...(await Promise.all(calls)))
    }
    expect(versions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: WRITERS + COUNTERS }, (_, n) => n + 2))
    if (backend.name === 'postgres') expect(conflicts).toBeGreaterThan(0)

    const [state] = await getSharedStates(deps, owner, [name])
    const { log, count } = state!.value as { log: number[]; count: number }
    expect(count).toBe(COUNTERS)
    expect(log.toSorted((a, b) => a - b)).toEqual(Array.from({ length: WRITERS }, (_, n) => n))
    const { seq } = await updateSharedState(deps, owner, { ...name, merge: { done: true } })
    for (const reading of readings) {
      await reading.until('the last change', sawSeq(seq))
      let value: unknown
      let version = 0
      for (const event of reading.events as SharedStateChanged[]) {
        if (event.type !== 'SharedStateChanged') continue
        expect(event.version).toBe(++version)
        value = (applyPatch(value, event.patch as Operation[], 0) as { value: unknown }).value
      }
      expect(value).toEqual({ log, count, done: true })
      await reading.stop()
    }
  })

  it('deadlock with no deletion of the conversation', async () => {
    const { deps } = processes[0]!
    const owner = newViewer('owner')
    const conversationId = (await createConversation(deps, owner, {})).conversation.id
    const change = (n: number) =>
      updateSharedState(processes[n % 2]!.deps, owner, { conversationId, key: `key ${n % 5}`, merge: { n } })
    const calls = Array.from({ length: 20 }, (_, n) => change(n).catch((error: Error) => error.constructor.name))
    await calls[0]
    await deleteConversation(processes[1]!.deps, owner, conversationId)
    for (const outcome of await Promise.all(calls)) if (typeof outcome === 'string') expect(outcome).toBe('NotFound')
  })
})
