// What erasures and deletions remove from stored contexts: each message with an erased source loses its content, in
// contexts of any conversation, and the context names what is gone.

import { beforeEach, describe, expect, it } from 'vitest'
import { buildContext, type BuildContextInput } from '../../../../../src/domain/memory/context/build.ts'
import { storeContext } from '../../../../../src/domain/memory/context/store.ts'
import { getContexts } from '../../../../../src/domain/memory/context/stored.ts'
import { createConversation, updateConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { eraseTurn } from '../../../../../src/domain/trust/erasure/erase-turn.ts'
import { lockTurnsToErase } from '../../../../../src/store/sql/trust/erasure/erased-turns.ts'
import { withTransaction } from '../../../../../src/store/db/tx.ts'
import { eraseWithDerivatives } from '../../../../../src/domain/trust/erasure/run-derivatives.ts'
import { lockConversations } from '../../../../../src/domain/memory/fact/write.ts'
import type { Context } from '../../../../../src/domain/memory/context/message.ts'
import { continueErasures, eraseUser } from '../../../../../src/domain/trust/erasure/erase-user.ts'
import { setLegalHold } from '../../../../../src/domain/trust/erasure/legal-hold.ts'
import {
  deleteExpiredConversations,
  removeSummarizedContent,
} from '../../../../../src/domain/trust/erasure/retention.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import { refreshUserProfile } from '../../../../../src/domain/memory/profile/refresh.ts'
import { summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import { backends } from '../../../../support/backend.ts'
import { tablesContaining } from '../../../../support/canary.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'

const CANARY = 'canaryk9c'

describe.each(backends)('erasing sources of stored contexts on $name', (backend) => {
  const world = useWorld(backend, { integrityKey: 'k'.repeat(32) })
  let tenant: Tenant
  let conversationId: string
  beforeEach(async () => {
    tenant = world.tenant()
    conversationId = await tenant.newConversation(
      { actor: 'ada', kind: 'HUMAN' },
      { actor: 'bob', kind: 'HUMAN' },
      'bot',
    )
  })

  const build = (more: Partial<BuildContextInput> = {}) =>
    buildContext(world.deps, tenant.as('bot'), { conversationId, tokenBudget: 4_000, as: 'bot', store: true, ...more })
  const read = async (id: string | null, actor = 'bot') =>
    (await getContexts(world.deps, tenant.as(actor), [id!])).get(id!)
  const kindsOf = async (id: string | null) => (await read(id))?.messages.map(({ kind }) => kind)
  const found = () => tablesContaining(world.deps.pool, CANARY)
  const state = (object: string, from: { conversationId?: string; sourceTurnId?: string }, actor = 'ada') =>
    recordFacts(world.deps, tenant.as(actor), {
      ...(from.conversationId ? { conversationId: from.conversationId } : null),
      userId: 'ada',
      facts: [
        {
          subject: 'Ada',
          predicate: 'likes',
          object,
          ...(from.sourceTurnId ? { sourceTurnId: from.sourceTurnId } : null),
        },
      ],
    })

  it('removes the turn in all versions, and keeps the other messages', async () => {
    const { deps } = world
    const first = await tenant.append(conversationId, 'ada', `It is ${CANARY}.`)
    const other = await tenant.append(conversationId, 'bob', 'Nice.')
    const before = await build()
    await supersedeTurn(deps, tenant.as('ada'), { turnId: first.id, turn: { role: 'USER', content: `No, ${CANARY}!` } })
    const after = await build()
    const { receipt } = await eraseTurn(deps, tenant.as('ada'), { turnId: first.id })
    expect(receipt.document).toContain('"stored_context_message":2')
    const [one, two] = [(await read(before.id))!, (await read(after.id))!]
    for (const context of [one, two]) {
      expect(context.messages.map(({ sourceIds }) => sourceIds)).toEqual([[other.id]])
      expect(context.items.map(({ included }) => included)).toEqual([true, true])
    }
    expect(one.goneSourceIds).toEqual([first.id])
    expect(two.goneSourceIds).not.toEqual([first.id])
    expect(await found()).toEqual([])
  })

  it('removes summaries, facts and profiles that were made from the turn, also superseded ones', async () => {
    const { deps } = world
    const turn = await tenant.append(conversationId, 'ada', `I like ${CANARY}.`)
    for (let n = 0; n < 10; n++) await tenant.append(conversationId, 'bob', 'I say the same again.')
    const summary = await summarize(deps, tenant.as('ada'), { conversationId })
    const { facts } = await state(CANARY, { sourceTurnId: turn.id })
    await state('tea', { conversationId })
    await refreshUserProfile(deps, tenant.as('ada'), { userId: 'ada' })
    await tenant.append(conversationId, 'bob', 'And now?')
    const options = { recentTurns: 1, includeFacts: true }
    const withFacts = await build(options)
    const withProfile = await build({ ...options, includeFacts: false, includeProfile: true })
    expect(await kindsOf(withFacts.id)).toEqual(['FACT', 'SUMMARY', 'RECENT'])
    expect(await kindsOf(withProfile.id)).toEqual(['PROFILE', 'SUMMARY', 'RECENT'])
    expect(JSON.stringify(withProfile.messages[0])).toContain(CANARY)
    // The summary and the profile are no longer current when the turn is erased.
    await supersedeTurn(deps, tenant.as('ada'), { turnId: turn.id, turn: { role: 'USER', content: 'I like coffee.' } })
    await refreshUserProfile(deps, tenant.as('ada'), { userId: 'ada' })
    expect(await kindsOf(withProfile.id)).toEqual(['PROFILE', 'SUMMARY', 'RECENT'])
    await eraseTurn(deps, tenant.as('ada'), { turnId: turn.id })
    expect(await kindsOf(withFacts.id)).toEqual(['RECENT'])
    expect((await read(withFacts.id))!.goneSourceIds).toEqual([facts[0]!.id, summary.id])
    expect(await kindsOf(withProfile.id)).toEqual(['RECENT'])
    expect((await read(withProfile.id))!.goneSourceIds).toEqual([facts[0]!.id, summary.id])
    expect(await found()).toEqual([])
  })

  it('removes turns and facts of other conversations, whether they are erased, deleted or expired', async () => {
    const { deps } = world
    const query = 'When does the harbour bell ring?'
    await tenant.append(conversationId, 'bob', query)
    for (const how of ['erase', 'delete', 'expire', 'expire with facts'] as const) {
      const other = await tenant.newConversation('ada')
      const turn = await tenant.append(other, 'ada', `The harbour bell rings at ${CANARY}.`)
      if (how !== 'expire') await state(CANARY, { sourceTurnId: turn.id })
      const built = await build({ semanticRecall: { k: 3, scope: 'TENANT' }, includeFacts: true })
      expect(JSON.stringify(built.messages)).toContain(CANARY)
      if (how === 'erase') await eraseTurn(deps, tenant.as('ada'), { turnId: turn.id })
      else if (how === 'delete') await deleteConversation(deps, tenant.as('ada'), other)
      else {
        await updateConversation(deps, tenant.as('ada'), {
          conversationId: other,
          expiresAt: new Date(Date.now() - 1000),
        })
        expect(await deleteExpiredConversations(deps)).toBe(1)
      }
      expect(await kindsOf(built.id)).toEqual(['RECENT'])
      expect((await read(built.id))!.goneSourceIds).toContain(turn.id)
      expect(await found()).toEqual([])
    }
  })

  it('deletes the contexts of a deleted conversation', async () => {
    await tenant.append(conversationId, 'ada', CANARY)
    const { id } = await build()
    await deleteConversation(world.deps, tenant.as('owner'), conversationId)
    expect(await read(id)).toBeUndefined()
    expect(await found()).toEqual([])
    const { rows } = await sql(world.deps.pool).query('SELECT FROM stored_context_source WHERE tenant = $1', [
      tenant.name,
    ])
    expect(rows).toEqual([])
  })

  it('removes what a user wrote and what is known about the user, and deletes the contexts in its view', async () => {
    const { deps } = world
    const shared = { subject: 'Ada', predicate: 'owns', object: 'a boat' }
    await tenant.append(conversationId, 'ada', `I am ${CANARY}.`)
    await state(CANARY, { conversationId }, 'bob')
    // Ada is not the only one who says so.
    for (const actor of ['ada', 'bob']) {
      await recordFacts(deps, tenant.as(actor), {
        conversationId,
        userId: 'bob',
        facts: [{ ...shared, subject: 'Bob' }],
      })
    }
    await refreshUserProfile(deps, tenant.as('ada'), { userId: 'ada' })
    await tenant.append(conversationId, 'bob', 'Good.')
    const facts = await build({ includeFacts: true })
    const profile = await build({ includeProfile: true })
    expect(await kindsOf(profile.id)).toEqual(['PROFILE', 'RECENT', 'RECENT'])
    const own = await buildContext(deps, tenant.as('ada'), { conversationId, tokenBudget: 400, store: true })
    const held = await tenant.newConversation('ada')
    await tenant.append(held, 'bob', 'Kept.')
    const kept = await buildContext(deps, tenant.as('ada'), { conversationId: held, tokenBudget: 400, store: true })
    await setLegalHold(deps, tenant.as('op'), { conversationId: held, legalHold: true })

    const { receipt } = await eraseUser(deps, tenant.as('op'), { userId: 'ada' })
    if (!receipt) while ((await continueErasures(deps)) > 0);
    expect(await kindsOf(facts.id)).toEqual(['RECENT'])
    expect(await kindsOf(profile.id)).toEqual(['RECENT'])
    expect((await read(profile.id))!.goneSourceIds).toContain('ada')
    expect(await read(own.id, 'ada')).toBeUndefined()
    expect(await read(kept.id, 'ada')).toBeDefined()
    expect(await found()).toEqual([])
  })

  it('removes the content that retention removes', async () => {
    const { deps } = world
    const { conversation } = await createConversation(deps, tenant.as('ada'), {
      participants: [{ actor: 'ada' }, { actor: 'bot' }],
      retention: 'EPHEMERAL',
    })
    const other = { conversationId: conversation.id }
    const turn = await tenant.append(conversation.id, 'ada', `Hello, I am ${CANARY}, and I write a long sentence.`)
    const { id: contextId } = await build(other)
    const reply = await tenant.append(conversation.id, 'bot', 'Welcome.', { role: 'ASSISTANT', contextId })
    for (let n = 0; n < 9; n++)
      await tenant.append(conversation.id, 'bot', `We wait for the ship for day ${n}, and nothing happens.`)
    await summarize(deps, tenant.as('ada'), other)
    const { rows } = await sql(deps.pool).query<{ content: string }>(
      `UPDATE summary SET content = 'They wait.' WHERE conversation_id = $1 RETURNING content`,
      [conversation.id],
    )
    expect(rows).toHaveLength(1)
    expect(await removeSummarizedContent(deps)).toBeGreaterThan(1)
    expect((await read(contextId))!).toMatchObject({ messages: [], goneSourceIds: [turn.id] })
    expect(await found()).toEqual([])
    const read2 = (await getTurns(deps, tenant.as('ada'), [reply.id])).get(reply.id)!
    expect(read2).toMatchObject({ text: '', contextId: null })
  })

  it('does not store what was erased after the context was built', async () => {
    const { deps } = world
    const turn = await tenant.append(conversationId, 'ada', `I like ${CANARY}.`)
    const elsewhere = await tenant.newConversation('ada')
    const quoted = await tenant.append(elsewhere, 'ada', `I like ${CANARY}, too.`)
    const { facts } = await state(CANARY, { sourceTurnId: quoted.id })
    const newest = await tenant.append(conversationId, 'bob', 'What does she like?')
    const options = { store: false, includeFacts: true, semanticRecall: { scope: 'TENANT' as const } }
    const built = await build(options)
    expect(built.messages.flatMap(({ sourceIds }) => sourceIds).sort()).toEqual(
      [turn.id, quoted.id, facts[0]!.id, newest.id].sort(),
    )
    for (const { id } of [turn, quoted]) await eraseTurn(deps, tenant.as('ada'), { turnId: id })
    const stored = await storeContext(deps, tenant.as('bot'), conversationId, built)
    expect(stored.messages.map(({ sourceIds }) => sourceIds)).toEqual([[newest.id]])
    expect([...stored.goneSourceIds].sort()).toEqual([turn.id, quoted.id, facts[0]!.id].sort())
    const { profileFacts: _, ...shown } = stored
    expect(await read(stored.id)).toMatchObject(shown)
    expect(await found()).toEqual([])
  })

  // The embedded database runs one transaction at a time.
  it.skipIf(backend.name === 'embedded')(
    'waits for an erasure in another conversation that has not committed',
    async () => {
      const { deps } = world
      const elsewhere = await tenant.newConversation('ada')
      await tenant.append(conversationId, 'bob', 'What does she like?')
      const quoted = await tenant.append(elsewhere, 'ada', `What she likes is ${CANARY}.`)
      const built = await build({ store: false, semanticRecall: { scope: 'TENANT' } })
      let storing: Promise<Context> | undefined
      await withTransaction(deps.db, tenant.name, async (tx) => {
        await lockConversations(tx, tenant.name, [elsewhere])
        const turns = await lockTurnsToErase(tx, elsewhere, [quoted.position])
        await eraseWithDerivatives(tx, { tenant: tenant.name, conversationId: elsewhere, turns })
        let isStored = false
        storing = storeContext(deps, tenant.as('bot'), conversationId, built)
        void storing.then(() => (isStored = true))
        const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
        await expect.poll(async () => isStored || (await sql(deps.pool).query(waiting)).rowCount! > 0).toBe(true)
      })
      expect((await storing!).goneSourceIds).toEqual([quoted.id])
      expect(await found()).toEqual([])
    },
  )

  it('leaves nothing of what is erased while contexts are stored', async () => {
    const { deps } = world
    const bot = tenant.as('bot')
    await tenant.append(conversationId, 'bob', 'What does she like?')
    for (let round = 0; round < 8; round++) {
      const elsewhere = await tenant.newConversation('ada')
      const own = await tenant.append(conversationId, 'ada', `I like ${CANARY}.`)
      const quoted = await tenant.append(elsewhere, 'ada', `What she likes is ${CANARY}.`)
      await state(CANARY, { sourceTurnId: quoted.id })
      const built = await build({ store: false, includeFacts: true, semanticRecall: { scope: 'TENANT' } })
      expect(JSON.stringify(built.messages).split(CANARY).length).toBeGreaterThan(2)
      await Promise.all([
        ...Array.from({ length: 4 }, () => storeContext(deps, bot, conversationId, built)),
        ...[own, quoted].map(({ id }) => eraseTurn(deps, tenant.as('ada'), { turnId: id })),
        ...Array.from({ length: 4 }, () => storeContext(deps, bot, conversationId, built)),
      ])
      expect(await found()).toEqual([])
    }
  })
})
