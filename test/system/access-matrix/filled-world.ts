// The world of the access matrix, filled once per database: tenants with objects of each kind that a viewer must not
// see, and for each a control tenant that is equal except that it lacks these objects.

import { createApiKey } from '../../../src/domain/trust/api-key/api-key.ts'
import { createConversation, updateConversation } from '../../../src/domain/conversation/conversation.ts'
import { updateSharedState } from '../../../src/domain/conversation/shared-state/update-shared-state.ts'
import type { Deps } from '../../../src/domain/deps.ts'
import { recordFacts, retractFact } from '../../../src/domain/memory/fact/record.ts'
import type { Fact } from '../../../src/domain/memory/fact/fact.ts'
import { kindOf, newId } from '../../../src/domain/kernel/id.ts'
import { addParticipant, removeParticipant } from '../../../src/domain/conversation/participant/participant.ts'
import { RIGHTS } from '../../../src/domain/kernel/rights/principal.ts'
import { runTurn } from '../../../src/domain/agent/run/start.ts'
import { appendDelta } from '../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../../src/domain/turn/streaming/stream.ts'
import { buildContext } from '../../../src/domain/memory/context/build.ts'
import { compact, summarize } from '../../../src/domain/memory/summary/compact.ts'
import { openTurn } from '../../../src/domain/turn/append/append.ts'
import { supersedeTurn } from '../../../src/domain/turn/supersede.ts'
import type { Turn } from '../../../src/domain/turn/turn.ts'
import { requestedApprovals } from '../../support/approvals.ts'
import { waitForFactVectors, waitForTurnVectors } from '../../support/recall.ts'
import { UNLOCKED } from '../../support/rows.ts'
import { sql } from '../../support/sql.ts'
import type { Tenant, TestWorld } from '../../support/world.ts'
import { WRITER } from '../../support/writer.ts'
import type { Ids as ObjectIds } from '../driven-server.ts'
import type { Row } from './rows.ts'

/** Part of every text that is hidden from the viewers of the matrix. */
export const CANARY = 'zanzibar7f3a9'
/** The object of a hidden fact. It contains a word of the embedder's vocabulary, so that the fact gets a vector. */
const HIDDEN_OBJECT = `secret of ${CANARY}`
/** Id of a tool call in a private turn. */
export const PRIVATE_CALL = 'k2'
const HIDDEN_KEY = 'hidden'

/** Ids of one object of each kind, and of all other turns and facts. In a control tenant, ids that do not exist. */
export type Ids = ObjectIds & { others: string[]; writerToken: string }
/** A tenant with the ids to send. `visible` is the id of a conversation that the viewers see. */
export type Side = { tenant: Tenant; ids: Ids; visible: string }
/** A viewer must get equal answers from both sides. `hidden` is the side whose rows must not change. */
export type Pair = { subject: Side; control: Side; hidden: Side }
export type FilledWorld = { pairOf(row: Row): Pair; members: Pair; whisper: Pair }

/** Returns ids that do not exist. */
export const unknownIds = (): Ids => ({
  conversation: newId('conversation'),
  key: HIDDEN_KEY,
  turn: newId('turn'),
  open: newId('turn'),
  fact: newId('fact'),
  summary: newId('summary'),
  context: newId('context'),
  run: newId('run'),
  approval: newId('approval'),
  others: [newId('turn'), newId('turn'), newId('turn')],
  writerToken: WRITER,
})

/** Waits for the next millisecond, because lists order facts of one millisecond by their ids, which are random. */
async function nextMillisecond(): Promise<void> {
  for (const start = Date.now(); Date.now() === start;) await new Promise(setImmediate)
}

const toBob = { role: 'USER' as const, audience: ['bob'] }
const call = (callId: string) => ({ toolCall: { callId, name: CANARY, arguments: { of: CANARY } } })
const ECHO_LOOK_UP = '{"echo": {"tools": [{"name": "look_up"}]}}'
const LOOK_UP = { name: 'look_up', description: 'Looks something up.' }

