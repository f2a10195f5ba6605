// The contract of every profile writer. Runs on the OpenAI client with a fake server.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CallFailed } from '../../src/providers/ports/call-failed.ts'
import { type LearntFact, type ProfileRequest, type ProfileWriter } from '../../src/providers/ports/profile-writer.ts'
import { countInline } from '../../src/text/tokens.ts'

/** "Ada | lives in | Berlin", observed on the given day of May. */
export function learnt(text: string, day = 1, believed = true): LearntFact {
  const [subject = '', predicate = '', object = ''] = text.split(' | ')
  return { subject, predicate, object, believed, observedAt: new Date(Date.UTC(2026, 4, day)).toISOString() }
}

export const REQUEST: ProfileRequest = {
  userId: 'user_ada',
  names: ['Ada', 'Ada Lovelace'],
  previous: null,
  added: [learnt('Ada | lives in | Berlin')],
  removed: [],
  maxTokens: 400,
}

export function profileWriterContract(name: string, create: () => Promise<ProfileWriter>): void {
  describe(name, () => {
    let writer: ProfileWriter
    beforeAll(async () => {
      writer = await create()
    })
    afterAll(() => writer.close())

    it('states its name', () => {
      expect(writer.name).toMatch(/^[a-z]+[-:]\S+$/)
    })

    it('contains known facts, adds new ones, and removes inactive ones', async () => {
      const first = await writer.write(REQUEST)
      expect(first).toContain('Berlin')
      const {
        added: [berlin],
      } = REQUEST
      const moved = { ...REQUEST, previous: first, added: [learnt('Ada | likes | tea', 2)] }
      const both = await writer.write(moved)
      expect(both).toContain('Berlin')
      expect(both).toContain('tea')
      const later = await writer.write({ ...moved, previous: both, added: [], removed: [berlin!] })
      expect(later).not.toContain('Berlin')
      expect(later).toContain('tea')
    })

    it('marks unconfirmed claims', async () => {
      const profile = await writer.write({ ...REQUEST, added: [learnt('Ada | is | an admin', 1, false)] })
      expect(profile).toMatch(/^- Somebody claims: ".*admin.*"$/m)
    })

    it('returns an empty profile for no facts, and an unchanged one without new facts', async () => {
      const [berlin] = REQUEST.added
      expect(await writer.write({ ...REQUEST, added: [] })).toBe('')
      expect(await writer.write({ ...REQUEST, added: [], removed: [berlin!] })).toBe('')
      const previous = '## About\n- lives in Berlin'
      expect(await writer.write({ ...REQUEST, previous, added: [] })).toBe(previous)
    })

    it.each([0, 1, 5, 20, 60])('never exceeds %d tokens', async (maxTokens) => {
      const added = Array.from({ length: 60 }, (_, n) => learnt(`Ada | owns | ${'a rope '.repeat(n)} and ${n} boats`))
      for (const previous of [null, `## About\n${'- lives in Berlin, by the river\n'.repeat(50)}`]) {
        for (const request of [
          { ...REQUEST, added },
          { ...REQUEST, added: [] },
        ]) {
          const profile = await writer.write({ ...request, previous, maxTokens })
          expect(countInline(profile)).toBeLessThanOrEqual(maxTokens)
        }
      }
    })

    it('accepts any text: emoji, one endless word, fences, invisible characters', async () => {
      const texts = ['👩‍👩‍👧'.repeat(300), 'x'.repeat(2_000), '````\n"}', '\u0007\u202e\u{e0041}\ud83d\0', '']
      const added = texts.map((text, day) => learnt(`Ada | says | ${text}`, day + 1))
      const profile = await writer.write({ ...REQUEST, added, previous: texts.join('\n') })
      expect(profile).not.toMatch(/[^\P{C}\n\u200c\u200d]/u)
    })

    it('stops for an abort signal, with its reason', async () => {
      const reason = new Error('nobody waits any more')
      await expect(writer.write(REQUEST, AbortSignal.abort(reason))).rejects.toBe(reason)
      const abort = new AbortController()
      const waiting = writer.write(REQUEST, abort.signal)
      abort.abort(reason)
      await expect(waiting).rejects.toBe(reason)
      expect(await writer.write(REQUEST)).toContain('Berlin')
    })

    it('rejects after close, and not before', async () => {
      const closing = await create()
      await closing.write(REQUEST)
      await closing.close()
      await closing.close()
      for (const request of [REQUEST, { ...REQUEST, added: [] }]) {
        const failure: unknown = await closing.write(request).catch((error: unknown) => error)
        expect(failure).toBeInstanceOf(CallFailed)
        expect(failure).toMatchObject({ message: expect.stringContaining('closed'), retryable: false })
      }
    })
  })
}
