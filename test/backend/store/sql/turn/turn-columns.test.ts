// Every way to write a turn stores every column. A column that a statement leaves out, or that this table does not
// name, fails here.

import { describe, expect, it } from 'vitest'
import { RIGHTS } from '../../../../../src/domain/kernel/rights/principal.ts'
import { appendDelta } from '../../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../../src/domain/turn/streaming/stream.ts'
import { buildContext } from '../../../../../src/domain/memory/context/build.ts'
import { appendTurn, appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../../../src/domain/turn/supersede.ts'
import type { TurnInput } from '../../../../../src/domain/turn/append/turn-input.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { backends } from '../../../../support/backend.ts'
import { sql } from '../../../../support/sql.ts'
import { useWorld } from '../../../../support/world.ts'

const TEXT = 'The ferry leaves at nine, @bob.'
const CREATED_AT = new Date('2024-02-03T04:05:06.789Z')
const REASONING = { reasoning: 'The timetable says so.', signature: 's' }

/** An input with every field that no way to write a turn excludes. */
const given = {
  role: 'ASSISTANT',
  clientId: 'client-1',
  pinned: true,
  tokenUsage: { prompt: 3, completion: 4 },
  model: 'a-model',
  adapter: 'an-adapter',
  traceId: 'a-trace',
  citations: [{ documentId: 'a-document', score: 0.5 }],
  metadata: { colour: 'red' },
  createdAt: CREATED_AT,
} as const satisfies TurnInput
const parts: TurnInput['parts'] = [{ text: TEXT }, { reasoning: REASONING }]

const WAYS = ['a plain append', 'a full append', 'a batch', 'a newer version', 'a streamed turn'] as const
type Way = (typeof WAYS)[number]

/** Returns the viewer ann of the tenant, who writes with a credential of her own. */
const annOf = (tenant: string): Viewer => ({
  tenant,
  actor: 'ann',
  principal: {
    tenant,
    actor: 'ann',
    kind: 'AGENT',
    rights: new Set(RIGHTS),
    conversations: null,
    credential: 'key:ann',
    expiresAt: null,
  },
})

/** Ids that a turn names, which a plain append does not write. */
type Links = { replyToId: string; contextId: string }

/** A written turn. */
type Written = { [Link in keyof Links]: string | null } & {
  way: Way
  tenant: string
  conversationId: string
  turnId: string
  supersedes: string | null
}

const aNumber: unknown = expect.any(Number)

/** Returns the stored value of each column, by name. */
const columnsOf = ({
  way,
  tenant,
  conversationId,
  turnId,
  replyToId,
  contextId,
  supersedes,
}: Written): Record<string, unknown> => ({
  id: turnId,
  conversation_id: conversationId,
  tenant,
  seq: aNumber,
  root_seq: aNumber,
  actor: 'ann',
  author_kind: 'AGENT',
  role: 'ASSISTANT',
  status: 'COMMITTED',
  text: TEXT,
  parts: [
    { type: 'text', text: TEXT },
    { type: 'reasoning', ...REASONING },
  ],
  audience: way === 'a plain append' || way === 'a newer version' ? null : ['ann', 'bob'],
  mentions: ['bob'],
  token_count: aNumber,
  prompt_tokens: 3,
  completion_tokens: 4,
  model: 'a-model',
  adapter: 'an-adapter',
  trace_id: 'a-trace',
  sources: [{ documentId: 'a-document', score: 0.5 }],
  pinned: true,
  metadata: { colour: 'red' },
  client_id: 'client-1',
  client_hash: expect.any(String),
  supersedes,
  superseded_by: null,
  reply_to_id: replyToId,
  context_id: contextId,
  end_hash: way === 'a streamed turn' ? expect.any(String) : null,
  abort_reason: null,
  created_at: CREATED_AT,
  imported_at: expect.any(Date),
  terms: expect.arrayContaining([aNumber]),
  cues: aNumber,
  removed_at: null,
  content_hash: null,
})

describe.each(backends)('on $name, every column is stored by', (backend) => {
  const world = useWorld(backend)

  const writes: Record<Way, (viewer: Viewer, conversationId: string, links: Links) => Promise<Partial<Written>>> = {
    async 'a plain append'(viewer, conversationId) {
      const { turn } = await appendTurn(world.deps, viewer, { conversationId, turn: { ...given, parts } })
      return { turnId: turn.id }
    },
    async 'a full append'(viewer, conversationId, links) {
      const turn = { ...given, parts, audience: ['bob'], ...links }
      const { turn: written } = await appendTurn(world.deps, viewer, { conversationId, turn })
      return { turnId: written.id, ...links }
    },
    async 'a batch'(viewer, conversationId, links) {
      const turn = { ...given, parts, audience: ['bob'], ...links }
      const turns = [{ role: 'USER' as const, content: 'First.' }, turn]
      const { turns: written } = await appendTurns(world.deps, viewer, { conversationId, turns })
      return { turnId: written[1]!.id, ...links }
    },
    async 'a newer version'(viewer, conversationId, links) {
      const first = { role: 'ASSISTANT' as const, content: 'At eight.' }
      const { turn: older } = await appendTurn(world.deps, viewer, { conversationId, turn: first })
      const turn = { ...given, parts, ...links }
      const { turn: newer } = await supersedeTurn(world.deps, viewer, { turnId: older.id, turn })
      return { turnId: newer.id, ...links, supersedes: older.id }
    },
    async 'a streamed turn'(viewer, conversationId, links) {
      const writerToken = 'a-token-of-the-writer-1'
      const turn = { ...given, audience: ['bob'], ...links }
      const { turn: opened } = await openTurn(world.deps, viewer, { conversationId, turn, writerToken })
      await appendDelta(world.deps, viewer, { turnId: opened.id, writerToken, text: TEXT })
      await commitTurn(world.deps, viewer, { turnId: opened.id, writerToken, parts: [{ reasoning: REASONING }] })
      return { turnId: opened.id, ...links }
    },
  }

  it.each(WAYS)('%s', async (way) => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation({ actor: 'ann', kind: 'AGENT' }, 'bob')
    const { id: question } = await tenant.append(conversationId, 'bob', 'When?')
    const ann = annOf(tenant.name)
    const { id: contextId } = await buildContext(world.deps, ann, { conversationId, tokenBudget: 100, store: true })
    const result = await writes[way](ann, conversationId, { replyToId: question, contextId: contextId! })
    const written = {
      way,
      tenant: tenant.name,
      conversationId,
      turnId: '',
      replyToId: null,
      contextId: null,
      supersedes: null,
      ...result,
    }
    const { rows } = await sql(world.deps.pool).query('SELECT * FROM turn WHERE id = $1', [written.turnId])
    expect(rows).toEqual([columnsOf(written)])
  })
})
