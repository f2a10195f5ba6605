// Answers /health, which reports that the process responds, and /ready, which reports whether its dependencies respond.

import type { ServerResponse } from 'node:http'
import type { Health, Platform } from '../../domain/kernel/platform.ts'
import { Unavailable } from '../../errors.ts'

/** Time after which a dependency that has not responded counts as down, ms. */
const CHECK_TIMEOUT_MS = 2_000

type Services = Pick<Platform, 'clock'> & { log: Pick<Platform['log'], 'warn' | 'info'> }

/**
 * Returns a check of one dependency. It logs the cause when the dependency starts to fail, and when it responds again.
 */
function dependency(
  name: string,
  check: () => Promise<unknown>,
  { clock, log }: Services,
): () => Promise<'up' | 'down'> {
  let isReported = false
  return async () => {
    const late = () => new Error(`no response within ${CHECK_TIMEOUT_MS / 1000} s`)
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<Error>((resolve) => {
      timer = clock.setTimeout(() => resolve(late()), CHECK_TIMEOUT_MS)
      timer.unref()
    })
    const answer = check().then(
      () => null,
      (error: unknown) => error,
    )
    const err = await Promise.race([answer, timeout]).finally(() => clock.clearTimeout(timer))
    // The adapter that throws Unavailable has logged the outage, and logs its end.
    if (err !== null && !isReported && !(err instanceof Unavailable)) {
      log.warn({ err, dependency: name }, 'a dependency does not respond')
      isReported = true
    }
    if (err === null && isReported) {
      log.info({ dependency: name }, 'a dependency responds again')
      isReported = false
    }
    return err !== null ? 'down' : 'up'
  }
}

export type HealthReport = {
  /**
   * Responds with 200, or to /ready with 503 if the process is not ready. The body of /ready contains the state of each
   * dependency, but no cause, and whether operations are refused because of overload. An overloaded process remains
   * ready: otherwise, its load would move to the other processes and overload them too.
   */
  answer(response: ServerResponse, path: '/health' | '/ready', draining: boolean): Promise<void>
}

export function createHealthReport(health: Health, services: Services, isShedding: () => boolean): HealthReport {
  const checks = [
    dependency('database', () => health.database(), services),
    dependency('bus', () => health.bus(), services),
  ]
  return {
    async answer(response, path, draining) {
      let code = 200
      let body: object = { status: 'ok' }
      if (path === '/ready') {
        const [database, bus] = await Promise.all(checks.map((check) => check()))
        const ready = !draining && database === 'up' && bus === 'up'
        code = ready ? 200 : 503
        const status = ready ? 'ready' : draining ? 'draining' : 'not ready'
        const load = isShedding() ? 'overloaded' : 'normal'
        body = { status, database, bus, load, durability: health.durability }
      }
      response.writeHead(code, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
      response.end(`${JSON.stringify(body)}\n`)
    },
  }
}
