// The contract of the file store.

import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import type { FileStore } from '../../src/store/files/file-store.ts'
import { bytesOf } from '../support/files.ts'

/** Runs the contract on the store that `open` returns. */
export function fileStoreContract(name: string, open: () => FileStore | Promise<FileStore>): void {
  describe(`the file store ${name}`, () => {
    let store: FileStore
    beforeAll(async () => {
      store = await open()
    })
    const newKey = () => `${randomBytes(4).toString('hex')}/${randomBytes(8).toString('hex')}`
    const read = async (key: string, range?: { start: number; end: number }) => bytesOf(await store.get(key, range))

    it('returns what was put, as a whole or in part', async () => {
      const key = newKey()
      const bytes = randomBytes(300_000)
      await store.put(key, bytes)
      expect((await read(key))!.equals(bytes)).toBe(true)
      expect((await read(key, { start: 100_000, end: 199_999 }))!.equals(bytes.subarray(100_000, 200_000))).toBe(true)
    })

    it('has no file that was not put, or was deleted', async () => {
      const key = newKey()
      expect(await read(key)).toBeNull()
      await store.put(key, Buffer.from('x'))
      await store.delete(key)
      await store.delete(key)
      expect(await read(key)).toBeNull()
    })

    it('accepts a file that exists', async () => {
      const key = newKey()
      await Promise.all([store.put(key, Buffer.from('same')), store.put(key, Buffer.from('same'))])
      expect(String(await read(key))).toBe('same')
    })

    it('keeps files with other keys', async () => {
      const [one, two] = [newKey(), newKey()]
      await store.put(one, Buffer.from('1'))
      await store.put(two, Buffer.from('2'))
      await store.delete(one)
      expect(String(await read(two))).toBe('2')
    })

    it.each(['', '..', '../a', 'a/../b', '/a', 'A', 'a\\b', 'a//b'])('refuses the key %j', async (key) => {
      await expect((async () => store.put(key, Buffer.from('x')))()).rejects.toThrow('is not a key')
      await expect((async () => store.get(key))()).rejects.toThrow('is not a key')
      await expect((async () => store.delete(key))()).rejects.toThrow('is not a key')
    })
  })
}
