// Calls of every verb of the table of rights, which rights.test.ts makes with every right in every relation. A verb is
// an exported function of the domain that needs a right. A call adds at most turns and facts to the prepared
// conversations.

import { randomUUID } from 'node:crypto'
import type { Deps } from '../../../src/domain/deps.ts'
import { newId } from '../../../src/domain/kernel/id.ts'
import type { Relation } from '../../../src/domain/kernel/rights/relation.ts'
import type { Condition, Verb } from '../../../src/domain/kernel/rights/rights.ts'
import type { Viewer } from '../../../src/domain/kernel/view.ts'
import * as domain from '../../../src/index.ts'
import {
  createApiKey,
  getApiKey,
  getApiKeys,
  revokeApiKey,
  rotateApiKey,
} from '../../../src/domain/trust/api-key/api-key.ts'
import { getAuditLog, verifyAuditLog } from '../../../src/domain/trust/audit-page.ts'
import { getJob } from '../../../src/domain/background/job/job.ts'
import { getEmbeddingProgress } from '../../../src/domain/memory/indexing/progress.ts'
import { readInto } from '../../../src/domain/turn/journal/reader.ts'
import {
  countOfParticipants,
  pageOfParticipants,
} from '../../../src/domain/conversation/participant/participant-page.ts'

import { cancelRun } from '../../../src/domain/agent/run/cancel.ts'
import { getPendingAnswers } from '../../../src/domain/agent/claim/pending-answers.ts'
import { getProviderCalls, getRunPages, getRuns, getTokenSums } from '../../../src/domain/agent/run/run.ts'
import { runTurn } from '../../../src/domain/agent/run/start.ts'
import { readRunEvents } from '../../../src/domain/agent/run/wait.ts'
import { getParticipantsByKey } from '../../../src/domain/conversation/participant/participant.ts'
import {
  getParticipantDetails,
  getUnreadCounts,
} from '../../../src/domain/conversation/participant/participant-details.ts'
import { historyWithSummaries, summarizedThrough } from '../../../src/domain/memory/summary/history.ts'
import { coveringSummaries } from '../../../src/domain/memory/summary/summary.ts'
import { getNextVersions, getPreviousVersions, getVersionNumbers } from '../../../src/domain/turn/turn.ts'
import { partsOf } from '../../../src/domain/turn/content.ts'
import {
  countOfTurns,
  getConversationsWithTurns,
  pageOfTurnJson,
  pageOfTurns,
} from '../../../src/domain/turn/history.ts'
import { getApprovalPages } from '../../../src/domain/agent/run/approval/approval.ts'
import { requestedApprovals } from '../../support/approvals.ts'
import { png, uploadPng } from '../../support/files.ts'
import { EVERYTHING } from '../../support/turn-json.ts'
import { WRITER } from '../../support/writer.ts'
import { SYSTEM } from '../../../src/store/db/scope.ts'

/** A prepared conversation with the participants "owner", "admin", "member" and "guest", which "former" has left. */
export type Given = {
  id: string
  key: string
  isOpen: boolean
  /** Ids of two versions of a turn by "guest", and of turns and open turns by "former" before it left. */
  older: string
  newer: string
  formerTurn: string
  formerOpen: string
  /** A turn in the stored context of a reply by "guest". */
  source: string
  summary: string
  fact: string
  /** A pending approval of a call that "bot" made before "former" left. */
  approval: string
  run: string
}

export type Cell = { deps: Deps; viewer: Viewer; relation: Relation; given: Given }

export type Call = {
  verb: Verb
  conditions?: readonly Condition[]
  /** NONE: the call concerns no conversation, so the relation of the viewer has no effect. */
  concerns?: 'NONE'
  /** CHANGE: refused to a former participant. PRESENT: also refused to an actor who never joined. */
  is?: 'CHANGE' | 'PRESENT'
  /** Makes the call. Returns a falsy value if nothing was found. */
  run(cell: Cell): Promise<unknown>
}

let count = 0
const unique = () => `${++count}`
const trustedAs = ({ viewer: { tenant } }: Cell, actor: string): Viewer => ({ tenant, actor })
const isPresent = ({ relation }: Cell) => !['FORMER', 'STRANGER'].includes(relation)
const text = (content = unique()) => ({ role: 'USER' as const, content })

/** Returns a turn of the viewer, or one that the viewer cannot change if it left or never joined. */
async function ownTurn(cell: Cell): Promise<string> {
  if (cell.relation === 'STRANGER') return cell.given.newer
  if (cell.relation === 'FORMER') return cell.given.formerTurn
  const viewer = trustedAs(cell, cell.viewer.actor)
  return (await domain.appendTurn(cell.deps, viewer, { conversationId: cell.given.id, turn: text() })).turn.id
}

/** Returns an open turn of the viewer, or of "guest" for a viewer who never joined. */
async function openTurn(cell: Cell): Promise<string> {
  if (cell.relation === 'FORMER') return cell.given.formerOpen
  const viewer = trustedAs(cell, isPresent(cell) ? cell.viewer.actor : 'guest')
  const input = { conversationId: cell.given.id, turn: { role: 'USER' as const }, writerToken: WRITER }
  return (await domain.openTurn(cell.deps, viewer, input)).turn.id
}

/** Returns a turn, claimed by the viewer if the viewer is in the conversation. */
async function claimed(cell: Cell): Promise<string> {
  const claim = { turnId: cell.given.newer, claimToken: WRITER }
  if (isPresent(cell)) await domain.claimTurn(cell.deps, trustedAs(cell, cell.viewer.actor), claim)
  return claim.turnId
}

