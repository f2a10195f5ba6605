// Locks a data directory for one process, because two embedded databases on the same files would corrupt them. The lock
// file contains the process id. It does not protect against processes in other PID namespaces, such as two containers
// that share a volume.

import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Thrown if another process has locked the data directory. */
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
 * Locks the directory and creates it if needed. Returns a function that releases the lock. Throws DataDirInUse.
 *
 * Each lock has a unique token. To replace the lock of a dead process, a process first creates a second lock, named
 * after that token, by the same procedure. It then checks that the first lock still has the token. So only one process
 * replaces the lock, and a crash leaves only locks of dead processes.
 */
export function lockDataDir(directory: string): () => void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return lock(join(directory, 'lock'), directory)
}

function lock(path: string, directory: string): () => void {
  const token = randomUUID()
  const draft = `${path}.${token}.draft`
  // Written to another file and then linked, so that no process reads a partial lock.
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

/** Creates the lock file; false if it exists already. */
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

/** Reads the lock file; null if there is none. A file that a system crash emptied has pid 0, which is never alive. */
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
 * Whether the process that created the lock is running. Compares the start time too, because after a restart the pid
 * may belong to another process; in a container, even to this one.
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

/** Start time of a process, as text for comparison. Without /proc, it is empty for all processes except this one. */
function startTimeOf(pid: number): string {
  try {
    // Field 22 of proc(5). Counted after the command name, which may contain spaces and parentheses.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[19] ?? ''
  } catch {
    return pid === process.pid ? String(performance.timeOrigin) : ''
  }
}
