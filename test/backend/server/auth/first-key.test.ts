// The file of the first API key: its permissions, and when it is written.

import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readToken } from '../../../../src/domain/trust/api-key/token.ts'
import { createVerifier } from '../../../../src/domain/trust/api-key/verify.ts'
import { FirstKeyError, writeFirstKey } from '../../../../src/server/auth/first-key.ts'
import { embedded } from '../../../support/backend.ts'
import { useWorld } from '../../../support/world.ts'
import { SYSTEM } from '../../../../src/store/db/scope.ts'

describe.each([embedded])('the first key', (backend) => {
  const world = useWorld(backend)
  let directory: string
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'colloquy-test-'))
    await world.deps.db.of(SYSTEM).apiKey.deleteMany()
  })
  afterEach(() => rm(directory, { recursive: true }))

  it('is written to a file that only its owner may read, also over an older file', async () => {
    const path = join(directory, 'first')
    await writeFile(path, 'old')
    await chmod(path, 0o644)
    await writeFirstKey(world.deps, path)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const token = readToken((await readFile(path, 'utf8')).trim())!
    expect(await createVerifier(world.deps)(token)).toMatchObject({ tenant: 'default', actor: 'admin', kind: 'HUMAN' })
    expect(await readdir(directory)).toEqual(['first'])
  })

  it('is not written again after it was revoked and its file was removed', async () => {
    const path = join(directory, 'first')
    await writeFirstKey(world.deps, path)
    await world.deps.db.of(SYSTEM).apiKey.updateMany({ data: { revokedAt: new Date() } })
    await rm(path)
    await writeFirstKey(world.deps, path)
    expect(await readdir(directory)).toEqual([])
  })

  it('is not created if the file cannot be written', async () => {
    await expect(writeFirstKey(world.deps, join(directory, 'missing', 'first'))).rejects.toThrow(FirstKeyError)
    expect(await world.deps.db.of(SYSTEM).apiKey.count()).toBe(0)
  })
})
