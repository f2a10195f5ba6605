// A Postgres tablespace on a tmpfs of its own, which a fault can fill: Postgres then gets ENOSPC for tables and
// indexes, as on a full disk. The write-ahead log is on another disk. Needs root on the machine that Postgres runs on.

import { execFile } from 'node:child_process'
import { mkdir, readlink, rm, stat, chown } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'

const run = promisify(execFile)

export type SmallDisk = {
  /** Name of the tablespace. */
  tablespace: string
  /** Fills the disk. Returns a function that frees the space. */
  fill(): Promise<() => Promise<void>>
  /** Drops the tablespace, which must be empty, and unmounts the disk. */
  close(): Promise<void>
}

const TABLESPACE = 'small_disk'

/**
 * Creates the tablespace on the server at the URL.
 * @returns the disk, or the reason if this process may not mount one
 */
export async function createSmallDisk(server: string, megabytes: number): Promise<SmallDisk | { reason: string }> {
  const client = new pg.Client(server)
  await client.connect()
  try {
    const { rows } = await client.query<{ pid: number; data: string; exists: boolean }>(
      `SELECT pg_backend_pid() AS pid, current_setting('data_directory') AS data,
         EXISTS (SELECT FROM pg_tablespace WHERE spcname = '${TABLESPACE}')`,
    )
    const { pid, data, exists } = rows[0]!
    // Postgres may run in a chroot.
    const root = await readlink(`/proc/${pid}/root`)
    const inside = join(dirname(data), 'small-disk')
    const mount = join(root, inside)
    if (exists) await client.query(`DROP TABLESPACE ${TABLESPACE}`)
    await run('umount', [mount]).catch(() => {})
    await mkdir(mount, { recursive: true })
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', mount])
    const { uid, gid } = await stat(join(root, data))
    await mkdir(join(mount, 'data'))
    await chown(join(mount, 'data'), uid, gid)
    await client.query(`CREATE TABLESPACE ${TABLESPACE} LOCATION '${inside}/data'`)
    return {
      tablespace: TABLESPACE,
      async fill() {
        const ballast = join(mount, 'ballast')
        // Fails when no space is left.
        await run('cp', ['/dev/zero', ballast]).catch(() => {})
        return () => rm(ballast, { force: true })
      },
      async close() {
        const last = new pg.Client(server)
        await last.connect()
        await last.query(`DROP TABLESPACE ${TABLESPACE}`)
        await last.end()
        await run('umount', [mount])
      },
    }
  } catch (error) {
    return { reason: (error as Error).message.trim().split('\n').at(-1)! }
  } finally {
    await client.end()
  }
}