/** Returns the key of a state that the actor has created. */
async function stateOf(cell: Cell, actor = 'guest'): Promise<{ conversationId: string; key: string }> {
  const name = { conversationId: cell.given.id, key: 'state' }
  await domain.deleteSharedState(cell.deps, trustedAs(cell, 'guest'), name).catch(() => {})
  await domain.updateSharedState(cell.deps, trustedAs(cell, actor), { ...name, merge: {} })
  return name
}

/** Returns the key of a state that the viewer has created, or that it cannot have created. */
function ownState(cell: Cell): Promise<{ conversationId: string; key: string }> {
  const isWriter = isPresent(cell) || (cell.relation === 'STRANGER' && cell.given.isOpen)
  return stateOf(cell, isWriter ? cell.viewer.actor : 'guest')
}

/** Whether the read found what it must: a former participant sees no state, as it sees nothing of the present. */
const isSeen = ({ relation }: Cell, found: boolean) => found !== (relation === 'FORMER')

const abort = (cell: Cell, turnId: string) =>
  domain.abortTurn(cell.deps, trustedAs(cell, 'guest'), { turnId, writerToken: WRITER }).catch(() => {})

/** Sets stored fields of a participant, so that the call changes them again. */
const reset = ({ deps, given }: Cell, actor: string, data: object) =>
  deps.db.of(SYSTEM).participant.update({ where: { conversationId_actor: { conversationId: given.id, actor } }, data })

/** Returns a new fact, or for a former participant an older one that it sees. */
async function newFact(cell: Cell): Promise<string> {
  if (cell.relation === 'FORMER') return cell.given.fact
  const facts = [{ subject: 'the harbour', predicate: 'has number', object: unique() }]
  const {
    facts: [fact],
  } = await domain.recordFacts(cell.deps, trustedAs(cell, 'guest'), { conversationId: cell.given.id, facts })
  return fact!.id
}

/** Creates a key that every credential with the right `operate` may rotate. */
async function newKey(cell: Cell) {
  const { actor } = cell.viewer.principal!
  const input = { name: unique(), actor, rights: ['operate' as const] }
  return (await createApiKey(cell.deps, trustedAs(cell, actor), input)).apiKey
}

const factsAbout = (userId: string) => ({
  userId,
  facts: [{ subject: userId, predicate: 'owns', object: `boat ${unique()}` }],
})

async function closed(events: AsyncIterableIterator<unknown>): Promise<true> {
  await events.return!()
  return true
}

const sizeOf = (map: ReadonlyMap<string, unknown>) => map.size

const CONVERSATIONS: Call[] = [
  {
    verb: 'createConversation',
    concerns: 'NONE',
    run: ({ deps, viewer }) => domain.createConversation(deps, viewer, {}),
  },
  {
    verb: 'createConversation',
    concerns: 'NONE',
    conditions: ['foreignOwner'],
    run: ({ deps, viewer }) => domain.createConversation(deps, viewer, { owner: 'guest' }),
  },
  {
    verb: 'createConversation',
    concerns: 'NONE',
    conditions: ['ownKind'],
    run: ({ deps, viewer }) =>
      domain.createConversation(deps, viewer, { participants: [{ actor: viewer.actor, kind: 'AGENT' }] }),
  },
  {
    verb: 'getConversations',
    run: async ({ deps, viewer, given }) => sizeOf(await domain.getConversations(deps, viewer, [given.id])),
  },
  {
    verb: 'getConversationByKey',
    run: ({ deps, viewer, given }) => domain.getConversationByKey(deps, viewer, given.key),
  },
  {
    verb: 'getConversationPage',
    run: async ({ deps, viewer, given }) =>
      (await domain.getConversationPage(deps, viewer, { first: 200, filter: { search: given.key } })).items.length,
  },
  {
    verb: 'getConversationsWithTurns',
    run: async ({ deps, viewer, given }) => {
      const [read] = await getConversationsWithTurns(deps, viewer, [given.id], { args: { first: 2 }, template: null })
      return read!.conversation && read!.turns.items.length
    },
  },
  {
    verb: 'updateConversation',
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.updateConversation(deps, viewer, { conversationId: given.id, metadata: { at: unique() } }),
  },
  {
    verb: 'updateConversation',
    conditions: ['settings'],
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.updateConversation(deps, viewer, { conversationId: given.id, systemPrompt: unique() }),
  },
  {
    verb: 'updateConversation',
    conditions: ['owner'],
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.updateConversation(deps, viewer, { conversationId: given.id, owner: 'owner' }),
  },
]

