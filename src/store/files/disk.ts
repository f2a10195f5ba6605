// The file store on disk. A file is written under a temporary name, flushed and renamed, so that a crash leaves no partial
// file under its own name. Several processes may share the directory.

import { createReadStream, type Dirent } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { once } from 'node:events'
import { checkKey, type FileStore } from './file-store.ts'

/** The directory of files that are being written. Keys have no such first part. */
const UNFINISHED = 'unfinished'

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** Flushes a directory, so that a name in it survives a power failure. Windows cannot open directories. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Creates a directory with those above it, and flushes the names of the new ones. Readable by the user only. */
async function makeDirectory(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    await syncDirectory(parent)
    if (parent === dirname(first)) return
  }
}

async function write(path: string, bytes: Buffer): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** @param directory created with the first file, readable by the user of the process only */
export function createDiskFiles(directory: string): FileStore {
  const pathOf = (key: string) => join(directory, ...checkKey(key).split('/'))
  const unfinished = join(directory, UNFINISHED)
  return {
    async put(key, bytes) {
      const path = pathOf(key)
      for (const each of [unfinished, dirname(path)]) await makeDirectory(each)
      const draft = join(unfinished, randomUUID())
      try {
        await write(draft, bytes)
        await rename(draft, path)
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
      await syncDirectory(dirname(path))
    },
    async get(key, range) {
      const stream = createReadStream(pathOf(key), range)
      try {
        await once(stream, 'open')
        return stream
      } catch (error) {
        if (isMissing(error)) return null
        throw error
      }
    },
    delete: (key) => rm(pathOf(key), { force: true }),
    async deleteUnfinished(ms) {
      const entries = await readdir(unfinished, { withFileTypes: true }).catch((error: unknown): Dirent[] => {
        if (isMissing(error)) return []
        throw error
      })
      let count = 0
      for (const { name } of entries) {
        const path = join(unfinished, name)
        // Another process may have finished or deleted it since.
        const found = await stat(path).catch(() => null)
        if (!found || Date.now() - found.mtimeMs < ms) continue
        await rm(path, { force: true })
        count += 1
      }
      return count
    },
  }
}
