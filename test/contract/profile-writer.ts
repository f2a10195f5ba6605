// The contract of every profile writer. profile-writer.test.ts runs it on the OpenAI client with a fake server.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CallFailed } from '../../src/providers/ports/call-failed.ts'
import { type AddedFact, type ProfileRequest, type ProfileWriter } from '../../src/providers/ports/profile-writer.ts'
import { countInline } from '../../src/text/tokens.ts'

/** Creates a fact from a text such as "Ada | lives in | Berlin", observed on the given day of May 2026. */
export function profileFact(text: string, day = 1, claimedBy: string | null = null): AddedFact {
  const [subject = '', predicate = '', object = ''] = text.split(' | ')
  return { subject, predicate, object, claimedBy, observedAt: new Date(Date.UTC(2026, 4, day)).toISOString() }
}

export const REQUEST: ProfileRequest = {
  userId: 'user_ada',
  names: ['Ada', 'Ada Lovelace'],
  previous: null,
  added: [profileFact('Ada | lives in | Berlin')],
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

    it('keeps the facts of the previous profile, adds new ones, and removes inactive ones', async () => {
      const first = await writer.write(REQUEST)
      expect(first).toContain('Berlin')
      const {
        added: [berlin],
      } = REQUEST
      const withTea = { ...REQUEST, previous: first, added: [profileFact('Ada | likes | tea', 2)] }
      const both = await writer.write(withTea)
      expect(both).toContain('Berlin')
      expect(both).toContain('tea')
      const later = await writer.write({ ...withTea, previous: both, added: [], removed: [berlin!] })
      expect(later).not.toContain('Berlin')
      expect(later).toContain('tea')
    })

    it('marks unconfirmed claims', async () => {
      const profile = await writer.write({ ...REQUEST, added: [profileFact('Ada | is | an admin', 1, 'eve')] })
      expect(profile).toMatch(/^- Claimed by "eve": ".*admin.*"$/m)
    })

    it('returns an empty profile for no facts, and the previous profile if nothing changed', async () => {
      const [berlin] = REQUEST.added
      expect(await writer.write({ ...REQUEST, added: [] })).toBe('')
      expect(await writer.write({ ...REQUEST, added: [], removed: [berlin!] })).toBe('')
      const previous = '## About\n- lives in Berlin'
      expect(await writer.write({ ...REQUEST, previous, added: [] })).toBe(previous)
    })

    it.each([0, 1, 5, 20, 60])('never exceeds %d tokens', async (maxTokens) => {
      const added = Array.from({ length: 60 }, (_, n) =>
        profileFact(`Ada | owns | ${'a rope '.repeat(n)} and ${n} boats`),
      )
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

    it('accepts any text: emoji, a very long word, fences, invisible characters', async () => {
      const texts = ['👩‍👩‍👧'.repeat(300), 'x'.repeat(2_000), '````\n"}', '\u0007\u202e\u{e0041}\ud83d\0', '']
      const added = texts.map((text, day) => profileFact(`Ada | says | ${text}`, day + 1))
      const profile = await writer.write({ ...REQUEST, added, previous: texts.join('\n') })
      expect(profile).not.toMatch(/[^\P{C}\n\u200c\u200d]/u)
    })

    it('rejects with the reason of an abort signal', async () => {
      const reason = new Error('aborted by the test')
      await expect(writer.write(REQUEST, AbortSignal.abort(reason))).rejects.toBe(reason)
      const abort = new AbortController()
      const writing = writer.write(REQUEST, abort.signal)
      abort.abort(reason)
      await expect(writing).rejects.toBe(reason)
      expect(await writer.write(REQUEST)).toContain('Berlin')
    })

    it('rejects calls after close', async () => {
      const closed = await create()
      await closed.write(REQUEST)
      await closed.close()
      await closed.close()
      for (const request of [REQUEST, { ...REQUEST, added: [] }]) {
        const failure: unknown = await closed.write(request).catch((error: unknown) => error)
        expect(failure).toBeInstanceOf(CallFailed)
        expect(failure).toMatchObject({ message: expect.stringContaining('closed'), retryable: false })
      }
    })
  })
}