const PARTICIPANTS: Call[] = [
  {
    verb: 'getParticipants',
    run: async ({ deps, viewer, given }) =>
      (await domain.getParticipants(deps, viewer, [given.id])).get(given.id)!.length,
  },
  {
    verb: 'getParticipantsByKey',
    run: async ({ deps, viewer, given }) =>
      (await getParticipantsByKey(deps, viewer, [{ conversationId: given.id, actor: 'guest' }]))[0],
  },
  {
    verb: 'getParticipantDetails',
    run: async ({ deps, viewer, given }) =>
      (await getParticipantDetails(deps, viewer, [{ conversationId: given.id, actor: 'guest' }]))[0]!.metadata['is'],
  },
  {
    verb: 'getUnreadCounts',
    run: async ({ deps, viewer, given }) =>
      (await getUnreadCounts(deps, viewer, [{ conversationId: given.id, actor: 'guest' }]))[0],
  },
  {
    verb: 'pageOfParticipants',
    run: async ({ deps, viewer, given }) =>
      (await pageOfParticipants(deps, viewer, [given.id], {})).get(given.id)!.items.length,
  },
  {
    verb: 'countOfParticipants',
    run: async ({ deps, viewer, given }) => (await countOfParticipants(deps, viewer, [given.id])).get(given.id),
  },
  {
    verb: 'addParticipant',
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.addParticipant(deps, viewer, { conversationId: given.id, participant: { actor: viewer.actor } }),
  },
  {
    verb: 'addParticipant',
    conditions: ['otherParticipant'],
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.addParticipant(deps, viewer, { conversationId: given.id, participant: { actor: 'guest' } }),
  },
  {
    verb: 'addParticipant',
    conditions: ['otherParticipant', 'administrator'],
    is: 'CHANGE',
    async run(cell) {
      const { deps, viewer, given } = cell
      await reset(cell, 'guest', { administrator: false })
      const participant = { actor: 'guest', administrator: true }
      return domain
        .addParticipant(deps, viewer, { conversationId: given.id, participant })
        .finally(() => reset(cell, 'guest', { administrator: false }))
    },
  },
  {
    verb: 'updateParticipant',
    is: 'PRESENT',
    async run({ deps, viewer, given, relation }) {
      const input = { conversationId: given.id, actor: viewer.actor, displayName: unique() }
      // An actor who never joined has no participant of its own.
      if (relation === 'STRANGER' && given.isOpen) throw new domain.NotAllowed('no such participant')
      return domain.updateParticipant(deps, viewer, input)
    },
  },
  {
    verb: 'updateParticipant',
    conditions: ['otherParticipant'],
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.updateParticipant(deps, viewer, { conversationId: given.id, actor: 'guest', displayName: unique() }),
  },
  {
    verb: 'updateParticipant',
    conditions: ['otherParticipant', 'history'],
    is: 'CHANGE',
    async run(cell) {
      const { deps, viewer, given } = cell
      const input = { conversationId: given.id, actor: 'quiet', historyVisibility: 'ALL' as const }
      await reset(cell, 'quiet', { historyVisibility: 'SINCE_JOINED', administrator: false })
      return domain.updateParticipant(deps, viewer, input)
    },
  },
  {
    verb: 'updateParticipant',
    conditions: ['otherParticipant', 'administrator'],
    is: 'CHANGE',
    async run(cell) {
      const { deps, viewer, given } = cell
      await reset(cell, 'quiet', { administrator: false })
      const input = { conversationId: given.id, actor: 'quiet', administrator: true }
      return domain.updateParticipant(deps, viewer, input)
    },
  },
  {
    verb: 'updateParticipant',
    conditions: ['otherParticipant', 'agentSettings'],
    is: 'CHANGE',
    async run(cell) {
      const { deps, viewer, given } = cell
      await reset(cell, 'quiet', { kind: 'AGENT', administrator: false })
      const agent = { provider: 'echo', instructions: unique() }
      return domain.updateParticipant(deps, viewer, { conversationId: given.id, actor: 'quiet', agent })
    },
  },
  {
    verb: 'removeParticipant',
    conditions: ['otherParticipant'],
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.removeParticipant(deps, viewer, { conversationId: given.id, actor: 'gone' }),
  },
  {
    verb: 'removeParticipant',
    conditions: ['otherParticipant', 'administrator'],
    is: 'CHANGE',
    async run(cell) {
      const { deps, viewer, given } = cell
      await reset(cell, 'deputy', { leftAt: null, removed: false, administrator: true })
      return domain.removeParticipant(deps, viewer, { conversationId: given.id, actor: 'deputy' })
    },
  },
  {
    verb: 'markRead',
    is: 'PRESENT',
    run: ({ deps, viewer, given }) => domain.markRead(deps, viewer, { conversationId: given.id, seq: 1 }),
  },
  {
    verb: 'setPresence',
    is: 'PRESENT',
    run: ({ deps, viewer, given }) =>
      domain.setPresence(deps, viewer, { conversationId: given.id, state: 'OFFLINE' }, null),
  },
]

const TURN_PARTS = [
  [[], {}],
  [['foreignActor'], { actor: 'guest' }],
  [['systemRole'], { role: 'SYSTEM' }],
  [['pinned'], { pinned: true }],
  [['createdAt'], { createdAt: new Date('2020-01-01T00:00:00Z') }],
] as const

const APPENDS: Call[] = TURN_PARTS.flatMap(([conditions, part]): Call[] => [
  {
    verb: 'appendTurn',
    conditions,
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.appendTurn(deps, viewer, { conversationId: given.id, turn: { ...text(), ...part } }),
  },
  {
    verb: 'appendTurns',
    conditions,
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.appendTurns(deps, viewer, {
        conversationId: given.id,
        turns: [text(), { ...text(), ...part }].slice('actor' in part ? 1 : 0),
      }),
  },
  {
    verb: 'openTurn',
    conditions,
    is: 'CHANGE',
    async run(cell) {
      const turn = { role: 'USER' as const, ...part }
      const input = { conversationId: cell.given.id, turn, writerToken: WRITER }
      const opened = await domain.openTurn(cell.deps, cell.viewer, input)
      await abort(cell, opened.turn.id)
      return opened
    },
  },
])

/** Starts a run of "guest" that waits for results. For a former participant, returns a run that it saw. */
async function waitingRun(cell: Cell): Promise<string> {
  if (cell.relation === 'FORMER') return cell.given.run
  const { run } = await runTurn(cell.deps, trustedAs(cell, 'guest'), {
    conversationId: cell.given.id,
    actor: 'guest',
    turns: [{ actor: 'owner', ...text('Look it up.') }],
    instructions: '{"echo": {"tools": [{"name": "look_up"}]}}',
    tools: [{ name: 'look_up', description: 'Looks something up.' }],
  })
  return run.id
}

