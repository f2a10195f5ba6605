// Looks API keys up by id and secret for the authentication of requests. At most one statement runs at a time; the ids that wait
// meanwhile share the next one, so that a flood of invalid keys takes one connection and not all.

import type { Pool } from '../../store/tenant-pool.ts'
import { Unavailable } from '../../errors.ts'
import { findApiKeys, type FoundApiKey, type PresentedKey } from '../../store/sql/api-key/find-api-keys.ts'

/** Maximum number of keys in one statement. */
const BATCH = 1_000
/** Maximum number of look-ups that wait. Further ones fail at once. */
export const MAX_WAITING_LOOKUPS = 10_000

type Waiting = { token: PresentedKey; resolve(key: FoundApiKey | undefined): void; reject(error: unknown): void }

export type LookUp = (token: PresentedKey) => Promise<FoundApiKey | undefined>

/**
 * Returns a function that resolves with the key of that id and secret, or undefined. It rejects with Unavailable if too
 * many wait.
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
