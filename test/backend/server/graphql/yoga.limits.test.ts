// What ends with a request, what large documents leave behind, and what a server without introspection reveals. The
// limits of operations are in test/contract/transport-limits.ts.

import { describe, expect, test, vi } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { isLong } from '../../../support/long.ts'
import { useServer } from '../../../support/server.ts'
import { sendOver, TRANSPORTS, type Sent } from '../../../support/transports.ts'

describe.each(backends)('operations on $name:', (backend) => {
  const server = useServer(backend, { INTROSPECTION: '0' })

  test('no further read starts after the client of a query has disconnected', async () => {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada')
    const headers = { 'x-tenant': tenant.name, 'x-actor': 'ada' }
    const aliases = Array.from({ length: 40 }, (_, at) => `a${at}: turns(first: ${at + 1}) { edges { cursor } }`)
    const operation = {
      query: `query ($id: ID!) { conversation(id: $id) { ${aliases.join(' ')} } }`,
      variables: { id },
    }
    const { pool } = server.deps.reads
    const { query } = pool
    let [reads, running] = [0, 0]
    let release = () => {}
    let released = Promise.resolve()
    const whenReleased = async (...args: unknown[]) => {
      if (!JSON.stringify(args[0]).includes('FROM turn')) return Reflect.apply(query, pool, args)
      reads += 1
      running += 1
      await released
      return (Reflect.apply(query, pool, args) as Promise<unknown>).finally(() => (running -= 1))
    }
    const overHttp = () => {
      const controller = new AbortController()
      const body = JSON.stringify(operation)
      const sent = fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
        signal: controller.signal,
      })
      sent.catch(() => {})
      return () => controller.abort()
    }
    const overSocket = () => {
      const client = server.client(headers)
      client
        .iterate(operation)
        .next()
        .catch(() => {})
      return () => client.terminate()
    }
    // Use yoga, which caches the document, then the fast path, then a socket.
    for (const start of [overHttp, overHttp, overSocket]) {
      pool.query = whenReleased as never
      reads = 0
      released = new Promise((resolve) => (release = resolve))
      const disconnect = start()
      await vi.waitFor(() => expect(reads).toBeGreaterThan(0))
      disconnect()
      // The server has noticed the end of the connection when it answers a later request.
      await server.post({ query: '{ __typename }' })
      release()
      await vi.waitFor(() => expect(running).toBe(0))
      await server.post({ query: '{ __typename }' })
      pool.query = query
      expect(reads).toBeLessThanOrEqual(12)
    }
  })

  test.runIf(isLong)('69 documents of 1.2 MB leave little memory in use', async () => {
    const texts = [
      (at: number) => `{ node(id: "${at}${'x'.repeat(1_200_000)}") { id } }`,
      (at: number) => `{ ${`a${at}: viewer { actor } `.repeat(52_000)} }`,
    ]
    const before = process.memoryUsage().heapUsed
    for (let at = 0; at < 69; at++) await server.post({ query: texts[at % 2]!(at) })
    globalThis.gc?.()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(300 * 2 ** 20)
  })

  test('introspection and name suggestions are disabled by INTROSPECTION=0', async () => {
    for (const transport of TRANSPORTS) {
      const send = (sent: Sent) => sendOver(server.url, transport, sent)
      const introspected = await send({ query: '{ __schema { types { name } } }' })
      expect(introspected.extensions).toMatchObject({ code: 'INTROSPECTION_DISABLED' })
      const misspelled = await send({ query: '{ viewer { acto } }' })
      expect(misspelled.message).toContain('Cannot query field "acto"')
      expect(misspelled.message).not.toContain('Did you mean')
      const wrong = await send({
        query: 'query ($o: ConversationOrder) { conversations(orderBy: $o) { edges { cursor } } }',
        variables: { o: 'CREATE' },
      })
      expect(wrong.message).toContain('CREATE')
      expect(wrong.message).not.toContain('Did you mean')
    }
  })
})
