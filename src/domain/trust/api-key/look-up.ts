// Looks up API keys by id and secret to authenticate requests. At most one statement runs at a time, and look-ups that
// wait meanwhile share the next statement, so that a flood of invalid keys uses only one connection.

import type { Pool } from '../../../store/db/tenant-pool.ts'
import { Unavailable } from '../../../errors.ts'
import { findApiKeys, type FoundApiKey, type PresentedKey } from '../../../store/sql/trust/api-key/find-api-keys.ts'

/** Maximum number of keys in one statement. */
const BATCH = 1_000
/** Maximum number of waiting look-ups. Further ones fail immediately. @internal */
export const MAX_WAITING_LOOKUPS = 10_000

type Waiting = { token: PresentedKey; resolve(key: FoundApiKey | undefined): void; reject(error: unknown): void }

export type LookUp = (token: PresentedKey) => Promise<FoundApiKey | undefined>

/**
 * Returns a function that resolves with the key that has the id and the secret of the token, or with undefined. It
 * rejects with Unavailable if MAX_WAITING_LOOKUPS look-ups wait.
 */
export function createLookUp(pool: Pool, find: typeof findApiKeys = findApiKeys): LookUp {
  const waiting: Waiting[] = []
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH)
      try {
        const tokens = batch.map(({ token }) => token)
        const found = await find(pool, tokens)
        for (const [index, { resolve }] of batch.entries()) resolve(found.get(index))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    isRunning = false
  }

  return (token) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= MAX_WAITING_LOOKUPS) {
        return reject(new Unavailable(`${MAX_WAITING_LOOKUPS} requests wait to be authenticated. Try again later.`))
      }
      waiting.push({ token, resolve, reject })
      if (!isRunning) void run()
    })
}
