// The requests of scanners for misconfigured GraphQL servers, to a server with the variables for production.

import { describe, expect, test } from 'vitest'
import { backends, embedded } from '../../../support/backend.ts'
import { useServer } from '../../../support/server.ts'
import { PRODUCTION } from '../../../../scripts/trust/audits.ts'
import { PROBES } from '../../../../scripts/trust/probes.ts'

describe.each(backends)('a server on $name with the variables for production', (backend) => {
  const server = useServer(backend, PRODUCTION)

  test.each(PROBES.map(({ scanner, name, isFound }) => [scanner, name, isFound] as const))(
    'has no finding of the scanner %s: %s',
    async (_, name, isFound) => expect(await isFound(`${server.url}/graphql`), name).toBe(false),
  )
})

describe.each([embedded])('a server with introspection and GraphiQL', (backend) => {
  const server = useServer(backend, { INTROSPECTION: '1', GRAPHIQL: '1' })

  test('has the findings of their probes, which shows that the probes work', async () => {
    const found: string[] = []
    for (const { name, isFound } of PROBES) if (await isFound(`${server.url}/graphql`)) found.push(name)
    expect(found).toEqual([
      'field suggestions',
      'introspection',
      'GraphiQL',
      'graphql-field-suggestion',
      'graphql-playground',
      'graphql-introspection',
    ])
  })
})
