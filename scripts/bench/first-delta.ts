// The time from the first chunk that a provider sends to the first delta that a subscriber receives, of text and of a tool
// call: with Postgres and Redis between two server processes, and on the embedded database within one. The provider is a
// server in this process that speaks OpenAI's protocol, so the time includes the official SDK. Also the time from
// cancelRun at the subscriber's server to the end of the provider's call.

import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, type Client } from 'graphql-ws'
import { WebSocket } from 'ws'
import { format, median, type Figure, type Report } from './figures.ts'
import { startServer, type ServerProcess } from './process.ts'
import { withDatabase, type Bench } from './services.ts'

const RUNS = 60
const WARM_UP = 10
const PAUSE_MS = 100
const TIMEOUT_MS = 5_000
/** The maximum median, ms. */
const LIMIT_MS = 15
const STOPS = 20
/** The maximum median time from cancelRun to the end of the call, ms. */
const STOP_LIMIT_MS = 1_000

const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [{ index: 0, delta, ...more }] })}\n\n`

/** What the provider replies with. The first chunk of a tool call has its name, and the second one its arguments. */
type Kind = 'text' | 'tool call'
/** In a message, makes the provider write until its call ends. */
const ENDLESS = 'Never stop.'

const TOOL = { name: 'look_up', schema: { type: 'object' } }
const call = (more: object) => chunk({ tool_calls: [{ index: 0, ...more }] })
const CHUNKS: Record<Kind, [first: string, second: string]> = {
  text: [chunk({ role: 'assistant', content: 'Once ' }), chunk({ content: 'upon a time.' })],
  'tool call': [
    call({ id: 'call_1', type: 'function', function: { name: TOOL.name, arguments: '' } }),
    call({ function: { arguments: '{"word":"tide"}' } }),
  ],
}

/**
 * Starts the provider. It calls the tool if it gets one. `sentAt` returns the time at which it sent the first chunk of
 * its latest reply, ms, and `endedAt` that at which its latest endless call was ended; 0 while none was.
 */
async function startProvider() {
  let sentAt = 0
  let endedAt = 0
  const writeUntilEnded = async (response: ServerResponse) => {
    endedAt = 0
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.on('close', () => (endedAt = performance.now()))
    for (; endedAt === 0; await sleep(20)) response.write(CHUNKS.text[1])
  }
  const answer = async (response: ServerResponse, [first, second]: [string, string]) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    // Delay the first chunk, as a model does.
    await sleep(20)
    sentAt = performance.now()
    response.write(first)
    await sleep(20)
    response.write(second)
    response.end(`${chunk({}, { finish_reason: 'stop' })}data: [DONE]\n\n`)
  }
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      if (body.includes(ENDLESS)) return void writeUntilEnded(response)
      void answer(response, CHUNKS[body.includes(TOOL.name) ? 'tool call' : 'text'])
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    sentAt: () => sentAt,
    endedAt: () => endedAt,
    close: () => server.close(),
  }
}

async function post(server: ServerProcess, query: string, input: object): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${server.port}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-actor': 'ada' },
    body: JSON.stringify({ query, variables: { input } }),
  })
  const { data, errors } = (await response.json()) as { data?: { r: Record<string, unknown> }; errors?: unknown }
  if (!data || errors || data.r.message) throw new Error(JSON.stringify(errors ?? data))
  return data.r
}

const CREATE = `mutation ($input: CreateConversationInput!) {
  r: createConversation(input: $input) { ... on CreateConversationPayload { conversation { id } } }
}`
const RUN = `mutation ($input: RunTurnInput!) {
  r: runTurn(input: $input) { ... on RunTurnPayload { run { id } } ... on UserError { message } }
}`
const CANCEL = `mutation ($input: CancelRunInput!) {
  r: cancelRun(input: $input) { ... on CancelRunPayload { run { id } } ... on UserError { message } }
}`
const DELTAS = `subscription ($id: ID!) {
  conversationEvents(conversationId: $id, types: [TURN_DELTA, TURN_PART_DELTA]) {
    ... on TurnDelta { start text }
    ... on TurnPartDelta { start text toolName }
  }
}`

const connect = ({ port }: ServerProcess): Client =>
  createClient({
    url: `ws://127.0.0.1:${port}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { 'x-actor': 'ada' },
  })

