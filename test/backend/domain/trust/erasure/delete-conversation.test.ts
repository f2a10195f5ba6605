// Deleting a conversation deletes its rows and all derived data from every table, and ends its subscriptions.

import { describe, expect, it } from 'vitest'
import { buildContext } from '../../../../../src/domain/memory/context/build.ts'
import { claimTurn } from '../../../../../src/domain/agent/claim/claim.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { DERIVATIVES } from '../../../../../src/domain/trust/erasure/derivatives.ts'
import { readEventsOf } from '../../../../../src/domain/turn/journal/reader.ts'
import { recordFacts } from '../../../../../src/domain/memory/fact/record.ts'
import { newId } from '../../../../../src/domain/kernel/id.ts'
import { addParticipant } from '../../../../../src/domain/conversation/participant/participant.ts'
import { updateSharedState } from '../../../../../src/domain/conversation/shared-state/update-shared-state.ts'
import { refreshUserProfile } from '../../../../../src/domain/memory/profile/refresh.ts'
import { runTurn } from '../../../../../src/domain/agent/run/start.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { summarize } from '../../../../../src/domain/memory/summary/compact.ts'
import { openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { pageOfTurns } from '../../../../../src/domain/turn/history.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import { pinTurn } from '../../../../../src/domain/turn/pin.ts'
import { getTurns } from '../../../../../src/domain/turn/turn.ts'
import { NotFound } from '../../../../../src/errors.ts'
import { countUserTurns } from '../../../../../src/store/sql/memory/profile/count-user-turns.ts'
import { requestedApprovals } from '../../../../support/approvals.ts'
import { backends } from '../../../../support/backend.ts'
import { uploadPng } from '../../../../support/files.ts'
import { createScriptedProvider } from '../../../../support/scripted-provider.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'
import { sql } from '../../../../support/sql.ts'

describe.each(backends)('deleting a conversation on $name', (backend) => {
  const world = useWorld(backend, { providers: { scripted: createScriptedProvider() } })

  /** Returns the tables with a row that contains one of the texts. */
  async function tablesWith(texts: string[]): Promise<string[]> {
    const { rows } = await sql(world.deps.pool).query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_class c
       WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
    )
    const found: string[] = []
    for (const { name } of rows) {
      const { rowCount } = await sql(world.deps.pool).query(
        `SELECT FROM "${name}" x WHERE to_jsonb(x)::text LIKE ANY ($1::text[]) LIMIT 1`,
        [texts.map((text) => `%${text}%`)],
      )
      if (rowCount) found.push(name)
    }
    return found
  }

  /**
   * Creates a conversation of ann and bob with rows in every table that stores a derivative. Returns its id, and `ids`:
   * this id and the ids of its summary, run, context, turns and facts.
   */
  async function fullConversation(tenant: Tenant, user: string): Promise<{ conversationId: string; ids: string[] }> {
    const { deps } = world
    const [ann, bob] = [tenant.as('ann'), tenant.as('bob')]
    const conversationId = await tenant.newConversation(
      'ann',
      'bob',
      { actor: 'bot', kind: 'AGENT' },
      { actor: 'helper', respond: 'ALWAYS' },
    )
    // The turn wakes up the helper.
    const publicTurn = await tenant.append(conversationId, 'ann', `${user} likes tea`)
    const privateTurn = await tenant.append(conversationId, 'ann', 'canary', { audience: ['bob'] })
    const call = { callId: 'k', name: 'n' }
    const parts = [{ toolCall: { ...call, arguments: {} } }, { toolResult: call }]
    const { turn: edited } = await supersedeTurn(deps, ann, { turnId: privateTurn.id, turn: { role: 'USER', parts } })
    const summary = await summarize(deps, ann, { conversationId, through: publicTurn.id })
    const { facts } = await recordFacts(deps, ann, {
      userId: user,
      facts: [{ subject: user, predicate: 'likes', object: 'tea', sourceTurnId: publicTurn.id }],
    })
    const context = await buildContext(deps, ann, { conversationId, tokenBudget: 1000, store: true })
    await updateSharedState(deps, ann, { conversationId, key: 'plan', value: 'canary' })
    // The attachment is deleted without a turn, too.
    await uploadPng(deps, ann, conversationId)
    // Keeps a former state.
    await pinTurn(deps, ann, { turnId: publicTurn.id })
    await refreshUserProfile(deps, ann, { userId: user })
    await countUserTurns(deps.db, [conversationId])
    const { turn: open } = await openTurn(deps, bob, {
      writerToken: WRITER,
      conversationId,
      turn: { role: 'ASSISTANT' },
    })
    await appendDelta(deps, bob, { writerToken: WRITER, turnId: open.id, text: 'canary' })
    const part = { number: 1, data: 'canary' }
    await appendDelta(deps, bob, { writerToken: WRITER, turnId: open.id, text: '', part })
    // With redaction, the newest text is held back.
    const redacting = { ...deps, redaction: { least: 'turns' as const, of: () => 'turns' as const, changed() {} } }
    const { turn: held } = await openTurn(redacting, ann, {
      writerToken: WRITER,
      conversationId,
      turn: { role: 'ASSISTANT' },
    })
    await appendDelta(redacting, ann, { writerToken: WRITER, turnId: held.id, text: 'canary' })
    await claimTurn(deps, bob, { turnId: publicTurn.id, claimToken: WRITER })
    const { run } = await runTurn(deps, ann, {
      conversationId,
      actor: 'bot',
      provider: 'scripted',
      replyTo: publicTurn.id,
    })
    await requestedApprovals(deps, tenant.name, conversationId)
    return {
      conversationId,
      ids: [
        conversationId,
        summary.id,
        run.id,
        context.id!,
        ...[publicTurn, privateTurn, edited, open, held, ...facts].map(({ id }) => id),
      ],
    }
  }

  it('deletes its rows from every table of the register, and no other rows', async () => {
    const tenant = world.tenant()
    const { conversationId, ids } = await fullConversation(tenant, 'ann')
    const other = await fullConversation(tenant, 'bob')
    const derived = DERIVATIVES.filter(({ onDelete }) => onDelete.by !== 'KEPT').map(({ table }) => table)
    const tables = derived.sort()
    // The vectors are written later, by background workers.
    await expect.poll(() => tablesWith(ids)).toEqual(tables)
    await expect.poll(() => tablesWith(other.ids)).toEqual(tables)
    const receipt = await deleteConversation(world.deps, tenant.as('ann'), conversationId)
    expect(receipt).toMatchObject({
      conversations: 1,
      turns: 7,
      facts: 1,
      summaries: 1,
      profiles: 1,
      completedAt: expect.any(Date),
    })
    expect(await tablesWith(ids)).toEqual(['audit_line', 'erasure'])
    expect(await tablesWith(other.ids)).toEqual(tables)
    const page = await pageOfTurns(world.deps, tenant.as('bob'), [other.conversationId], {})
    expect(page.get(other.conversationId)!.items).toHaveLength(6)
  })

  it('ends its subscriptions; later operations find nothing or fail with NotFound', async () => {
    const tenant = world.tenant()
    const ann = tenant.as('ann')
    const conversationId = await tenant.newConversation('ann')
    const turn = await tenant.append(conversationId, 'ann', 'one')
    const events = await readEventsOf(world.deps, ann, { conversationId, afterSeq: 0 })
    const types: string[] = []
    const ended = (async () => {
      for await (const event of events) types.push(event.type)
    })()
    await expect.poll(() => types.length).toBe(2)
    await deleteConversation(world.deps, ann, conversationId)
    await ended
    expect(types.at(-1)).toBe('ConversationDeleted')
    await expect(readEventsOf(world.deps, ann, { conversationId, afterSeq: 0 })).rejects.toThrow(NotFound)
    await expect(tenant.append(conversationId, 'ann', 'x')).rejects.toThrow(NotFound)
    const participant = { actor: 'x' }
    await expect(addParticipant(world.deps, tenant.as('x'), { conversationId, participant })).rejects.toThrow(NotFound)
    await expect(deleteConversation(world.deps, ann, conversationId)).rejects.toThrow(NotFound)
    expect((await getTurns(world.deps, ann, [turn.id])).size).toBe(0)
  })

  it('completes or rejects every concurrent append, and leaves no appended turn', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const appendMany = (count: number) =>
      Array.from({ length: count }, (_, n) => tenant.append(conversationId, 'ann', `${n}`).catch((error) => error))
    const sent = appendMany(40)
    await sent[0]
    const more = appendMany(20)
    await deleteConversation(world.deps, tenant.as('ann'), conversationId)
    for (const answer of await Promise.all([...sent, ...more])) {
      if (answer instanceof Error) expect(answer).toBeInstanceOf(NotFound)
    }
    expect(await tablesWith([conversationId])).toEqual(['audit_line', 'erasure'])
  })

  it('fails in another tenant, and for ids of other types', async () => {
    const [tenant, other] = [world.tenant(), world.tenant()]
    const conversationId = await tenant.newConversation('ann')
    for (const id of [conversationId, newId('conversation'), newId('turn'), '', 'conv_\0']) {
      await expect(deleteConversation(world.deps, other.as('ann'), id)).rejects.toThrow(NotFound)
    }
    expect(await tenant.lastSeq(conversationId)).toBe(1)
  })
})
