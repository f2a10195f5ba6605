// The contract of a door: every verb, called with the same inputs by the same viewers, has the answer and the errors of
// the library's functions. The calls change the world, so every door makes the same calls in a world of its own.

import { createConversation, getConversations, updateConversation } from '../../src/domain/conversation/conversation.ts'
import { getConversationPage } from '../../src/domain/conversation/conversation-page.ts'
import { buildContext } from '../../src/domain/memory/context/build.ts'
import { getContexts } from '../../src/domain/memory/context/stored.ts'
import { render } from '../../src/domain/memory/context/render.ts'
import type { Deps } from '../../src/domain/deps.ts'
import { deleteConversation } from '../../src/domain/trust/erasure/delete-conversation.ts'
import { eraseTurn } from '../../src/domain/trust/erasure/erase-turn.ts'
import { extractFacts } from '../../src/domain/memory/fact/extract/extract.ts'
import { getFactPage } from '../../src/domain/memory/fact/fact.ts'
import { recordFacts, retractFact } from '../../src/domain/memory/fact/record.ts'
import { addParticipant, markRead, removeParticipant } from '../../src/domain/conversation/participant/participant.ts'
import { pageOfParticipants } from '../../src/domain/conversation/participant/participant-page.ts'
import { setPresence } from '../../src/domain/conversation/presence.ts'
import { getProfiles } from '../../src/domain/memory/profile/profile.ts'
import { refreshUserProfile } from '../../src/domain/memory/profile/refresh.ts'
import { asOf } from '../../src/domain/memory/as-of.ts'
import { recall } from '../../src/domain/memory/recall/recall.ts'
import { getApprovalPage } from '../../src/domain/agent/run/approval/approval.ts'
import { cancelRun } from '../../src/domain/agent/run/cancel.ts'
import { resolveApproval } from '../../src/domain/agent/run/approval/resolve-approval.ts'
import { getRuns } from '../../src/domain/agent/run/run.ts'
import { runTurn } from '../../src/domain/agent/run/start.ts'
import { appendDelta } from '../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn, commitTurn } from '../../src/domain/turn/streaming/stream.ts'
import { compact, summarize } from '../../src/domain/memory/summary/compact.ts'
import { getCoveringSummaries } from '../../src/domain/memory/summary/summary.ts'
import { continueExport } from '../../src/domain/trust/transfer/export.ts'
import { continueImport } from '../../src/domain/trust/transfer/import/import.ts'
import { cancelTransfer, getTransfer, startExport, startImport } from '../../src/domain/trust/transfer/transfer.ts'
import { appendTurn, appendTurns, openTurn } from '../../src/domain/turn/append/append.ts'
import { pageOfTurns } from '../../src/domain/turn/history.ts'
import { pinTurn, unpinTurn } from '../../src/domain/turn/pin.ts'
import { supersedeTurn } from '../../src/domain/turn/supersede.ts'
import { deleteSharedState } from '../../src/domain/conversation/shared-state/delete-shared-state.ts'
import { getSharedStatePages, getSharedStates } from '../../src/domain/conversation/shared-state/shared-state.ts'
import { updateSharedState } from '../../src/domain/conversation/shared-state/update-shared-state.ts'
import { updateParticipant } from '../../src/domain/conversation/participant/update-participant.ts'
import type { Viewer } from '../../src/domain/kernel/view.ts'
import { DomainError } from '../../src/errors.ts'
import { isSubscription, VerbFailed } from '../../src/faces/call.ts'
import { verbEntries, type VerbName } from '../../src/faces/verbs.ts'
import { requestedApprovals } from '../support/approvals.ts'
import type { Tenant } from '../support/world.ts'
import { WRITER } from '../support/writer.ts'

type Input = Record<string, any>
/** What a call comes to: its answer, or the code of its error and the paths of its issues. */
export type Outcome = { answer: any } | { code: string; paths: string[] }
/** Calls a verb as the viewer. */
export type Door = (viewer: Viewer, verb: VerbName, input: Input) => Promise<Outcome>

