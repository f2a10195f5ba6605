// Operations of the domain, called with the ids of another tenant. They must answer as if the ids did not exist, and
// must neither write nor lock a row: Postgres records a row's last locker in xmax, on both databases.

import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { updateConversation } from '../../src/domain/conversation.ts'
import { buildContext } from '../../src/domain/context/build.ts'
import { deleteConversation } from '../../src/domain/erasure/delete-conversation.ts'
import { extractFacts } from '../../src/domain/fact/extract.ts'
import { recordFacts, retractFact } from '../../src/domain/fact/record.ts'
import { addParticipant, markRead, removeParticipant } from '../../src/domain/participant.ts'
import { setPresence } from '../../src/domain/presence.ts'
import { abortTurn, appendDelta, commitTurn } from '../../src/domain/streaming-turn/stream.ts'
import { compact } from '../../src/domain/summary/compact.ts'
import { appendTurn, appendTurns, openTurn } from '../../src/domain/turn/append.ts'
import { supersedeTurn } from '../../src/domain/turn/supersede.ts'
import type { Viewer } from '../../src/domain/view.ts'
import { NotFound } from '../../src/errors.ts'
import { backends } from '../support/backend.ts'
import { rowsOf } from '../support/rows.ts'
import { useWorld, type Tenant, type TestWorld } from '../support/world.ts'
import { WRITER } from '../support/writer.ts'
import { sql } from '../support/sql.ts'

type Ids = { conversationId: string; turnId: string; openId: string; factId: string }
type Operation = (deps: TestWorld['deps'], viewer: Viewer, ids: Ids) => Promise<unknown>

const operations: Record<string, Operation> = {
  appendTurn: (deps, viewer, { conversationId }) =>
    appendTurn(deps, viewer, { conversationId, turn: { role: 'USER', content: 'hello' } }),
  'appendTurn with an audience': (deps, viewer, { conversationId }) =>
    appendTurn(deps, viewer, { conversationId, turn: { role: 'USER', content: 'hello', audience: ['bob'] } }),
  appendTurns: (deps, viewer, { conversationId }) =>
    appendTurns(deps, viewer, { conversationId, turns: [{ role: 'USER', content: 'hello', audience: ['bob'] }] }),
  openTurn: (deps, viewer, { conversationId }) =>
    openTurn(deps, viewer, { writerToken: WRITER, conversationId, turn: { role: 'ASSISTANT' } }),
  appendDelta: (deps, viewer, { openId: turnId }) =>
    appendDelta(deps, viewer, { writerToken: WRITER, turnId, text: 'x' }),
  commitTurn: (deps, viewer, { openId: turnId }) => commitTurn(deps, viewer, { writerToken: WRITER, turnId }),
  abortTurn: (deps, viewer, { openId: turnId }) => abortTurn(deps, viewer, { writerToken: WRITER, turnId }),
  supersedeTurn: (deps, viewer, { turnId }) =>
    supersedeTurn(deps, viewer, { turnId, turn: { role: 'USER', content: 'hello' } }),
  updateConversation: (deps, viewer, { conversationId: id }) =>
    updateConversation(deps, viewer, { conversationId: id, title: 'x' }),
  deleteConversation: (deps, viewer, { conversationId }) => deleteConversation(deps, viewer, conversationId),
  addParticipant: (deps, viewer, { conversationId }) =>
    addParticipant(deps, viewer, { conversationId, participant: { actor: 'bob', displayName: 'x' } }),
  removeParticipant: (deps, viewer, { conversationId }) =>
    removeParticipant(deps, viewer, { conversationId, actor: 'bob' }),
  markRead: (deps, viewer, { conversationId }) => markRead(deps, viewer, { conversationId, seq: 1 }),
  setPresence: (deps, viewer, { conversationId }) =>
    setPresence(deps, viewer, { conversationId, state: 'TYPING' }, null),
  compact: (deps, viewer, { conversationId }) => compact(deps, viewer, { conversationId }),
  buildContext: (deps, viewer, { conversationId }) =>
    buildContext(deps, viewer, { conversationId, tokenBudget: 1_000 }),
  extractFacts: (deps, viewer, { conversationId }) => extractFacts(deps, viewer, { conversationId }),
  recordFacts: (deps, viewer, { turnId }) =>
    recordFacts(deps, viewer, {
      userId: 'ann',
      facts: [{ subject: 'ann', predicate: 'likes', object: 'tea', sourceTurnId: turnId }],
    }),
  retractFact: (deps, viewer, { factId }) => retractFact(deps, viewer, { factId }),
}

