// GET /metrics: the numbers of every metric after some traffic, and the requests that are refused.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { METRICS } from '../../../../src/server/load/metrics.ts'
import { createMetricsServer, type MetricsServer } from '../../../../src/server/load/metrics-server.ts'
import { backends } from '../../../support/backend.ts'
import { useServer } from '../../../support/server.ts'

describe.each(backends)('/metrics, $name', (backend) => {
  const world = useServer(backend)
  let server: MetricsServer
  let url = ''
  const pool = { totalCount: 3, idleCount: 1, waitingCount: 2 }

  beforeAll(async () => {
    const measured = {
      deps: world.deps,
      pools: { writes: pool, reads: pool, appends: pool },
      usage: () => ({ bodies: 7, documents: 11 }),
      admission: { inProgress: 5, limit: 40, delays: new Map([['appends', 250]]) },
    }
    server = createMetricsServer(measured, { metricsPort: 0, metricsHost: '127.0.0.1' })
    url = `http://127.0.0.1:${await server.listen()}/metrics`
  })
  afterAll(() => server.close())

  const scrape = async () => (await fetch(url)).text()
  /** Returns the value of a sample, given its name with labels; 0 if it is absent. */
  const valueOf = (text: string, sample: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${sample} `))
        ?.split(' ')[1] ?? 0,
    )
  const CREATE =
    'mutation { createConversation(input: {}) { ... on CreateConversationPayload { conversation { id } } } }'

  test('answers with every metric, and with the metrics of Node', async () => {
    const text = await scrape()
    for (const { name, type } of METRICS) expect(text).toContain(`# TYPE ${name} ${type}\n`)
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds')
    expect(text).toContain('colloquy_pool_connections{pool="reads",state="busy"} 2\n')
    expect(text).toContain('colloquy_pool_waiting{pool="appends"} 2\n')
    expect(text).toContain('colloquy_body_bytes 7\n')
    expect(text).toContain('colloquy_operations_in_progress 5\n')
    expect(text).toContain('colloquy_operations_limit 40\n')
    expect(text).toContain('colloquy_queue_delay_seconds{queue="appends"} 0.25\n')
    expect(text).toContain('colloquy_cache_bytes{cache="documents"} 11\n')
    for (const gate of Object.keys(world.deps.gates))
      expect(text).toContain(`colloquy_gate_waiting{gate="${gate}"} 0\n`)
  })

  test('counts operations, refusals, turns, deliveries and connections', async () => {
    const before = await scrape()
    const { body } = await world.post({ query: CREATE })
    const { id } = body.data.createConversation.conversation
    await world.post({
      query:
        'mutation ($id: ID!) { appendTurn(input: { conversationId: $id, turn: { role: USER, content: "x" } }) { __typename } }',
      variables: { id },
    })
    const events = world
      .client()
      .iterate({
        query: 'subscription ($id: ID!) { conversationEvents(conversationId: $id, afterSeq: 0) { __typename } }',
        variables: { id },
      })
    const { value } = await events.next()
    expect(value).toEqual({ data: { conversationEvents: { __typename: 'ParticipantJoined' } } })
    const sockets = valueOf(await scrape(), 'colloquy_websockets')
    await events.return?.()
    await world.post({
      query:
        'mutation { appendTurn(input: { conversationId: "conv_01ARZ3NDEKTSV4RRFFQ69G5FAV", turn: { role: USER, content: "x" } }) { __typename } }',
    })
    await world.post({ query: '{ nonsense }' })
    await world.post({ query: '{' })
    await world.post({ query: '{ conversations(first: 1000000) { nodes { id } } }' })
    const after = await scrape()
    const grown = (sample: string) => valueOf(after, sample) - valueOf(before, sample)
    expect({
      mutations: grown('colloquy_operation_seconds_count{kind="mutation",outcome="ok"}'),
      buckets: grown('colloquy_operation_seconds_bucket{kind="mutation",outcome="ok",le="+Inf"}'),
      refused: grown('colloquy_operation_seconds_count{kind="query",outcome="refused"}'),
      subscriptions: grown('colloquy_operation_seconds_count{kind="subscription",outcome="ok"}'),
      turns: grown('colloquy_turns_total'),
      deliveries: grown('colloquy_deliveries_total') > 0,
      sockets,
      notFound: grown('colloquy_refusals_total{reason="NOT_FOUND"}'),
      unparsed: grown('colloquy_refusals_total{reason="GRAPHQL_PARSE_FAILED"}'),
      invalid: grown('colloquy_refusals_total{reason="GRAPHQL_VALIDATION_FAILED"}'),
    }).toEqual({
      mutations: 3,
      buckets: 3,
      refused: 1,
      subscriptions: 1,
      turns: 1,
      deliveries: true,
      sockets: 1,
      notFound: 1,
      unparsed: 1,
      invalid: 1,
    })
  })

  test('has only labels with values that the server defines', async () => {
    const canary = 'canaryzqx'
    const headers = { 'x-tenant': canary, 'x-actor': canary }
    await world.post({ query: `query ${canary} { ${canary}: nonsense }` }, headers)
    await world.post({ query: `query ${canary} { conversation(id: "${canary}") { id } }` }, headers)
    await fetch(`${world.url}/${canary}`)
    await fetch(url.replace('metrics', canary))
    expect(await scrape()).not.toContain(canary)
  })

  test.each([
    ['another path', '/graphql', 'GET', 404],
    ['another method', '/metrics', 'POST', 405],
  ])('refuses %s', async (_, path, method, status) => {
    expect((await fetch(new URL(path, url), { method })).status).toBe(status)
  })

  test('omits a metric that cannot be read', async () => {
    const broken = createMetricsServer(
      {
        deps: {
          ...world.deps,
          get gates(): never {
            throw new Error('broken')
          },
        },
        pools: {},
        usage: () => ({ bodies: 0, documents: 0 }),
        admission: {
          get inProgress(): never {
            throw new Error('broken')
          },
          limit: 0,
          delays: new Map(),
        },
      },
      { metricsPort: 0, metricsHost: '127.0.0.1' },
    )
    const port = await broken.listen()
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    await broken.close()
    expect(text).toContain('colloquy_turns_total')
    expect(text).not.toContain('colloquy_gate_waiting{')
    expect(text).not.toContain('\ncolloquy_operations_in_progress ')
  })
})