/** Ids in the world, which the inputs of calls contain. */
export type Room = {
  conversationId: string
  /** A turn by ada, and a turn by bob that only ada and bob see. */
  turnId: string
  whisperId: string
  /** Open turns by bob. */
  openIds: string[]
  factId: string
  /** A context in the view of ada. */
  contextId: string
  /** A run that has ended; and a run in another conversation that waits for two decisions. */
  runId: string
  waitingRunId: string
  approvalId: string
  /** An export by ada of its own data, and an import. */
  exportId: string
  importId: string
}

/** Creates the world: a conversation that only its participants ada, bob and cyd see. */
export async function furnish(deps: Deps, { name, as }: Pick<Tenant, 'name' | 'as'>): Promise<Room> {
  const [ada, bob] = [as('ada'), as('bob')]
  const participants = ['ada', 'bob', 'cyd', { actor: 'bot', kind: 'AGENT' as const }].map((each) =>
    typeof each === 'string' ? { actor: each } : each,
  )
  const { conversation } = await createConversation(deps, ada, { key: 'room', visibility: 'MEMBERS', participants })
  const conversationId = conversation.id
  const turn = (viewer: Viewer, content: string, audience?: string[]) =>
    appendTurn(deps, viewer, { conversationId, turn: { role: 'USER', content, audience } })
  const { turn: first } = await turn(ada, 'We will sail to the island of Runde in August.')
  const { turn: whisper } = await turn(bob, 'The sail of the boat is torn, ada.', ['ada', 'bob'])
  const open = () =>
    openTurn(deps, bob, { conversationId, turn: { role: 'ASSISTANT' }, writerToken: WRITER, leaseSeconds: 300 })
  const openIds = [(await open()).turn.id, (await open()).turn.id]
  const { facts } = await recordFacts(deps, ada, {
    conversationId,
    facts: [{ subject: 'ada', predicate: 'likes', object: 'sailing' }],
  })
  const { id: contextId } = await buildContext(deps, ada, { conversationId, tokenBudget: 1000, store: true })
  const { run } = await runTurn(deps, ada, {
    conversationId,
    actor: 'bot',
    provider: 'scripted',
    turns: [{ role: 'USER', content: 'Which month?' }],
  })
  const other = await createConversation(deps, ada, { key: 'work', visibility: 'MEMBERS', participants })
  const waiting = await requestedApprovals(deps, name, other.conversation.id, {
    calls: [{ callId: 'c1' }, { callId: 'c2' }],
  })
  return {
    conversationId,
    turnId: first.id,
    whisperId: whisper.id,
    openIds,
    factId: facts[0]!.id,
    contextId: contextId!,
    runId: run.id,
    waitingRunId: waiting.runId,
    approvalId: waiting.approvalIds[0]!,
    exportId: (await startExport(deps, ada, { scope: 'USER', userId: 'ada' })).id,
    importId: (await startImport(deps, ada, { manifest: MANIFEST, fileKey: 'begun' })).id,
  }
}

const found = <T>(value: T | null | undefined): T => {
  if (value == null) throw new VerbFailed('NOT_FOUND', 'missing')
  return value
}
const page = ({
  items,
  hasNextPage,
  hasPreviousPage,
}: {
  items: object[]
  hasNextPage: boolean
  hasPreviousPage: boolean
}) => ({ nodes: items, pageInfo: { hasNextPage, hasPreviousPage } })

type Call = (deps: Deps, viewer: Viewer, input: any) => Promise<unknown>

/** A list in a conversation is missing if the viewer does not see the conversation. */
const inConversation =
  (list: Call): Call =>
  async (deps, viewer, input) => {
    found((await getConversations(deps, viewer, [input.conversationId])).get(input.conversationId))
    return list(deps, viewer, input)
  }

