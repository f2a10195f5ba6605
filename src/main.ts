// The process: settings, then what it stands on, then the server and the sweeping; on a signal, all of it in reverse.

import { pino } from 'pino'
import { ConfigError, loadConfig, type Config } from './config/config.ts'
import { createDeps } from './deps.ts'
import { startJobs } from './domain/background/jobs.ts'
import { startSweeping } from './domain/background/sweep.ts'
import { EmbedderFailed } from './providers/ports/embedder.ts'
import { ping } from './store/db.ts'
import { DataDirInUse } from './store/embedded.ts'

async function run(config: Config): Promise<void> {
  const log = pino({ level: config.logLevel })
  // The embedded database starts in its thread while this one reads the rest of the code.
  const [{ deps, durability, failed, close }, { createServer }] = await Promise.all([
    createDeps(config, log),
    import('./server/http.ts'),
  ])
  const server = createServer(deps, config, { database: () => ping(deps.pool), bus: () => deps.bus.ping(), durability })
  const stopSweeping = startSweeping(deps)
  let jobs: ReturnType<typeof startJobs> | null = null

  let stopping = false
  async function stop(reason: string, code: number): Promise<void> {
    if (stopping) return
    stopping = true
    log.info({ reason }, 'stopping')
    // Whatever hangs, the process ends.
    setTimeout(() => process.exit(code || 1), config.shutdownMs + 2_000).unref()
    try {
      await server.close()
      const stopJobs = await jobs
      await Promise.all([stopSweeping(), stopJobs?.()])
      await close()
      log.info('stopped')
    } catch (err) {
      log.error({ err }, 'could not stop cleanly')
      code ||= 1
    }
    process.exit(code)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(signal, 0))
  void failed.then((err) => {
    log.fatal({ err }, 'the database is gone')
    return stop('the database is gone', 1)
  })

  const port = await server.listen().catch(async (error: Error) => {
    await stopSweeping()
    await close()
    throw error
  })
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  log.info(durability)
  if (!config.redisUrl) log.info('No REDIS_URL: this is the only process.')
  log.warn('Nobody authenticates: everybody who reaches this address may speak and read as anybody.')
  // Once the door is open, and not waited for: the first time, the job queue makes its tables.
  jobs = startJobs(deps).catch((err) => {
    log.error({ err }, 'no job queue: nothing is done without being asked')
    return async () => {}
  })
  log.info({ url: `http://${host}:${port}/graphql` }, `ready on http://${host}:${port}/graphql`)
}

try {
  await run(loadConfig())
} catch (error) {
  // What the person who starts it can mend is said in words; anything else with its stack.
  const known = [ConfigError, DataDirInUse, EmbedderFailed].some((kind) => error instanceof kind)
  const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
  console.error(taken ? `${(error as Error).message}: set PORT.` : known ? (error as Error).message : error)
  process.exit(1)
}
