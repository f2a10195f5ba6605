// /health reports that the process responds; /ready reports whether its dependencies respond.

import type { ServerResponse } from 'node:http'
import type { Health } from '../domain/platform.ts'

/** Time after which a dependency that has not responded counts as down, ms. */
const CHECK_TIMEOUT_MS = 2_000

async function state(check: () => Promise<unknown>): Promise<'up' | 'down'> {
  const timeout = new Promise<'down'>((resolve) => setTimeout(resolve, CHECK_TIMEOUT_MS, 'down').unref())
  return Promise.race([
    check().then(
      () => 'up' as const,
      () => 'down' as const,
    ),
    timeout,
  ])
}

/** Responds with 200, or 503 if the process is not ready. The body names the dependency that is down, not the cause. */
export async function answerHealth(
  response: ServerResponse,
  path: '/health' | '/ready',
  health: Health,
  draining: boolean,
): Promise<void> {
  let code = 200
  let body: object = { status: 'ok' }
  if (path === '/ready') {
    const [database, bus] = await Promise.all([state(() => health.database()), state(() => health.bus())])
    const ready = !draining && database === 'up' && bus === 'up'
    code = ready ? 200 : 503
    const status = ready ? 'ready' : draining ? 'draining' : 'not ready'
    body = { status, database, bus, durability: health.durability }
  }
  response.writeHead(code, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
  response.end(`${JSON.stringify(body)}\n`)
}