/** The functions of the library by verb. Each returns an object with properties of the API's answer. */
const LIBRARY: Record<string, Call> = {
  createConversation,
  conversations: async (...call) => page(await getConversationPage(...call)),
  conversation: async (deps, viewer, { conversationId: id }) =>
    found((await getConversations(deps, viewer, [id])).get(id)),
  updateConversation: async (...call) => ({ conversation: await updateConversation(...call) }),
  deleteConversation: async (deps, viewer, { conversationId }) => ({
    deletedConversationId: conversationId,
    receipt: await deleteConversation(deps, viewer, conversationId),
  }),
  participants: inConversation(async (deps, viewer, { conversationId: id, ...args }) =>
    page((await pageOfParticipants(deps, viewer, [id], args)).get(id)!),
  ),
  addParticipant: async (...call) => ({ participant: await addParticipant(...call) }),
  updateParticipant: async (...call) => ({ participant: await updateParticipant(...call) }),
  removeParticipant: async (...call) => ({ participant: await removeParticipant(...call) }),
  sharedStates: inConversation(async (deps, viewer, { conversationId: id, ...args }) =>
    page((await getSharedStatePages(deps, viewer, [id], args)).get(id)!),
  ),
  sharedState: inConversation(async (deps, viewer, { conversationId, key }) =>
    found((await getSharedStates(deps, viewer, [{ conversationId, key }]))[0]),
  ),
  updateSharedState,
  deleteSharedState: async (...call) => {
    const { key: deletedKey, seq } = await deleteSharedState(...call)
    return { deletedKey, seq }
  },
  markRead: async (...call) => ({ participant: await markRead(...call) }),
  setPresence: async (...call) => ({ participant: await setPresence(...call, null) }),
  turns: inConversation(async (deps, viewer, { conversationId: id, ...args }) =>
    page((await pageOfTurns(deps, viewer, [id], args)).get(id)!),
  ),
  appendTurn,
  appendTurns,
  supersedeTurn,
  eraseTurn,
  pinTurn,
  unpinTurn,
  openTurn,
  appendDelta,
  commitTurn: async (...call) => ({ turn: await commitTurn(...call) }),
  abortTurn: async (...call) => ({ turn: await abortTurn(...call) }),
  recall,
  buildContext,
  renderContext: async (deps, viewer, { format, ...input }) => {
    const { messages, ...sizes } = await buildContext(deps, viewer, input)
    return { ...sizes, messages: render(messages, format) }
  },
  contextById: async (deps, viewer, { contextId }) =>
    found((await getContexts(deps, viewer, [contextId])).get(contextId)),
  summaries: inConversation(async (deps, viewer, { conversationId: id }) => ({
    nodes: await getCoveringSummaries(deps, viewer, id),
  })),
  summarize: async (...call) => ({ summary: await summarize(...call) }),
  compact,
  facts: async (...call) => page(await getFactPage(...call)),
  recordFacts,
  extractFacts,
  retractFact: async (...call) => ({ fact: await retractFact(...call) }),
  userProfile: async (deps, viewer, { userId }) => found((await getProfiles(deps, viewer, [userId])).get(userId)),
  refreshUserProfile: async (...call) => ({ userProfile: await refreshUserProfile(...call) }),
  runTurn,
  run: async (deps, viewer, { runId }) => found((await getRuns(deps, viewer, [runId])).get(runId)),
  cancelRun: async (...call) => ({ run: await cancelRun(...call) }),
  approvals: async (...call) => page(await getApprovalPage(...call)),
  resolveApproval,
  startExport: async (...call) => ({ transfer: await startExport(...call) }),
  continueExport,
  startImport: async (...call) => ({ transfer: await startImport(...call) }),
  continueImport: async (...call) => ({ transfer: await continueImport(...call) }),
  transfer: async (deps, viewer, { transferId }) => found(await getTransfer(deps, viewer, transferId)),
  cancelTransfer: async (...call) => ({ transfer: await cancelTransfer(...call) }),
}

/** The door of the library. */
export const libraryDoor =
  (deps: Deps): Door =>
  async (viewer, verb, input) => {
    try {
      const { asOf: moment, ...given } = input as Record<string, any>
      if (moment == null) return { answer: await LIBRARY[verb]!(deps, viewer, given) }
      const conversationId = given['conversationId'] ?? given['filter']?.conversationId
      const past = await asOf(deps, viewer, { asOf: moment, conversationId })
      return { answer: await LIBRARY[verb]!(past, viewer, given) }
    } catch (error) {
      if (error instanceof DomainError || error instanceof VerbFailed) return outcomeOf(error)
      throw error
    }
  }