/** Appends the results of the calls of a run, and continues it. */
async function continueRun(cell: Cell): Promise<unknown> {
  const { deps, viewer, given } = cell
  const runId = await waitingRun(cell)
  const guest = trustedAs(cell, 'guest')
  const calls = (await getProviderCalls(deps, guest, [runId])).get(runId)!
  const turn = (await domain.getTurns(deps, guest, [calls.at(-1)!.turnId])).values().next().value!
  const results = partsOf(turn).flatMap((part) =>
    part.type === 'toolCall' ? [{ toolResult: { callId: part.callId, name: part.name, callTurnId: turn.id } }] : [],
  )
  if (results.length > 0) {
    await domain.appendTurn(deps, guest, { conversationId: given.id, turn: { role: 'TOOL', parts: results } })
  }
  return runTurn(deps, viewer, { conversationId: given.id, runId })
}

const runOf = ({ given }: Cell) => given.run

const RUNS: Call[] = [
  {
    verb: 'runTurn',
    is: 'CHANGE',
    run: ({ deps, viewer, given }) => runTurn(deps, viewer, { conversationId: given.id, actor: viewer.actor }),
  },
  {
    verb: 'runTurn',
    conditions: ['foreignAgent'],
    is: 'CHANGE',
    run: ({ deps, viewer, given }) => runTurn(deps, viewer, { conversationId: given.id, actor: 'guest' }),
  },
  {
    verb: 'cancelRun',
    conditions: ['otherRun'],
    is: 'CHANGE',
    run: async (cell) => cancelRun(cell.deps, cell.viewer, { runId: await waitingRun(cell) }),
  },
  { verb: 'runTurn', conditions: ['otherRun'], is: 'CHANGE', run: continueRun },
  { verb: 'getRuns', run: async (cell) => sizeOf(await getRuns(cell.deps, cell.viewer, [runOf(cell)])) },
  {
    verb: 'getRunPages',
    run: async ({ deps, viewer, given }) =>
      (await getRunPages(deps, viewer, [given.id], { first: 1 })).get(given.id)!.items.length,
  },
  {
    verb: 'getPendingAnswers',
    run: async ({ deps, viewer, given }) => (await getPendingAnswers(deps, viewer, [given.id])).get(given.id)!.length,
  },
  {
    verb: 'getProviderCalls',
    run: async (cell) => sizeOf(await getProviderCalls(cell.deps, cell.viewer, [runOf(cell)])),
  },
  {
    verb: 'getTokenSums',
    run: async ({ deps, viewer, given }) => (await getTokenSums(deps, viewer, [given.id])).get(given.id)!.prompt,
  },
  {
    verb: 'readRunEvents',
    async run(cell) {
      const events = await readRunEvents(cell.deps, cell.viewer, { runId: runOf(cell) })
      await events.return!()
      return events
    },
  },
]

const EDITS: Call[] = TURN_PARTS.filter(([, part]) => !('actor' in part)).map(([conditions, part]) => ({
  verb: 'supersedeTurn',
  conditions,
  is: 'PRESENT',
  run: async (cell) =>
    domain.supersedeTurn(cell.deps, cell.viewer, { turnId: await ownTurn(cell), turn: { ...text(), ...part } }),
}))

