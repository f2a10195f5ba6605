// The contract of every fact judge. fact-judge.test.ts runs it on the OpenAI client with a fake server.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CallFailed } from '../../src/providers/ports/call-failed.ts'
import { MAX_PAIRS, type FactJudge, type FactPair, type JudgedFact } from '../../src/providers/ports/fact-judge.ts'

/** Creates a fact from a text such as "Ada | lives in | Berlin". */
export function fact(id: string, text: string): JudgedFact {
  const [subject = '', predicate = '', object = ''] = text.split(' | ')
  return { id, subject, predicate, object, observedAt: '2026-05-13T10:00:00.000Z' }
}
const pair = (id: string, a: string, b: string): FactPair => ({ a: fact(`${id}-a`, a), b: fact(`${id}-b`, b) })

/** Pairs on which any judge returns the same verdicts. */
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
        { a: 'one-a', b: 'one-b', relation: 'SAME' },
        { a: 'two-a', b: 'two-b', relation: 'CONTRADICTORY' },
        { a: 'three-a', b: 'three-b', relation: 'COMPATIBLE' },
      ])
    })

    it('returns no verdicts for no pairs', async () => {
      expect(await judge.judge([])).toEqual([])
    })

    it('accepts MAX_PAIRS pairs of the longest facts, and rejects more', async () => {
      const long = (id: string) => fact(id, ['s'.repeat(200), 'p'.repeat(200), '"`😀'.repeat(500)].join(' | '))
      const pairs = Array.from({ length: MAX_PAIRS }, (_, i) => ({ a: long(`a${i}`), b: long(`b${i}`) }))
      const keys = new Set(pairs.map(({ a, b }) => `${a.id} ${b.id}`))
      for (const { a, b } of await judge.judge(pairs)) expect(keys).toContain(`${a} ${b}`)
      await expect(judge.judge([...pairs, PAIRS[0]!])).rejects.toMatchObject({ name: 'CallFailed', retryable: false })
    })

    it('rejects with the reason of an abort signal', async () => {
      const reason = new Error('aborted by the test')
      await expect(judge.judge(PAIRS, AbortSignal.abort(reason))).rejects.toBe(reason)
      const abort = new AbortController()
      const judging = judge.judge(PAIRS, abort.signal)
      abort.abort(reason)
      await expect(judging).rejects.toBe(reason)
      expect(await judge.judge(PAIRS)).toHaveLength(3)
    })

    it('rejects calls after close', async () => {
      const closed = await create()
      await closed.judge(PAIRS)
      await closed.close()
      await closed.close()
      for (const pairs of [PAIRS, []]) {
        const failure: unknown = await closed.judge(pairs).catch((error: unknown) => error)
        expect(failure).toBeInstanceOf(CallFailed)
        expect(failure).toMatchObject({ message: expect.stringContaining('closed'), retryable: false })
      }
    })
  })
}