/** Fills tenants through the domain, and collects what the embedding workers have to embed. */
function filler(deps: Deps) {
  const turns: Turn[] = []
  const facts = new Map<string, Fact>()

  async function recordFact(tenant: Tenant, actor: string, object: string, sourceTurnId: string, subject = 'ann') {
    await nextMillisecond()
    const fact = { subject, predicate: 'has a', object, sourceTurnId }
    const recorded = await recordFacts(deps, tenant.as(actor), { userId: 'ann', facts: [fact] })
    const [recordedFact] = recorded.facts
    facts.set(recordedFact!.id, recordedFact!)
    return recordedFact!.id
  }

  async function retract(tenant: Tenant, factId: string, reason: string): Promise<void> {
    await retractFact(deps, tenant.as('ann'), { factId, reason })
    facts.delete(factId)
  }

  /** Creates an OPEN conversation of ann and eve. Returns its id. */
  async function visibleConversation(tenant: Tenant): Promise<string> {
    const conversationId = await tenant.newConversation('ann', 'eve')
    const turn = await tenant.append(conversationId, 'ann', 'I walk to the harbour every day.')
    turns.push(turn)
    for (const object of ['home in Oslo', 'cup of tea']) await recordFact(tenant, 'ann', object, turn.id)
    return conversationId
  }

  /** Creates a MEMBERS conversation of ann, bob and a former participant, with objects of each kind. */
  async function membersConversation(tenant: Tenant): Promise<Ids> {
    const ann = tenant.as('ann')
    const { conversation } = await createConversation(deps, ann, {
      key: HIDDEN_KEY,
      title: CANARY,
      metadata: { secret: true },
      visibility: 'MEMBERS',
      participants: [{ actor: 'ann' }, { actor: 'bob', displayName: CANARY }, { actor: 'gone' }, { actor: 'bot' }],
    })
    const conversationId = conversation.id
    await removeParticipant(deps, ann, { conversationId, actor: 'gone' })
    const first = await tenant.append(conversationId, 'ann', `${CANARY} I live in the harbour.`)
    const { id: summary } = await summarize(deps, ann, { conversationId })
    const factIds: string[] = []
    for (const object of ['house in the harbour', 'cup of tea', HIDDEN_OBJECT])
      factIds.push(await recordFact(tenant, 'ann', object, first.id))
    const given = { writerToken: WRITER, conversationId, turn: { role: 'ASSISTANT' as const } }
    const { turn: open } = await openTurn(deps, ann, given)
    await appendDelta(deps, ann, { writerToken: WRITER, turnId: open.id, text: CANARY })
    turns.push(first)
    const context = await storedContext(tenant, conversationId)
    return {
      ...unknownIds(),
      ...(await runAndApproval(tenant, conversationId, first.id)),
      context,
      summary,
      turn: first.id,
      open: open.id,
      conversation: conversationId,
      key: HIDDEN_KEY,
      fact: factIds.at(-1)!,
      others: factIds,
    }
  }

  /** Stores a context in the view of ann. Returns its id. */
  async function storedContext(tenant: Tenant, conversationId: string): Promise<string> {
    const input = { conversationId, tokenBudget: 8_000, includeFacts: true, store: true }
    return (await buildContext(deps, tenant.as('ann'), input)).id!
  }

  async function runAndApproval(tenant: Tenant, conversationId: string, replyTo: string, audience?: string[]) {
    const calls = [{ callId: 'c1', arguments: { amount: 5, to: CANARY } }]
    const { approvalIds } = await requestedApprovals(deps, tenant.name, conversationId, { calls, audience })
    const { run } = await runTurn(deps, tenant.as('ann'), {
      conversationId,
      actor: audience ? 'bob' : 'ann',
      replyTo,
      instructions: ECHO_LOOK_UP,
      tools: [LOOK_UP],
    })
    return { run: run.id, approval: approvalIds[0]! }
  }

  /**
   * Creates an OPEN conversation, which "gone" leaves before its first turn and "late" joins without its history.
   * @param withPrivate whether ann sends private turns of each kind to bob
   */
  async function whisperConversation(tenant: Tenant, withPrivate: boolean): Promise<Ids> {
    const { conversation } = await createConversation(deps, tenant.as('owner'), {
      key: HIDDEN_KEY,
      participants: ['ann', 'bob', 'eve', 'gone', 'bot'].map((actor) => ({ actor })),
    })
    const conversationId = conversation.id
    await removeParticipant(deps, tenant.as('gone'), { conversationId, actor: 'gone' })
    const late = { actor: 'late', historyVisibility: 'SINCE_JOINED' as const }
    await addParticipant(deps, tenant.as('late'), { conversationId, participant: late })
    const hello = await tenant.append(conversationId, 'ann', 'hello all')
    turns.push(hello)
    await recordFact(tenant, 'ann', 'secret', hello.id)
    const again = await recordFact(tenant, 'ann', 'habit', hello.id)
    await retract(tenant, again, 'ann')
    await recordFact(tenant, 'ann', 'habit', hello.id)
    const ids = withPrivate ? await privateObjects(tenant, conversationId) : unknownIds()
    turns.push(await tenant.append(conversationId, 'eve', 'nobody tells me anything'))
    await compact(deps, tenant.as('owner'), { conversationId })
    await updateConversation(deps, tenant.as('owner'), { conversationId, title: 'a conversation' })
    // A client that has the token of a turn's writer may write into the turn, also if its actor does not see the turn.
    const writerToken = 'y'.repeat(WRITER.length)
    return { ...ids, conversation: conversationId, key: HIDDEN_KEY, summary: '', writerToken }
  }

  /** Appends private turns from ann to bob: appended, edited, committed, aborted and open; with facts, a run and an approval. */
  async function privateObjects(tenant: Tenant, conversationId: string): Promise<Ids> {
    const ann = tenant.as('ann')
    const metadata = { [CANARY]: CANARY }
    const state = { conversationId, key: CANARY, value: metadata, audience: ['bob'] }
    await updateSharedState(deps, ann, state)
    await updateSharedState(deps, ann, { ...state, value: [CANARY] })
    const first = await tenant.append(conversationId, 'ann', `${CANARY} one`, { ...toBob, metadata, model: CANARY })
    const edits = [first.id]
    for (const edit of [{ content: `${CANARY} two` }, { parts: [call(CANARY)] }]) {
      const given = { turnId: edits.at(-1)!, turn: { role: 'USER' as const, ...edit } }
      edits.push((await supersedeTurn(deps, ann, given)).turn.id)
    }
    const start = async (text: string) => {
      const { turn } = await openTurn(deps, ann, { writerToken: WRITER, conversationId, turn: toBob })
      await appendDelta(deps, ann, { writerToken: WRITER, turnId: turn.id, text: `${CANARY} ${text}` })
      return { writerToken: WRITER, turnId: turn.id }
    }
    const committed = await start('streamed')
    turns.push(await commitTurn(deps, ann, { ...committed, parts: [call(PRIVATE_CALL)] }))
    const aborted = await start('given up')
    await abortTurn(deps, ann, { ...aborted, reason: CANARY })
    const open = await start('still open')
    const factIds: string[] = []
    for (const subject of [CANARY, 'ann']) {
      for (const object of ['secret', 'habit', 'house in the harbour', HIDDEN_OBJECT])
        factIds.push(await recordFact(tenant, 'ann', object, committed.turnId, subject))
    }
    await retract(tenant, factIds[1]!, CANARY)
    const context = await storedContext(tenant, conversationId)
    const others = [...edits, committed.turnId, aborted.turnId, ...factIds]
    return {
      ...unknownIds(),
      ...(await runAndApproval(tenant, conversationId, first.id, ['ann', 'bob'])),
      context,
      others,
      turn: first.id,
      open: open.turnId,
      fact: factIds[0]!,
    }
  }

  /** Waits until the embedding workers have no more work, then stops them, because they lock rows. */
  async function settle(): Promise<void> {
    await waitForTurnVectors(deps, turns)
    await waitForFactVectors(deps, [...facts.values()])
    await deps.embedding.stop()
    await deps.factEmbedding.stop()
    // Otherwise autovacuum may do it later, which removes the lockers of rows.
    for (const table of UNLOCKED) await sql(deps.pool).query(`VACUUM (FREEZE) ${table}`)
  }
  return { visibleConversation, membersConversation, whisperConversation, settle }
}

