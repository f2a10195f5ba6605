// Stored contexts: they are read as they were built, by the actor in whose view they were built, and turns that were
// generated from them name them. What erasures remove from them is in ../erasure/stored-contexts.test.ts.

import { beforeEach, describe, expect, it } from 'vitest'
import { InvalidInput, NotAllowed } from '../../../../../src/errors.ts'
import { buildContext, type BuildContextInput } from '../../../../../src/domain/memory/context/build.ts'
import type { Context } from '../../../../../src/domain/memory/context/message.ts'
import { FORMATS, render } from '../../../../../src/domain/memory/context/render.ts'
import { MAX_STORED } from '../../../../../src/domain/memory/context/store.ts'
import { getContexts, getReplyPages, replyCursor } from '../../../../../src/domain/memory/context/stored.ts'
import { createConversation, updateConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { recordFacts, retractFact } from '../../../../../src/domain/memory/fact/record.ts'
import { addParticipant, removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { refreshUserProfile } from '../../../../../src/domain/memory/profile/refresh.ts'
import type { Principal, Right } from '../../../../../src/domain/kernel/rights/principal.ts'
import { compact, summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { appendTurn, appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import { updateParticipant } from '../../../../../src/domain/conversation/participant/update-participant.ts'
import { runTurn } from '../../../../../src/domain/agent/run/start.ts'
import { backends } from '../../../../support/backend.ts'
import { createScriptedProvider } from '../../../../support/scripted-provider.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

const provider = createScriptedProvider()

/** Everything that a viewer can read of a context, as text. */
const bytesOf = ({ profileFacts: _, ...context }: Context) =>
  JSON.stringify([
    Object.entries(context).sort(([a], [b]) => (a < b ? -1 : 1)),
    FORMATS.map((format) => render(context.messages, format)),
  ])

describe.each(backends)('stored contexts on $name', (backend) => {
  const world = useWorld(backend, { providers: { scripted: provider } })
  let tenant: Tenant
  let conversationId: string
  beforeEach(async () => {
    provider.reset()
    tenant = world.tenant()
    conversationId = (
      await createConversation(world.deps, tenant.as('ada'), {
        systemPrompt: 'Be kind.',
        visibility: 'MEMBERS',
        participants: [
          { actor: 'ada', displayName: 'Ada L.', kind: 'HUMAN' },
          { actor: 'bob', displayName: 'Bob', kind: 'HUMAN' },
          { actor: 'bot', kind: 'AGENT' },
        ],
      })
    ).conversation.id
  })

  const build = (actor: string, more: Partial<BuildContextInput> = {}) =>
    buildContext(world.deps, tenant.as(actor), { conversationId, tokenBudget: 4_000, as: actor, store: true, ...more })
  const read = async (actor: string, id: string | null) =>
    (await getContexts(world.deps, tenant.as(actor), [id!])).get(id!) ?? null
  const as = (actor: string, principal: Partial<Principal> & { rights: ReadonlySet<Right> }) => ({
    ...tenant.as(actor),
    principal: {
      tenant: tenant.name,
      actor,
      kind: 'AGENT' as const,
      credential: 'token',
      conversations: null,
      expiresAt: null,
      ...principal,
    },
  })

  it('are read byte for byte in each format, after names, turns, facts, summaries and settings have changed', async () => {
    const { deps } = world
    const [ada, bot] = [tenant.as('ada'), tenant.as('bot')]
    const elsewhere = await tenant.newConversation('bot', 'zoe')
    await tenant.append(elsewhere, 'zoe', 'The harbour bell rings at noon.')
    const old = await tenant.append(conversationId, 'ada', 'The harbour opens at nine.')
    for (let n = 1; n <= 10; n++) await tenant.append(conversationId, 'bob', `Then I come at ten, for the ${n}th time.`)
    await summarize(deps, ada, { conversationId })
    const { facts } = await recordFacts(deps, ada, {
      conversationId,
      facts: [{ subject: 'Ada', predicate: 'lives in', object: 'Rome' }],
    })
    await refreshUserProfile(deps, ada, { userId: 'ada' })
    const parts = [
      { text: 'I look it up.' },
      {
        toolCall: {
          callId: 'c',
          name: 'look',
          arguments: { zebra: 1, at: [1.5, null], 'a b': { y: 'é', x: '\u{1f600}' } },
        },
      },
    ]
    await appendTurns(deps, bot, {
      conversationId,
      turns: [
        { role: 'ASSISTANT', parts },
        { role: 'TOOL', parts: [{ toolResult: { callId: 'c', name: 'look', result: { z: true, a: 'none' } } }] },
      ],
    })
    const data = { long: 1, b: 2, aa: [{ zz: 1, y: 2 }] }
    const whisper = await appendTurn(deps, ada, {
      conversationId,
      turn: { role: 'USER', parts: [{ text: 'Only for you: "quoted"\n~~~' }, { data }], audience: ['bot'] },
    })
    const newest = await tenant.append(conversationId, 'ada', 'When does the harbour bell ring?')

    const options = { includeFacts: true, includeProfile: true, semanticRecall: { k: 5, scope: 'TENANT' as const } }
    const built = await build('bot', { ...options, recentTurns: 3 })
    expect(new Set(built.messages.map(({ kind }) => kind))).toEqual(
      new Set(['SYSTEM_PROMPT', 'PROFILE', 'SUMMARY', 'RECENT', 'RECALLED']),
    )
    const withFacts = await build('bot', { includeFacts: true, tokenBudget: 500 })
    expect(withFacts.messages.map(({ kind }) => kind)).toContain('FACT')
    expect(built.id).toMatch(/^ctx_/)
    expect(built.asOfSeq).toBe(newest.seq)
    const before = [bytesOf(built), bytesOf(withFacts)]
    const now = async () => [bytesOf((await read('bot', built.id))!), bytesOf((await read('bot', withFacts.id))!)]
    expect(await now()).toEqual(before)

    await updateParticipant(deps, ada, { conversationId, actor: 'ada', displayName: 'Countess' })
    await updateConversation(deps, ada, { conversationId, systemPrompt: 'Be brief.', title: 'Harbour' })
    await supersedeTurn(deps, ada, { turnId: old.id, turn: { role: 'USER', content: 'The harbour opens at ten.' } })
    await supersedeTurn(deps, ada, { turnId: whisper.turn.id, turn: { role: 'USER', content: 'Nothing.' } })
    await retractFact(deps, ada, { factId: facts[0]!.id, reason: 'moved' })
    await refreshUserProfile(deps, ada, { userId: 'ada' })
    await summarize(deps, ada, { conversationId })
    await compact(deps, ada, { conversationId })
    expect(await now()).toEqual(before)
    expect((await build('bot', { ...options, recentTurns: 3 })).messages).not.toEqual(built.messages)
  })

  it('are not stored by default, and a credential stores them only with the right to write', async () => {
    const newest = await tenant.append(conversationId, 'ada', 'Hello.')
    const plain = await build('bot', { store: null })
    expect(plain).toMatchObject({ id: null, createdAt: null, asOfSeq: newest.seq, goneSourceIds: [] })
    const viewer = as('bot', { rights: new Set(['read']) })
    const input = { conversationId, tokenBudget: 400 }
    expect((await buildContext(world.deps, viewer, input)).id).toBeNull()
    const refused = buildContext(world.deps, viewer, { ...input, store: true })
    await expect(refused).rejects.toMatchObject({ code: 'NOT_ALLOWED', right: 'write', verb: 'buildContext' })
    const { rows } = await sql(world.deps.pool).query('SELECT FROM stored_context WHERE tenant = $1', [tenant.name])
    expect(rows).toEqual([])
    const writer = as('bot', { rights: new Set(['read', 'write']) })
    const { id } = await buildContext(world.deps, writer, { ...input, store: true })
    expect((await getContexts(world.deps, viewer, [id!])).size).toBe(1)
  })

  it('are visible only to the actor in whose view they were built, while it sees the conversation', async () => {
    const { deps } = world
    await tenant.append(conversationId, 'ada', 'Psst.', { audience: ['bot'] })
    const { id } = await build('bot')
    expect(await read('bot', id)).not.toBeNull()
    for (const actor of ['ada', 'bob', 'stranger']) expect(await read(actor, id)).toBeNull()
    expect((await getContexts(deps, world.tenant().as('bot'), [id!])).size).toBe(0)
    expect((await getContexts(deps, tenant.as('bot'), ['ctx_x', conversationId])).size).toBe(0)
    const elsewhere = await tenant.newConversation('bot')
    const confined = as('bot', { rights: new Set(['read']), conversations: new Set([elsewhere]) })
    expect((await getContexts(deps, confined, [id!])).size).toBe(0)
    const actingAs = { ...as('ada', { rights: new Set(['read', 'act-as']) }), actor: 'bot' }
    expect((await getContexts(deps, actingAs, [id!])).size).toBe(1)
    await expect(
      getContexts(deps, { ...as('ada', { rights: new Set(['read']) }), actor: 'bot' }, [id!]),
    ).rejects.toThrow(NotAllowed)

    const open = await createConversation(deps, tenant.as('ada'), { participants: [{ actor: 'ada' }] })
    await tenant.append(open.conversation.id, 'ada', 'Open to all.')
    const seen = await build('guest', { conversationId: open.conversation.id, as: null })
    expect(await read('guest', seen.id)).not.toBeNull()
    await updateConversation(deps, tenant.as('ada'), { conversationId: open.conversation.id, visibility: 'MEMBERS' })
    expect(await read('guest', seen.id)).toBeNull()
  })

  it('leave out the messages with a source that the actor no longer sees', async () => {
    const { deps } = world
    const other = (await createConversation(deps, tenant.as('zoe'), { participants: [{ actor: 'zoe' }] })).conversation
      .id
    const quoted = await tenant.append(other, 'zoe', 'The harbour bell rings at noon.')
    const { facts } = await recordFacts(deps, tenant.as('zoe'), {
      conversationId: other,
      userId: 'ada',
      facts: [{ subject: 'Ada', predicate: 'owns', object: 'a bell' }],
    })
    const own = await tenant.append(conversationId, 'ada', 'When does the harbour bell ring?')
    const built = await build('bot', { semanticRecall: { scope: 'TENANT' }, includeFacts: true })
    const kinds = (context: Context | null) => context?.messages.map(({ kind }) => kind)
    expect(kinds(built)).toEqual(['SYSTEM_PROMPT', 'FACT', 'RECALLED', 'RECENT'])
    // A credential that is limited to the conversation sees nothing from outside it.
    const confined = as('bot', { rights: new Set(['read']), conversations: new Set([conversationId]) })
    const limited = (await getContexts(deps, confined, [built.id!])).get(built.id!)!
    expect(kinds(limited)).toEqual(['SYSTEM_PROMPT', 'RECENT'])
    expect(limited.goneSourceIds).toEqual([facts[0]!.id, quoted.id])

    await updateConversation(deps, tenant.as('zoe'), { conversationId: other, visibility: 'MEMBERS' })
    const hidden = (await read('bot', built.id))!
    expect(kinds(hidden)).toEqual(['SYSTEM_PROMPT', 'RECENT'])
    expect(hidden).toMatchObject({ tokenCount: built.tokenCount, items: built.items })
    expect(hidden.goneSourceIds).toEqual([facts[0]!.id, quoted.id])
    expect(hidden.messages.at(-1)!.sourceIds).toEqual([own.id])
    await addParticipant(deps, tenant.as('zoe'), {
      conversationId: other,
      participant: { actor: 'bot', historyVisibility: 'ALL' },
    })
    expect(bytesOf((await read('bot', built.id))!)).toBe(bytesOf(built))
  })

  it('keep the summaries that the actor sees whole', async () => {
    const { deps } = world
    const ada = tenant.as('ada')
    await tenant.append(conversationId, 'ada', 'The harbour opens at nine.')
    for (let n = 0; n < 10; n++) await tenant.append(conversationId, 'bob', 'Good, I say it again.')
    const summary = await summarize(deps, ada, { conversationId })
    await tenant.append(conversationId, 'ada', 'And now?')
    const built = await build('bob', { recentTurns: 1 })
    expect(built.messages.map(({ kind }) => kind)).toContain('SUMMARY')
    await removeParticipant(deps, ada, { conversationId, actor: 'bob' })
    expect(bytesOf((await read('bob', built.id))!)).toBe(bytesOf(built))
    // As if bob's history began after the first turn.
    await sql(deps.pool).query('UPDATE participant SET windows = $1 WHERE conversation_id = $2 AND actor = $3', [
      [summary.fromPosition + 1],
      conversationId,
      'bob',
    ])
    expect((await read('bob', built.id))!.goneSourceIds).toEqual([summary.id])
  })

  it('are deleted with the oldest first if a conversation has too many', async () => {
    await tenant.append(conversationId, 'ada', 'Hello.')
    const first = await build('bot')
    await sql(world.deps.pool).query(
      `INSERT INTO stored_context (id, tenant, conversation_id, actor, as_of_seq, token_budget, token_count,
                                   stable_prefix_tokens, truncated, items, created_at)
       SELECT 'ctx_' || i, $1, $2, 'bot', 1, 1, 1, 1, false, '[]', now() + interval '1 second'
       FROM generate_series(1, $3::integer) i`,
      [tenant.name, conversationId, MAX_STORED - 2],
    )
    const second = await build('bot')
    expect(await read('bot', first.id)).not.toBeNull()
    const third = await build('bot')
    expect(await read('bot', first.id)).toBeNull()
    for (const { id } of [second, third]) expect(await read('bot', id)).not.toBeNull()
  })

  it('are named by turns of their actor in their conversation, and by no others', async () => {
    const { deps } = world
    const bot = tenant.as('bot')
    await tenant.append(conversationId, 'ada', 'Hello.')
    const { id: contextId } = await build('bot')
    const turn = { role: 'ASSISTANT' as const, content: 'Hi.', contextId }
    const appended = await appendTurn(deps, bot, { conversationId, turn: { ...turn, clientId: 'once' } })
    expect(appended.turn.contextId).toBe(contextId)
    const batch = await appendTurns(deps, bot, { conversationId, turns: [turn] })
    const opened = await openTurn(deps, bot, {
      conversationId,
      writerToken: WRITER,
      turn: { role: 'ASSISTANT', contextId },
    })
    const edited = await supersedeTurn(deps, bot, { turnId: appended.turn.id, turn: { ...turn, content: 'Hello!' } })
    const written = [appended.turn, batch.turns[0]!, opened.turn, edited.turn]
    const stored = await getTurns(
      deps,
      bot,
      written.map(({ id }) => id),
    )
    expect([...stored.values()].map((each) => each.contextId)).toEqual(written.map(() => contextId))

    const foreign = await build('ada')
    const elsewhere = await tenant.newConversation('bot')
    await tenant.append(elsewhere, 'bot', 'Other.')
    const other = await build('bot', { conversationId: elsewhere })
    for (const wrong of [foreign.id!, other.id!, `ctx_${'0'.repeat(26)}`]) {
      const refused = { ...turn, contextId: wrong }
      const reason = `is ${wrong}; the author has no such stored context in the conversation`
      await expect(appendTurn(deps, bot, { conversationId, turn: refused })).rejects.toThrow(
        InvalidInput.at('turn.contextId', reason),
      )
      await expect(appendTurns(deps, bot, { conversationId, turns: [turn, refused] })).rejects.toThrow(
        InvalidInput.at('turns.1.contextId', reason),
      )
      await expect(supersedeTurn(deps, bot, { turnId: edited.turn.id, turn: refused })).rejects.toThrow(
        InvalidInput.at('turn.contextId', reason),
      )
    }
    // A retry returns the turn, although the context is deleted.
    await sql(deps.pool).query('DELETE FROM stored_context WHERE id = $1', [contextId])
    const retried = await appendTurn(deps, bot, { conversationId, turn: { ...turn, clientId: 'once' } })
    expect(retried).toMatchObject({ deduplicated: true, turn: { id: appended.turn.id } })
  })

  it('list the turns that were generated with a turn or a fact, in pages, to the viewers who see these turns', async () => {
    const { deps } = world
    const source = await tenant.append(conversationId, 'ada', 'Hello.')
    const { facts } = await recordFacts(deps, tenant.as('ada'), {
      conversationId,
      userId: 'ada',
      facts: [{ subject: 'Ada', predicate: 'lives in', object: 'Rome' }],
    })
    const replies: string[] = []
    for (const content of ['One.', 'Two.', 'Three.']) {
      const { id: contextId } = await build('bot', { includeFacts: true })
      replies.push((await tenant.append(conversationId, 'bot', content, { role: 'ASSISTANT', contextId })).id)
    }
    const { id: contextId } = await build('bot')
    const secret = await tenant.append(conversationId, 'bot', 'Psst.', {
      role: 'ASSISTANT',
      contextId,
      audience: ['ada'],
    })
    const ids = async (actor: string, sourceId: string, args = {}) =>
      (await getReplyPages(deps, tenant.as(actor), [sourceId], args)).get(sourceId)!
    const idsOf = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => id)
    expect(idsOf(await ids('ada', source.id))).toEqual([...replies, secret.id])
    expect(idsOf(await ids('bob', source.id))).toEqual(replies)
    expect(idsOf(await ids('bob', facts[0]!.id))).toEqual(replies)
    expect(idsOf(await ids('stranger', source.id))).toEqual([])
    expect(idsOf(await ids('ada', replies[2]!))).toEqual([secret.id])

    const first = await ids('bob', source.id, { first: 2 })
    expect(first).toMatchObject({ hasNextPage: true, hasPreviousPage: false })
    expect(idsOf(first)).toEqual(replies.slice(0, 2))
    const second = await ids('bob', source.id, { first: 2, after: replyCursor(first.items[1]!) })
    expect([idsOf(second), second.hasNextPage]).toEqual([replies.slice(2), false])
    const last = await ids('bob', source.id, { last: 2 })
    expect([idsOf(last), last.hasPreviousPage]).toEqual([replies.slice(1), true])
    const previous = await ids('bob', source.id, { last: 2, before: replyCursor(last.items[0]!) })
    expect(idsOf(previous)).toEqual(replies.slice(0, 1))
    await expect(ids('bob', source.id, { after: 'x' })).rejects.toThrow(InvalidInput)
  })

  it('are stored by runs for each reply, in the view of the agent', async () => {
    const { deps } = world
    const asked = await tenant.append(conversationId, 'ada', 'Hello, what is new?')
    provider.next(['Not much.'])
    const { run } = await runTurn(
      deps,
      { ...tenant.as('ada') },
      { conversationId, actor: 'bot', provider: 'scripted', instructions: 'Be short.', context: { store: true } },
    )
    expect(run.state).toBe('COMPLETED')
    const page = (await getReplyPages(deps, tenant.as('ada'), [asked.id], {})).get(asked.id)!
    expect(page.items).toMatchObject([{ text: 'Not much.', actor: 'bot' }])
    const context = (await read('bot', page.items[0]!.contextId))!
    expect(context.messages.map(({ content }) => content)).toEqual(['Be kind.', 'Hello, what is new?'])
    expect(provider.asked[0]!.messages.slice(1).map(({ content }) => content)).toEqual([
      [{ type: 'text', text: 'Be kind.' }],
      [
        { type: 'text', text: 'Hello, what is new?' },
        { type: 'sources', ids: [asked.id] },
      ],
    ])
    expect(await read('ada', context.id)).toBeNull()

    provider.next(['Still not much.'])
    const plain = await runTurn(deps, tenant.as('ada'), { conversationId, actor: 'bot', provider: 'scripted' })
    expect(plain.run.state).toBe('COMPLETED')
    expect((await getReplyPages(deps, tenant.as('ada'), [asked.id], {})).get(asked.id)!.items).toHaveLength(1)
  })
})
