// The client's functions that call one verb, and the values that it keeps current, against a real server.

import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { itemsOf, type Client } from '../../../../src/client/index.ts'
import { requestedApprovals } from '../../../support/approvals.ts'
import { backends } from '../../../support/backend.ts'
import { clientOf, TRANSPORTS } from '../../../support/client.ts'
import { createProxy } from '../../../support/proxy.ts'
import { createScriptedProvider, forever, gate } from '../../../support/scripted-provider.ts'
import { useServer } from '../../../support/server.ts'

describe.each(backends)('the client on $name', (backend) => {
  const provider = createScriptedProvider()
  const server = useServer(backend, {}, { settings: { providers: { scripted: provider } } })

  /** Returns a client of ada in a new tenant, and a conversation of ada, bob and the agent "bot". */
  async function start(
    options: Parameters<typeof clientOf>[4] = {},
    transport: Parameters<typeof clientOf>[3] = TRANSPORTS[0],
  ) {
    const tenant = server.tenant()
    const as = (actor: string, address = server.url): Client => {
      const client = clientOf(address, tenant.name, actor, transport, options)
      onTestFinished(() => client.close())
      return client
    }
    const client = as('ada')
    const participants = [{ actor: 'ada' }, { actor: 'bob' }, { actor: 'bot', kind: 'AGENT' as const }]
    await client.createConversation({ key: 'k', participants })
    return { tenant, as, client, conversation: client.conversation({ key: 'k' }) }
  }

  it('reads, changes and deletes a conversation, and finds it in lists', async () => {
    const { client, conversation } = await start()
    await conversation.append('Hello.')
    expect(await conversation.read()).toMatchObject({ key: 'k', version: 1, turnCount: 1 })
    expect(await conversation.update({ title: 'Talk', expectedVersion: 1 })).toMatchObject({
      title: 'Talk',
      version: 2,
    })
    await expect(conversation.update({ title: 'Chat', expectedVersion: 1 })).rejects.toMatchObject({ code: 'CONFLICT' })
    const { nodes } = await client.findConversations({ filter: { search: 'talk' }, orderBy: 'UPDATED_AT' })
    expect(nodes.map(({ key }) => key)).toEqual(['k'])
    const { id } = await conversation.read()
    expect(await conversation.delete()).toMatchObject({ deletedConversationId: id, receipt: { turns: 1 } })
    await expect(conversation.read()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(conversation.turns()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('stops the runs of all agents or of one, from another device', async () => {
    const { as, client, conversation } = await start()
    await conversation.addParticipant({ actor: 'second', kind: 'AGENT' })
    const turns = [{ role: 'USER' as const, content: 'Go on.' }]
    const run = async (actor: string) => {
      provider.next(['Half', forever])
      return (await conversation.run({ actor, provider: 'scripted', turns, wait: false })).id
    }
    const [first, second] = [await run('bot'), await run('second')]
    const other = as('bob').conversation({ key: 'k' })
    expect((await other.stop({ actor: 'second' })).map(({ id, state }) => [id, state])).toEqual([[second, 'CANCELLED']])
    expect(await client.readRun(first)).toMatchObject({ state: 'RUNNING' })
    expect((await other.stop()).map(({ id }) => id)).toEqual([first])
    expect(await other.stop()).toEqual([])
  })

  it('reads turns in pages, and all of them by itemsOf', async () => {
    const { conversation } = await start()
    for (const text of ['one', 'two', 'three', 'four', 'five']) await conversation.append(text)
    const { nodes, pageInfo } = await conversation.turns({ last: 2, filter: { roles: ['USER'] } })
    expect([nodes.map(({ text }) => text), pageInfo.hasPreviousPage]).toEqual([['four', 'five'], true])
    const texts: string[] = []
    for await (const { text } of itemsOf((after) => conversation.turns({ first: 2, after }))) texts.push(text)
    expect(texts).toEqual(['one', 'two', 'three', 'four', 'five'])
  })

  it('recalls turns, and builds contexts as messages and in the format of a provider', async () => {
    const { client, conversation } = await start()
    await conversation.append('The ferry leaves at noon.')
    const { hits } = await conversation.recall('When does the ferry leave?', { kinds: ['TURN'], k: 1 })
    const [{ memory }] = hits as [(typeof hits)[0]]
    expect(memory.__typename === 'Turn' && memory.text).toBe('The ferry leaves at noon.')
    const everywhere = await client.recall('ferry', { scope: 'OWNER', kinds: ['TURN'] })
    expect(everywhere.hits.map(({ memory: { id } }) => id)).toEqual([memory.id])
    const context = await conversation.context({ tokenBudget: 500 })
    expect(context.messages).toMatchObject([{ role: 'USER', content: 'The ferry leaves at noon.' }])
    const { messages, tokenCount } = await conversation.context({ tokenBudget: 500, format: 'OPENAI' })
    expect(messages).toMatchObject([{ role: 'user', content: 'The ferry leaves at noon.' }])
    expect(tokenCount).toBe(context.tokenCount)
    const anthropic = await conversation.context({ tokenBudget: 500, format: 'ANTHROPIC' })
    expect(anthropic.messages).toMatchObject({ system: [], messages: [{ role: 'user' }] })
    await expect(conversation.context({ tokenBudget: 1 })).rejects.toMatchObject({ code: 'BUDGET_TOO_SMALL' })
  })

  it('records, extracts, lists and retracts facts, and makes a profile of them', async () => {
    const { client, conversation } = await start()
    const [fact] = await conversation.remember({ subject: 'ada', predicate: 'likes', object: 'ferries' })
    expect(await conversation.remember([{ subject: 'ada', predicate: 'likes', object: 'ferries' }])).toEqual([])
    await conversation.append('I work at the harbour.')
    const { facts: extracted } = await conversation.extractFacts()
    expect(extracted.length).toBeGreaterThan(0)
    const { nodes } = await conversation.facts({ filter: { predicate: 'likes' } })
    expect(nodes.map(({ id }) => id)).toEqual([fact!.id])
    expect(await client.profile('ada')).toBeNull()
    expect((await client.refreshProfile('ada')).content).toContain('ferries')
    expect((await client.profile('ada'))!.content).toContain('ferries')
    expect(await client.retractFact(fact!.id, { reason: 'seasick' })).toMatchObject({ supersedeReason: 'RETRACTED' })
    expect((await client.facts({ filter: { predicate: 'likes' } })).nodes).toEqual([])
  })

  it('summarises turns', async () => {
    const { conversation } = await start()
    for (const text of ['One.', 'Two.', 'Three.', 'Four.']) await conversation.append(text)
    const { summaries } = await conversation.compact()
    const summary = await conversation.summarize()
    const { nodes } = await conversation.summaries()
    expect(nodes.at(-1)!.toPosition).toBe(summary.toPosition)
    expect(summaries.length).toBeGreaterThan(0)
  })

  it('adds, changes, lists and removes participants', async () => {
    const { conversation } = await start()
    expect(await conversation.addParticipant({ actor: 'cyd', displayName: 'Cyd' })).toMatchObject({ actor: 'cyd' })
    expect(await conversation.updateParticipant('cyd', { displayName: 'C.' })).toMatchObject({ displayName: 'C.' })
    const actors = async () =>
      (await conversation.participants()).nodes.map(({ actor, leftAt }) => [actor, leftAt === null])
    expect(await actors()).toContainEqual(['cyd', true])
    await conversation.removeParticipant('cyd')
    expect(await actors()).not.toContainEqual(['cyd', true])
  })

  it('erases a turn', async () => {
    const { client, conversation } = await start()
    const { id } = await conversation.append('My secret.')
    const { turn, receipt } = await client.eraseTurn(id)
    expect([turn.text, receipt.turns]).toEqual(['', 1])
  })

  it.each(TRANSPORTS)('runs an agent until it has ended, over $transport', async ({ webSocket }) => {
    const { client, conversation } = await start({}, { webSocket })
    const model = gate()
    provider.reset()
    provider.next(['Let me ', model.pause, 'see.'])
    const turns = [{ role: 'USER' as const, content: 'Well?' }]
    const running = conversation.run({ actor: 'bot', provider: 'scripted', turns })
    await vi.waitFor(() => expect(provider.asked).toHaveLength(1))
    model.open()
    const { turns: appended, ...ended } = await running
    expect(ended).toMatchObject({ state: 'COMPLETED', replies: [{ text: 'Let me see.' }] })
    expect(appended).toMatchObject([{ text: 'Well?', role: 'USER' }])
    expect(await client.readRun(ended.id)).toEqual(ended)
    expect(await client.readRun('run_01ARZ3NDEKTSV4RRFFQ69G5FAV')).toBeNull()
    await expect(client.cancelRun(ended.id)).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  it('starts a run once if the answer to the first call is lost, and cancels it', async () => {
    let calls = 0
    const losing: typeof fetch = async (...request) => {
      const response = await fetch(...request)
      if (String(request[1]?.body).includes('mutation RunTurn') && ++calls === 1) throw new TypeError('lost')
      return response
    }
    const { client, conversation } = await start({ fetch: losing })
    const model = gate()
    provider.reset()
    provider.next([model.pause])
    const turns = [{ role: 'USER' as const, content: 'Well?' }]
    const started = await conversation.run({ actor: 'bot', provider: 'scripted', turns, wait: false })
    expect([started.state, calls]).toEqual(['RUNNING', 2])
    expect((await conversation.turns({ filter: { roles: ['USER'] } })).nodes).toHaveLength(1)
    expect(await client.cancelRun(started.id)).toMatchObject({ state: 'CANCELLED' })
    const states: string[] = []
    for await (const { state } of client.followRun(started.id)) states.push(state)
    expect(states).toEqual(['CANCELLED'])
    model.open()
  })

  it('decides about a call that needs an approval', async () => {
    const { tenant, client, conversation } = await start()
    const { id } = await conversation.read()
    const { approvalIds } = await requestedApprovals(server.deps, tenant.name, id, {
      calls: [{ callId: 'c1' }, { callId: 'c2' }],
    })
    const { nodes } = await client.approvals({ conversationId: id, state: 'PENDING' })
    expect(nodes.map((approval) => approval.id).toSorted()).toEqual(approvalIds.toSorted())
    expect(nodes[0]).toMatchObject({ toolName: 'pay', arguments: { amount: 5 } })
    const { callHash, id: approvalId } = nodes[0]!
    const decided = await client.resolveApproval(approvalId, 'DENY', { expectedCallHash: callHash, reason: 'too much' })
    expect(decided).toMatchObject({ id: approvalId, state: 'DENIED', decidedBy: 'ada' })
  })

  it('claims a turn, renews and releases the claim', async () => {
    const { as, conversation } = await start()
    const turn = await conversation.append('Who answers?')
    const bot = as('bot')
    const { claimToken, expiresAt } = await bot.claimTurn(turn.id)
    expect(expiresAt).not.toBeNull()
    await expect(bot.claimTurn(turn.id)).rejects.toMatchObject({ code: 'CONFLICT' })
    await bot.renewClaim(turn.id, claimToken, { ttlSeconds: 60 })
    await bot.releaseClaim(turn.id, claimToken, { dismiss: true })
    await expect(bot.renewClaim(turn.id, claimToken)).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  it.each(TRANSPORTS)(
    'keeps a value current over $transport, also while connections are cut',
    async ({ webSocket }) => {
      const { tenant, conversation: writer } = await start()
      const proxy = await createProxy(server.url)
      const reader = clientOf(proxy.url, tenant.name, 'ada', { webSocket })
      onTestFinished(async () => {
        await reader.close()
        await proxy.close()
      })
      const conversation = reader.conversation({ key: 'k' })
      const facts = conversation.watch((signal) => conversation.facts({ signal }), ['FACTS_CHANGED'])
      expect(facts.get()).toEqual({ value: null, status: 'loading', error: null })
      onTestFinished(facts.subscribe(() => {}))
      const until = (objects: string[]) =>
        vi.waitFor(() => expect(facts.get().value?.nodes.map(({ object }) => object)).toEqual(objects), {
          interval: 10,
        })
      await until([])
      await writer.remember({ subject: 'ada', predicate: 'likes', object: 'tea' })
      await until(['tea'])
      proxy.drop()
      await writer.remember({ subject: 'ada', predicate: 'likes', object: 'rain' })
      await until(['rain', 'tea'])
      expect(facts.get()).toMatchObject({ status: 'live', error: null })
      await writer.delete()
      await vi.waitFor(() => expect(facts.get().status).toBe('deleted'), { interval: 10 })
      expect(facts.get().value!.nodes).toHaveLength(2)
    },
  )

  it('reads a value once without event types, and reports its failure', async () => {
    const { client, conversation } = await start()
    await conversation.append('The ferry leaves at noon.')
    const hits = conversation.watch((signal) => conversation.recall('ferry', { kinds: ['TURN'], signal }))
    onTestFinished(hits.subscribe(() => {}))
    await vi.waitFor(() => expect(hits.get()).toMatchObject({ status: 'live', value: { hits: [{ neighbours: [] }] } }))
    const missing = client.conversation({ key: 'none' })
    const failing = missing.watch((signal) => missing.facts({ signal }), ['FACTS_CHANGED'])
    onTestFinished(failing.subscribe(() => {}))
    await vi.waitFor(() => expect(failing.get()).toMatchObject({ status: 'failed', error: { code: 'NOT_FOUND' } }))
  })
})
