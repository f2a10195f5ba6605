// A server process is killed while it executes runs in every stage, and restarted: each run ends as docs/agents.md
// describes, no run or turn stays open, and the agents can run again.

import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { everyBackend, newDataDir } from '../support/backend.ts'
import { isLong } from '../support/long.ts'
import { createConversation, createServerProcess, tenant, type Server } from './processes.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests read results untyped
type Result = any

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function post(server: Server, query: string, variables: object): Promise<Result> {
  const response = await fetch(`http://${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-tenant': tenant, 'x-actor': 'ada' },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors }: Result = await response.json()
  if (!data || errors) throw new Error(JSON.stringify(errors))
  return data
}

const RUN = 'run { id state error { code } replies { status text abortReason parts { __typename } } }'
/** Starts a run; again if a busy machine did not start it within its lease. */
const runTurn = async (server: Server, input: object, clientId: string = randomUUID()): Promise<Result> => {
  const query = `mutation ($input: RunTurnInput!) { r: runTurn(input: $input) { ... on RunTurnPayload { ${RUN} } ... on UserError { message } } }`
  const { r } = await post(server, query, { input: { clientId, ...input } })
  if (r.run) return r.run
  if (/Try again/.test(r.message)) return runTurn(server, input, clientId)
  throw new Error(r.message)
}
const readRun = async (server: Server, id: string): Promise<Result> =>
  (await post(server, `query ($id: ID!) { ${RUN.replace('run', 'run(id: $id)')} }`, { id })).run

const WORDS = 'one two three four '

/** The script of the model in each stage, and the text that the reply has when the process is killed. */
const STAGES = {
  'before the call succeeds': [{ fail: { code: 'RATE_LIMITED', retryAfterMs: 25_000 } }, ''],
  'after the first delta': [{ text: WORDS, after: 1, stall: true }, 'one '],
  'before the commit': [{ text: WORDS, after: 4, stall: true }, WORDS],
} as const

describe.runIf(isLong).each(everyBackend)('runs of a killed process on $name', (backend) => {
  it('fail when their leases expire, in every stage', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'colloquy-test-'))
    closing.push(() => rm(directory, { recursive: true }))
    const file = join(directory, 'providers.json')
    await writeFile(file, JSON.stringify({ echo: { kind: 'echo' } }))
    let site: Parameters<typeof createServerProcess>[0]
    if (backend.name === 'embedded') {
      site = { dataDir: await newDataDir() }
      const { dataDir } = site
      closing.push(() => rm(dataDir, { recursive: true }))
    } else {
      const { url, redisUrl, close } = await backend.open()
      closing.push(close)
      site = { databaseUrl: url!, redisUrl: redisUrl ?? '' }
    }
    const env = { STREAM_LEASE_SECONDS: '3', PROVIDERS_FILE: file }
    const server = await createServerProcess(site, { env: () => env })
    await server.start()
    closing.push(() => server.kill())

    const ask = (conversationId: string, script: object, more: object = {}) =>
      runTurn(server, {
        conversationId,
        actor: 'bot',
        turns: [{ role: 'USER', content: JSON.stringify({ echo: script }) }],
        ...more,
      })
    const started: { stage: string; conversationId: string; id: string; text: string }[] = []
    for (const [stage, [script, text]] of Object.entries(STAGES)) {
      const conversationId = await createConversation(server, ['ada', 'bot'])
      const { id } = await ask(conversationId, script, { wait: false })
      started.push({ stage, conversationId, id, text })
    }
    const waitingIn = await createConversation(server, ['ada', 'bot'])
    const tools = [{ name: 'look_up', description: 'Looks something up.' }]
    const waiting = await ask(waitingIn, { tools: [{ name: 'look_up' }] }, { tools })
    expect(waiting.state).toBe('WAITING_FOR_TOOLS')
    for (const { stage, id, text } of started) {
      const replies = async () => (await readRun(server, id)).replies
      await expect.poll(replies, { message: stage }).toMatchObject([{ status: 'STREAMING', text }])
    }

    await server.kill()
    await server.start()
    for (const { stage, id, text } of started) {
      const state = async () => (await readRun(server, id)).state
      await expect.poll(state, { message: stage }).toBe('FAILED')
      expect(await readRun(server, id), stage).toMatchObject({
        error: { code: 'INTERRUPTED' },
        replies: [{ status: 'ABORTED', text }],
      })
    }
    for (const { stage, conversationId } of started) {
      expect(await ask(conversationId, { text: 'Again.' }), stage).toMatchObject({
        state: 'COMPLETED',
        replies: [{ text: 'Again.', status: 'COMMITTED' }],
      })
    }
    const [{ parts }] = waiting.replies
    expect(parts).toEqual([{ __typename: 'ToolCallPart' }])
    const read = `query ($id: ID!) { run(id: $id) { replies { id parts { ... on ToolCallPart { callId } } } } }`
    const [reply] = (await post(server, read, { id: waiting.id })).run.replies
    const result = { callId: reply.parts[0].callId, name: 'look_up', result: 'found', callTurnId: reply.id }
    const turns = [{ role: 'TOOL', parts: [{ toolResult: result }] }]
    expect((await runTurn(server, { conversationId: waitingIn, runId: waiting.id, turns })).state).toBe('COMPLETED')
  })
})
