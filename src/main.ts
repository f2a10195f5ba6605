// The server process. Starts dependencies, the server and background work. A signal stops the server first, then
// background work, then the dependencies that both use.

import { inspect } from 'node:util'
import { ConfigError, loadConfig, type Config } from './config/config.ts'
import { createDeps, DatabaseUnreachable, DataDirInUse, MigrationError } from './deps.ts'
import { startBackground } from './domain/background/start-background.ts'
import { createLog, maskCredentials } from './log.ts'
import { CallFailed } from './providers/ports/call-failed.ts'
import { FirstKeyError, writeFirstKey } from './server/auth/first-key.ts'

/** Time after SHUTDOWN_SECONDS at which the process exits even if something still runs, ms. */
const FORCED_EXIT_MS = 2_000

async function run(config: Config): Promise<void> {
  const log = createLog(config.logLevel)
  // The embedded database starts in its own thread while this thread loads the rest of the code.
  const [{ deps, health, failed, close }, { createServer }] = await Promise.all([
    createDeps(config, log),
    import('./server/http.ts'),
  ])
  if (config.firstKeyFile) {
    await writeFirstKey(deps, config.firstKeyFile).catch(async (error: Error) => {
      await close()
      throw error
    })
  }
  const server = createServer(deps, config, health)
  let stopBackground = async () => {}

  let stopping = false
  async function stop(reason: string, code: number): Promise<void> {
    if (stopping) return
    stopping = true
    log.info({ reason }, 'stopping')
    setTimeout(() => process.exit(code || 1), config.shutdownMs + FORCED_EXIT_MS).unref()
    try {
      await server.close()
      await stopBackground()
      await close()
      log.info('stopped')
    } catch (err) {
      log.error({ err }, 'stopping failed')
      code ||= 1
    }
    process.exit(code)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(signal, 0))
  void failed.then((err) => {
    log.fatal({ err }, 'the database failed')
    return stop('the database failed', 1)
  })

  const port = await server.listen().catch(async (error: Error) => {
    await close()
    throw error
  })
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  log.info(health.durability)
  if (!config.redisUrl) log.info('REDIS_URL is not set: only this process can serve these conversations.')
  if (!config.authentication.isRequired) {
    log.warn('There is no authentication: every client that reaches this address can read and write as any actor.')
  }
  stopBackground = startBackground(deps)
  log.info({ url: `http://${host}:${port}/graphql` }, `ready on http://${host}:${port}/graphql`)
}

/** Errors that the operator can fix. Their message says how, so their stack is not printed. */
const OPERATOR_ERRORS = [ConfigError, DatabaseUnreachable, DataDirInUse, MigrationError, CallFailed, FirstKeyError]

/** Returns the text to print when the process cannot start. */
function textOf(error: Error & { syscall?: string }): string {
  if (error.syscall === 'listen') return `${error.message}: set HOST and PORT.`
  return OPERATOR_ERRORS.some((kind) => error instanceof kind) ? error.message : inspect(error)
}

/**
 * Runs the server, configured by the environment, until a signal stops it. If it cannot start, prints the reason and
 * exits with code 1.
 */
export async function main(): Promise<void> {
  try {
    await run(loadConfig())
  } catch (error) {
    console.error(maskCredentials(textOf(error as Error)))
    process.exit(1)
  }
}
