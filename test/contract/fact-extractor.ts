// The contract of every fact extractor. fact-extractor.test.ts runs it on the rules extractor, and on the OpenAI client
// with a fake server.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CallFailed } from '../../src/providers/ports/call-failed.ts'
import {
  MAX_TEXT_LENGTHS,
  MAX_FACTS_PER_TURN,
  type FactExtractor,
  type ExtractorTurn,
} from '../../src/providers/ports/fact-extractor.ts'

const turn = (id: string, text: string, more: Partial<ExtractorTurn> = {}): ExtractorTurn => ({
  id,
  text,
  actor: 'ada',
  displayName: 'Ada',
  kind: 'HUMAN',
  at: new Date('2026-05-13T10:00:00Z'),
  ...more,
})

/** Plain statements in the first person, which any extractor finds. */
const TURNS = [
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

    it('extracts plain statements of any speaker, in the order of the turns', async () => {
      const { facts } = await extractor.extract(TURNS)
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
      expect(await extractor.extract(TURNS)).toEqual(await extractor.extract(TURNS))
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
    ])('accepts 256 KiB of %s, and returns facts on one line each, within the limits', async (_, part) => {
      const { facts } = await extractor.extract([turn('turn_1', part.repeat(Math.ceil(262_144 / part.length)))])
      expect(facts.length).toBeLessThanOrEqual(MAX_FACTS_PER_TURN)
      for (const { subject, predicate, object } of facts) {
        for (const text of [subject, predicate, object]) expect(text).toMatch(/^\S(?:.*\S)?$/u)
        expect(subject.length).toBeLessThanOrEqual(MAX_TEXT_LENGTHS.subject)
        expect(predicate.length).toBeLessThanOrEqual(MAX_TEXT_LENGTHS.predicate)
        expect(object.length).toBeLessThanOrEqual(MAX_TEXT_LENGTHS.object)
      }
    })

    it('accepts hundreds of turns, and returns each fact with the id of its turn', async () => {
      const turns = Array.from({ length: 300 }, (_, i) => turn(`turn_${i}`, i % 3 ? 'Well.' : 'I live in Berlin.'))
      const { facts } = await extractor.extract(turns)
      expect(facts.map(({ turnId }) => turnId)).toEqual(turns.filter((_, i) => i % 3 === 0).map(({ id }) => id))
    })

    it('rejects with the reason of an abort signal', async () => {
      const reason = new Error('aborted by the test')
      await expect(extractor.extract(TURNS, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
      const abort = new AbortController()
      const many = Array.from({ length: 100 }, (_, i) => turn(`turn_${i}`, 'I live in Berlin. '.repeat(1_000)))
      const extraction = extractor.extract(many, { signal: abort.signal })
      abort.abort(reason)
      await expect(extraction).rejects.toBe(reason)
      expect((await extractor.extract(TURNS)).facts).toHaveLength(2)
    })

    it('rejects calls after close', async () => {
      const closed = await create()
      await closed.extract(TURNS)
      await closed.close()
      await closed.close()
      const failure: unknown = await closed.extract(TURNS).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(CallFailed)
      expect(failure).toMatchObject({ message: expect.stringContaining('closed'), retryable: false })
    })
  })
}
