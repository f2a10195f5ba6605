// The contract of the file store on each adapter, and what is specific to one.

import { mkdir, mkdtemp, open, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { createDiskFiles } from '../../src/store/files/disk.ts'
import { createMemoryFiles } from '../../src/store/files/memory.ts'
import { createS3Files } from '../../src/store/files/s3.ts'
import { S3_KEY, useFakeS3 } from '../support/fake-s3.ts'
import { fileStoreContract } from './file-store.ts'

const directories: string[] = []
async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'colloquy-files-'))
  directories.push(directory)
  return directory
}
afterAll(() => Promise.all(directories.map((each) => rm(each, { recursive: true }))))

const s3 = useFakeS3()

fileStoreContract('in memory', createMemoryFiles)
fileStoreContract('on disk', async () => createDiskFiles(join(await newDirectory(), 'new', 'files')))
fileStoreContract('in an object store', () => createS3Files({ ...S3_KEY, bucket: 'files', endpoint: s3.state.url }))

describe('the file store on disk', () => {
  it('deletes what interrupted writes have left, once it is old', async () => {
    const directory = await newDirectory()
    const store = createDiskFiles(directory)
    expect(await store.deleteUnfinished(0)).toBe(0)
    await mkdir(join(directory, 'unfinished'))
    for (const name of ['old', 'new']) await writeFile(join(directory, 'unfinished', name), 'partial')
    const hourAgo = Date.now() / 1000 - 3600
    await utimes(join(directory, 'unfinished', 'old'), hourAgo, hourAgo)
    expect(await store.deleteUnfinished(60_000)).toBe(1)
    expect(await readdir(join(directory, 'unfinished'))).toEqual(['new'])
  })

  it('flushes the directories that contain new names', async () => {
    const directory = await newDirectory()
    const handle = await open(directory)
    const flush = vi.spyOn(Object.getPrototypeOf(handle) as typeof handle, 'sync')
    await handle.close()
    const store = createDiskFiles(join(directory, 'files'))
    await store.put('ab/cd', Buffer.from('x'))
    // The file, its directory, and those with the names of files, files/unfinished and files/ab.
    expect(flush).toHaveBeenCalledTimes(5)
    await store.put('ab/ef', Buffer.from('x'))
    expect(flush).toHaveBeenCalledTimes(7)
    flush.mockRestore()
  })

  it('leaves nothing if a file cannot be written', async () => {
    const directory = await newDirectory()
    const store = createDiskFiles(directory)
    // A directory in the place of the file.
    await mkdir(join(directory, 'ab', 'cd'), { recursive: true })
    await expect(store.put('ab/cd', Buffer.from('x'))).rejects.toThrow()
    expect(await readdir(join(directory, 'unfinished'))).toEqual([])
  })
})

describe('the file store in an object store', () => {
  const openBucket = (more: object = {}) =>
    createS3Files({ ...S3_KEY, bucket: 'files', endpoint: s3.state.url, ...more })

  it('repeats a request that the service could not answer', async () => {
    s3.state.failures = 2
    await openBucket().put('aa/bb', Buffer.from('x'))
    expect(s3.objects.has('/files/aa/bb')).toBe(true)
  })

  it('fails with the status for wrong credentials', async () => {
    const store = openBucket({ secretAccessKey: 'wrong' })
    await expect(store.put('aa/cc', Buffer.from('x'))).rejects.toThrow('answered PUT with the status 403')
    await expect(store.get('aa/bb')).rejects.toThrow('answered GET with the status 403')
    expect(s3.state.refused).toContain('signature')
    expect(s3.objects.has('/files/aa/cc')).toBe(false)
  })

  it('fails if the bucket does not exist, so that no file counts as deleted or missing', async () => {
    const store = openBucket({ bucket: 'other' })
    await expect(store.delete('aa/dd')).rejects.toThrow('answered DELETE with the status 404 (NoSuchBucket)')
    await expect(store.get('aa/dd')).rejects.toThrow('answered GET with the status 404 (NoSuchBucket)')
  })
})