/** With row-level security, and with only the explicit conditions of the statements: each must isolate tenants. */
const variants = backends.flatMap((backend) =>
  ['with policies', 'without policies'].map((policies) => ({ backend, policies, name: backend.name })),
)

describe.each(variants)('ids on $name, $policies,', ({ backend, policies }) => {
  const world = useWorld(backend)
  // Embedding runs in the background, and locks the turns whose vectors it writes.
  beforeAll(async () => {
    await world.deps.embedding.stop()
    await world.deps.factEmbedding.stop()
  })
  if (policies === 'without policies')
    beforeAll(async () => {
      const { rows } = await sql(world.deps.pool).query('SELECT polrelid::regclass AS name FROM pg_policy GROUP BY 1')
      for (const { name } of rows) await sql(world.deps.pool).query(`ALTER TABLE ${name} DISABLE ROW LEVEL SECURITY`)
    })

  /** Creates a conversation in which "bob" was never addressed, with an open turn and a fact. */
  async function createObjects(tenant: Tenant): Promise<Ids> {
    const conversationId = await tenant.newConversation('ann', 'bob')
    const { id: turnId } = await tenant.append(conversationId, 'ann', 'I like tea.')
    const { turn: open } = await openTurn(world.deps, tenant.as('ann'), {
      writerToken: WRITER,
      conversationId,
      turn: { role: 'ASSISTANT' },
    })
    const facts = [{ subject: 'ann', predicate: 'likes', object: 'tea', sourceTurnId: turnId }]
    const { facts: stored } = await recordFacts(world.deps, tenant.as('ann'), { conversationId, facts })
    return { conversationId, turnId, openId: open.id, factId: stored[0]!.id }
  }

  it.each(Object.entries(operations))(
    'of another tenant are unknown to %s, which writes and locks no row',
    async (_, operation) => {
      const [tenant, stranger] = [world.tenant(), world.tenant()]
      const ids = await createObjects(tenant)
      const before = await rowsOf(world.deps.pool)
      await expect(operation(world.deps, stranger.as('ann'), ids)).rejects.toThrow(NotFound)
      expect(await rowsOf(world.deps.pool)).toEqual(before)
    },
  )

  it('of actors in the audience of a rejected call are not marked as addressed', async () => {
    const tenant = world.tenant()
    const { conversationId } = await createObjects(tenant)
    const before = await sql(world.deps.pool).query('SELECT * FROM participant WHERE conversation_id = $1', [
      conversationId,
    ])
    const turn = { role: 'USER' as const, content: 'hello', audience: ['bob'] }
    await expect(
      appendTurn(world.deps, tenant.as('ann'), { conversationId, turn, expectedLastSeq: 1 }),
    ).rejects.toThrow('expectedLastSeq')
    const after = await sql(world.deps.pool).query('SELECT * FROM participant WHERE conversation_id = $1', [
      conversationId,
    ])
    expect(after.rows).toEqual(before.rows)
  })

  it('of another tenant do not add a delta to the queued deltas of the writer', async () => {
    const [tenant, stranger] = [world.tenant(), world.tenant()]
    const { openId: turnId } = await createObjects(tenant)
    const sent = await Promise.allSettled([
      appendDelta(world.deps, tenant.as('ann'), { writerToken: WRITER, turnId, text: 'one ' }),
      appendDelta(world.deps, stranger.as('ann'), { writerToken: WRITER, turnId, text: 'forged ' }),
      appendDelta(world.deps, tenant.as('ann'), { writerToken: WRITER, turnId, text: 'two' }),
    ])
    expect(sent.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await commitTurn(world.deps, tenant.as('ann'), { writerToken: WRITER, turnId })).text).toBe('one two')
  })

  // The embedded database accepts no second client that could lock a row.
  if (backend.name === 'postgres')
    it('of another tenant are rejected even while the conversation is locked, and delay no call of the owning tenant', async () => {
      const [tenant, stranger] = [world.tenant(), world.tenant()]
      const { conversationId } = await createObjects(tenant)
      const client = new pg.Client(world.url)
      await client.connect()
      await client.query('BEGIN')
      await client.query('SELECT FROM journal WHERE conversation_id = $1 FOR UPDATE', [conversationId])
      const own = tenant.append(conversationId, 'ann', 'mine')
      await expect(stranger.append(conversationId, 'ann', 'theirs')).rejects.toThrow(NotFound)
      await client.query('COMMIT')
      await client.end()
      await own
    })
})
