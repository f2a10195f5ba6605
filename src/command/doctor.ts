// The command `colloquy doctor`: inspects the installation that the settings describe, or asks a running server.

import { connect, type Client } from '../client/index.ts'
import { ColloquyError } from '../client/transport/errors.ts'
import type { Config } from '../config/config.ts'
import { checked, CHECK_MS, failure, ok, warning, type Finding } from '../inspection/finding.ts'
import { CommandFailed } from './live.ts'
import { columns, print, type Output } from './output.ts'
import { endpointOf, type TargetOptions } from './target.ts'

type Ready = { status: string; database: 'up' | 'down'; bus: 'up' | 'down'; load: string; durability: string }

const DOCUMENT = `query Doctor {
  embedding { embedder serving remaining etaSeconds }
  jobs(first: 50, state: RETRYING) { nodes { name } }
}`

type Work = {
  embedding: { embedder: string; serving: string; remaining: number; etaSeconds: number | null }
  jobs: { nodes: { name: string }[] }
}

function findingsOfReady({ status, database, bus, load, durability }: Ready): Finding[] {
  const next = 'see the log of the server'
  return [
    status === 'ready' ? ok('server', durability) : failure('server', `is ${status}`, next),
    ...(database === 'down' ? [failure('database', 'the server cannot reach it', next)] : []),
    ...(bus === 'down' ? [failure('redis', 'the server cannot reach it', next)] : []),
    ...(load === 'normal' ? [] : [warning('load', 'the server refuses operations because of overload', next)]),
  ]
}

function findingsOfWork({ embedding, jobs }: Work): Finding[] {
  const { embedder, serving, remaining, etaSeconds } = embedding
  const next = 'wait, or see the log of the server'
  const eta = etaSeconds === null ? 'none are being processed' : `about ${etaSeconds} s`
  const retried = jobs.nodes.length
  return [
    remaining === 0
      ? ok('vectors', `${embedder} has embedded all entries`)
      : warning(
          'vectors',
          `${remaining} entries are not embedded by ${embedder} (${eta}); searches use ${serving}`,
          next,
        ),
    retried === 0
      ? ok('jobs', 'none of this tenant are retried')
      : warning('jobs', `${retried} of this tenant are retried`, '`colloquy jobs --state RETRYING` shows the reasons'),
  ]
}

/** Asks for the work that is due, which needs the right `operate`. */
async function askWork(client: Client): Promise<Finding[]> {
  try {
    return findingsOfWork(await client.request(DOCUMENT))
  } catch (error) {
    if (!(error instanceof ColloquyError)) throw error
    const next = 'pass --token with the right operate to see vectors and jobs'
    return [warning('access', `${error.code}: ${error.message}`, next)]
  }
}

/** Asks a running server: /ready, and the API for what its credential permits. */
async function askServer({ url, ...viewer }: TargetOptions & { url: string }): Promise<readonly Finding[]> {
  const endpoint = endpointOf(url)
  const next = 'check the URL, and that the server is running'
  const ready = await checked('server', next, async () => {
    const response = await fetch(new URL('/ready', endpoint), { signal: AbortSignal.timeout(CHECK_MS) }).catch(
      (error: Error) => {
        throw new Error(`${endpoint.origin}: ${(error.cause as Error | undefined)?.message ?? error.message}`)
      },
    )
    const body = (await response.json().catch(() => null)) as Ready | null
    if (typeof body?.status !== 'string') return [failure('server', `${endpoint.origin} is no Colloquy server`, next)]
    return findingsOfReady(body)
  })
  if (ready[0]!.state === 'failure') return ready
  const client = connect({ url: endpoint.href, ...viewer, retryForMs: 0, webSocket: null, onError: () => {} })
  try {
    return [...ready, ...(await checked('access', next, () => askWork(client)))]
  } finally {
    await client.close()
  }
}

/** Inspects by the settings. If a server has the embedded database open, asks that server too. */
async function inspectHere(options: TargetOptions, config: Config): Promise<readonly Finding[]> {
  // Imported only here: other commands need neither the database nor the providers.
  const { inspect } = await import('../inspection/inspect.ts')
  const { findings, isInUse } = await inspect(config)
  if (!isInUse) return findings
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  return [...findings, ...(await askServer({ ...options, url: `http://${host}:${config.port}` }))]
}

/** Prints one line for each finding, with the next step. @throws CommandFailed if one is a failure */
export async function doctor(options: TargetOptions, loadConfig: () => Config, output: Output): Promise<void> {
  const { url } = options
  const findings = await (url === undefined ? inspectHere(options, loadConfig()) : askServer({ ...options, url }))
  const lines = columns(
    findings.map(({ check, state, message, next }) => [state, check, next === null ? message : `${message}; ${next}`]),
  )
  await print(output, { json: findings, lines })
  const failures = findings.filter(({ state }) => state === 'failure').length
  if (failures > 0) throw new CommandFailed(`${failures} of ${findings.length} checks failed.`)
}