const TURNS: Call[] = [
  ...APPENDS,
  ...RUNS,
  ...EDITS,
  {
    verb: 'appendDelta',
    is: 'CHANGE',
    async run(cell) {
      const turnId = await openTurn(cell)
      const input = { turnId, writerToken: WRITER, text: 'more' }
      return domain.appendDelta(cell.deps, cell.viewer, input).finally(() => abort(cell, turnId))
    },
  },
  {
    verb: 'commitTurn',
    is: 'CHANGE',
    async run(cell) {
      const turnId = await openTurn(cell)
      if (cell.relation !== 'FORMER') {
        await domain.appendDelta(cell.deps, trustedAs(cell, 'guest'), { turnId, writerToken: WRITER, text: 'more' })
      }
      return domain
        .commitTurn(cell.deps, cell.viewer, { turnId, writerToken: WRITER })
        .finally(() => abort(cell, turnId))
    },
  },
  {
    verb: 'abortTurn',
    is: 'CHANGE',
    async run(cell) {
      const turnId = await openTurn(cell)
      return domain
        .abortTurn(cell.deps, cell.viewer, { turnId, writerToken: WRITER })
        .finally(() => abort(cell, turnId))
    },
  },
  {
    verb: 'updateSharedState',
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.updateSharedState(deps, viewer, { conversationId: given.id, key: 'plan', merge: { n: 1 } }),
  },
  {
    verb: 'updateSharedState',
    conditions: ['stateSchema'],
    is: 'CHANGE',
    async run(cell) {
      const { deps, viewer } = cell
      return domain.updateSharedState(deps, viewer, { ...(await stateOf(cell)), schema: { title: unique() } })
    },
  },
  {
    verb: 'deleteSharedState',
    is: 'CHANGE',
    run: async (cell) => domain.deleteSharedState(cell.deps, cell.viewer, await ownState(cell)),
  },
  {
    verb: 'deleteSharedState',
    conditions: ['foreignState'],
    is: 'CHANGE',
    run: async (cell) => domain.deleteSharedState(cell.deps, cell.viewer, await stateOf(cell)),
  },
  {
    verb: 'uploadFile',
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.uploadFile(deps, viewer, { conversationId: given.id, bytes: png(1, 1, unique()) }),
  },
  {
    verb: 'getAttachment',
    async run(cell) {
      const { deps, viewer, given } = cell
      const guest = trustedAs(cell, 'guest')
      const { id } = await uploadPng(deps, guest, given.id, unique())
      const turn = { role: 'USER' as const, parts: [{ file: { attachmentId: id } }] }
      await domain.appendTurn(deps, guest, { conversationId: given.id, turn })
      return isSeen(cell, (await domain.getAttachment(deps, viewer, id)) !== null)
    },
  },
  {
    verb: 'getSharedStates',
    async run(cell) {
      const [state] = await domain.getSharedStates(cell.deps, cell.viewer, [await stateOf(cell)])
      return isSeen(cell, state !== null)
    },
  },
  {
    verb: 'getSharedStatePages',
    async run(cell) {
      const { conversationId } = await stateOf(cell)
      const pages = await domain.getSharedStatePages(cell.deps, cell.viewer, [conversationId], {})
      return isSeen(cell, pages.get(conversationId)!.items.length > 0)
    },
  },
  {
    verb: 'pinTurn',
    is: 'PRESENT',
    run: ({ deps, viewer, given }) => domain.pinTurn(deps, viewer, { turnId: given.newer }),
  },
  {
    verb: 'unpinTurn',
    is: 'PRESENT',
    run: ({ deps, viewer, given }) => domain.unpinTurn(deps, viewer, { turnId: given.newer }),
  },
  {
    verb: 'claimTurn',
    is: 'PRESENT',
    run: ({ deps, viewer, given }) => domain.claimTurn(deps, viewer, { turnId: given.newer, claimToken: WRITER }),
  },
  {
    verb: 'renewClaim',
    is: 'PRESENT',
    async run(cell) {
      const { deps, viewer } = cell
      return domain.renewClaim(deps, viewer, { turnId: await claimed(cell), claimToken: WRITER })
    },
  },
  {
    verb: 'releaseClaim',
    is: 'PRESENT',
    async run(cell) {
      const { deps, viewer } = cell
      return domain.releaseClaim(deps, viewer, { turnId: await claimed(cell), claimToken: WRITER })
    },
  },
  {
    verb: 'eraseTurn',
    conditions: ['otherAuthor'],
    is: 'CHANGE',
    async run(cell) {
      const { deps, viewer, given, relation } = cell
      // A former participant can only try, with a turn that it saw.
      if (relation === 'FORMER') return domain.eraseTurn(deps, viewer, { turnId: given.newer })
      const { turn } = await domain.appendTurn(deps, trustedAs(cell, 'guest'), {
        conversationId: given.id,
        turn: text(),
      })
      return domain.eraseTurn(deps, viewer, { turnId: turn.id })
    },
  },
  {
    verb: 'getTurns',
    run: async ({ deps, viewer, given }) => sizeOf(await domain.getTurns(deps, viewer, [given.newer])),
  },
  {
    verb: 'getNextVersions',
    run: async ({ deps, viewer, given }) => sizeOf(await getNextVersions(deps, viewer, [given.older])),
  },
  {
    verb: 'getPreviousVersions',
    run: async ({ deps, viewer, given }) => sizeOf(await getPreviousVersions(deps, viewer, [given.newer])),
  },
  {
    verb: 'getVersionNumbers',
    run: async ({ deps, viewer, given }) => sizeOf(await getVersionNumbers(deps, viewer, [given.newer])),
  },
  {
    verb: 'pageOfTurns',
    run: async ({ deps, viewer, given }) =>
      (await pageOfTurns(deps, viewer, [given.id], { first: 2 })).get(given.id)!.items.length,
  },
  {
    verb: 'pageOfTurnJson',
    run: async ({ deps, viewer, given }) =>
      (await pageOfTurnJson(deps, viewer, [given.id], { args: { first: 2 }, template: EVERYTHING })).get(given.id)
        ?.items.length,
  },
  {
    verb: 'history',
    run: async ({ deps, viewer, given }) =>
      (await domain.history(deps, viewer, [given.id], { limit: 2 })).get(given.id)!.length,
  },
  {
    verb: 'historyWithSummaries',
    run: async ({ deps, viewer, given }) =>
      (await historyWithSummaries(deps, viewer, [given.id], { limit: 2 })).get(given.id)?.length,
  },
  {
    verb: 'countOfTurns',
    run: async ({ deps, viewer, given }) => (await countOfTurns(deps, viewer, [given.id])).get(given.id)?.turnCount,
  },
]

const EVENTS: Call[] = [
  {
    verb: 'readEventsOf',
    run: async ({ deps, viewer, given }) =>
      closed(await domain.readEventsOf(deps, viewer, { conversationId: given.id })),
  },
  {
    verb: 'readInto',
    async run({ deps, viewer, given }) {
      const sink = { push: () => {}, isFull: () => false, drained: () => Promise.resolve(), end: () => {} }
      const stop = await readInto(deps, viewer, { conversationId: given.id }, () => sink)
      stop()
      return true
    },
  },
  {
    verb: 'readInbox',
    concerns: 'NONE',
    run: async ({ deps, viewer }) => closed(await domain.readInbox(deps, viewer, {})),
  },
  { verb: 'getWakeUps', concerns: 'NONE', run: ({ deps, viewer }) => domain.getWakeUps(deps, viewer, {}) },
]

