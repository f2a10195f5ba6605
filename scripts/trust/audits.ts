// The audits of graphql-http in two profiles of the server, and the requests of two scanners for misconfigured GraphQL
// servers against the production profile.

import { serverAudits } from 'graphql-http'
import { startServer, type ServerProcess } from '../bench/process.ts'
import { PROBES } from './probes.ts'
import type { Context, Row, Section, Store } from './section.ts'

/** Variables that docs/security.md recommends for a production server. */
export const PRODUCTION = { INTROSPECTION: '0', GRAPHIQL: '0' }
/** Audits that fail without introspection, because they query `__type`. */
export const NEED_INTROSPECTION = ['28B9', '2EA1', '6A70', 'D6D5']
const AUDITS = 61

/** Adds X-Actor, because some audits send a GET without any of the headers that the check for CSRF requires. */
const fetchWithActor = (url: string, init: RequestInit = {}) => {
  const headers = new Headers(init.headers)
  headers.set('x-actor', 'ada')
  return fetch(url, { ...init, headers })
}

async function onServer<T>(
  store: Store,
  env: Record<string, string>,
  use: (url: string, server: ServerProcess) => Promise<T>,
): Promise<T> {
  const server = await startServer('src/bin.ts', { ...(await store.env()), ...env })
  try {
    return await use(`http://127.0.0.1:${server.port}/graphql`, server)
  } finally {
    await server.stop()
  }
}

/** The ids of the audits that fail. */
export async function failedAudits(url: string): Promise<string[]> {
  const audits = serverAudits({ url, fetchFn: fetchWithActor })
  if (audits.length !== AUDITS) throw new Error(`${audits.length} audits, not ${AUDITS}`)
  const failed: string[] = []
  for (const audit of audits) if ((await audit.fn()).status !== 'ok') failed.push(audit.id)
  return failed.sort()
}

export const audits: Section = {
  name: 'graphql-http audits',
  async run({ stores }: Context): Promise<Row[]> {
    const rows: Row[] = []
    for (const store of stores) {
      for (const [profile, env, expected] of [
        ['development', {}, []],
        ['production', PRODUCTION, NEED_INTROSPECTION],
      ] as const) {
        const failed = await onServer(store, env, failedAudits)
        rows.push({
          name: `${store.name}, ${profile}`,
          value: `${AUDITS - failed.length} of ${AUDITS}${failed.length > 0 ? `, not ${failed.join(' ')}` : ''}`,
          gate: expected.length === 0 ? 'all' : `all but ${expected.join(' ')}`,
          ok: failed.join() === expected.join(),
        })
      }
    }
    return rows
  },
}

export const scans: Section = {
  name: 'requests of scanners',
  async run({ stores }: Context): Promise<Row[]> {
    const rows: Row[] = []
    for (const store of stores) {
      rows.push(
        ...(await onServer(store, PRODUCTION, async (url) => {
          const names: Record<string, string[]> = {}
          for (const { scanner, name, isFound } of PROBES) {
            const found = (names[scanner] ??= [])
            if (await isFound(url)) found.push(name)
          }
          return Object.entries(names).map(([scanner, found]) => ({
            name: `${store.name}, ${scanner}: ${PROBES.filter((probe) => probe.scanner === scanner).length} requests`,
            value: found.length === 0 ? '0 findings' : `${found.length} findings: ${found.join(', ')}`,
            gate: '0 findings',
            ok: found.length === 0,
          }))
        })),
      )
    }
    return rows
  },
}
