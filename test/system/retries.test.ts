// Every mutation is sent twice in sequence, and four times at the same time, through two processes: all calls together
// have the effect of one. A table in docs/reference.md, which lists every mutation of the schema, documents this.

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApiKey, revokeApiKey, rotateApiKey } from '../../src/domain/trust/api-key/api-key.ts'
import { claimTurn, releaseClaim, renewClaim } from '../../src/domain/agent/claim/claim.ts'
import { createConversation, updateConversation } from '../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../src/domain/deps.ts'
import { deleteConversation } from '../../src/domain/trust/erasure/delete-conversation.ts'
import { eraseTurn } from '../../src/domain/trust/erasure/erase-turn.ts'
import { continueErasures, eraseUser } from '../../src/domain/trust/erasure/erase-user.ts'
import { getErasure, type Erasure } from '../../src/domain/trust/erasure/erasure.ts'
import { pruneConversations } from '../../src/domain/trust/erasure/retention.ts'
import { updateTenantSettings } from '../../src/domain/conversation/tenant-settings.ts'
import { setLegalHold } from '../../src/domain/trust/erasure/legal-hold.ts'
import { extractFacts } from '../../src/domain/memory/fact/extract/extract.ts'
import { reconcileFacts } from '../../src/domain/memory/fact/reconcile/reconcile-facts.ts'
import { undoReconciliation } from '../../src/domain/memory/fact/reconcile/undo-reconciliation.ts'
import { recordFacts, retractFact } from '../../src/domain/memory/fact/record.ts'
import { addParticipant, markRead, removeParticipant } from '../../src/domain/conversation/participant/participant.ts'
import { deleteSharedState } from '../../src/domain/conversation/shared-state/delete-shared-state.ts'
import { updateSharedState } from '../../src/domain/conversation/shared-state/update-shared-state.ts'
import { setPresence } from '../../src/domain/conversation/presence.ts'
import { refreshUserProfile } from '../../src/domain/memory/profile/refresh.ts'
import { resolveApproval } from '../../src/domain/agent/run/approval/resolve-approval.ts'
import { updateParticipant } from '../../src/domain/conversation/participant/update-participant.ts'
import { appendDelta } from '../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../src/domain/turn/streaming/stream.ts'
import { cancelRun } from '../../src/domain/agent/run/cancel.ts'
import { runTurn } from '../../src/domain/agent/run/start.ts'
import { compact, summarize } from '../../src/domain/memory/summary/compact.ts'
import { continueExport } from '../../src/domain/trust/transfer/export.ts'
import { continueImport } from '../../src/domain/trust/transfer/import/import.ts'
import { cancelTransfer, startExport, startImport } from '../../src/domain/trust/transfer/transfer.ts'
import { appendTurn, appendTurns, openTurn } from '../../src/domain/turn/append/append.ts'
import { pinTurn, unpinTurn } from '../../src/domain/turn/pin.ts'
import { supersedeTurn } from '../../src/domain/turn/supersede.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'
import { DomainError } from '../../src/errors.ts'
import { schema } from '../../src/graphql/schema.ts'
import { requestedApprovals } from '../support/approvals.ts'
import { backends } from '../support/backend.ts'
import { newViewer, openSite, type Process, type Site } from '../support/process.ts'
import { sql } from '../support/sql.ts'
import { WRITER } from '../support/writer.ts'
import { SYSTEM } from '../../src/store/db/scope.ts'

const mutations = Object.keys(schema.getMutationType()!.getFields()).sort()

it('the table in docs/reference.md lists every mutation', () => {
  const text = readFileSync(new URL('../../docs/reference.md', import.meta.url), 'utf8')
  const rows = [...text.matchAll(/^\| `(\w+)` \| (?:always|with )[^|]*\| [^|]+ \|$/gm)].map(([, name]) => name)
  expect(rows.toSorted()).toEqual(mutations)
})

/** A conversation of ada with the participants ada and bob, and twelve turns by ada. */
type Given = { deps: Deps; ada: Viewer; conversationId: string; turnIds: string[] }

