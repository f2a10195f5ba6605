// The cost of /metrics: appends and pages of history on a server whose metrics are scraped every second, against a
// server without metrics. Both servers run on the same store, and their rounds alternate.

import { fileURLToPath } from 'node:url'
import { interleave } from '../bench/figures.ts'
import { openConnection } from '../bench/http-client.ts'
import type { Load, LoadResult } from '../bench/http-load.ts'
import { startCheckout, startWorker, type ServerProcess, type Worker } from '../bench/process.ts'
import type { Context, Row, Section, Store } from './section.ts'

/** Minimum ratio of the speed with metrics to the speed without them. */
const GATE = 0.85
const ROUNDS = 11
const ROUND_MS = 2_000
const CONNECTIONS = 16
/** Interval of the scrapes, ms. */
const SCRAPE_MS = 1_000

const root = fileURLToPath(new URL('../..', import.meta.url))

const CREATE = `mutation { createConversation(input: { compaction: { strategy: NEVER } }) {
  ... on CreateConversationPayload { conversation { id } } } }`
const APPEND = `mutation ($id: ID!) { appendTurn(input: { conversationId: $id, turn: { role: USER, content: "a turn" } }) {
  ... on AppendTurnPayload { turn { seq } } } }`
const PAGE = `query ($id: ID!) { conversation(id: $id) { turns(last: 50) { edges { node { id seq text } } } } }`

type Variant = { server: ServerProcess; conversationId: string }

async function start(env: Record<string, string>, onLine?: (line: string) => void): Promise<Variant> {
  const settings = { AUTOMATIC_TITLES: 'false', FACT_EXTRACTION_EVERY_N: '0', ...env }
  const server = await startCheckout(root, settings, onLine)
  const connection = await openConnection(server.port)
  const ask = async (query: string, variables: object = {}) =>
    JSON.parse((await connection.post('/graphql', JSON.stringify({ query, variables }))).body.toString()) as {
      data: { createConversation: { conversation: { id: string } } }
    }
  const conversationId = (await ask(CREATE)).data.createConversation.conversation.id
  for (let n = 0; n < 100; n++) await ask(APPEND, { id: conversationId })
  connection.close()
  return { server, conversationId }
}

/** Scrapes the metrics. Returns a function that stops it, and returns the number of successful scrapes. */
function scrape(url: string): () => number {
  let count = 0
  const timer = setInterval(async () => {
    const response = await fetch(url).catch(() => null)
    if (response?.ok && (await response.text()).includes('colloquy_')) count += 1
  }, SCRAPE_MS)
  return () => {
    clearInterval(timer)
    return count
  }
}

async function measure(
  { share, log }: Context,
  store: Store,
  load: Worker<Load, LoadResult>,
  variants: Record<'with' | 'without', Variant>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (const [name, query, expectedText] of [
    ['append', APPEND, '"seq"'],
    ['page of history', PAGE, '"edges"'],
  ] as const) {
    const run = async ({ server: { port }, conversationId: id }: Variant) => {
      const bodies = [JSON.stringify({ query, variables: { id } })]
      const given = { port, path: '/graphql', bodies, connections: CONNECTIONS, ms: ROUND_MS, expectedText }
      return (await load.ask(given)).perSecond
    }
    const runs = { with: () => run(variants.with), without: () => run(variants.without) }
    const medians = await interleave(Math.max(3, Math.round(ROUNDS * share)), runs, () => {})
    const ratio = medians.with / medians.without
    log(`${store.name}, ${name}: ${ratio.toFixed(2)}`)
    rows.push({
      name: `${store.name}, ${name}`,
      value: `${ratio.toFixed(2)} (${medians.with.toFixed(0)} against ${medians.without.toFixed(0)} per second)`,
      gate: `at least ${GATE}`,
      ok: ratio >= GATE,
    })
  }
  return rows
}

export const metricsCosts: Section = {
  name: 'costs of metrics',
  async run(context) {
    const rows: Row[] = []
    for (const store of context.stores) {
      const load = startWorker<Load, LoadResult>('./http-load.ts')
      let metrics = ''
      const started: Variant[] = []
      try {
        const observe = (line: string) => (metrics ||= /"url":"([^"]+\/metrics)"/.exec(line)?.[1] ?? '')
        started.push(await start({ ...(await store.env()), METRICS_PORT: '0' }, observe))
        started.push(await start(await store.env()))
        const [observed, plain] = started as [Variant, Variant]
        const stop = scrape(metrics)
        rows.push(...(await measure(context, store, load, { with: observed, without: plain })))
        const scrapes = stop()
        if (scrapes === 0) throw new Error('no scrape succeeded')
      } finally {
        for (const { server } of started) await server.stop()
        await load.stop()
      }
    }
    return rows
  },
}
