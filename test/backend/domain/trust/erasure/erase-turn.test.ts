// Erasing a turn removes its content and all derived data, keeps its position, and notifies the readers who saw it.

import { describe, expect, it, vi } from 'vitest'
import { readAuditChain } from '../../../../../src/store/sql/trust/audit-lines.ts'
import { eraseTurn } from '../../../../../src/domain/trust/erasure/erase-turn.ts'
import { setLegalHold } from '../../../../../src/domain/trust/erasure/legal-hold.ts'
import { verifyErasureReceipt } from '../../../../../src/domain/trust/erasure/receipt.ts'
import { readEventsOf } from '../../../../../src/domain/turn/journal/reader.ts'
import { getFacts } from '../../../../../src/domain/memory/fact/fact.ts'
import { recordFacts, retractFact } from '../../../../../src/domain/memory/fact/record.ts'
import { removeParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { refreshUserProfile } from '../../../../../src/domain/memory/profile/refresh.ts'
import { recall } from '../../../../../src/domain/memory/recall/recall.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { compact, summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { appendTurn, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { pageOfTurns } from '../../../../../src/domain/turn/history.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { getConversations } from '../../../../../src/domain/conversation/conversation.ts'
import type { Principal } from '../../../../../src/domain/kernel/rights/principal.ts'
import { Conflict, NotAllowed, NotFound, StreamClosed } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { tablesContaining } from '../../../../support/canary.ts'
import { useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { sql } from '../../../../support/sql.ts'

const CANARY = 'canaryq7x'

describe.each(backends)('eraseTurn on $name', (backend) => {
  const world = useWorld(backend, { integrityKey: 'k'.repeat(32) })
  const vectorsOf = async (conversationId: string) =>
    (await sql(world.deps.pool).query('SELECT FROM turn_vector WHERE conversation_id = $1', [conversationId])).rowCount

  it('removes all versions and their derivatives, and keeps other data', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const [ann, bob] = [tenant.as('ann'), tenant.as('bob')]
    const conversationId = await tenant.newConversation('ann', 'bob')
    const kept = await tenant.append(conversationId, 'bob', 'Bob likes tea.')
    const first = await tenant.append(conversationId, 'ann', `My vault code is ${CANARY}.`, {
      clientId: 'once',
      metadata: { note: CANARY },
      traceId: CANARY,
    })
    await summarize(deps, ann, { conversationId, through: first.id })
    const { turn: edited } = await supersedeTurn(deps, ann, {
      turnId: first.id,
      turn: {
        role: 'USER',
        parts: [
          { text: `The vault code is ${CANARY} now.` },
          { toolCall: { callId: 'c', name: 'open', arguments: { code: CANARY } } },
        ],
        citations: [{ documentName: CANARY }],
      },
    })
    const { facts } = await recordFacts(deps, ann, {
      userId: 'ann',
      facts: [
        { subject: 'ann', predicate: 'knows', object: CANARY, sourceTurnId: edited.id },
        { subject: 'bob', predicate: 'likes', object: 'tea', sourceTurnId: kept.id },
      ],
    })
    // The same fact from another turn is kept.
    const shared = { subject: 'bob', predicate: 'drinks', object: 'tea' }
    const both = await recordFacts(deps, ann, { userId: 'ann', facts: [{ ...shared, sourceTurnId: edited.id }] })
    await recordFacts(deps, bob, { userId: 'ann', facts: [{ ...shared, sourceTurnId: kept.id }] })
    await refreshUserProfile(deps, ann, { userId: 'ann' })
    await vi.waitFor(async () => expect(await vectorsOf(conversationId)).toBe(3))
    const counts = (await getConversations(deps, ann, [conversationId])).get(conversationId)!.counts!
    expect(counts.turnCount).toBe(2)

    const { turn, receipt } = await eraseTurn(deps, ann, { turnId: first.id })
    expect(turn).toMatchObject({ id: first.id, status: 'ERASED', text: '', parts: null, metadata: null, position: 4 })
    expect(receipt).toMatchObject({ kind: 'TURN', subject: first.id, turns: 2, facts: 1, summaries: 1, profiles: 1 })
    expect(verifyErasureReceipt(deps, ann, { document: receipt.document, signature: receipt.signature! })).toBe(true)
    const forged = { document: receipt.document.replace('"turn":2', '"turn":1'), signature: receipt.signature! }
    expect(verifyErasureReceipt(deps, ann, forged)).toBe(false)

    expect(await tablesContaining(deps.pool, CANARY)).toEqual([])
    expect(await vectorsOf(conversationId)).toBe(1)
    const page = await pageOfTurns(deps, bob, [conversationId], { first: 10 })
    expect(page.get(conversationId)!.items.map(({ text, status }) => [text, status])).toContainEqual([
      'Bob likes tea.',
      'COMMITTED',
    ])
    expect((await getConversations(deps, ann, [conversationId])).get(conversationId)!.counts).toMatchObject({
      turnCount: 1,
    })
    const left = await getFacts(
      deps,
      ann,
      [...facts, ...both.facts].map(({ id }) => id),
    )
    expect([...left.values()].map(({ object }) => object)).toEqual(['tea', 'tea'])
    const { hits } = await recall(deps, bob, { conversationId, query: 'vault code' })
    expect(JSON.stringify(hits)).not.toContain(first.id)
    expect(JSON.stringify(hits)).not.toContain(edited.id)
    await compact(deps, bob, { conversationId })
    expect(await tablesContaining(deps.pool, CANARY)).toEqual([])
    expect(await readAuditChain(deps.db, tenant.name, 0, 10)).toEqual([
      expect.objectContaining({ verb: 'eraseTurn', actor: 'ann', resources: [first.id, receipt.id] }),
    ])
  })

  it('is idempotent, and a retried append does not write the content again', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const input = { conversationId, turn: { role: 'USER' as const, content: CANARY, clientId: 'k' } }
    const { turn } = await appendTurn(deps, tenant.as('ann'), input)
    const once = await eraseTurn(deps, tenant.as('ann'), { turnId: turn.id })
    const twice = await eraseTurn(deps, tenant.as('ann'), { turnId: turn.id })
    expect(twice).toEqual(once)
    const retried = await appendTurn(deps, tenant.as('ann'), input)
    expect(retried.turn).toMatchObject({ id: turn.id, status: 'ERASED', text: '' })
    const edit = { turnId: turn.id, turn: { role: 'USER' as const, content: 'x' } }
    await expect(supersedeTurn(deps, tenant.as('ann'), edit)).rejects.toThrow(Conflict)
    expect(await tablesContaining(deps.pool, CANARY)).toEqual([])
  })

  it('ends an open turn, whose writer can then neither append a delta nor commit', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ann = tenant.as('ann')
    const conversationId = await tenant.newConversation('ann')
    const { turn } = await openTurn(deps, ann, { conversationId, writerToken: WRITER, turn: { role: 'USER' } })
    const writer = { turnId: turn.id, writerToken: WRITER }
    await appendDelta(deps, ann, { ...writer, text: CANARY })
    await eraseTurn(deps, ann, { turnId: turn.id })
    expect(await tablesContaining(deps.pool, CANARY)).toEqual([])
    await expect(appendDelta(deps, ann, { ...writer, text: CANARY })).rejects.toThrow(StreamClosed)
    await expect(commitTurn(deps, ann, writer)).rejects.toThrow(StreamClosed)
    expect(await tablesContaining(deps.pool, CANARY)).toEqual([])
  })

  it('notifies live and resuming readers who saw the turn, former participants included, and no others', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob', 'gone', 'eve')
    const { id } = await tenant.append(conversationId, 'ann', CANARY, { audience: ['bob', 'gone'] })
    await removeParticipant(deps, tenant.as('ann'), { conversationId, actor: 'gone' })
    const seqBefore = (await tenant.lastSeq(conversationId))!
    const live = await readEventsOf(deps, tenant.as('bob'), { conversationId })
    const next = live[Symbol.asyncIterator]().next()
    await eraseTurn(deps, tenant.as('ann'), { turnId: id })
    expect((await next).value).toMatchObject({ type: 'TurnErased', seq: seqBefore + 1, turn: { id, text: '' } })
    await live[Symbol.asyncIterator]().return?.()
    const later = await tenant.append(conversationId, 'ann', 'to all')
    await eraseTurn(deps, tenant.as('ann'), { turnId: later.id })
    for (const [actor, erasedId] of [
      ['gone', id],
      ['eve', later.id],
    ] as const) {
      const resumed = await readEventsOf(deps, tenant.as(actor), {
        conversationId,
        afterSeq: seqBefore,
        types: ['TurnErased'],
      })
      const events = resumed[Symbol.asyncIterator]()
      expect((await events.next()).value, actor).toMatchObject({ type: 'TurnErased', turn: { id: erasedId } })
      await events.return?.()
    }
  })

  it('reactivates a fact that a fact of the turn superseded', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const ann = tenant.as('ann')
    const conversationId = await tenant.newConversation('ann')
    const early = await tenant.append(conversationId, 'ann', 'I live in Oslo.')
    const late = await tenant.append(conversationId, 'ann', 'I live in Bergen.')
    const record = async (object: string, sourceTurnId: string) =>
      (
        await recordFacts(deps, ann, {
          userId: 'ann',
          facts: [{ subject: 'ann', predicate: 'lives in', object, sourceTurnId }],
        })
      ).facts[0]!.id
    const [oslo, bergen] = [await record('Oslo', early.id), await record('Bergen', late.id)]
    await sql(deps.pool).query(
      `UPDATE fact SET superseded_by = $2, superseded_at = now(), supersede_reason = 'CONTRADICTED' WHERE id = $1`,
      [oslo, bergen],
    )
    await eraseTurn(deps, ann, { turnId: late.id })
    const facts = await getFacts(deps, ann, [oslo, bergen])
    expect([...facts.values()]).toEqual([expect.objectContaining({ id: oslo, supersededAt: null })])
    await retractFact(deps, ann, { factId: oslo })
  })

  it('needs the right `erase`, a visible turn, and for a turn of another actor the owner or an administrator', async () => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob')
    const { id: turnId } = await tenant.append(conversationId, 'ann', 'x', { audience: ['ann'] })
    const { id: open } = await tenant.append(conversationId, 'ann', 'y')
    const viewerOf = (
      actor: string,
      rights: Principal['rights'],
      conversations: Principal['conversations'] = null,
    ) => ({
      ...tenant.as(actor),
      principal: {
        tenant: tenant.name,
        actor,
        kind: 'HUMAN' as const,
        rights,
        conversations,
        credential: 'key:1',
        expiresAt: null,
      },
    })
    const erase = new Set(['erase'] as const)
    await expect(eraseTurn(deps, viewerOf('ann', new Set(['read', 'write'])), { turnId: open })).rejects.toThrow(
      NotAllowed,
    )
    await expect(eraseTurn(deps, viewerOf('bob', erase), { turnId })).rejects.toThrow(NotFound)
    await expect(eraseTurn(deps, viewerOf('bob', erase), { turnId: open })).rejects.toThrow(NotAllowed)
    await expect(eraseTurn(deps, viewerOf('ann', erase, new Set(['conv_x'])), { turnId: open })).rejects.toThrow(
      NotFound,
    )
    expect((await eraseTurn(deps, viewerOf('owner', erase), { turnId: open })).turn.status).toBe('ERASED')
    expect((await eraseTurn(deps, viewerOf('ann', erase), { turnId })).turn.status).toBe('ERASED')
  })

  it.each(['conversation', 'author'])('is refused while the %s is under legal hold', async (held) => {
    const { deps } = world
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const { id: turnId } = await tenant.append(conversationId, 'ann', 'x')
    const subject = held === 'conversation' ? { conversationId } : { userId: 'ann' }
    expect(await setLegalHold(deps, tenant.as('op'), { ...subject, legalHold: true })).toBe(true)
    await expect(eraseTurn(deps, tenant.as('ann'), { turnId })).rejects.toThrow('legal hold')
    expect(await setLegalHold(deps, tenant.as('op'), { ...subject, legalHold: false })).toBe(true)
    expect((await eraseTurn(deps, tenant.as('ann'), { turnId })).turn.status).toBe('ERASED')
  })
})
