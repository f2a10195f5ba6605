// A server is killed while a run waits for approval. After a restart, the decision continues the run.

import { rm } from 'node:fs/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { everyBackend, newDataDir } from '../support/backend.ts'
import { isLong } from '../support/long.ts'
import { createConversation, createServerProcess, tenant, type Server } from './processes.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** Runs an operation, and returns its data. */
async function run(server: Server, query: string, variables: object): Promise<any> {
  const response = await fetch(`http://${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-tenant': tenant, 'x-actor': 'ada' },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await response.json()) as { data?: Record<string, any>; errors?: unknown }
  if (!data || errors) throw new Error(JSON.stringify(errors))
  return Object.values(data)[0]
}

const RUN = `mutation ($input: RunTurnInput!) {
  runTurn(input: $input) { ... on RunTurnPayload { run { id state approvals { nodes { id state } } } } ... on UserError { message } }
}`
const RESOLVE = `mutation ($input: ResolveApprovalInput!) {
  resolveApproval(input: $input) { ... on ResolveApprovalPayload { approval { state } } ... on UserError { message } }
}`
const READ = `query ($id: ID!) { conversation(id: $id) { runs(first: 1) { nodes { state approvals { nodes { state decidedBy } } } }
  history { ... on Turn { actor role status text } } } }`

/** The model calls the tool of a client twice, then answers. */
const SCRIPT = {
  echo: [
    {
      tools: [
        { name: 'order', arguments: { what: 'tea' } },
        { name: 'order', arguments: { what: 'gold' } },
      ],
    },
    { round: 1, text: 'Tea is on its way.' },
  ],
}

describe.runIf(isLong).each(everyBackend)('a run that waits for approval, on $name,', ({ name, open }) => {
  test('continues after its server was killed and restarted', async () => {
    const site = name === 'embedded' ? { dataDir: await newDataDir() } : await open()
    closing.push(async () => ('dataDir' in site ? rm(site.dataDir, { recursive: true }) : site.close()))
    const server = await createServerProcess(
      'dataDir' in site ? site : { databaseUrl: site.url!, redisUrl: site.redisUrl ?? '' },
    )
    closing.push(() => server.kill())
    await server.start()
    const conversationId = await createConversation(server, ['ada', 'bot'])
    const { run: waiting } = await run(server, RUN, {
      input: {
        conversationId,
        actor: 'bot',
        provider: 'echo',
        turns: [{ role: 'USER', content: `Order it. ${JSON.stringify(SCRIPT)}` }],
        tools: [{ name: 'order', schema: { type: 'object' }, requiresApproval: true }],
      },
    })
    expect(waiting).toMatchObject({ state: 'WAITING_FOR_APPROVAL', approvals: { nodes: [{ state: 'PENDING' }, {}] } })
    const [tea, gold] = waiting.approvals.nodes as [{ id: string }, { id: string }]
    const stateOf = async () => (await run(server, READ, { id: conversationId })).runs.nodes[0].state

    // The server is killed before the decisions, between them, and right after the last one.
    await server.kill()
    await server.start()
    expect(await stateOf()).toBe('WAITING_FOR_APPROVAL')
    await run(server, RESOLVE, { input: { approvalId: tea.id, decision: 'APPROVE' } })
    await server.kill()
    await server.start()
    expect(await run(server, RESOLVE, { input: { approvalId: gold.id, decision: 'DENY', reason: 'No.' } })).toEqual({
      approval: { state: 'DENIED' },
    })
    await server.kill()
    await server.start()
    await expect.poll(stateOf).toBe('WAITING_FOR_TOOLS')

    const [{ callId }] = (await run(server, `query ($id: ID!) { nodes(ids: [$id]) { ... on Approval { callId } } }`, {
      id: tea.id,
    })) as [{ callId: string }]
    const parts = [{ toolResult: { callId, name: 'order', result: 'ordered' } }]
    const { run: done } = await run(server, RUN, {
      input: { conversationId, runId: waiting.id, turns: [{ role: 'TOOL', parts }] },
    })
    expect(done.state).toBe('COMPLETED')
    const { history, runs } = await run(server, READ, { id: conversationId })
    expect(runs.nodes).toEqual([
      {
        state: 'COMPLETED',
        approvals: {
          nodes: [
            { state: 'APPROVED', decidedBy: 'ada' },
            { state: 'DENIED', decidedBy: 'ada' },
          ],
        },
      },
    ])
    expect(history.map(({ actor, role, status }: any) => [actor, role, status])).toEqual([
      ['ada', 'USER', 'COMMITTED'],
      ['bot', 'ASSISTANT', 'COMMITTED'],
      ['bot', 'TOOL', 'COMMITTED'],
      ['ada', 'TOOL', 'COMMITTED'],
      ['bot', 'ASSISTANT', 'COMMITTED'],
    ])
    expect(history.at(-1).text).toBe('Tea is on its way.')
  })
})