/** Returns the outcome of an error with a code, and with issues if the input is wrong. */
export const outcomeOf = (error: { code: string; issues?: readonly { path: readonly string[] }[] }): Outcome => ({
  code: error.code,
  paths: (error.issues ?? []).map(({ path }) => path.join('.')),
})

/** An id that no object has. */
const missing = (kind: string) => `${kind}_01ARZ3NDEKTSV4RRFFQ69G5FAV`

/** The first line of a file to import. */
const MANIFEST = '{"type":"manifest","format":"colloquy-transcript","version":1,"scope":"TENANT"}'

/** The calls of every verb: first those that change little, with inputs that are right and wrong. */
export const CALLS: [verb: VerbName, inputs: (room: Room) => Input[]][] = [
  [
    'conversations',
    () => [
      {},
      { first: 1, orderBy: 'UPDATED_AT' },
      { filter: { participant: 'bob' } },
      { first: 0 },
      { first: 1, last: 1 },
    ],
  ],
  ['conversation', ({ conversationId }) => [{ conversationId }, { conversationId: missing('conv') }]],
  [
    'participants',
    ({ conversationId }) => [{ conversationId }, { conversationId: missing('conv') }, { conversationId, last: 500 }],
  ],
  [
    'updateSharedState',
    ({ conversationId }) => [
      { conversationId, key: 'plan', value: { steps: [] }, clientId: 's1' },
      { conversationId, key: 'plan', patch: [{ op: 'add', path: '/steps/-', value: null }], expectedVersion: 1 },
      { conversationId, key: 'plan', patch: [{ op: 'remove', path: '/none' }] },
      { conversationId, key: 'plan', value: 1, expectedVersion: 1 },
    ],
  ],
  ['sharedStates', ({ conversationId }) => [{ conversationId }, { conversationId: missing('conv') }]],
  [
    'sharedState',
    ({ conversationId }) => [
      { conversationId, key: 'plan' },
      { conversationId, key: 'none' },
    ],
  ],
  [
    'deleteSharedState',
    ({ conversationId }) => [
      { conversationId, key: 'plan', expectedVersion: 1 },
      { conversationId, key: 'plan' },
      { conversationId, key: 'plan' },
    ],
  ],
  [
    'turns',
    ({ conversationId }) => [
      { conversationId },
      { conversationId, last: 2, filter: { actors: ['ada', 'bob'], roles: ['USER'] } },
      { conversationId, after: 'nonsense' },
      { conversationId: missing('conv') },
      { conversationId, asOf: { seq: 3 } },
      { conversationId, asOf: { seq: 10_000 } },
    ],
  ],
  [
    'recall',
    ({ conversationId }) => [
      { conversationId, query: 'Is the sail torn?', kinds: ['TURN'] },
      { query: 'sail', scope: 'TENANT' },
      { conversationId, query: '' },
      { conversationId, query: 'sail', k: 0 },
      { conversationId, query: 'sail', asOf: { seq: 4 } },
      { query: 'sail', scope: 'TENANT', asOf: { seq: 4 } },
    ],
  ],
  [
    'buildContext',
    ({ conversationId }) => [
      { conversationId, tokenBudget: 1000 },
      { conversationId, tokenBudget: 1 },
      { conversationId, tokenBudget: 1000, includeFacts: true, query: 'sail' },
      { conversationId, tokenBudget: 1000, includeFacts: true, query: 'sail', semanticRecall: {} },
      { conversationId: missing('conv'), tokenBudget: 1000 },
      { conversationId, tokenBudget: 1000, includeFacts: true, asOf: { seq: 4 } },
      { conversationId, tokenBudget: 1000, store: true, asOf: { seq: 4 } },
    ],
  ],
  ['renderContext', ({ conversationId }) => [{ conversationId, tokenBudget: 1000, format: 'ANTHROPIC' }]],
  ['contextById', ({ contextId }) => [{ contextId }, { contextId: missing('ctx') }]],
  ['facts', () => [{}, { filter: { subject: 'ada' } }, { filter: { minConfidence: 2 } }, { asOf: { seq: 1 } }]],
  ['summaries', ({ conversationId }) => [{ conversationId }, { conversationId: missing('conv') }]],
  ['run', ({ runId }) => [{ runId }, { runId: missing('run') }]],
  ['approvals', ({ conversationId }) => [{}, { conversationId, state: 'PENDING' }, { first: 1000 }]],
  ['createConversation', () => [{ key: 'other', title: 'Boats' }, { key: '' }, { owner: 'zoe' }]],
  [
    'updateConversation',
    ({ conversationId }) => [
      { conversationId, title: 'Runde', expectedVersion: 1 },
      { conversationId, title: 'Runde', expectedVersion: 9 },
      { conversationId, visibility: 'OPEN', ttlSeconds: -1 },
      { conversationId: missing('conv'), title: 'Runde' },
    ],
  ],
  [
    'addParticipant',
    ({ conversationId }) => [
      { conversationId, participant: { actor: 'dan', displayName: 'Dan' } },
      { conversationId, participant: { actor: '' } },
    ],
  ],
  [
    'updateParticipant',
    ({ conversationId }) => [
      { conversationId, actor: 'cyd', displayName: 'Cyd' },
      { conversationId, actor: 'nobody', displayName: 'Cyd' },
    ],
  ],
  [
    'markRead',
    ({ conversationId }) => [
      { conversationId, seq: 3 },
      { conversationId, seq: 1_000_000 },
    ],
  ],
  ['setPresence', ({ conversationId }) => [{ conversationId, state: 'TYPING' }]],
  [
    'appendTurn',
    ({ conversationId }) => [
      { conversationId, turn: { role: 'USER', content: 'Is it far?', clientId: 'c1' } },
      { conversationId, turn: { role: 'USER', content: 'Is it far?', clientId: 'c1' } },
      { conversationId, turn: { role: 'USER', content: 'Is it near?', clientId: 'c1' } },
      { conversationId, turn: { role: 'SYSTEM', content: 'Be brief.' } },
      { conversationId, turn: { role: 'USER', content: 'x', parts: [{ text: 'y' }] } },
      { conversationId: missing('conv'), turn: { role: 'USER', content: 'x' } },
    ],
  ],
  [
    'appendTurns',
    ({ conversationId }) => [
      {
        conversationId,
        turns: [
          { role: 'USER', content: 'One.' },
          { role: 'USER', content: 'Two.' },
        ],
      },
      { conversationId, turns: [] },
      { conversationId, turns: [{ role: 'USER', content: 'x', metadata: { a: 'b'.repeat(70_000) } }] },
    ],
  ],
  [
    'supersedeTurn',
    ({ turnId, whisperId }) => [
      { turnId, turn: { role: 'USER', content: 'We will sail to Runde in July.' } },
      { turnId: whisperId, turn: { role: 'USER', content: 'The sail is mended.' } },
      { turnId: missing('turn'), turn: { role: 'USER', content: 'x' } },
    ],
  ],
  ['pinTurn', ({ turnId, whisperId }) => [{ turnId }, { turnId: whisperId }]],
  ['unpinTurn', ({ turnId }) => [{ turnId }, { turnId: 'x' }]],
  [
    'openTurn',
    ({ conversationId }) => [
      { conversationId, turn: { role: 'ASSISTANT', clientId: 'o1' }, writerToken: 'v'.repeat(32) },
      { conversationId, turn: { role: 'ASSISTANT' }, writerToken: 'short' },
    ],
  ],
  [
    'appendDelta',
    ({ openIds: [turnId] }) => [
      { turnId, writerToken: WRITER, text: 'Hel' },
      { turnId, writerToken: WRITER, start: 99, text: 'lo' },
      { turnId, writerToken: 'x'.repeat(32), text: 'lo' },
    ],
  ],
  [
    'commitTurn',
    ({ openIds: [turnId] }) => [
      { turnId, writerToken: WRITER },
      { turnId: missing('turn'), writerToken: WRITER },
    ],
  ],
  [
    'abortTurn',
    ({ openIds: [committedId, turnId] }) => [
      { turnId, writerToken: WRITER, reason: 'late' },
      { turnId: committedId, writerToken: WRITER },
    ],
  ],
  ['summarize', ({ conversationId }) => [{ conversationId }, { conversationId, through: 'x' }]],
  ['compact', ({ conversationId }) => [{ conversationId }, { conversationId, policy: { triggerTurns: 0 } }]],
  [
    'recordFacts',
    ({ conversationId }) => [
      { conversationId, facts: [{ subject: 'bob', predicate: 'owns', object: 'a boat' }] },
      { facts: [] },
      { conversationId, facts: [{ subject: 'bob', predicate: 'owns', object: 'a boat', confidence: 2 }] },
    ],
  ],
  ['extractFacts', ({ conversationId }) => [{ conversationId }, { conversationId, through: missing('turn') }]],
  ['retractFact', ({ factId }) => [{ factId, reason: 'no longer' }, { factId: 'x' }]],
  ['refreshUserProfile', () => [{ userId: 'ada' }, { userId: 'nobody' }, { userId: 'ada', recentK: 0 }]],
  ['userProfile', () => [{ userId: 'ada' }, { userId: 'cyd' }]],
  [
    'runTurn',
    ({ conversationId }) => [
      { conversationId, actor: 'bot', provider: 'scripted', turns: [{ role: 'USER', content: 'When?' }] },
      { conversationId, actor: 'bot', provider: 'unknown' },
    ],
  ],
  [
    'resolveApproval',
    ({ approvalId }) => [
      { approvalId: missing('appr'), decision: 'APPROVE' },
      { approvalId, decision: 'APPROVE', expectedCallHash: 'x' },
      { approvalId, decision: 'APPROVE' },
      { approvalId, decision: 'DENY' },
    ],
  ],
  ['cancelRun', ({ runId, waitingRunId }) => [{ runId: waitingRunId }, { runId }, { runId: missing('run') }]],
  [
    'removeParticipant',
    ({ conversationId }) => [
      { conversationId, actor: 'dan' },
      { conversationId, actor: 'nobody' },
    ],
  ],
  ['eraseTurn', ({ turnId, whisperId }) => [{ turnId: whisperId }, { turnId }]],
  ['deleteConversation', ({ conversationId }) => [{ conversationId }, { conversationId }]],
  [
    'startExport',
    ({ conversationId }) => [
      { scope: 'CONVERSATION', conversationId },
      { scope: 'USER', userId: 'ada' },
      { scope: 'OWNER' },
      { scope: 'TENANT', owner: 'ada' },
      { scope: 'CONVERSATION', conversationId: missing('conv') },
    ],
  ],
  ['continueExport', ({ exportId }) => [{ transferId: exportId }, { transferId: missing('xfer') }]],
  [
    'startImport',
    () => [
      { manifest: MANIFEST, fileKey: 'file' },
      { manifest: '{}', fileKey: 'file' },
    ],
  ],
  [
    'continueImport',
    ({ importId: transferId }) => [
      { transferId, offset: 0, lines: ['{"type":"heldUser","userId":"zoe","since":"2026-01-01T00:00:00Z"}'] },
      { transferId, offset: 0, lines: ['{"type":"heldUser","userId":"zoe","since":"2026-01-01T00:00:00Z"}'] },
      { transferId, offset: 5, lines: ['{}'] },
      { transferId, offset: 1, lines: ['{"type":"person"}'] },
    ],
  ],
  ['transfer', ({ exportId }) => [{ transferId: exportId }, { transferId: missing('xfer') }]],
  ['cancelTransfer', ({ exportId }) => [{ transferId: exportId }, { transferId: missing('xfer') }]],
]

/** The verbs that CALLS must contain. Subscriptions have no answer. */
export const verbsWithAnswer = (): VerbName[] => verbEntries().flatMap(([verb]) => (isSubscription(verb) ? [] : [verb]))

export type Made = { verb: VerbName; input: Input; outcome: Outcome }

/** Makes all calls as the viewer, and returns their outcomes. */
export async function makeCalls(door: Door, viewer: Viewer, room: Room): Promise<Made[]> {
  const made: Made[] = []
  for (const [verb, inputs] of CALLS) {
    for (const input of inputs(room)) made.push({ verb, input, outcome: await door(viewer, verb, input) })
  }
  return made
}