/** A mutation that is sent repeatedly. `prepare` prepares the state, and returns the call. */
type Row = {
  prepare(given: Given): Promise<(deps: Deps) => Promise<unknown>> | ((deps: Deps) => Promise<unknown>)
  /** Returns the parts of the answer that must be equal in all successful calls. */
  same?: (answer: any) => unknown
  /** The code with which all calls but one fail. */
  fails?: string
  /** Whether each call adds an entry to the journal. */
  addsEntry?: boolean
}

const identical = (answer: unknown) => answer
const idOf = ({ id }: { id: string }) => id
const turn = (content: string) => ({ role: 'USER' as const, content })

const opened = async ({ deps, ada, conversationId }: Given, text = 'Hello') => {
  const input = { conversationId, turn: { role: 'ASSISTANT' as const }, writerToken: WRITER }
  const { id: turnId } = (await openTurn(deps, ada, input)).turn
  if (text) await appendDelta(deps, ada, { turnId, writerToken: WRITER, text })
  return { turnId, writerToken: WRITER }
}
/** Returns the erasure when it is complete: the call that started it works for 2 s at most. */
async function completed(deps: Deps, viewer: Viewer, erasure: Erasure): Promise<Erasure> {
  let current = erasure
  while (current.receipt === null) {
    await continueErasures(deps)
    current = (await getErasure(deps, viewer, erasure.id))!
  }
  return current
}
const statement = (object: string) => ({ subject: 'ada', predicate: 'lives in', object })
const about = { userId: 'ada' }

const key = { name: 'robot', actor: 'robot', rights: ['read' as const] }
const newKey = async ({ deps, ada }: Given) => (await createApiKey(deps, ada, key)).apiKey.id

const file = {
  manifest: '{"type":"manifest","format":"colloquy-transcript","version":1,"scope":"TENANT"}',
  fileKey: 'file',
}
const HELD = '{"type":"heldUser","userId":"zoe","since":"2026-01-01T00:00:00Z"}'

