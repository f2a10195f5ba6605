// Locks a data directory for one process, because two embedded databases on the same files would corrupt them. The lock
// file names the process. It does not protect against processes in other PID namespaces, such as two containers that
// share a volume.

import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The data directory is locked by another process. */
export class DataDirInUse extends Error {
  override readonly name = 'DataDirInUse'
  readonly directory: string
  readonly pid: number
  constructor(directory: string, pid: number, lock: string) {
    super(
      `The data directory ${directory} is in use by process ${pid}. Stop that process, give this one another `
        + `DATA_DIR, or let both use one Postgres (DATABASE_URL). `
        + `If process ${pid} is not a Colloquy server, delete ${lock}.`,
    )
    this.directory = directory
    this.pid = pid
  }
}

/**
 * Locks the directory, creating it if needed; returns a function that releases it. Throws DataDirInUse.
 *
 * Each lock has a unique token. To replace a dead holder, a process first locks the holder's token by the same
 * procedure, then checks that the token is still in place. So only one process replaces it, and a crash leaves only a
 * dead holder.
 */
export function lockDataDir(directory: string): () => void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return lock(join(directory, 'lock'), directory)
}

function lock(path: string, directory: string): () => void {
  const token = randomUUID()
  const draft = `${path}.${token}.draft`
  // Written aside and linked, so that no process reads a partial lock.
  writeFileSync(draft, `${process.pid}\n${startTimeOf(process.pid)}\n${token}\n`, { mode: 0o600 })
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

/** Creates the lock; false if it exists already. */
function link(draft: string, path: string): boolean {
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

type Holder = { pid: number; startTime: string; token: string }

/** The current lock; null if there is none. A file emptied by a system crash reads as pid 0, which is never alive. */
function read(path: string): Holder | null {
  try {
    const [pid, startTime = '', token = ''] = readFileSync(path, 'utf8').split('\n')
    return { pid: Number(pid), startTime, token }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Compares the start time too: after a restart the pid may belong to another process, in a container even to this one.
 */
function isAlive({ pid, startTime }: Holder): boolean {
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  const now = startTimeOf(pid)
  return now === '' || now === startTime
}

/** Start time of a process, as text to compare; empty where the system does not provide it. */
function startTimeOf(pid: number): string {
  try {
    // Field 22 of proc(5). Counted from after the command name, which may contain spaces and parentheses.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[19] ?? ''
  } catch {
    return pid === process.pid ? String(performance.timeOrigin) : ''
  }
}
