// The process of the command `colloquy`. Starts dependencies, the server and background work. A signal stops the server
// first, then background work, then the dependencies that both use.

import { inspect } from 'node:util'
import type { Logger } from 'pino'
import { commandDefaults, hasCursor, isColoured } from './config/command-environment.ts'
import { loadConfig, type Config } from './config/config.ts'
import { readSettings } from './config/settings.ts'
import { readSettingsFile } from './config/settings-file.ts'
import { launchEmbedded } from './store/embedded/embedded.ts'
import { DomainError } from './errors.ts'
import { createLog, describeError, maskCredentials } from './runtime/log.ts'
import { freeMemoryAfterStart } from './runtime/free-memory.ts'
import type { MetricsServer } from './server/load/metrics-server.ts'
import type { Measured } from './server/load/metrics.ts'
import { limitSemiSpaces } from './runtime/thread.ts'
import { useBaselineWebAssembly } from './runtime/webassembly.ts'

/** Time that the process may need to stop in addition to SHUTDOWN_SECONDS, ms. After that, it exits. */
const FORCED_EXIT_MS = 2_000

/** Starts the metrics server. Returns null if METRICS_PORT is not set. */
async function openMetrics(
  { metricsPort, metricsHost }: Config,
  measured: Measured,
  log: Logger,
): Promise<MetricsServer | null> {
  if (metricsPort === undefined) return null
  // Imported only here, because most processes do not use it.
  const { createMetricsServer } = await import('./server/load/metrics-server.ts')
  const server = createMetricsServer(measured, { metricsPort, metricsHost })
  const port = await server.listen()
  log.info({ url: urlOf(metricsHost, port, '/metrics') }, 'metrics are served')
  return server
}

const urlOf = (host: string, port: number, path: string) =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}${path}`

async function run(config: Config): Promise<void> {
  const log = createLog(config.logLevel)
  limitSemiSpaces()
  // The embedded database starts in its own thread while this thread loads the rest of the code.
  const starting = config.databaseUrl ? null : launchEmbedded(config.dataDir)
  // Handled by createDeps.
  starting?.catch(() => {})
  if (!starting) useBaselineWebAssembly()
  const { createDeps } = await import('./deps.ts')
  const [{ deps, health, pools, failed, close }, { createServer }, { startBackground }] = await Promise.all([
    createDeps(config, log, { starting }),
    import('./server/http/http.ts'),
    import('./domain/background/jobs.ts'),
  ])
  if (config.firstKeyFile) {
    const { writeFirstKey } = await import('./server/auth/first-key.ts')
    await writeFirstKey(deps, config.firstKeyFile).catch(async (error: Error) => {
      await close()
      throw error
    })
  }
  const server = createServer(deps, config, health)
  const metrics = await openMetrics(
    config,
    { deps, pools, usage: server.usage, admission: server.admission },
    log,
  ).catch(async (error: Error) => {
    await close()
    throw error
  })
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
      await metrics?.close()
      await close()
      log.info('stopped')
    } catch (err) {
      log.error({ err }, 'stopping failed')
      code ||= 1
    }
    process.exit(code)
  }
  process.on('uncaughtException', (err) => {
    // Node would print the message, which may quote content.
    log.fatal({ err }, 'unexpected error; the process ends')
    process.exit(1)
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(signal, 0))
  void failed.then((err) => {
    log.fatal({ err }, 'the database failed')
    return stop('the database failed', 1)
  })

  const port = await server.listen().catch(async (error: Error) => {
    await metrics?.close()
    await close()
    throw error
  })
  log.info(health.durability)
  if (!config.redisUrl) log.info('REDIS_URL is not set: only this process can serve these conversations.')
  if (!config.authentication.isRequired) {
    log.warn('There is no authentication: every client that reaches this address can read and write as any actor.')
  }
  stopBackground = startBackground(deps)
  const url = urlOf(config.host, port, '/graphql')
  log.info({ url }, `ready on ${url}`)
  freeMemoryAfterStart()
}

/** Names of the errors that the operator can fix. Their messages say how, so their stacks are not printed. */
const OPERATOR_ERRORS = new Set([
  'WrongPackageVersion',
  'NotIsolated',
  'NotReplica',
  'ConfigError',
  'DatabaseUnreachable',
  'DataDirInUse',
  'MigrationError',
  'PartitionError',
  'CallFailed',
  'FirstKeyError',
])

/** Returns the text to print when the process cannot start. */
function textOf(error: Error & { syscall?: string; code?: string }): string {
  if (error.syscall === 'write' && error.code === 'ENOSPC') return 'Cannot write: no space is left on the device.'
  if (error.syscall === 'listen') return `${error.message}: set HOST and PORT, or METRICS_HOST and METRICS_PORT.`
  const isForOperator = error instanceof DomainError || OPERATOR_ERRORS.has(error.name)
  return isForOperator ? error.message : inspect(describeError(error))
}

/** Returns the terminal of the process; null if its input or output is none, or one without a cursor. */
function terminalOf({ stdin, stdout }: NodeJS.Process) {
  if (!stdin.isTTY || !stdout.isTTY || !hasCursor()) return null
  return { input: stdin, output: stdout, isColoured: isColoured() }
}

/** Runs a command on the standard streams. Ctrl-C and a reader that closes its end stop the command. */
async function runCommand(args: string[]): Promise<number> {
  // Imported only here: the server must start its database before it loads these modules.
  const { runProgram, EXIT } = await import('./command/program.ts')
  const stopping = new AbortController()
  const { stdout, stderr } = process
  let isClosed = false
  let failure: Error | null = null
  process.once('SIGINT', () => stopping.abort())
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    isClosed = true
    if (error.code !== 'EPIPE') failure = error
    stopping.abort()
  })
  const code = await runProgram(args, {
    write: (text) => new Promise((resolve) => void (isClosed ? resolve() : stdout.write(text, () => resolve()))),
    writeError: (text) => void stderr.write(text),
    input: process.stdin,
    terminal: terminalOf(process),
    draw: stderr.isTTY ? (line) => void stderr.write(`\r\x1b[K${line.slice(0, stderr.columns - 1)}`) : null,
    signal: stopping.signal,
    defaults: commandDefaults(),
    loadConfig: () => loadConfig(undefined, readSettingsFile()),
    readSettings: () => readSettings(undefined, readSettingsFile()),
  })
  if (failure) throw failure
  return isClosed ? EXIT.success : code
}

/**
 * Runs the command, configured by environment variables and the settings file. Without arguments, runs the server until
 * a signal stops it. On failure, prints the reason, and exits with one of the codes in docs/command-line.md.
 */
export async function main(args: string[]): Promise<void> {
  try {
    if (args.length === 0) return await run(loadConfig(undefined, readSettingsFile()))
    process.exit(await runCommand(args))
  } catch (error) {
    console.error(maskCredentials(textOf(error as Error)))
    process.exit(1)
  }
}
