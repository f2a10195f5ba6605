// The defaults of calls: a value of the call replaces that of the tenant, which replaces that of the server, in the library
// and behind GraphQL and REST.

import { describe, expect, it } from 'vitest'
import { buildContext } from '../../../../src/domain/memory/context/build.ts'
import { createConversation } from '../../../../src/domain/conversation/conversation.ts'
import { recall } from '../../../../src/domain/memory/recall/recall.ts'
import { getTenantSettings, updateTenantSettings } from '../../../../src/domain/conversation/tenant-settings.ts'
import { pinTurn } from '../../../../src/domain/turn/pin.ts'
import { InvalidInput } from '../../../../src/errors.ts'
import { backends } from '../../../support/backend.ts'
import { createScriptedProvider } from '../../../support/scripted-provider.ts'
import { useServer } from '../../../support/server.ts'
import { sql } from '../../../support/sql.ts'

const SERVER = {
  tokenBudget: 900,
  contextStrategy: 'SUMMARIZATION',
  recallHits: 3,
  recallThreshold: 0,
  retention: 'EPHEMERAL',
  ttlSeconds: 1000,
} as const

describe.each(backends)('the defaults of calls on $name', (backend) => {
  const provider = createScriptedProvider()
  const server = useServer(backend, {}, { settings: { defaults: SERVER, providers: { scripted: provider } } })

  /** Returns a tenant with a conversation of six turns about boats. */
  async function start() {
    const tenant = server.tenant()
    const ada = tenant.as('ada')
    const { deps } = server
    const { conversation } = await createConversation(deps, ada, {
      key: 'boat',
      participants: [{ actor: 'ada' }, { actor: 'bot', kind: 'AGENT' }],
    })
    for (let n = 0; n < 6; n++) await tenant.append(conversation.id, 'ada', `Boat number ${n} has a mast of oak.`)
    const headers = { 'x-tenant': tenant.name, 'x-actor': 'ada' }
    const query = async (text: string) => {
      const { body } = await server.post({ query: text }, headers)
      expect(body.errors).toBeUndefined()
      return body.data
    }
    const rest = async (path: string, body: object) => {
      const response = await fetch(`${server.url}/api/v1/${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect(response.status).toBe(200)
      return response.json()
    }
    return { tenant, ada, deps, id: conversation.id, query, rest, conversation }
  }

  /** Returns the numbers of hits of a recall without `k`, and the budgets of a context without one, by each door. */
  async function measured({ ada, deps, id, query, rest }: Awaited<ReturnType<typeof start>>, input = '') {
    const library = await recall(deps, ada, { query: 'mast of oak', conversationId: id })
    const graphql = await query(`{ recall(input: { query: "mast of oak", conversationKey: "boat" ${input} }) {
      ... on Recall { hits { score } } } }`)
    const context = await buildContext(deps, ada, { conversationId: id })
    const contextByGraphql = await query(`{ buildContext(input: { conversationKey: "boat" }) {
      ... on Context { tokenBudget } } }`)
    const byRest = await rest('recall', { query: 'mast of oak', conversationKey: 'boat' })
    const contextByRest = await rest(`conversations/${id}/context`, {})
    return {
      hits: [library.hits.length, graphql.recall.hits.length, byRest.hits.length],
      budgets: [context.tokenBudget, contextByGraphql.buildContext.tokenBudget, contextByRest.tokenBudget],
    }
  }

  it('are those of the server, until the tenant sets its own, and again after it has removed them', async () => {
    const started = await start()
    const { ada, deps } = started
    expect(await measured(started)).toEqual({ hits: [3, 3, 3], budgets: [900, 900, 900] })
    await updateTenantSettings(deps, ada, { recallHits: 2, tokenBudget: 700 })
    expect(await measured(started)).toEqual({ hits: [2, 2, 2], budgets: [700, 700, 700] })
    await updateTenantSettings(deps, ada, { recallThreshold: 1 })
    expect(await measured(started)).toEqual({ hits: [0, 0, 0], budgets: [700, 700, 700] })
    await updateTenantSettings(deps, ada, { recallHits: null, recallThreshold: null, tokenBudget: null })
    expect(await measured(started)).toEqual({ hits: [3, 3, 3], budgets: [900, 900, 900] })
  })

  it('give way to the values of a call', async () => {
    const { ada, deps, id, query } = await start()
    await updateTenantSettings(deps, ada, { recallHits: 2, recallThreshold: 1, tokenBudget: 700 })
    const given = { query: 'mast of oak', conversationId: id, k: 4, threshold: 0 }
    expect((await recall(deps, ada, given)).hits).toHaveLength(4)
    const data = await query(`{
      recall(input: { query: "mast of oak", conversationKey: "boat", k: 4, threshold: 0 }) {
        ... on Recall { hits { score } } }
      buildContext(input: { conversationKey: "boat", tokenBudget: 800 }) { ... on Context { tokenBudget } }
    }`)
    expect([data.recall.hits.length, data.buildContext.tokenBudget]).toEqual([4, 800])
  })

  it('apply to the recall of contexts', async () => {
    const { tenant, ada, deps, id, query } = await start()
    await tenant.append(id, 'ada', 'And what is the mast made of?')
    /** Returns the numbers of quoted hits, by library and GraphQL. */
    const quoted = async () => {
      const input = { conversationId: id, recentTurns: 1, semanticRecall: {}, query: 'mast of oak' }
      const built = await buildContext(deps, ada, input)
      const { buildContext: asked } = await query(`{ buildContext(input: {
        conversationKey: "boat", recentTurns: 1, semanticRecall: {}, query: "mast of oak"
      }) { ... on Context { items { kind included reason } } } }`)
      return [built.items, asked.items].map((items: { kind: string; included: boolean; reason: string }[]) => {
        const recalled = items.find(({ kind, included }) => kind === 'RECALLED' && included)
        return Number(/(\d+) recalled/.exec(recalled?.reason ?? '')?.[1] ?? 0)
      })
    }
    await updateTenantSettings(deps, ada, { recallHits: 2 })
    expect(await quoted()).toEqual([2, 2])
    await updateTenantSettings(deps, ada, { recallThreshold: 1 })
    expect(await quoted()).toEqual([0, 0])
  })

  it('apply to the strategy of contexts', async () => {
    const { tenant, ada, deps, id } = await start()
    const pinned = await tenant.append(id, 'ada', 'Remember the anchor.')
    await pinTurn(deps, ada, { turnId: pinned.id })
    for (let n = 0; n < 9; n++) await tenant.append(id, 'ada', `Later ${n}.`)
    // Of the strategies, SUMMARIZATION alone does not keep an old pinned turn.
    const keepsPinned = async () => {
      const { items } = await buildContext(deps, ada, { conversationId: id, recentTurns: 1 })
      return items.some(({ included, sourceIds }) => included && sourceIds.includes(pinned.id))
    }
    expect(await keepsPinned()).toBe(false)
    await updateTenantSettings(deps, ada, { contextStrategy: 'SIMPLE' })
    expect(await keepsPinned()).toBe(true)
  })

  it('apply to the contexts of runs', async () => {
    const { ada, deps, query } = await start()
    await updateTenantSettings(deps, ada, { tokenBudget: 2 })
    const { runTurn } = await query(`mutation { runTurn(input: {
      conversationKey: "boat", actor: "bot", provider: "scripted", wait: true
    }) { ... on RunTurnPayload { run { error { code message } } } } }`)
    expect(runTurn.run.error).toMatchObject({
      code: 'BUDGET_TOO_SMALL',
      message: expect.stringContaining('budget is 2'),
    })
  })

  it('apply to the retention and the expiry of new conversations', async () => {
    const { ada, deps, conversation } = await start()
    const lifeOf = ({ createdAt, expiresAt }: typeof conversation) =>
      expiresAt && Math.round((expiresAt.getTime() - createdAt.getTime()) / 1000)
    expect([conversation.retention, lifeOf(conversation)]).toEqual(['EPHEMERAL', 1000])
    const create = async (input = {}) => {
      const created = (await createConversation(deps, ada, input)).conversation
      return [created.retention, lifeOf(created)]
    }
    await updateTenantSettings(deps, ada, { retention: 'FULL', ttlSeconds: 60 })
    expect(await create()).toEqual(['FULL', 60])
    expect(await create({ retention: 'EPHEMERAL', ttlSeconds: null })).toEqual(['EPHEMERAL', null])
    await updateTenantSettings(deps, ada, { retention: null, ttlSeconds: null })
    expect(await create()).toEqual(['EPHEMERAL', 1000])
  })

  it('are shown with those in effect, recorded in the audit log, and checked', async () => {
    const { tenant, ada, deps, query } = await start()
    await updateTenantSettings(deps, ada, { recallHits: 2, contextStrategy: 'HYBRID' })
    const fields = 'tokenBudget contextStrategy recallHits recallThreshold retention ttlSeconds'
    const { tenantSettings } = await query(`{ tenantSettings { ${fields} defaultsInEffect { ${fields} } } }`)
    const defaults = { ...SERVER, recallHits: 2, contextStrategy: 'HYBRID' }
    expect(tenantSettings).toEqual({
      tokenBudget: null,
      contextStrategy: 'HYBRID',
      recallHits: 2,
      recallThreshold: null,
      retention: 'EPHEMERAL',
      ttlSeconds: null,
      defaultsInEffect: defaults,
    })
    expect(await getTenantSettings(deps, ada)).toMatchObject({ retention: 'EPHEMERAL', defaultsInEffect: defaults })
    const { rows } = await sql(deps.pool).query('SELECT details FROM audit_line WHERE tenant = $1 AND verb = $2', [
      tenant.name,
      'updateTenantSettings',
    ])
    expect(JSON.parse(rows[0].details)).toMatchObject({
      recallHits: 2,
      contextStrategy: 'HYBRID',
      tokenBudget: 'none',
      retention: 'none',
    })
    for (const input of [{ recallHits: 101 }, { recallThreshold: 1.1 }, { tokenBudget: 0 }]) {
      await expect(updateTenantSettings(deps, ada, input)).rejects.toThrow(InvalidInput)
    }
  })
})
