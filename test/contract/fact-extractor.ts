// The contract of every fact extractor. Runs on the rules, and on the OpenAI client with a fake server.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CallFailed } from '../../src/providers/ports/call-failed.ts'
import {
  LONGEST_TEXT,
  MOST_FACTS,
  type FactExtractor,
  type ToldTurn,
} from '../../src/providers/ports/fact-extractor.ts'

const turn = (id: string, text: string, more: Partial<ToldTurn> = {}): ToldTurn => ({
  id,
  text,
  actor: 'ada',
  displayName: 'Ada',
  kind: 'HUMAN',
  at: new Date('2026-05-13T10:00:00Z'),
  ...more,
})

/** Facts that any extractor finds: plain statements in the first person. */
const TOLD = [
  turn('turn_1', 'I live in Berlin.'),
  turn('turn_2', 'I work at Initech.', { actor: 'bob', displayName: 'Bob' }),
]

export function factExtractorContract(name: string, create: () => Promise<FactExtractor>): void {
  describe(name, () => {
    let extractor: FactExtractor
    beforeAll(async () => {
      extractor = await create()
    })
    afterAll(() => extractor.close())

    it('states its name', () => {
      expect(extractor.name).toMatch(/^[a-z]+[-:]\S+$/)
    })

    it('finds plain statements of any speaker, in the order of the turns', async () => {
      const { facts } = await extractor.extract(TOLD)
      expect(facts.map(({ confidence, ...rest }) => rest)).toEqual([
        { subject: 'Ada', predicate: 'lives in', object: 'Berlin', turnId: 'turn_1' },
        { subject: 'Bob', predicate: 'works at', object: 'Initech', turnId: 'turn_2' },
      ])
      for (const { confidence } of facts) {
        expect(confidence).toBeGreaterThan(0)
        expect(confidence).toBeLessThanOrEqual(1)
      }
    })

    it('is deterministic', async () => {
      expect(await extractor.extract(TOLD)).toEqual(await extractor.extract(TOLD))
    })

    it('returns no facts for no turns', async () => {
      expect(await extractor.extract([])).toEqual({ facts: [] })
      expect(await extractor.extract([turn('turn_1', ''), turn('turn_2', ' \n\t ')])).toEqual({ facts: [] })
    })

    it('returns no facts for tool results', async () => {
      expect(await extractor.extract([turn('turn_1', 'I live in Berlin.', { kind: 'TOOL' })])).toEqual({ facts: [] })
    })

    it.each([
      ['prose', 'I live in Berlin and I love tea. '],
      ['one word', 'a'],
      ['emoji', '😀'],
      ['quotes', '"\'`'],
      ['ideographs', '語'],
      ['control characters', '\u0007\u001b'],
    ])('accepts 256 KB of %s, and returns few facts, each on one line and within the limits', async (_, part) => {
      const { facts } = await extractor.extract([turn('turn_1', part.repeat(Math.ceil(262_144 / part.length)))])
      expect(facts.length).toBeLessThanOrEqual(MOST_FACTS)
      for (const { subject, predicate, object } of facts) {
        for (const text of [subject, predicate, object]) expect(text).toMatch(/^\S(?:.*\S)?$/u)
        expect(subject.length).toBeLessThanOrEqual(LONGEST_TEXT.subject)
        expect(predicate.length).toBeLessThanOrEqual(LONGEST_TEXT.predicate)
        expect(object.length).toBeLessThanOrEqual(LONGEST_TEXT.object)
      }
    })

    it('accepts hundreds of turns, and names only given turns', async () => {
      const turns = Array.from({ length: 300 }, (_, i) => turn(`turn_${i}`, i % 3 ? 'Well.' : 'I live in Berlin.'))
      const { facts } = await extractor.extract(turns)
      expect(facts.map(({ turnId }) => turnId)).toEqual(turns.filter((_, i) => i % 3 === 0).map(({ id }) => id))
    })

    it('stops for an abort signal, with its reason', async () => {
      const reason = new Error('nobody waits any more')
      await expect(extractor.extract(TOLD, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
      const abort = new AbortController()
      const many = Array.from({ length: 100 }, (_, i) => turn(`turn_${i}`, 'I live in Berlin. '.repeat(1_000)))
      const waiting = extractor.extract(many, { signal: abort.signal })
      abort.abort(reason)
      await expect(waiting).rejects.toBe(reason)
      expect((await extractor.extract(TOLD)).facts).toHaveLength(2)
    })

    it('rejects after close, and not before', async () => {
      const closing = await create()
      await closing.extract(TOLD)
      await closing.close()
      await closing.close()
      const failure: unknown = await closing.extract(TOLD).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(CallFailed)
      expect(failure).toMatchObject({ message: expect.stringContaining('closed'), retryable: false })
    })
  })
}