const ROWS: Record<string, Row> = {
  createApiKey: {
    prepare:
      ({ ada }) =>
      (deps) =>
        createApiKey(deps, ada, key),
    fails: 'CONFLICT',
  },
  rotateApiKey: {
    async prepare(given) {
      const id = await newKey(given)
      return (deps) => rotateApiKey(deps, given.ada, { id, expectedVersion: 1 })
    },
    fails: 'CONFLICT',
  },
  revokeApiKey: {
    async prepare(given) {
      const id = await newKey(given)
      return (deps) => revokeApiKey(deps, given.ada, { id })
    },
    same: ({ name, revokedAt }) => ({ name, revokedAt }),
  },
  createConversation: {
    prepare:
      ({ ada }) =>
      (deps) =>
        createConversation(deps, ada, { key: 'project', title: 'Project' }),
    same: ({ conversation }) => conversation,
  },
  updateConversation: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        updateConversation(deps, ada, { conversationId, title: 'New', metadata: { a: 1 } }),
    same: ({ title, metadata }) => ({ title, metadata }),
    addsEntry: true,
  },
  deleteConversation: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        deleteConversation(deps, ada, conversationId),
    fails: 'NOT_FOUND',
  },
  eraseTurn: {
    prepare:
      ({ ada, turnIds }) =>
      (deps) =>
        eraseTurn(deps, ada, { turnId: turnIds[0]! }),
    same: identical,
  },
  eraseUser: {
    prepare:
      ({ ada }) =>
      async (deps) =>
        completed(deps, ada, await eraseUser(deps, ada, { userId: 'ada' })),
    same: ({ receipt }) => receipt.subject,
  },
  updateTenantSettings: {
    prepare:
      ({ ada }) =>
      (deps) =>
        updateTenantSettings(deps, ada, { retention: 'EPHEMERAL', ttlSeconds: 60, redact: 'turns' }),
    same: identical,
  },
  pruneConversations: {
    async prepare({ deps, ada, conversationId }) {
      await deps.db.of(SYSTEM).journal.updateMany({ where: { conversationId }, data: { updatedAt: new Date(0) } })
      return (other) => pruneConversations(other, ada, { olderThanDays: 1 })
    },
    same: () => null,
  },
  startExport: {
    prepare:
      ({ ada }) =>
      (deps) =>
        startExport(deps, ada, { scope: 'TENANT' }),
    same: ({ scope, state }) => ({ scope, state }),
  },
  continueExport: {
    async prepare({ deps, ada }) {
      const { id: transferId } = await startExport(deps, ada, { scope: 'TENANT' })
      return (other) => continueExport(other, ada, { transferId })
    },
    same: ({ lines, cursor }) => ({ lines, cursor }),
  },
  startImport: {
    prepare:
      ({ ada }) =>
      (deps) =>
        startImport(deps, ada, file),
    same: ({ id }) => id,
  },
  continueImport: {
    async prepare({ deps, ada }) {
      const { id: transferId } = await startImport(deps, ada, file)
      return (other) => continueImport(other, ada, { transferId, offset: 0, lines: [HELD] })
    },
    same: ({ lines, sha256 }) => ({ lines, sha256 }),
  },
  cancelTransfer: {
    async prepare({ deps, ada }) {
      const { id: transferId } = await startExport(deps, ada, { scope: 'TENANT' })
      return (other) => cancelTransfer(other, ada, { transferId })
    },
    same: ({ state }) => state,
  },
  setLegalHold: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        setLegalHold(deps, ada, { conversationId, legalHold: true }),
    same: () => null,
  },
  addParticipant: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        addParticipant(deps, ada, { conversationId, participant: { actor: 'eve', displayName: 'Eve' } }),
    same: identical,
  },
  updateParticipant: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        updateParticipant(deps, ada, {
          ...{ conversationId, actor: 'bob', displayName: 'Bob', historyVisibility: 'SINCE_JOINED' },
          metadataPatch: { a: 1 },
        }),
    same: identical,
  },
  removeParticipant: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        removeParticipant(deps, ada, { conversationId, actor: 'bob' }),
    same: identical,
  },
  markRead: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        markRead(deps, ada, { conversationId, seq: 3 }),
    same: identical,
  },
  setPresence: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        setPresence(deps, ada, { conversationId, state: 'TYPING' }, null),
    same: identical,
  },
  appendTurn: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        appendTurn(deps, ada, { conversationId, turn: { ...turn('once'), clientId: 'k' } }),
    same: ({ turn }) => turn,
  },
  appendTurns: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        appendTurns(deps, ada, {
          conversationId,
          turns: ['a', 'b'].map((clientId) => ({ ...turn(clientId), clientId })),
        }),
    same: ({ turns }) => turns,
  },
  supersedeTurn: {
    prepare:
      ({ ada, turnIds }) =>
      (deps) =>
        supersedeTurn(deps, ada, { turnId: turnIds[0]!, turn: { ...turn('edited'), clientId: 'k' } }),
    same: ({ turn }) => turn,
  },
  updateSharedState: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        updateSharedState(deps, ada, { conversationId, key: 'plan', merge: { n: 1 }, clientId: 'c' }),
    same: ({ state, version, seq }) => ({ state, version, seq }),
  },
  deleteSharedState: {
    async prepare({ deps, ada, conversationId }) {
      const { version } = await updateSharedState(deps, ada, { conversationId, key: 'plan', value: 1 })
      return (other) => deleteSharedState(other, ada, { conversationId, key: 'plan', expectedVersion: version })
    },
    fails: 'NOT_FOUND',
  },
  pinTurn: {
    prepare:
      ({ ada, turnIds }) =>
      (deps) =>
        pinTurn(deps, ada, { turnId: turnIds[0]! }),
    same: ({ turn }) => turn,
  },
  unpinTurn: {
    async prepare({ deps, ada, turnIds }) {
      await pinTurn(deps, ada, { turnId: turnIds[0]! })
      return (other) => unpinTurn(other, ada, { turnId: turnIds[0]! })
    },
    same: ({ turn }) => turn,
  },
  claimTurn: {
    prepare:
      ({ ada, turnIds }) =>
      (deps) =>
        claimTurn(deps, ada, { turnId: turnIds[0]!, claimToken: WRITER }),
    same: identical,
  },
  renewClaim: {
    async prepare({ deps, ada, turnIds }) {
      const claim = { turnId: turnIds[0]!, claimToken: WRITER }
      await claimTurn(deps, ada, claim)
      return (other) => renewClaim(other, ada, { ...claim, ttlSeconds: 600 })
    },
    same: ({ turnId, actor, scope }) => ({ turnId, actor, scope }),
  },
  releaseClaim: {
    async prepare({ deps, ada, turnIds }) {
      const claim = { turnId: turnIds[0]!, claimToken: WRITER }
      await claimTurn(deps, ada, claim)
      return (other) => releaseClaim(other, ada, claim)
    },
    same: ({ turnId, actor, scope }) => ({ turnId, actor, scope }),
  },
  resolveApproval: {
    async prepare({ deps, ada, conversationId }) {
      const [approvalId] = (await requestedApprovals(deps, ada.tenant, conversationId)).approvalIds
      const decision = {
        approvalId: approvalId!,
        decision: 'APPROVE',
        arguments: { amount: 3 },
        reason: 'fine',
      } as const
      return (other) => resolveApproval(other, ada, decision)
    },
    same: ({ approval }) => approval,
  },
  openTurn: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        openTurn(deps, ada, { conversationId, turn: { role: 'ASSISTANT', clientId: 'k' }, writerToken: WRITER }),
    same: ({ turn }) => turn,
  },
  appendDelta: {
    async prepare(given) {
      const open = await opened(given)
      return (deps) => appendDelta(deps, given.ada, { ...open, start: 5, text: ' world' })
    },
    same: identical,
  },
  commitTurn: {
    async prepare(given) {
      const open = await opened(given)
      const toolCall = { callId: 'c', name: 'look', arguments: '{"at":"it"}' }
      const parts = [{ toolCall }, { toolResult: { callId: 'c', name: 'look', result: null } }]
      return (deps) => commitTurn(deps, given.ada, { ...open, parts, model: 'm', metadata: { a: 1 } })
    },
    same: identical,
  },
  abortTurn: {
    async prepare(given) {
      const open = await opened(given)
      return (deps) => abortTurn(deps, given.ada, { ...open, reason: 'stopped' })
    },
    same: identical,
  },
  recordFacts: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        recordFacts(deps, ada, { conversationId, ...about, facts: [statement('Porto'), statement('Lisbon')] }),
    same: ({ facts, exactDuplicatesSkipped }) => facts.length + exactDuplicatesSkipped,
    addsEntry: true,
  },
  retractFact: {
    async prepare({ deps, ada, conversationId }) {
      const { facts } = await recordFacts(deps, ada, { conversationId, ...about, facts: [statement('Porto')] })
      return (other) => retractFact(other, ada, { factId: facts[0]!.id, reason: 'wrong' })
    },
    same: identical,
  },
  extractFacts: {
    async prepare({ deps, ada, conversationId }) {
      await appendTurn(deps, ada, { conversationId, turn: turn('I live in Lisbon. I work as a nurse.') })
      return (other) => extractFacts(other, ada, { conversationId })
    },
    same: ({ hasMore }) => hasMore,
  },
  reconcileFacts: {
    async prepare({ deps, ada, conversationId }) {
      const facts = [statement('Porto'), statement('Lisbon')]
      await recordFacts(deps, ada, { conversationId, ...about, facts })
      return (other) => reconcileFacts(other, ada, { ...about, conversationId })
    },
    same: () => null,
  },
  undoReconciliation: {
    async prepare({ deps, ada, conversationId }) {
      const { facts } = await recordFacts(deps, ada, {
        conversationId,
        ...about,
        facts: [
          { ...statement('Porto'), observedAt: new Date(Date.UTC(2026, 0, 1)) },
          { ...statement('Lisbon'), observedAt: new Date(Date.UTC(2026, 0, 2)) },
        ],
      })
      await reconcileFacts(deps, ada, { ...about, conversationId })
      return (other) => undoReconciliation(other, ada, { factId: facts[0]!.id, reason: 'both' })
    },
    same: identical,
  },
  refreshUserProfile: {
    async prepare({ deps, ada, conversationId }) {
      await recordFacts(deps, ada, { conversationId, ...about, facts: [statement('Porto')] })
      return (other) => refreshUserProfile(other, ada, about)
    },
    same: ({ content }) => content,
  },
  summarize: {
    prepare:
      ({ ada, conversationId, turnIds }) =>
      (deps) =>
        summarize(deps, ada, { conversationId, through: turnIds[5] }),
    same: idOf,
  },
  runTurn: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        runTurn(deps, ada, {
          conversationId,
          actor: 'bob',
          turns: [turn('{"echo": {"text": "Me."}}')],
          clientId: 'run',
        }),
    same: ({ run, turns }) => ({ run, turns: turns.map(idOf) }),
  },
  cancelRun: {
    async prepare({ deps, ada, conversationId }) {
      const tools = [{ name: 'look_up', description: 'Looks something up.' }]
      const turns = [turn('{"echo": {"tools": [{"name": "look_up"}]}}')]
      const { run } = await runTurn(deps, ada, { conversationId, actor: 'bob', turns, tools })
      return (other) => cancelRun(other, ada, { runId: run.id })
    },
    same: ({ id, state, version }) => ({ id, state, version }),
  },
  compact: {
    prepare:
      ({ ada, conversationId }) =>
      (deps) =>
        compact(deps, ada, { conversationId, policy: { triggerTurns: 8 } }),
    same: () => null,
  },
}

