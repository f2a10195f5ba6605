// A streaming replica of the Postgres that the script SERVICES starts, made by pg_basebackup from its binaries.

import { execFile } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { promisify } from 'node:util'
import pg from 'pg'

/** The directory in which the script SERVICES installs its root file system, and the Postgres programs in it. */
const ROOT = process.env.SERVICES_ROOT ?? '/var/tmp/colloquy-services'
const BIN = '/usr/lib/postgresql/17/bin'

const asPostgres = (command: string) => promisify(execFile)('chroot', [ROOT, 'su', 'postgres', '-c', command])

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

export type Standby = {
  /** Returns the URL of the primary's database on the replica. */
  urlOf(primaryUrl: string): string
  pauseReplay(): Promise<void>
  resumeReplay(): Promise<void>
  /** Stops the replica immediately, without a clean shutdown. */
  crash(): Promise<void>
  /** Starts the replica again. */
  start(): Promise<void>
  /** Stops the replica, and deletes its data. */
  remove(): Promise<void>
}

/**
 * @param server superuser URL of the primary
 * @param pair name of the pair of services, as in startServices
 */
export async function createStandby(server: string, pair: string): Promise<Standby> {
  const port = await freePort()
  const directory = `/srv/${pair}/standby-${process.pid}`
  const primary = new URL(server)
  // A replica needs at least the primary's max_connections, which the script sets.
  const options = `-p ${port} -k /srv/${pair} -c listen_addresses=127.0.0.1 -c max_connections=300`
  const start = async () =>
    void (await asPostgres(
      `${BIN}/pg_ctl -w -t 60 -D ${directory} -l ${directory}.log -o '${options}' start >/dev/null 2>&1`,
    ))
  await asPostgres(`${BIN}/pg_basebackup -h ${primary.hostname} -p ${primary.port} -D ${directory} -R -c fast`)
  await start()
  const urlOf = (primaryUrl: string) => Object.assign(new URL(primaryUrl), { port: String(port) }).href

  async function run(statement: string): Promise<void> {
    const client = new pg.Client(urlOf(server))
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  const crash = async () => void (await asPostgres(`${BIN}/pg_ctl -D ${directory} -m immediate stop`))
  return {
    urlOf,
    pauseReplay: () => run('SELECT pg_wal_replay_pause()'),
    resumeReplay: () => run('SELECT pg_wal_replay_resume()'),
    crash,
    start,
    async remove() {
      await crash().catch(() => {})
      await asPostgres(`rm -rf ${directory} ${directory}.log`)
    },
  }
}
