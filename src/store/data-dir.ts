// One process per data directory: two embedded databases on the same files would destroy them. A lock file says who it
// is. Processes that cannot see each other, such as those of two containers that share a volume, are not kept apart.

import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Another process uses the data directory. */
export class DataDirInUse extends Error {
  override readonly name = 'DataDirInUse'
  readonly directory: string
  readonly pid: number
  constructor(directory: string, pid: number, lock: string) {
    super(
      `The data directory ${directory} is in use by process ${pid}. Stop that process, give this one another `
        + `DATA_DIR, or let both use one Postgres (DATABASE_URL). `
        + `If process ${pid} is no Colloquy server, delete ${lock}.`,
    )
    this.directory = directory
    this.pid = pid
  }
}

/**
 * Takes the directory for this process; returns how to give it back. Throws DataDirInUse.
 *
 * A lock names its process and holds a token of its own. Of several that find the same dead holder, one becomes its
 * heir: whoever locks that token, by this same procedure, and then still finds it in place. So a crash at any point
 * leaves nothing but a dead holder.
 */
export function lockDataDir(directory: string): () => void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return lock(join(directory, 'lock'), directory)
}

function lock(path: string, directory: string): () => void {
  const token = randomUUID()
  const draft = `${path}.${token}.draft`
  // Linked into place whole, so that nobody reads half a lock.
  writeFileSync(draft, `${process.pid}\n${birthOf(process.pid)}\n${token}\n`, { mode: 0o600 })
  try {
    while (!link(draft, path)) {
      const holder = read(path)
      if (!holder) continue
      if (isAlive(holder)) throw new DataDirInUse(directory, holder.pid, path)
      const release = lock(`${path}.${holder.token}`, directory)
      try {
        if (read(path)?.token === holder.token) {
          renameSync(draft, path)
          break
        }
      } finally {
        release()
      }
    }
  } finally {
    rmSync(draft, { force: true })
  }
  return () => {
    if (read(path)?.token === token) rmSync(path)
  }
}

/** Whether the lock was free. */
function link(draft: string, path: string): boolean {
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

type Holder = { pid: number; birth: string; token: string }

/** Null when there is none. A file that the machine's crash has emptied names process 0, which is no one. */
function read(path: string): Holder | null {
  try {
    const [pid, birth = '', token = ''] = readFileSync(path, 'utf8').split('\n')
    return { pid: Number(pid), birth, token }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** A pid alone is no proof: after a restart it may be another process's, in a container it usually is our own. */
function isAlive({ pid, birth }: Holder): boolean {
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  const now = birthOf(pid)
  return now === '' || now === birth
}

/** When a process began, as text to compare; empty where the system does not tell. */
function birthOf(pid: number): string {
  try {
    // The 22nd field, counted from behind the command's name, which may hold anything.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[19] ?? ''
  } catch {
    return pid === process.pid ? String(performance.timeOrigin) : ''
  }
}
