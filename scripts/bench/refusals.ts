// Measures how long a server takes to refuse requests without a valid token, over each transport: `node --import tsx
// scripts/bench/refusals.ts`, embedded, or on the Postgres and Redis of TEST_DATABASE_URL (or DATABASE_URL) and
// TEST_REDIS_URL (or REDIS_URL). Each request opens a connection, because a refusal closes it, and each request with an
// unknown key uses a new key, so that the server cannot answer from a cache. GET /health is measured after each
// refusal, as the baseline of the machine. `npm run check:trust` calls `measureRefusals`.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { newId } from '../../src/domain/kernel/id.ts'
import { TRANSPORTS } from '../../test/support/credentials.ts'
import { claimsOf, ISSUER, SECRET, signWithSecret } from '../../test/support/tokens.ts'
import { startCheckout } from './process.ts'
import { findServices, withDatabase } from './services.ts'

/** Maximum difference between the 99th percentile of refusals and that of GET /health, in ms. */
const GATE_MS = 20
const ROUNDS = 300
const WARM_UP = 30

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A row of the table of `npm run check:trust`. */
type Row = { name: string; value: string; gate: string; ok: boolean }

const percentile = (times: readonly number[], share: number) =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))]!

/** Requests /health over a new connection. */
async function health(url: string): Promise<void> {
  const [response] = (await once(request(`${url}/health`, { agent: false }).end(), 'response')) as [IncomingMessage]
  await once(response.resume(), 'end')
}

const unknownKey = () => `colloquy_${newId('key').slice(4)}_${randomBytes(32).toString('base64url')}`

async function newRevokedKey(url: string, admin: string): Promise<string> {
  const mutate = async (query: string) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${admin}` },
      body: JSON.stringify({ query }),
    })
    return ((await response.json()) as { data: Record<string, { token: string; apiKey: { id: string } }> }).data
  }
  const { createApiKey } = await mutate(
    `mutation { createApiKey(input: { name: "revoked", actor: "ada", rights: [READ] }) {
      ... on CreateApiKeyPayload { token apiKey { id } } } }`,
  )
  await mutate(`mutation { revokeApiKey(input: { id: "${createApiKey!.apiKey.id}" }) { __typename } }`)
  return createApiKey!.token
}

/**
 * Starts a server on the store that the environment variables name, and measures its refusals.
 * @param share share of the full number of requests to send
 */
export async function measureRefusals(store: Record<string, string>, share = 1): Promise<Row[]> {
  const directory = mkdtempSync(join(tmpdir(), 'colloquy-refusals-'))
  const first = join(directory, 'first')
  const server = await startCheckout(root, {
    AUTH_MODE: 'jwt',
    JWT_SECRET: SECRET,
    JWT_ISSUER: ISSUER,
    FIRST_KEY_FILE: first,
    LOG_LEVEL: 'info',
    ...store,
  })
  try {
    const url = `http://127.0.0.1:${server.port}`
    const admin = readFileSync(first, 'utf8').trim()
    const revoked = await newRevokedKey(url, admin)
    const expired = await signWithSecret(claimsOf('default', { exp: 1 }))
    const kinds: [string, () => string | null, Record<string, string>?][] = [
      ['no token', () => null],
      ['unknown API key', unknownKey],
      ['revoked API key', () => revoked],
      ['expired token', () => expired],
      ['name of another tenant', () => admin, { 'x-tenant': 'other' }],
    ]
    const rows: Row[] = []
    for (const [transport, send] of Object.entries(TRANSPORTS)) {
      for (const [kind, tokenOf, names] of kinds) {
        const times: number[] = []
        const healthTimes: number[] = []
        for (let round = -WARM_UP; round < Math.max(50, ROUNDS * share); round++) {
          const token = tokenOf()
          const start = performance.now()
          const { status } = await send(url, token, names)
          if (status < 400) throw new Error(`${transport} accepted: ${kind}`)
          const between = performance.now()
          await health(url)
          if (round < 0) continue
          times.push(between - start)
          healthTimes.push(performance.now() - between)
        }
        const [median, p99] = [percentile(times, 0.5), percentile(times, 0.99)]
        const control = percentile(healthTimes, 0.99)
        rows.push({
          name: `${transport}: ${kind}`,
          value: `p99 ${p99.toFixed(1)} ms, median ${median.toFixed(1)} ms (/health: p99 ${control.toFixed(1)} ms)`,
          gate: `p99 at most ${GATE_MS} ms more than /health`,
          ok: p99 <= GATE_MS + control,
        })
      }
    }
    return rows
  } finally {
    await server.stop()
    rmSync(directory, { recursive: true })
  }
}

const print = (rows: readonly Row[]) => {
  for (const { name, value, ok } of rows) console.log(`${ok ? 'ok    ' : 'NOT OK'}  ${name.padEnd(62)}${value}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const services = findServices(process.env)
  if (Array.isArray(services)) {
    const data = mkdtempSync(join(tmpdir(), 'colloquy-refusals-'))
    print(await measureRefusals({ DATA_DIR: data, DATABASE_URL: '', REDIS_URL: '' }))
    rmSync(data, { recursive: true })
  } else {
    const { databaseUrl, redisUrl } = services
    await withDatabase(databaseUrl, async (url) => {
      print(await measureRefusals({ DATABASE_URL: url, REDIS_URL: redisUrl }))
    })
  }
}