/** The rows of a tenant, as one JSON object. */
const STORED = `
  WITH conversations AS (SELECT * FROM conversation WHERE tenant = $1),
    ids AS (SELECT id FROM conversations)
  SELECT jsonb_build_object(
    'conversations', (
      SELECT jsonb_agg(jsonb_build_array(key, title, metadata, legal_hold, expires_at IS NULL) ORDER BY created_at)
      FROM conversations),
    'approvals', (
      SELECT jsonb_agg(jsonb_build_array(state, edited_arguments, reason, decided_by) ORDER BY id)
      FROM approval WHERE tenant = $1),
    'runs', (SELECT jsonb_agg(jsonb_build_array(state, round) ORDER BY created_at) FROM run WHERE tenant = $1),
    'settings', (SELECT jsonb_agg(jsonb_build_array(retention, ttl_seconds)) FROM tenant_settings WHERE tenant = $1),
    'keys', (SELECT jsonb_agg(jsonb_build_array(name, version, revoked_at IS NULL)) FROM api_key WHERE tenant = $1),
    'turns', (
      SELECT jsonb_agg(jsonb_build_array(status, text, model, client_id, pinned, jsonb_array_length(parts),
        supersedes IS NULL, superseded_by IS NULL) ORDER BY seq)
      FROM turn WHERE conversation_id IN (SELECT * FROM ids)),
    'participants', (
      SELECT jsonb_agg(jsonb_build_array(actor, removed, last_read_seq, display_name, windows, metadata,
        left_at IS NULL) ORDER BY actor)
      FROM participant WHERE conversation_id IN (SELECT * FROM ids)),
    'states', (
      SELECT jsonb_agg(jsonb_build_array(key, value, version) ORDER BY key)
      FROM shared_state WHERE conversation_id IN (SELECT * FROM ids)),
    'facts', (
      SELECT jsonb_agg(jsonb_build_array(object, supersede_reason, supersede_note) ORDER BY object)
      FROM fact WHERE tenant = $1),
    'profiles', (SELECT jsonb_agg(content) FROM user_profile WHERE tenant = $1),
    'summaries', (
      SELECT jsonb_agg(jsonb_build_array(from_seq, to_seq, content) ORDER BY to_seq)
      FROM summary WHERE conversation_id IN (SELECT * FROM ids) AND superseded_by IS NULL),
    'chunks', (
      SELECT jsonb_agg(c.text ORDER BY c.start) FROM chunk c JOIN stream s USING (turn_id) WHERE s.tenant = $1),
    -- Each call of startExport starts an export.
    'transfers', (
      SELECT jsonb_agg(DISTINCT jsonb_build_array(direction, scope, state, lines, counts)) FROM transfer WHERE tenant = $1),
    'held', (SELECT jsonb_agg(user_id) FROM held_user WHERE tenant = $1),
    -- Each renewal sets another time.
    'claims', (
      SELECT jsonb_agg(jsonb_build_array(slot, outcome, expires_at > now() + interval '2 minutes'))
      FROM claim WHERE tenant = $1)) AS stored`

