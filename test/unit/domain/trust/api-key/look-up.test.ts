// Look-ups of API keys that arrive while a statement runs share the next statement, so that a flood of them uses one
// connection and few statements.

import type { Pool } from '../../../../../src/store/db/tenant-pool.ts'
import { expect, it, vi } from 'vitest'
import { createLookUp, MAX_WAITING_LOOKUPS } from '../../../../../src/domain/trust/api-key/look-up.ts'
import { Unavailable } from '../../../../../src/errors.ts'
import type { FoundApiKey, PresentedKey } from '../../../../../src/store/sql/trust/api-key/find-api-keys.ts'

/** Returns a look-up whose statements finish when the test calls `answer`; they find the keys with even ids. */
function open() {
  const statements: string[][] = []
  const answers: ((failure?: Error) => void)[] = []
  const find = vi.fn(
    (_: Pool, tokens: readonly PresentedKey[]) =>
      new Promise<Map<number, FoundApiKey>>((resolve, reject) => {
        const ids = tokens.map(({ keyId }) => keyId)
        statements.push(ids)
        answers.push((failure) => {
          if (failure) return reject(failure)
          const found = ids.map((id, index) => [index, { id } as FoundApiKey] as const)
          resolve(new Map(found.filter(([, { id }]) => Number(id) % 2 === 0)))
        })
      }),
  )
  const lookUpToken = createLookUp({} as Pool, find)
  const lookUp = (keyId: string) => lookUpToken({ keyId, secretHash: Buffer.alloc(32) })
  const answer = (failure?: Error) => answers.shift()!(failure)
  return { lookUp, statements, answer }
}

it('look-ups that arrive during a statement share the next statement', async () => {
  const { lookUp, statements, answer } = open()
  const first = lookUp('0')
  const waiting = ['1', '2', '2', '3'].map(lookUp)
  answer()
  expect((await first)?.id).toBe('0')
  await vi.waitFor(() => expect(statements).toEqual([['0'], ['1', '2', '2', '3']]))
  answer()
  expect((await Promise.all(waiting)).map((key) => key?.id)).toEqual([undefined, '2', '2', undefined])
})

it('a failed statement rejects only its own look-ups', async () => {
  const { lookUp, answer } = open()
  const failed = lookUp('0')
  const next = lookUp('2')
  answer(new Error('no database'))
  await expect(failed).rejects.toThrow('no database')
  await vi.waitFor(() => answer())
  expect((await next)?.id).toBe('2')
})

it('a look-up is rejected at once if the maximum number of look-ups is waiting', async () => {
  const { lookUp } = open()
  void lookUp('0')
  for (let n = 0; n < MAX_WAITING_LOOKUPS; n++) void lookUp(String(n))
  await expect(lookUp('1')).rejects.toThrow(Unavailable)
})
