// The contract of every fact judge. Runs on the OpenAI client with a fake server.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CallFailed } from '../../src/providers/ports/call-failed.ts'
import { MOST_PAIRS, type FactJudge, type FactPair, type JudgedFact } from '../../src/providers/ports/fact-judge.ts'

/** "Ada | lives in | Berlin" */
export function fact(id: string, text: string): JudgedFact {
  const [subject = '', predicate = '', object = ''] = text.split(' | ')
  return { id, subject, predicate, object, observedAt: '2026-05-13T10:00:00.000Z' }
}
const pair = (id: string, a: string, b: string): FactPair => ({ a: fact(`${id}-a`, a), b: fact(`${id}-b`, b) })

/** Verdicts that any judge returns. */
const PAIRS = [
  pair('one', 'Ada | works at | Initech', 'Ada | is an employee of | Initech'),
  pair('two', 'Ada | is a | vegetarian', 'Ada | loves | steak'),
  pair('three', 'Ada | likes | tea', 'Ada | likes | coffee'),
]

export function factJudgeContract(name: string, create: () => Promise<FactJudge>): void {
  describe(name, () => {
    let judge: FactJudge
    beforeAll(async () => {
      judge = await create()
    })
    afterAll(() => judge.close())

    it('states its name', () => {
      expect(judge.name).toMatch(/^[a-z]+[-:]\S+$/)
    })

    it('returns a verdict on each pair, by the ids of its facts', async () => {
      expect(await judge.judge(PAIRS)).toEqual([
        { a: 'one-a', b: 'one-b', says: 'SAME' },
        { a: 'two-a', b: 'two-b', says: 'CONTRADICTORY' },
        { a: 'three-a', b: 'three-b', says: 'BOTH_HOLD' },
      ])
    })

    it('returns no verdicts for no pairs', async () => {
      expect(await judge.judge([])).toEqual([])
    })

    it('accepts as many pairs as it states, of the longest facts, and no more', async () => {
      const long = (id: string) => fact(id, ['s'.repeat(200), 'p'.repeat(200), '"`😀'.repeat(500)].join(' | '))
      const pairs = Array.from({ length: MOST_PAIRS }, (_, i) => ({ a: long(`a${i}`), b: long(`b${i}`) }))
      const known = new Set(pairs.map(({ a, b }) => `${a.id} ${b.id}`))
      for (const { a, b } of await judge.judge(pairs)) expect(known).toContain(`${a} ${b}`)
      await expect(judge.judge([...pairs, PAIRS[0]!])).rejects.toMatchObject({ name: 'CallFailed', retryable: false })
    })

    it('stops for an abort signal, with its reason', async () => {
      const reason = new Error('nobody waits any more')
      await expect(judge.judge(PAIRS, AbortSignal.abort(reason))).rejects.toBe(reason)
      const abort = new AbortController()
      const waiting = judge.judge(PAIRS, abort.signal)
      abort.abort(reason)
      await expect(waiting).rejects.toBe(reason)
      expect(await judge.judge(PAIRS)).toHaveLength(3)
    })

    it('rejects after close, and not before', async () => {
      const closing = await create()
      await closing.judge(PAIRS)
      await closing.close()
      await closing.close()
      for (const pairs of [PAIRS, []]) {
        const failure: unknown = await closing.judge(pairs).catch((error: unknown) => error)
        expect(failure).toBeInstanceOf(CallFailed)
        expect(failure).toMatchObject({ message: expect.stringContaining('closed'), retryable: false })
      }
    })
  })
}