const SUMMARIES: Call[] = [
  {
    verb: 'compact',
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.compact(deps, viewer, {
        conversationId: given.id,
        policy: { triggerTurns: 10_000, triggerTokens: 1_000_000 },
      }),
  },
  {
    verb: 'summarize',
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.summarize(deps, viewer, { conversationId: given.id, through: given.older }),
  },
  {
    verb: 'getSummaries',
    run: async ({ deps, viewer, given }) => sizeOf(await domain.getSummaries(deps, viewer, [given.summary])),
  },
  {
    verb: 'coveringSummaries',
    run: async ({ deps, viewer, given }) => sizeOf(await coveringSummaries(deps, viewer, [given.id])),
  },
  {
    verb: 'getCoveringSummaries',
    run: async ({ deps, viewer, given }) => (await domain.getCoveringSummaries(deps, viewer, given.id)).length,
  },
  {
    verb: 'summarizedThrough',
    run: async ({ deps, viewer, given }) => sizeOf(await summarizedThrough(deps, viewer, [given.id])),
  },
]

const FACTS: Call[] = [
  {
    verb: 'recordFacts',
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.recordFacts(deps, viewer, { conversationId: given.id, ...factsAbout(viewer.actor) }),
  },
  {
    verb: 'recordFacts',
    conditions: ['factsAboutOthers'],
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.recordFacts(deps, viewer, { conversationId: given.id, ...factsAbout('guest') }),
  },
  {
    verb: 'recordFacts',
    concerns: 'NONE',
    conditions: ['factsOfTenant'],
    run: ({ deps, viewer }) => domain.recordFacts(deps, viewer, factsAbout('guest')),
  },
  {
    verb: 'retractFact',
    conditions: ['factsAboutOthers'],
    is: 'CHANGE',
    run: async (cell) => domain.retractFact(cell.deps, cell.viewer, { factId: await newFact(cell) }),
  },
  {
    verb: 'extractFacts',
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.extractFacts(deps, viewer, { conversationId: given.id, through: given.older }),
  },
  {
    verb: 'reconcileFacts',
    conditions: ['factsAboutOthers'],
    is: 'CHANGE',
    run: ({ deps, viewer, given }) => domain.reconcileFacts(deps, viewer, { conversationId: given.id, n: 1 }),
  },
  {
    verb: 'reconcileFacts',
    concerns: 'NONE',
    conditions: ['factsOfTenant'],
    run: ({ deps, viewer }) => domain.reconcileFacts(deps, viewer, { userId: 'guest', n: 1 }),
  },
  {
    verb: 'undoReconciliation',
    conditions: ['factsAboutOthers'],
    is: 'CHANGE',
    run: async (cell) => domain.undoReconciliation(cell.deps, cell.viewer, { factId: await newFact(cell) }),
  },
  {
    verb: 'getFacts',
    run: async ({ deps, viewer, given }) => sizeOf(await domain.getFacts(deps, viewer, [given.fact])),
  },
  {
    verb: 'getFactPage',
    run: async ({ deps, viewer, given }) =>
      (await domain.getFactPage(deps, viewer, { first: 1, filter: { conversationId: given.id } })).items.length,
  },
  {
    verb: 'getFactPage',
    concerns: 'NONE',
    run: ({ deps, viewer }) => domain.getFactPage(deps, viewer, { first: 1, filter: { userId: viewer.actor } }),
  },
  {
    verb: 'getFactPage',
    concerns: 'NONE',
    conditions: ['tenantScope'],
    run: ({ deps, viewer }) => domain.getFactPage(deps, viewer, { first: 1 }),
  },
  {
    verb: 'getFactPages',
    run: async ({ deps, viewer, given }) =>
      (await domain.getFactPages(deps, viewer, [given.id], {})).get(given.id)!.items.length,
  },
  {
    verb: 'getFactSourcePages',
    run: async ({ deps, viewer, given }) =>
      (await domain.getFactSourcePages(deps, viewer, [given.fact], {})).get(given.fact)!.items.length,
  },
  {
    verb: 'getApprovals',
    run: async ({ deps, viewer, given }) => sizeOf(await domain.getApprovals(deps, viewer, [given.approval])),
  },
  {
    verb: 'getApprovalPage',
    run: async ({ deps, viewer, given }) =>
      (await domain.getApprovalPage(deps, viewer, { conversationId: given.id })).items.length,
  },
  {
    verb: 'getApprovalPages',
    async run({ deps, viewer, given }) {
      const { runId } = await deps.db.of(viewer.tenant).approval.findUniqueOrThrow({ where: { id: given.approval } })
      return (await getApprovalPages(deps, viewer, [runId], {})).get(runId)!.items.length
    },
  },
  {
    verb: 'resolveApproval',
    is: 'CHANGE',
    async run(cell) {
      const { deps, viewer, given, relation } = cell
      const isNew = relation !== 'FORMER'
      const calls = [{ callId: randomUUID() }]
      const requested = isNew && (await requestedApprovals(deps, viewer.tenant, given.id, { calls })).approvalIds
      const approvalId = requested ? requested[0]! : given.approval
      return domain.resolveApproval(deps, viewer, { approvalId, decision: 'DENY' })
    },
  },
  {
    verb: 'getProfiles',
    concerns: 'NONE',
    run: ({ deps, viewer }) => domain.getProfiles(deps, viewer, [viewer.actor]),
  },
  {
    verb: 'getProfiles',
    concerns: 'NONE',
    conditions: ['otherUser'],
    run: ({ deps, viewer }) => domain.getProfiles(deps, viewer, ['guest']),
  },
  {
    verb: 'refreshUserProfile',
    concerns: 'NONE',
    conditions: ['otherUser'],
    run: ({ deps, viewer }) => domain.refreshUserProfile(deps, viewer, { userId: 'elder', recentK: 1 }),
  },
]