it('ROWS has a row for every mutation, and no other row', () => {
  expect(Object.keys(ROWS).sort()).toEqual(mutations)
})

describe.each(backends)('on $name, sending the mutation', (backend) => {
  let site: Site
  let processes: Process[]
  beforeAll(async () => {
    site = await openSite(backend)
    processes = [await site.start(), await site.start()]
  })
  afterAll(() => site.close())

  async function start(): Promise<Given> {
    const { deps } = processes[0]!
    const ada = newViewer()
    const participants = [{ actor: 'ada' }, { actor: 'bob' }]
    const { id: conversationId } = (await createConversation(deps, ada, { participants })).conversation
    const turns = Array.from({ length: 12 }, (_, n) => turn(`The ${n + 1}th ship is in the harbour.`))
    const { turns: written } = await appendTurns(deps, ada, { conversationId, turns })
    return { deps, ada, conversationId, turnIds: written.map(idOf) }
  }

  /** Reads the tenant's rows, without ids, times, and the numbers of assertions and journal entries. */
  async function stored({ deps, ada: { tenant }, conversationId }: Given) {
    const { rows } = await sql(deps.pool).query<{ stored: object }>(STORED, [tenant])
    const states = await deps.presence.states([conversationId])
    return { ...rows[0]!.stored, presence: [...(states.get(conversationId) ?? [])] }
  }
  const lastSeqs = ({ deps, ada }: Given) =>
    deps.db
      .of(SYSTEM)
      .journal.findMany({ where: { tenant: ada.tenant }, select: { lastSeq: true }, orderBy: { lastSeq: 'asc' } })

  /** Checks the answers of the calls; the first call that succeeds makes the change. */
  function check({ same, fails }: Row, answers: readonly PromiseSettledResult<unknown>[]): void {
    const rejected = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []))
    const fulfilled = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    for (const reason of rejected) if (!(reason instanceof DomainError)) throw reason
    expect(rejected.map((reason) => (reason as DomainError).code)).toEqual(
      fails ? Array(answers.length - 1).fill(fails) : [],
    )
    if (same) for (const answer of fulfilled) expect(same(answer)).toEqual(same(fulfilled[0]))
  }

  describe.each(Object.entries(ROWS))('%s', (_, row) => {
    let given: Given
    let send: (deps: Deps) => Promise<unknown>
    let first: unknown
    /** The stored data after one call. */
    let after: Awaited<ReturnType<typeof stored>>
    let seqs: Awaited<ReturnType<typeof lastSeqs>>

    beforeAll(async () => {
      given = await start()
      send = await row.prepare(given)
      const untouched = await stored(given)
      first = await send(processes[0]!.deps)
      ;[after, seqs] = [await stored(given), await lastSeqs(given)]
      expect(after).not.toEqual(untouched)
    })

    it('twice in sequence has the effect of one call', async () => {
      const [second] = await Promise.allSettled([send(processes[1]!.deps)])
      check(row, [{ status: 'fulfilled', value: first }, second])
      expect(await stored(given)).toEqual(after)
      if (!row.addsEntry) expect(await lastSeqs(given)).toEqual(seqs)
    })

    it('four times at the same time has the effect of one call', async () => {
      const other = await start()
      const sendOther = await row.prepare(other)
      check(row, await Promise.allSettled([0, 1, 0, 1].map((n) => sendOther(processes[n]!.deps))))
      expect(await stored(other)).toEqual(after)
      if (!row.addsEntry) expect(await lastSeqs(other)).toEqual(seqs)
    })
  })
})
