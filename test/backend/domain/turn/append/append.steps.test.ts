// Appending a large batch lets other callbacks run while its turns are checked and encoded.

import { describe, expect, it } from 'vitest'
import { appendTurns } from '../../../../../src/domain/turn/append/append.ts'
import type { TurnInput } from '../../../../../src/domain/turn/append/turn-input.ts'
import { backends } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'

/** Counts the iterations of the event loop until `stop` is called. */
function countIterations() {
  let iteration = 0
  let isDone = false
  const count = () => {
    iteration += 1
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  return { now: () => iteration, stop: () => void (isDone = true) }
}

/** Returns 200 turns with 900 keys of metadata each, and the iterations in which each turn's metadata is read. */
function wideTurns(now: () => number, more: Partial<TurnInput>) {
  const reads: number[][] = []
  const turns = Array.from({ length: 200 }, (_, n): TurnInput => {
    const metadata = Object.fromEntries(Array.from({ length: 900 }, (_each, key) => [`key ${key}`, key]))
    const readIn: number[] = (reads[n] = [])
    Object.defineProperty(metadata, 'observed', { enumerable: true, get: () => readIn.push(now()) })
    return { role: 'USER', content: `turn ${n}`, metadata, ...more }
  })
  return { turns, reads }
}

describe.each(backends)('a batch with much metadata on $name', (backend) => {
  const world = useWorld(backend)

  it.each<[string, Partial<TurnInput>]>([
    ['plain turns', {}],
    ['turns with an audience', { audience: ['ada'] }],
  ])('is checked and encoded in several iterations of the event loop: %s', async (_, more) => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const iterations = countIterations()
    const { turns, reads } = wideTurns(iterations.now, more)
    const appended = await appendTurns(world.deps, tenant.as('ada'), { conversationId, turns })
    iterations.stop()
    expect(appended.turns).toHaveLength(200)
    const inIterations = (at: number) => new Set(reads.map((ofTurn) => ofTurn.at(at))).size
    expect({ checked: inIterations(0), encoded: inIterations(-1) }).toEqual({
      checked: expect.toSatisfy((count: number) => count > 2),
      encoded: expect.toSatisfy((count: number) => count > 2),
    })
  })
})
