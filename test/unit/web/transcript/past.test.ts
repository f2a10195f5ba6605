// Pages of old turns, and whether a window has a position.

import { describe, expect, it } from 'vitest'
import { ColloquyError } from '../../../../src/client/index.ts'
import { covers, readPage, type Past } from '../../../../src/web/transcript/past.ts'
import { turnAt } from '../turns.ts'

describe('a page', () => {
  /** A conversation of 100 turns, of which one answer has at most `most`. */
  function requestOf(most: number) {
    const limits: unknown[] = []
    const request = async (_: string, { limit }: Record<string, unknown>) => {
      limits.push(limit)
      if (Number(limit) > most) throw new ColloquyError('INVALID_INPUT', 'too large')
      return { conversation: { history: Array.from({ length: Number(limit) }, (_each, n) => turnAt(n + 1)) } }
    }
    return { request, limits }
  }

  it.each([
    ['has 50 turns', 100, [50], 50],
    ['has fewer large turns', 15, [50, 25, 12], 12],
    ['has one turn at least', 1, [50, 25, 12, 6, 3, 1], 1],
  ])('%s', async (_, most, expected, length) => {
    const { request, limits } = requestOf(most)
    const page = await readPage(request, { id: 'c', as: undefined, before: 200 })
    expect([limits, page.turns.length, page.isFull]).toEqual([expected, length, true])
  })

  it('fails if the server refuses even one turn, or for another reason', async () => {
    await expect(readPage(requestOf(0).request, { id: 'c', as: undefined })).rejects.toThrow('too large')
    const refuse = () => Promise.reject(new ColloquyError('NOT_FOUND', 'no conversation'))
    await expect(readPage(refuse, { id: 'c', as: undefined })).rejects.toThrow('no conversation')
  })
})

describe('a window', () => {
  const past: Past = { target: 8, afterSeq: 0, turns: [turnAt(4), turnAt(6)], hasOlder: true, changes: new Map() }

  it.each([
    ['has a turn in it', 4, true],
    ['shows that there is no turn between others', 5, true],
    ['has the position around which it was read, although no turn is there', 8, true],
    ['has nothing before it', 3, false],
    ['has nothing after it', 7, false],
  ])('%s', (_, position, expected) => {
    expect(covers(past, position)).toBe(expected)
  })
})
