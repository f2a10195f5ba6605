// Operations of the access matrix with inputs that cannot be generated from the schema: filters that match hidden
// objects, each kind of node, combinations of arguments, and tokens of writers.

import { derivedId } from '../../../src/domain/kernel/derived-id.ts'
import { WRITER } from '../../support/writer.ts'
import { CANARY, PRIVATE_CALL, type Ids } from './filled-world.ts'

/** Returns the operations of one field; always the same number of them. */
type Crafted = (ids: Ids, actor: string) => string[]

const OTHER_WRITER = 'x'.repeat(WRITER.length)
const ERROR = '... on UserError { __typename code message }'
const FACT = 'subject predicate object confidence superseded: supersededAt'
const text = JSON.stringify

export const mutation = (field: string, input: string, result = '__typename') =>
  `mutation { ${field}(input: { ${input} }) { ${result} ${ERROR} } }`

/** Calls on a turn, with the token of its writer and with another one. */
const asWriters =
  (field: string, more = ''): Crafted =>
  ({ open, turn, writerToken }) =>
    [writerToken, OTHER_WRITER].flatMap((token) =>
      [open, turn].map((id) => mutation(field, `turnId: ${text(id)}, writerToken: ${text(token)}${more}`)),
    )

export const CRAFTED: Partial<Record<string, Crafted>> = {
  'Query.conversation': ({ conversation }) => [
    `{ conversation(key: "hidden") { id title } }`,
    `{ conversation(id: ${text(conversation)}) {
      sharedState(key: ${text(CANARY)}) { key value } sharedStates { nodes { key value version schema audience } } } }`,
  ],
  'Query.conversations': () => [
    `{ conversations { edges { cursor node { key title lastSeq turnCount participants { nodes { actor } } } }
      pageInfo { hasNextPage } } }`,
    `{ conversations(last: 1, orderBy: UPDATED_AT) { edges { node { title } } pageInfo { hasPreviousPage } } }`,
    `{ conversations(filter: { search: ${text(CANARY)} }) { edges { node { id } } } }`,
    `{ conversations(filter: { participant: "bob" }) { edges { node { id } } } }`,
    `{ conversations(filter: { owner: "ann", metadata: [{ path: ["secret"], value: { equals: true } }],
      hasUnread: true }) { edges { node { id } } } }`,
  ],
  'Query.node': ({ conversation, turn, open, fact, summary, run, approval }) =>
    [conversation, turn, open, fact, summary, run, approval].map(
      (id) => `{ node(id: ${text(id)}) { __typename id ... on Turn { text } } }`,
    ),
  'Query.nodes': ({ conversation, others, turn, open, fact, run, approval }) => {
    const participants = ['ann', 'bob'].map((actor) =>
      derivedId({ kind: 'participant', conversationId: conversation, actor }),
    )
    return [
      `{ nodes(ids: ${text([turn, open, fact, run, approval, ...others])}) { __typename id } }`,
      `{ nodes(ids: ${text([conversation, ...participants])}) { __typename } }`,
      `{ nodes(ids: ${text([derivedId({ kind: 'state', conversationId: conversation, key: CANARY })])}) { __typename } }`,
    ]
  },
  'Query.recall': ({ conversation }) =>
    ['', 'scope: OWNER', 'scope: TENANT', 'scope: TENANT, kinds: [SUMMARY, FACT]'].flatMap((scope) =>
      [`conversationId: ${text(conversation)}`, scope ? '' : 'conversationId: "conv_1"'].map(
        (of) => `{ recall(input: { ${of} ${scope} query: "${CANARY} harbour hello secret", k: 20, neighbours: 10 }) {
          ... on Recall { plan { candidates } hits { score textScore memory {
            ... on Turn { text } ... on Summary { content } ... on Fact { ${FACT} } } } } ${ERROR} } }`,
      ),
    ),
  'Query.buildContext': ({ conversation }) => [
    `{ buildContext(input: { conversationId: ${text(conversation)}, tokenBudget: 1000, includeFacts: true,
      includeProfile: true, semanticRecall: { scope: TENANT }, query: "harbour" }) {
      ... on Context { messages { content } } ${ERROR} } }`,
  ],
  'Query.facts': ({ conversation }) => [
    `{ facts { edges { node { ${FACT} } } } }`,
    `{ facts(filter: { includeSuperseded: true, userId: "ann" }) { edges { node { ${FACT} } } } }`,
    `{ facts(filter: { conversationId: ${text(conversation)}, includeSuperseded: true }) { edges { node { ${FACT} } } } }`,
    `{ facts(filter: { subject: ${text(CANARY)} }) { edges { node { ${FACT} } } } }`,
    `{ facts(filter: { predicate: "has a" }) { edges { node { ${FACT} sources { nodes { turn { text } } } } } } }`,
  ],
  'Query.approvals': ({ conversation }) => [
    `{ approvals(conversationId: ${text(conversation)}, state: PENDING) { nodes { toolName } } }`,
  ],
  'Query.userProfile': () => ['{ userProfile(userId: "ann") { content tokenCount } }'],
  'Mutation.runTurn': ({ conversation, turn, run }) => [
    mutation('runTurn', `conversationId: ${text(conversation)}, actor: "ann", replyTo: ${text(turn)}`),
    mutation('runTurn', `conversationId: ${text(conversation)}, runId: ${text(run)}`),
  ],
  'Mutation.appendTurn': ({ conversation }) => [
    mutation(
      'appendTurn',
      `conversationId: ${text(conversation)}, expectedLastSeq: 1,
      turn: { role: USER, content: "hello", audience: ["nobody"] }`,
    ),
    ...['none', PRIVATE_CALL].map((callId) =>
      mutation(
        'appendTurn',
        `conversationId: ${text(conversation)}, turn: { role: TOOL,
        parts: [{ toolResult: { callId: ${text(callId)}, name: "none", result: 1 } }] }`,
      ),
    ),
  ],
  'Mutation.appendTurns': ({ conversation }, actor) => [
    mutation(
      'appendTurns',
      `conversationId: ${text(conversation)}, turns: [{ role: USER, content: "hello", audience: ["bob"] }]`,
    ),
    mutation(
      'appendTurns',
      `conversationId: ${text(conversation)}, turns: [{ actor: ${text(actor)}, role: USER, content: "hello" }]`,
    ),
  ],
  'Mutation.appendDelta': asWriters('appendDelta', ', text: "more"'),
  'Mutation.commitTurn': asWriters('commitTurn'),
  'Mutation.abortTurn': asWriters('abortTurn'),
  'Mutation.supersedeTurn': ({ turn, others }) =>
    [turn, others[1]!, others[2]!].map((id) =>
      mutation('supersedeTurn', `turnId: ${text(id)}, turn: { role: USER, content: "mine now" }`),
    ),
  'Mutation.pinTurn': ({ open }) => [mutation('pinTurn', `turnId: ${text(open)}`)],
  'Mutation.unpinTurn': ({ open }) => [mutation('unpinTurn', `turnId: ${text(open)}`)],
  'Mutation.claimTurn': ({ turn, open }) =>
    [turn, open].map((id) => mutation('claimTurn', `turnId: ${text(id)}, claimToken: ${text(OTHER_WRITER)}`)),
  'Mutation.renewClaim': ({ turn }) => [
    mutation('renewClaim', `turnId: ${text(turn)}, claimToken: ${text(OTHER_WRITER)}`),
  ],
  'Mutation.releaseClaim': ({ turn }) => [
    mutation('releaseClaim', `turnId: ${text(turn)}, claimToken: ${text(OTHER_WRITER)}`),
  ],
  'Mutation.resolveApproval': ({ approval }) =>
    ['decision: APPROVE', 'decision: APPROVE, arguments: { amount: 1 }', 'decision: DENY, reason: "no"'].map(
      (decision) => mutation('resolveApproval', `approvalId: ${text(approval)}, ${decision}`),
    ),
  'Mutation.addParticipant': ({ conversation }, actor) => [
    mutation('addParticipant', `conversationId: ${text(conversation)}, participant: { actor: ${text(actor)} }`),
    mutation(
      'addParticipant',
      `conversationId: ${text(conversation)}, participant: { actor: "bob", displayName: "x" }`,
    ),
  ],
  'Mutation.updateParticipant': ({ conversation }, actor) =>
    ['bob', actor, 'nobody'].flatMap((each) =>
      ['historyVisibility: ALL', 'displayName: "x", metadataPatch: { a: 1 }'].map((change) =>
        mutation('updateParticipant', `conversationId: ${text(conversation)}, actor: ${text(each)}, ${change}`),
      ),
    ),
  'Mutation.removeParticipant': ({ conversation }) => [
    mutation('removeParticipant', `conversationId: ${text(conversation)}, actor: "nobody"`),
  ],
  'Mutation.markRead': ({ conversation }) =>
    [0, 10_000].map((seq) => mutation('markRead', `conversationId: ${text(conversation)}, seq: ${seq}`)),
  'Mutation.updateConversation': ({ conversation }) => [
    mutation('updateConversation', `conversationId: ${text(conversation)}, title: "taken"`),
    mutation('updateConversation', `conversationId: ${text(conversation)}, visibility: OPEN`),
  ],
  'Mutation.eraseTurn': ({ open }) => [mutation('eraseTurn', `turnId: ${text(open)}`)],
  'Mutation.summarize': ({ conversation, turn }) => [
    mutation('summarize', `conversationId: ${text(conversation)}, through: ${text(turn)}`),
  ],
  'Mutation.extractFacts': ({ conversation, turn }) => [
    mutation('extractFacts', `conversationId: ${text(conversation)}, through: ${text(turn)}`),
  ],
  'Mutation.recordFacts': ({ conversation, turn }) => [
    mutation(
      'recordFacts',
      `conversationId: ${text(conversation)}, facts: [{ subject: "a", predicate: "b", object: "c" }]`,
    ),
    mutation('recordFacts', `facts: [{ subject: "a", predicate: "b", object: "c", sourceTurnId: ${text(turn)} }]`),
    // The equal hidden fact must not make this fact a duplicate.
    ...['house in the harbour', 'cup of tea'].map((object) =>
      mutation(
        'recordFacts',
        `userId: "ann", facts: [{ subject: "ann", predicate: "has a", object: ${text(object)} }]`,
        `... on RecordFactsPayload { facts { subject } exactDuplicatesSkipped }`,
      ),
    ),
  ],
  'Mutation.reconcileFacts': ({ conversation }) =>
    [`conversationId: ${text(conversation)}`, 'userId: "ann"'].map((of) =>
      mutation('reconcileFacts', of, '... on ReconcileFactsPayload { kept merged contradicted }'),
    ),
  'Mutation.refreshUserProfile': () => [
    mutation(
      'refreshUserProfile',
      `userId: "ann"`,
      '... on RefreshUserProfilePayload { userProfile { content tokenCount } }',
    ),
  ],
  'Mutation.createApiKey': ({ conversation }) => [
    mutation('createApiKey', `name: "one", actor: "eve", rights: [READ], conversationIds: [${text(conversation)}]`),
  ],
  'Mutation.createConversation': () =>
    ['mine', 'again'].map((title) =>
      mutation(
        'createConversation',
        `key: "hidden", title: ${text(title)}`,
        '... on CreateConversationPayload { conversation { title turnCount visibility } created }',
      ),
    ),
  // Operators act on the whole tenant, so these inputs must not affect a conversation.
  'Mutation.eraseUser': () => [mutation('eraseUser', 'userId: "nobody"')],
  'Mutation.pruneConversations': () => [
    mutation('pruneConversations', 'olderThanDays: 1', '... on PruneConversationsPayload { expired }'),
  ],
  'Mutation.setLegalHold': () => [mutation('setLegalHold', 'userId: "nobody", legalHold: false')],
}
