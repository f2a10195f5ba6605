// The choice of the file store, and the secret of signed URLs, which all processes of a database share.

import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { openFiles } from '../../src/open-files.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { backends } from '../support/backend.ts'
import { S3_KEY, useFakeS3 } from '../support/fake-s3.ts'
import { bytesOf } from '../support/files.ts'
import { useWorld } from '../support/world.ts'

describe.each(backends)('the files of a process on $name', (backend) => {
  const world = useWorld(backend)
  const s3 = useFakeS3()
  const directories: string[] = []
  afterAll(() => Promise.all(directories.map((each) => rm(each, { recursive: true }))))

  const open = (env: Record<string, string>, dataDir: string | null = null) => {
    return openFiles({ ...loadConfig(env), dataDir }, world.deps.db, systemClock)
  }

  it('accept the signed URLs of other processes of the database', async () => {
    const [one, two] = await Promise.all([open({}), open({ PUBLIC_URL: 'https://chat.example' })])
    expect([one.isPublic, two.isPublic]).toEqual([false, true])
    const { url } = one.links.sign('t', 'att_1')
    expect(url).toMatch(/^\/api\/v1\/files\/att_1\?/)
    expect(two.links.verify('att_1', new URLSearchParams(url.split('?')[1]))).toMatchObject({
      tenant: 't',
      id: 'att_1',
    })
    expect(two.links.sign('t', 'att_1').url).toBe(`https://chat.example${url}`)
    // The tenant is part of what is signed.
    expect(
      two.links.verify('att_1', new URLSearchParams(url.split('?')[1]!.replace('tenant=t', 'tenant=u'))),
    ).toBeNull()
  })

  it('are in the data directory, in a directory of their own, or in an object store', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'colloquy-files-'))
    directories.push(directory)
    const settings = { FILES_S3_BUCKET: 'files', FILES_S3_ENDPOINT: s3.state.url, FILES_S3_REGION: S3_KEY.region }
    const secrets = { FILES_S3_KEY_ID: S3_KEY.accessKeyId, FILES_S3_SECRET: S3_KEY.secretAccessKey }
    const stores = [
      await open({}, directory),
      await open({ FILES_DIR: join(directory, 'own') }),
      await open({ ...settings, ...secrets }),
      await open({}),
    ].map(({ store }) => store)
    for (const [index, store] of stores.entries()) {
      await store.put('ab/cd', Buffer.from(`${index}`))
      expect(String(await bytesOf(await store.get('ab/cd')))).toBe(`${index}`)
    }
    expect((await readdir(directory)).sort()).toEqual(['files', 'own'])
    expect([...s3.objects.keys()]).toEqual(['/files/ab/cd'])
  })
})