const MEMORY: Call[] = [
  {
    verb: 'momentOf',
    run: ({ deps, viewer, given }) => domain.asOf(deps, viewer, { asOf: { seq: 1 }, conversationId: given.id }),
  },
  {
    verb: 'recall',
    run: ({ deps, viewer, given }) => domain.recall(deps, viewer, { query: 'harbour', conversationId: given.id }),
  },
  {
    verb: 'recall',
    concerns: 'NONE',
    conditions: ['tenantScope'],
    run: ({ deps, viewer }) => domain.recall(deps, viewer, { query: 'harbour', scope: 'TENANT' }),
  },
  {
    verb: 'recall',
    concerns: 'NONE',
    run: ({ deps, viewer }) => domain.recall(deps, viewer, { query: 'harbour', scope: 'OWNER' }),
  },
  {
    verb: 'buildContext',
    run: ({ deps, viewer, given }) =>
      domain.buildContext(deps, viewer, { conversationId: given.id, tokenBudget: 500, recentTurns: 3 }),
  },
  {
    verb: 'buildContext',
    conditions: ['tenantScope'],
    run: ({ deps, viewer, given }) =>
      domain.buildContext(deps, viewer, {
        conversationId: given.id,
        tokenBudget: 500,
        recentTurns: 3,
        semanticRecall: { scope: 'TENANT' },
        query: 'harbour',
      }),
  },
  {
    verb: 'buildContext',
    conditions: ['stored'],
    is: 'CHANGE',
    run: ({ deps, viewer, given }) =>
      domain.buildContext(deps, viewer, { conversationId: given.id, tokenBudget: 500, recentTurns: 3, store: true }),
  },
  {
    verb: 'getContexts',
    // Each actor reads a context that was built in its own view, also after it has left.
    async run({ deps, viewer, given }) {
      const sizes = { asOfSeq: 1, tokenBudget: 1, tokenCount: 0, stablePrefixTokens: 0, truncated: false, items: '[]' }
      const data = { id: newId('context'), conversationId: given.id, actor: viewer.actor, ...sizes }
      const { id } = await deps.db.of(viewer.tenant).storedContext.create({ data })
      return sizeOf(await domain.getContexts(deps, viewer, [id]))
    },
  },
  {
    verb: 'getReplyPages',
    run: async ({ deps, viewer, given }) =>
      (await domain.getReplyPages(deps, viewer, [given.source], {})).get(given.source)!.items.length,
  },
]

const ERASURE: Call[] = [
  {
    verb: 'eraseTurn',
    is: 'CHANGE',
    async run(cell) {
      const isStranger = cell.relation === 'STRANGER' && cell.given.isOpen
      const author = trustedAs(cell, cell.viewer.actor)
      const input = { conversationId: cell.given.id, turn: text() }
      const turnId = isStranger ? (await domain.appendTurn(cell.deps, author, input)).turn.id : await ownTurn(cell)
      return domain.eraseTurn(cell.deps, cell.viewer, { turnId })
    },
  },
  {
    verb: 'eraseTurn',
    conditions: ['otherAuthor'],
    is: 'CHANGE',
    async run(cell) {
      const input = { conversationId: cell.given.id, turn: text() }
      const written = await domain.appendTurn(cell.deps, trustedAs(cell, 'guest'), input)
      // A former participant sees only earlier turns, which it cannot erase.
      const turnId = cell.relation === 'FORMER' ? cell.given.newer : written.turn.id
      return domain.eraseTurn(cell.deps, cell.viewer, { turnId })
    },
  },
  {
    verb: 'eraseUser',
    concerns: 'NONE',
    conditions: ['otherUserErased'],
    run: ({ deps, viewer }) => domain.eraseUser(deps, viewer, { userId: 'nobody' }),
  },
  {
    verb: 'getErasure',
    concerns: 'NONE',
    run: async ({ deps, viewer }) => (await domain.getErasure(deps, viewer, randomUUID())) ?? true,
  },
  {
    verb: 'verifyErasureReceipt',
    concerns: 'NONE',
    run: async ({ deps, viewer }) => {
      domain.verifyErasureReceipt(deps, viewer, { document: '{}', signature: 'none' })
      return true
    },
  },
  {
    verb: 'pruneConversations',
    concerns: 'NONE',
    run: async ({ deps, viewer }) => {
      await domain.pruneConversations(deps, viewer, { olderThanDays: 3_000 })
      return true
    },
  },
  { verb: 'getTenantSettings', concerns: 'NONE', run: ({ deps, viewer }) => domain.getTenantSettings(deps, viewer) },
  {
    verb: 'updateTenantSettings',
    concerns: 'NONE',
    run: ({ deps, viewer }) => domain.updateTenantSettings(deps, viewer, {}),
  },
  {
    verb: 'setLegalHold',
    concerns: 'NONE',
    run: async ({ deps, viewer }) => {
      await domain.setLegalHold(deps, viewer, { userId: 'nobody', legalHold: false })
      return true
    },
  },
]

const KEYS: Call[] = [
  {
    verb: 'createApiKey',
    concerns: 'NONE',
    run: ({ deps, viewer }) => createApiKey(deps, viewer, { name: unique(), actor: viewer.actor, rights: ['operate'] }),
  },
  { verb: 'getApiKeys', concerns: 'NONE', run: ({ deps, viewer }) => getApiKeys(deps, viewer, { first: 1 }) },
  {
    verb: 'getApiKey',
    concerns: 'NONE',
    run: async (cell) => getApiKey(cell.deps, cell.viewer, (await newKey(cell)).id),
  },
  {
    verb: 'rotateApiKey',
    concerns: 'NONE',
    run: async (cell) => rotateApiKey(cell.deps, cell.viewer, { id: (await newKey(cell)).id, expectedVersion: 1 }),
  },
  {
    verb: 'revokeApiKey',
    concerns: 'NONE',
    run: async (cell) => revokeApiKey(cell.deps, cell.viewer, { id: (await newKey(cell)).id }),
  },
]