export async function fill(world: TestWorld, rows: readonly Row[]): Promise<FilledWorld> {
  const fillWith = filler(world.deps)
  const side = async (ids: (tenant: Tenant) => Promise<Ids>): Promise<Side> => {
    const tenant = world.tenant()
    const given = await ids(tenant)
    return { tenant, ids: given, visible: await fillWith.visibleConversation(tenant) }
  }
  const unknown = () => side(() => Promise.resolve(unknownIds()))
  const hidden = await side(fillWith.membersConversation)
  const pair = (subject: Side, control: Side, from: Side): Pair => {
    control.ids.others = subject.ids.others.map((id) => newId(kindOf(id)!))
    return { subject, control, hidden: from }
  }
  const members = pair(hidden, await unknown(), hidden)
  const whispered = await side((tenant) => fillWith.whisperConversation(tenant, true))
  const quiet = await side((tenant) => fillWith.whisperConversation(tenant, false))
  const whisper = pair(whispered, quiet, whispered)
  const foreign = new Map<string, Pair>()
  for (const { name, of } of rows) {
    if (of !== 'FOREIGN') continue
    const subject = { ...(await unknown()), ids: hidden.ids }
    foreign.set(name, pair(subject, await unknown(), hidden))
  }
  await fillWith.settle()
  const pairOf = ({ name, of }: Row) => (of === 'FOREIGN' ? foreign.get(name)! : of === 'WHISPER' ? whisper : members)
  return { pairOf, members, whisper }
}

/** Returns the headers with which the viewer of the row sends a request to one side. Creates its API key if needed. */
export async function headersOf(
  world: TestWorld,
  row: Row,
  { tenant, visible }: Side,
): Promise<Record<string, string>> {
  if (row.key === undefined) return { 'x-tenant': tenant.name, ...(row.actor !== null && { 'x-actor': row.actor }) }
  const { token } = await createApiKey(world.deps, tenant.as('admin'), {
    name: `key of the matrix ${row.name}`,
    actor: row.actor!,
    kind: 'HUMAN',
    rights: [...RIGHTS],
    ...(row.key === 'LIMITED' && { conversations: [visible] }),
  })
  return { authorization: `Bearer ${token}` }
}
