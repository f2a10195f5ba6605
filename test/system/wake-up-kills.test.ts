// A server process is killed while it answers wake-ups, in every stage: the run, the claim of the agent and the
// streaming turn are lost together. After a restart, each turn gets exactly one committed answer, and no run or
// streaming turn stays open.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { backends, newDataDir } from '../support/backend.ts'
import { isLong } from '../support/long.ts'
import { createServerProcess, tenant, type Server } from './processes.ts'

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

const payload = (name: string, selection: string): string => {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
  return `mutation ($input: ${type}Input!) {
    r: ${name}(input: $input) { ... on ${type}Payload { ${selection} } ... on UserError { message } } }`
}
async function mutate(server: Server, name: string, input: object, selection: string): Promise<Result> {
  const { r } = await post(server, payload(name, selection), { input })
  if (r.message !== undefined) throw new Error(r.message)
  return r
}
const READ = `query ($id: ID!) { conversation(id: $id) {
  history { ... on Turn { id actor status text replyTo { id } } }
  runs(first: 10) { nodes { state error { code } calls { isEstimated errorCode endedAt tokenUsage { total } } } } } }`

/** The script of the model in each stage, and the text of the reply when the process is killed. */
const STAGES = {
  'before the call succeeds': [{ fail: { code: 'RATE_LIMITED', retryAfterMs: 25_000 } }, ''],
  'after the first delta': [{ text: 'one two three four ', after: 1, stall: true }, 'one '],
  'before the commit': [{ text: 'one two three four ', after: 4, stall: true }, 'one two three four '],
} as const

/** The settings of an agent whose model follows the script. */
const agentOf = (script: object) => ({ provider: 'echo', instructions: JSON.stringify({ echo: script }) })

describe.runIf(isLong).each(backends)('a process that is killed while it answers wake-ups, on $name,', (backend) => {
  it('leaves turns that are answered once after the restart', async () => {
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
    const env = { STREAM_LEASE_SECONDS: '10', PROVIDERS_FILE: file }
    const server = await createServerProcess(site, { env: () => env })
    await server.start()
    closing.push(() => server.kill())
    const read = async (id: string): Promise<Result> => (await post(server, READ, { id })).conversation

    const asked: { stage: string; id: string; turnId: string; text: string }[] = []
    for (const [stage, [script, text]] of Object.entries(STAGES)) {
      const participants = [
        { actor: 'ada', kind: 'HUMAN' },
        { actor: 'bot', respond: 'MENTIONED', agent: agentOf(script) },
      ]
      const { conversation } = await mutate(server, 'createConversation', { participants }, 'conversation { id }')
      const turn = { role: 'USER', content: '@bot Where?' }
      const appended = await mutate(server, 'appendTurn', { conversationId: conversation.id, turn }, 'turn { id }')
      asked.push({ stage, id: conversation.id, turnId: appended.turn.id, text })
    }
    for (const { stage, id, turnId, text } of asked) {
      const reply = async () => (await read(id)).history.at(-1)
      const lost = { actor: 'bot', status: 'STREAMING', text, replyTo: { id: turnId } }
      await expect.poll(reply, { message: stage }).toMatchObject(lost)
      // The options of a run do not change, so only the next run uses these.
      const updated = { conversationId: id, actor: 'bot', agent: agentOf({ text: 'Here.' }) }
      await mutate(server, 'updateParticipant', updated, 'participant { actor }')
    }

    await server.kill()
    await server.start()
    for (const { stage, id, turnId, text } of asked) {
      const states = async () => (await read(id)).runs.nodes.map(({ state }: Result) => state)
      await expect.poll(states, { message: stage }).toEqual(['COMPLETED', 'FAILED'])
      const { history, runs } = await read(id)
      expect(history, stage).toMatchObject([
        { id: turnId },
        { actor: 'bot', status: 'ABORTED', text, replyTo: { id: turnId } },
        { actor: 'bot', status: 'COMMITTED', text: 'Here.', replyTo: { id: turnId } },
      ])
      const [answered, failed] = runs.nodes
      expect(answered.calls, stage).toMatchObject([{ errorCode: null, endedAt: expect.any(String) }])
      const call = { isEstimated: true, errorCode: 'INTERRUPTED', endedAt: expect.any(String) }
      expect(failed, stage).toMatchObject({ error: { code: 'INTERRUPTED' }, calls: [call] })
      expect(failed.calls[0].tokenUsage.total, stage).toBeGreaterThan(0)
      const claim = { turnId, claimToken: 'the token of a late process' }
      await expect(mutate(server, 'claimTurn', { ...claim, as: 'bot' }, 'claim { scope }')).rejects.toThrow(
        'was already answered',
      )
    }
    expect((await post(server, '{ wakeUps(as: "bot") { nodes { createdAt } } }', {})).wakeUps.nodes).toEqual([])
  })
})