const DATA: Call[] = [
  {
    verb: 'eraseUser',
    concerns: 'NONE',
    conditions: ['otherUserErased'],
    run: ({ deps, viewer }) => domain.eraseUser(deps, viewer, { userId: `nobody ${unique()}` }),
  },
  {
    verb: 'getErasure',
    concerns: 'NONE',
    run: async ({ deps, viewer }) => (await domain.getErasure(deps, viewer, 'none')) ?? true,
  },
  {
    verb: 'verifyErasureReceipt',
    concerns: 'NONE',
    run: async ({ deps, viewer }) =>
      domain.verifyErasureReceipt(deps, viewer, { document: 'x', signature: 'y' }) || true,
  },
  {
    verb: 'setLegalHold',
    concerns: 'NONE',
    run: ({ deps, viewer }) => domain.setLegalHold(deps, viewer, { userId: `nobody ${unique()}`, legalHold: true }),
  },
  { verb: 'getTenantSettings', concerns: 'NONE', run: ({ deps, viewer }) => domain.getTenantSettings(deps, viewer) },
  {
    verb: 'updateTenantSettings',
    concerns: 'NONE',
    run: ({ deps, viewer }) => domain.updateTenantSettings(deps, viewer, { retention: 'FULL' }),
  },
  {
    verb: 'pruneConversations',
    concerns: 'NONE',
    run: async ({ deps, viewer }) =>
      (await domain.pruneConversations(deps, viewer, { olderThanDays: 36_500 })) === 0 || null,
  },
]

const SERVER: Call[] = [
  { verb: 'getAuditLog', concerns: 'NONE', run: ({ deps, viewer }) => getAuditLog(deps, viewer, { first: 1 }) },
  { verb: 'verifyAuditLog', concerns: 'NONE', run: ({ deps, viewer }) => verifyAuditLog(deps, viewer, null) },
  { verb: 'getJobs', concerns: 'NONE', run: ({ deps, viewer }) => domain.getJobs(deps, viewer, {}) },
  {
    verb: 'getJob',
    concerns: 'NONE',
    run: async ({ deps, viewer }) => (await getJob(deps, viewer, randomUUID())) ?? true,
  },
  { verb: 'auditMemory', concerns: 'NONE', run: ({ deps, viewer }) => domain.auditMemory(deps, viewer) },
  {
    verb: 'getProviders',
    concerns: 'NONE',
    run: async ({ deps, viewer }) => Array.isArray(domain.getProviders(deps, viewer)),
  },
  { verb: 'getEmbeddingProgress', concerns: 'NONE', run: ({ deps, viewer }) => getEmbeddingProgress(deps, viewer) },
]

/** Starts a transfer by the viewer: the export of the conversation, or an import. */
const started = async (cell: Cell, direction: 'EXPORT' | 'IMPORT'): Promise<string> => {
  const viewer = trustedAs(cell, cell.viewer.actor)
  const scope = { scope: 'CONVERSATION' as const, conversationId: cell.given.id }
  if (direction === 'EXPORT') return (await domain.startExport(cell.deps, viewer, scope)).id
  return (await domain.startImport(cell.deps, viewer, { manifest: MANIFEST, fileKey: unique() })).id
}
const MANIFEST = '{"type":"manifest","format":"colloquy-transcript","version":1,"scope":"TENANT"}'

const TRANSFERS: Call[] = [
  {
    verb: 'startExport',
    concerns: 'NONE',
    run: ({ deps, viewer, given }) =>
      domain.startExport(deps, viewer, { scope: 'CONVERSATION', conversationId: given.id }),
    conditions: ['foreignExport'],
  },
  {
    verb: 'continueExport',
    concerns: 'NONE',
    run: async (cell) => domain.continueExport(cell.deps, cell.viewer, { transferId: await started(cell, 'EXPORT') }),
    conditions: ['foreignExport'],
  },
  {
    verb: 'startImport',
    concerns: 'NONE',
    run: ({ deps, viewer }) => domain.startImport(deps, viewer, { manifest: MANIFEST, fileKey: unique() }),
  },
  {
    verb: 'continueImport',
    concerns: 'NONE',
    run: async (cell) => {
      const lines = [`{"type":"heldUser","userId":"held ${unique()}","since":"2026-01-01T00:00:00Z"}`]
      const transferId = await started(cell, 'IMPORT')
      return domain.continueImport(cell.deps, cell.viewer, { transferId, offset: 0, lines })
    },
  },
  {
    verb: 'cancelTransfer',
    concerns: 'NONE',
    run: async (cell) => domain.cancelTransfer(cell.deps, cell.viewer, { transferId: await started(cell, 'EXPORT') }),
  },
  {
    verb: 'getTransfer',
    concerns: 'NONE',
    run: async (cell) => domain.getTransfer(cell.deps, cell.viewer, await started(cell, 'EXPORT')),
  },
]

/** The calls. deleteConversation is not among them, because it ends the conversation. */
export const CALLS: readonly Call[] = [
  ...CONVERSATIONS,
  ...PARTICIPANTS,
  ...TURNS,
  ...EVENTS,
  ...SUMMARIES,
  ...FACTS,
  ...MEMORY,
  ...ERASURE,
  ...KEYS,
  ...DATA,
  ...SERVER,
  ...TRANSFERS,
]
