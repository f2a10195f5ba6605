// Creates the first API key when the server starts, so that an operator can use a server that requires authentication.
// The token is written to a file that only its owner may read, and never to the log.

import { rename, rm, writeFile } from 'node:fs/promises'
import { createFirstApiKey } from '../../domain/trust/api-key/api-key.ts'
import type { Deps } from '../../domain/deps.ts'

/** The tenant and actor of the first key. */
const FIRST = { tenant: 'default', actor: 'admin' }

/** Writes a new file and renames it to `path`, so that the mode of an older file does not apply. */
async function save(path: string, token: string): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`
  try {
    await writeFile(draft, `${token}\n`, { mode: 0o600, flag: 'wx' })
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/**
 * Creates a key with all rights and writes its token to the file, unless the tenant has a key. If several processes
 * start at once, only one creates a key. If the file cannot be written, no key is created.
 * @throws FirstKeyError if the file cannot be written
 */
export async function writeFirstKey(deps: Deps, path: string): Promise<void> {
  const key = await createFirstApiKey(deps, FIRST, (token) =>
    save(path, token).catch((error: NodeJS.ErrnoException) => {
      throw new FirstKeyError(
        `FIRST_KEY_FILE ${JSON.stringify(path)} cannot be written: ${error.code ?? error.message}`,
      )
    }),
  )
  if (key) deps.log.info({ path, apiKey: key.id }, 'created the first API key, whose token is in the file')
}

/** The file for the first key cannot be written. @internal */
export class FirstKeyError extends Error {
  override readonly name = 'FirstKeyError'
}