/** Starts RUNS runs on `runner`, with the subscriber on `watched`. Returns the median time to the first delta, ms. */
async function measure(
  [runner, watched]: readonly [ServerProcess, ServerProcess],
  provider: { sentAt(): number },
  kind: Kind,
): Promise<number> {
  const participants = [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT' }]
  const { conversation } = await post(runner, CREATE, { participants })
  const { id } = conversation as { id: string }
  const client = connect(watched)
  let receivedAt = 0
  const events = client.iterate<{ conversationEvents: { start: number } }>({ query: DELTAS, variables: { id } })
  const reading = (async () => {
    for await (const { data } of events) {
      const isFirst = data?.conversationEvents.start === 0 && receivedAt < provider.sentAt()
      if (isFirst) receivedAt = performance.now()
    }
  })()
  await sleep(500)
  const times: number[] = []
  for (let n = 0; n < WARM_UP + RUNS; n++) {
    const { run } = await post(runner, RUN, {
      conversationId: id,
      actor: 'bot',
      provider: 'local',
      turns: [{ role: 'USER', content: `Tell me story ${n}.` }],
      tools: kind === 'text' ? [] : [TOOL],
    })
    await sleep(PAUSE_MS)
    const until = performance.now() + TIMEOUT_MS
    while (receivedAt < provider.sentAt()) {
      if (performance.now() > until) throw new Error('A delta did not arrive.')
      await sleep(10)
    }
    if (n >= WARM_UP) times.push(receivedAt - provider.sentAt())
    // The run waits for the result of the call.
    if (kind === 'tool call') await post(runner, CANCEL, { runId: (run as { id: string }).id })
  }
  await events.return?.()
  await client.dispose()
  await reading.catch(() => {})
  return median(times)
}

/** Cancels STOPS runs of `runner` on `other`. Returns the median time until the provider's call has ended, ms. */
async function measureStop(
  [runner, other]: readonly [ServerProcess, ServerProcess],
  provider: { endedAt(): number },
): Promise<number> {
  const participants = [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT' }]
  const { conversation } = await post(runner, CREATE, { participants })
  const times: number[] = []
  for (let n = 0; n < STOPS; n++) {
    const turns = [{ role: 'USER', content: ENDLESS }]
    const input = { conversationId: (conversation as { id: string }).id, actor: 'bot', provider: 'local', turns }
    const { run } = await post(runner, RUN, { ...input, wait: false })
    await sleep(PAUSE_MS)
    const at = performance.now()
    await post(other, CANCEL, { runId: (run as { id: string }).id })
    while (provider.endedAt() === 0) await sleep(1)
    times.push(provider.endedAt() - at)
  }
  return median(times)
}

const figure = (label: string, ours: number, limit = LIMIT_MS): Figure => ({
  label,
  ours,
  theirs: limit,
  against: 'the limit',
  unit: 'ms',
  better: 'smaller',
  target: 1,
})

export async function firstDelta({ services, progress }: Bench): Promise<Report> {
  const provider = await startProvider()
  const directory = await mkdtemp(join(tmpdir(), 'colloquy-bench-'))
  const file = join(directory, 'providers.json')
  await writeFile(file, JSON.stringify({ local: { kind: 'openai', baseUrl: provider.baseUrl, model: 'm' } }))
  const started: ServerProcess[] = []
  const start = async (env: Record<string, string>) => {
    const server = await startServer('src/bin.ts', { PROVIDERS_FILE: file, LOG_LEVEL: 'info', ...env })
    started.push(server)
    return server
  }
  const stopAll = () => Promise.all(started.splice(0).map((server) => server.stop()))
  try {
    const embedded = await start({ DATABASE_URL: '', REDIS_URL: '', DATA_DIR: join(directory, 'data') })
    const figures: Figure[] = []
    const measureBoth = async (where: string, servers: readonly [ServerProcess, ServerProcess]) => {
      for (const kind of ['text', 'tool call'] as const) {
        const time = await measure(servers, provider, kind)
        figures.push(figure(`${kind}, ${where}`, time))
        progress(`${kind}, ${where}: ${format(time)} ms`)
      }
      const stop = await measureStop(servers, provider)
      figures.push(figure(`stop, ${where}`, stop, STOP_LIMIT_MS))
      progress(`stop, ${where}: ${format(stop)} ms`)
      await stopAll()
    }
    await measureBoth('embedded, one process', [embedded, embedded])
    await withDatabase(services.databaseUrl, async (url) => {
      const env = { DATABASE_URL: url, REDIS_URL: services.redisUrl }
      try {
        await measureBoth('Postgres and Redis, between two processes', [await start(env), await start(env)])
      } finally {
        await stopAll()
      }
    })
    return {
      title:
        "First delta of a run at a subscriber after the provider's first chunk, and end of its call after cancelRun",
      figures,
      notes: [
        `The median of ${RUNS} runs. The provider sends its first chunk 20 ms after the request, for a tool call its name.`,
      ],
    }
  } finally {
    await stopAll()
    provider.close()
    await rm(directory, { recursive: true })
  }
}
