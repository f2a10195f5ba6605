// The audits of graphql-http for servers: the requirements of the specification GraphQL over HTTP, by real requests.
// https://github.com/graphql/graphql-http#audits

import { serverAudits } from 'graphql-http'
import { describe, expect, test } from 'vitest'
import { failedAudits, NEED_INTROSPECTION, PRODUCTION } from '../../../../scripts/trust/audits.ts'
import { backends } from '../../../support/backend.ts'
import { useServer } from '../../../support/server.ts'

describe.each(backends)('a server on $name', (backend) => {
  const server = useServer(backend)
  // Some audits send a GET without any of the headers that the check for CSRF requires. This is such a header.
  const fetchWithActor = (url: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    headers.set('x-actor', 'ada')
    return fetch(url, { ...init, headers })
  }
  const audits = serverAudits({ url: () => `${server.url}/graphql`, fetchFn: fetchWithActor })

  test('is checked by all 61 audits', () => void expect(audits).toHaveLength(61))

  test.each(audits.map((audit) => [audit.id, audit.name, audit] as const))('%s: %s', async (_, name, audit) => {
    const result = await audit.fn()
    expect(result, 'reason' in result ? result.reason : undefined).toMatchObject({ name, status: 'ok' })
  })
})

describe.each(backends)('a server on $name with the variables for production', (backend) => {
  const server = useServer(backend, PRODUCTION)

  test('fails only the audits that query the schema', async () => {
    expect(await failedAudits(`${server.url}/graphql`)).toEqual(NEED_INTROSPECTION)
  })
})
