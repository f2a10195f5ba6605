// MEMBERS conversations are hidden from actors who were never participants: every field of Query, Mutation and
// Subscription must answer as for unknown ids in a twin tenant without such a conversation, and must not write or lock
// a row of the conversation. A new field of these types fails this test until it has a case.

import { buildSchema, isInterfaceType, isObjectType, Kind as Syntax, parse, print, type FieldNode } from 'graphql'
import { readFileSync } from 'node:fs'
import { expect, describe, it } from 'vitest'
import pg from 'pg'
import { createConversation, updateConversation } from '../../src/domain/conversation.ts'
import { derivedId } from '../../src/domain/derived-id.ts'
import { deleteConversation } from '../../src/domain/erasure/delete-conversation.ts'
import { recordFacts } from '../../src/domain/fact/record.ts'
import { newId, type Kind } from '../../src/domain/id.ts'
import { addParticipant, removeParticipant } from '../../src/domain/participant.ts'
import { updateParticipant } from '../../src/domain/update-participant.ts'
import { appendDelta } from '../../src/domain/streaming-turn/stream.ts'
import { runTurn } from '../../src/domain/run/start.ts'
import { summarize } from '../../src/domain/summary/compact.ts'
import { openTurn } from '../../src/domain/turn/append.ts'
import { NotFound } from '../../src/errors.ts'
import { requestedApprovals } from '../support/approvals.ts'
import { backends } from '../support/backend.ts'
import { isLong } from '../support/long.ts'
import { useServer } from '../support/server.ts'
import { useWorld, type Tenant } from '../support/world.ts'
import { rowsOf } from '../support/rows.ts'
import { WRITER } from '../support/writer.ts'
import { sql } from '../support/sql.ts'

const MARKER = 'zanzibar7f3a9'
const OTHER_WRITER = 'x'.repeat(WRITER.length)

/** Ids of the hidden conversation and its objects; in the twin tenant, unused ids. */
type Ids = Record<'conversation' | 'turn' | 'open' | 'summary' | 'fact' | 'run' | 'approval', string>
/** Returns the operations to send for one field. */
type Case = (ids: Ids, actor: string) => string | string[]

const ERROR = '... on UserError { __typename code message }'
const text = JSON.stringify
const mutation = (field: string, input: string, result = '__typename') =>
  `mutation { ${field}(input: { ${input} }) { ${result} ${ERROR} } }`
const FACT = 'subject predicate object confidence superseded: supersededAt'

/** Fields that do not accept `as`. */
const WITHOUT_VIEW = new Set([
  'apiKeys',
  'auditLog',
  'embedding',
  'erasure',
  'node',
  'providers',
  'tenantSettings',
  'verifyAuditLog',
  'verifyErasureReceipt',
])

/** Returns the operation with `as` in each root field that accepts it. */
function actingAs(query: string, actor: string): string {
  const as = { name: { kind: Syntax.NAME, value: 'as' }, value: { kind: Syntax.STRING, value: actor } } as const
  const named = (field: FieldNode): FieldNode => {
    if (WITHOUT_VIEW.has(field.name.value)) return field
    const [input] = field.arguments ?? []
    if (input?.value.kind !== Syntax.OBJECT || input.name.value !== 'input') {
      return { ...field, arguments: [...(field.arguments ?? []), { kind: Syntax.ARGUMENT, ...as }] }
    }
    const fields = [...input.value.fields, { kind: Syntax.OBJECT_FIELD, ...as } as const]
    return { ...field, arguments: [{ ...input, value: { ...input.value, fields } }] }
  }
  const { definitions, ...document } = parse(query)
  return print({
    ...document,
    definitions: definitions.map((each) => {
      if (each.kind !== Syntax.OPERATION_DEFINITION) return each
      const selections = each.selectionSet.selections.map((selection) => named(selection as FieldNode))
      return { ...each, selectionSet: { ...each.selectionSet, selections } }
    }),
  })
}

/** The cases by field. Reads come first, because a mutation that succeeds in both tenants changes their answers. */
const cases: Record<string, Case> = {
  'Query.viewer': () => '{ viewer { tenant actor } }',
  'Query.conversation': ({ conversation }) => [
    `{ conversation(id: ${text(conversation)}) { title turnCount history(limit: 5) { __typename } } }`,
    `{ conversation(key: "hidden") { id title } }`,
  ],
  'Query.conversations': () => [
    '{ conversations { edges { cursor node { key title lastSeq turnCount participants { nodes { actor } } } } pageInfo { hasNextPage } } }',
    `{ conversations(last: 1, orderBy: UPDATED_AT) { edges { node { title } } pageInfo { hasPreviousPage } } }`,
    `{ conversations(filter: { search: ${text(MARKER)} }) { edges { node { id } } } }`,
    `{ conversations(filter: { participant: "bob" }) { edges { node { id } } } }`,
    `{ conversations(filter: { owner: "ann", metadata: [{ path: ["secret"], value: { equals: true } }], hasUnread: true }) { edges { node { id } } } }`,
  ],
  'Query.node': (ids) =>
    Object.values(ids).map((id) => `{ node(id: ${text(id)}) { __typename id ... on Turn { text } } }`),
  'Query.nodes': (ids) => {
    const participants = ['ann', 'bob'].map((actor) =>
      derivedId({ kind: 'participant', conversationId: ids.conversation, actor }),
    )
    return `{ nodes(ids: ${JSON.stringify([...Object.values(ids), ...participants])}) { __typename id } }`
  },
  // memoryAudit comes before recall, which marks facts as recalled a moment later.
  'Query.memoryAudit': () => `{ memoryAudit { activeFacts supersededFacts exactDuplicatesSkipped exactDuplicateRate
    nearDuplicateRate openContradictions neverRecalledRate waitingJobs } }`,
  'Query.recall': ({ conversation }) =>
    ['', 'scope: OWNER', 'scope: TENANT', 'scope: TENANT, kinds: [SUMMARY, FACT]'].flatMap((scope) =>
      [`conversationId: ${text(conversation)}`, scope ? '' : 'conversationId: "conv_1"'].map(
        (of) => `{ recall(input: { ${of} ${scope} query: "${MARKER} harbour lives", k: 20 }) {
          ... on Recall { plan { candidates } hits { score textScore memory {
            ... on Turn { text } ... on Summary { content } ... on Fact { ${FACT} } } } } ${ERROR} } }`,
      ),
    ),
  'Query.buildContext': ({ conversation }) => `{ buildContext(input: { conversationId: ${text(conversation)},
    tokenBudget: 1000, includeFacts: true, includeProfile: true, semanticRecall: { scope: TENANT }, query: "harbour" }) {
    ... on Context { messages { content } } ${ERROR} } }`,
  'Query.facts': ({ conversation }) => [
    `{ facts { edges { node { ${FACT} } } } }`,
    `{ facts(filter: { includeSuperseded: true, userId: "ann" }) { edges { node { ${FACT} } } } }`,
    `{ facts(filter: { conversationId: ${text(conversation)} }) { edges { node { ${FACT} } } } }`,
  ],
  'Query.approvals': ({ conversation }) => [
    '{ approvals { edges { node { toolName arguments state reason } } pageInfo { hasNextPage } } }',
    `{ approvals(conversationId: ${text(conversation)}, state: PENDING) { nodes { toolName } } }`,
  ],
  'Query.userProfile': () => '{ userProfile(userId: "ann") { content tokenCount } }',
  'Query.wakeUps': () => '{ wakeUps { nodes { turn { text } claim { scope } } pageInfo { hasNextPage } } }',
  'Query.jobs': () => '{ jobs { nodes { name state userId conversation { id } } } }',
  'Query.apiKeys': () => '{ apiKeys { nodes { name actor } pageInfo { hasNextPage } } }',
  'Query.auditLog': () => '{ auditLog { nodes { seq actor verb resources } } }',
  'Query.verifyAuditLog': () => '{ verifyAuditLog { verifiedThrough brokenSeq isComplete } }',
  'Query.tenantSettings': () => '{ tenantSettings { retention ttlSeconds } }',
  'Query.erasure': () => '{ erasure(id: "none") { id } }',
  'Query.verifyErasureReceipt': () => '{ verifyErasureReceipt(document: "x", signature: "y") }',
  'Query.run': ({ run }) => `{ run(id: ${text(run)}) { id state replies { text } } }`,
  'Mutation.runTurn': ({ conversation, turn, run }) => [
    mutation(
      'runTurn',
      `conversationId: ${text(conversation)}, actor: "ann", turns: [{ role: USER, content: "hello" }]`,
    ),
    mutation('runTurn', `conversationId: ${text(conversation)}, actor: "ann", replyTo: ${text(turn)}`),
    mutation('runTurn', `conversationId: ${text(conversation)}, runId: ${text(run)}`),
  ],
  'Mutation.cancelRun': ({ run }) => mutation('cancelRun', `runId: ${text(run)}`),
  'Query.providers': () => '{ providers { name models defaultModel supportsTools } }',
  // No operation, because this field reports the progress of all tenants together.
  'Query.embedding': () => [],
  'Mutation.appendTurn': ({ conversation }) => [
    mutation('appendTurn', `conversationId: ${text(conversation)}, turn: { role: USER, content: "hello" }`),
    mutation(
      'appendTurn',
      `conversationId: ${text(conversation)}, expectedLastSeq: 1,
      turn: { role: USER, content: "hello", audience: ["nobody"] }`,
    ),
    mutation(
      'appendTurn',
      `conversationId: ${text(conversation)}, turn: { role: TOOL,
      parts: [{ toolResult: { callId: "none", name: "none", result: 1 } }] }`,
    ),
  ],
  'Mutation.appendTurns': ({ conversation }, actor) => [
    mutation('appendTurns', `conversationId: ${text(conversation)}, turns: [{ role: USER, content: "hello" }]`),
    mutation(
      'appendTurns',
      `conversationId: ${text(conversation)},
      turns: [{ actor: "bob", role: USER, content: "hello" }, { actor: ${text(actor)}, role: USER, content: "hello" }]`,
    ),
  ],
  'Mutation.openTurn': ({ conversation }) =>
    mutation(
      'openTurn',
      `conversationId: ${text(conversation)}, writerToken: ${text(WRITER)}, turn: { role: ASSISTANT }`,
    ),
  'Mutation.appendDelta': ({ open, turn }) =>
    [WRITER, OTHER_WRITER].flatMap((token) =>
      [open, turn].map((id) =>
        mutation('appendDelta', `turnId: ${text(id)}, writerToken: ${text(token)}, text: "more"`),
      ),
    ),
  'Mutation.commitTurn': ({ open, turn }) =>
    [WRITER, OTHER_WRITER].flatMap((token) =>
      [open, turn].map((id) => mutation('commitTurn', `turnId: ${text(id)}, writerToken: ${text(token)}`)),
    ),
  'Mutation.abortTurn': ({ open, turn }) =>
    [WRITER, OTHER_WRITER].flatMap((token) =>
      [open, turn].map((id) => mutation('abortTurn', `turnId: ${text(id)}, writerToken: ${text(token)}`)),
    ),
  'Mutation.supersedeTurn': ({ turn }) =>
    mutation('supersedeTurn', `turnId: ${text(turn)}, turn: { role: USER, content: "mine now" }`),
  'Mutation.pinTurn': ({ turn, open }) => [turn, open].map((id) => mutation('pinTurn', `turnId: ${text(id)}`)),
  'Mutation.unpinTurn': ({ turn, open }) => [turn, open].map((id) => mutation('unpinTurn', `turnId: ${text(id)}`)),
  'Mutation.claimTurn': ({ turn, open }) =>
    [turn, open].map((id) => mutation('claimTurn', `turnId: ${text(id)}, claimToken: ${text(OTHER_WRITER)}`)),
  'Mutation.renewClaim': ({ turn }) =>
    mutation('renewClaim', `turnId: ${text(turn)}, claimToken: ${text(OTHER_WRITER)}`),
  'Mutation.releaseClaim': ({ turn }) =>
    mutation('releaseClaim', `turnId: ${text(turn)}, claimToken: ${text(OTHER_WRITER)}`),
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
  'Mutation.removeParticipant': ({ conversation }) =>
    ['bob', 'nobody'].map((actor) =>
      mutation('removeParticipant', `conversationId: ${text(conversation)}, actor: ${text(actor)}`),
    ),
  'Mutation.markRead': ({ conversation }) =>
    [0, 10_000].map((seq) => mutation('markRead', `conversationId: ${text(conversation)}, seq: ${seq}`)),
  'Mutation.setPresence': ({ conversation }) =>
    mutation('setPresence', `conversationId: ${text(conversation)}, state: TYPING`),
  'Mutation.updateConversation': ({ conversation }) => [
    mutation('updateConversation', `conversationId: ${text(conversation)}, title: "taken"`),
    mutation('updateConversation', `conversationId: ${text(conversation)}, visibility: OPEN`),
  ],
  'Mutation.deleteConversation': ({ conversation }) =>
    `mutation { deleteConversation(input: { conversationId: ${text(conversation)} }) { __typename ${ERROR} } }`,
  'Mutation.eraseTurn': ({ turn, open }) => [turn, open].map((id) => mutation('eraseTurn', `turnId: ${text(id)}`)),
  'Mutation.compact': ({ conversation }) => mutation('compact', `conversationId: ${text(conversation)}`),
  'Mutation.summarize': ({ conversation, turn }) => [
    mutation('summarize', `conversationId: ${text(conversation)}`),
    mutation('summarize', `conversationId: ${text(conversation)}, through: ${text(turn)}`),
  ],
  'Mutation.extractFacts': ({ conversation, turn }) => [
    mutation('extractFacts', `conversationId: ${text(conversation)}`),
    mutation('extractFacts', `conversationId: ${text(conversation)}, through: ${text(turn)}`),
  ],
  'Mutation.retractFact': ({ fact }) =>
    `mutation { retractFact(input: { factId: ${text(fact)} }) { __typename ${ERROR} } }`,
  'Mutation.recordFacts': ({ conversation, turn }) => [
    mutation(
      'recordFacts',
      `conversationId: ${text(conversation)}, facts: [{ subject: "a", predicate: "b", object: "c" }]`,
    ),
    mutation('recordFacts', `facts: [{ subject: "a", predicate: "b", object: "c", sourceTurnId: ${text(turn)} }]`),
    // The equal fact in the hidden conversation must not make this fact a duplicate.
    mutation(
      'recordFacts',
      `userId: "ann", facts: [{ subject: "ann", predicate: "lives in", object: "the harbour" }]`,
      `... on RecordFactsPayload { facts { ${FACT} } exactDuplicatesSkipped }`,
    ),
  ],
  'Mutation.reconcileFacts': ({ conversation }) => [
    mutation(
      'reconcileFacts',
      `conversationId: ${text(conversation)}`,
      '... on ReconcileFactsPayload { kept merged contradicted }',
    ),
    mutation('reconcileFacts', `userId: "ann"`, '... on ReconcileFactsPayload { kept merged contradicted }'),
  ],
  'Mutation.refreshUserProfile': () =>
    mutation(
      'refreshUserProfile',
      `userId: "ann"`,
      '... on RefreshUserProfilePayload { userProfile { content tokenCount } }',
    ),
  // Operators act on the whole tenant, so these inputs must not affect a conversation.
  'Mutation.eraseUser': () => mutation('eraseUser', 'userId: "nobody"'),
  'Mutation.updateTenantSettings': () => mutation('updateTenantSettings', 'retention: FULL'),
  'Mutation.pruneConversations': () =>
    mutation('pruneConversations', 'olderThanDays: 1', '... on PruneConversationsPayload { expired }'),
  'Mutation.setLegalHold': () => mutation('setLegalHold', 'userId: "nobody", legalHold: false'),
  // The answers to the next mutations do not depend on the conversation whose id or key they contain.
  'Mutation.createApiKey': ({ conversation }) => [
    mutation('createApiKey', `name: "one", actor: "eve", rights: [READ], conversationIds: [${text(conversation)}]`),
  ],
  'Mutation.rotateApiKey': ({ conversation }) => [
    mutation('rotateApiKey', `id: ${text(conversation)}, expectedVersion: 1`),
  ],
  'Mutation.revokeApiKey': ({ conversation }) => [mutation('revokeApiKey', `id: ${text(conversation)}`)],
  'Mutation.createConversation': () => [
    mutation(
      'createConversation',
      `key: "hidden", title: "mine"`,
      '... on CreateConversationPayload { conversation { key title turnCount visibility } created }',
    ),
    mutation(
      'createConversation',
      `key: "hidden", title: "again"`,
      '... on CreateConversationPayload { conversation { title } created }',
    ),
  ],
}

/** Replaces ids by their order of occurrence, and hides cursors, times and tenant names, which differ anyway. */
function normalized(body: unknown): string {
  const seen = new Map<string, string>()
  return JSON.stringify(body)
    .replace(/"cursor":"[^"]*"/g, '')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/tenant-\d+/g, 'TENANT')
    .replace(/\b(?:conv|turn|sum|fact|run|appr)_[0-9A-Z]{26}\b/g, (id) => {
      seen.set(id, seen.get(id) ?? `id${seen.size}`)
      return seen.get(id)!
    })
}

describe.each(backends)('a MEMBERS conversation on $name', (backend) => {
  const server = useServer(backend, { INTROSPECTION: 'true' })

  /** Creates an OPEN conversation of ann and eve. */
  async function openConversation(tenant: Tenant): Promise<void> {
    const conversationId = await tenant.newConversation('ann', 'eve')
    const { id } = await tenant.append(conversationId, 'ann', 'I walk to the harbour every day.')
    const facts = [
      { subject: 'ann', predicate: 'lives in', object: 'Oslo', sourceTurnId: id },
      { subject: 'ann', predicate: 'likes', object: 'tea', sourceTurnId: id },
    ]
    for (const fact of facts) {
      await recordFacts(server.deps, tenant.as('ann'), { conversationId, userId: 'ann', facts: [fact] })
      // Lists order facts of one millisecond by their ids, which are random.
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }

  /** Creates a MEMBERS conversation of ann, bob and a former participant, with objects of each kind. */
  async function hiddenConversation(tenant: Tenant): Promise<Ids> {
    const { deps } = server
    const ann = tenant.as('ann')
    const { conversation: created } = await createConversation(deps, ann, {
      key: 'hidden',
      title: MARKER,
      metadata: { secret: true },
      visibility: 'MEMBERS',
      participants: [{ actor: 'ann' }, { actor: 'bob', displayName: MARKER }, { actor: 'gone' }, { actor: 'bot' }],
    })
    const conversationId = created.id
    await removeParticipant(deps, ann, { conversationId, actor: 'gone' })
    const { id: turn } = await tenant.append(conversationId, 'ann', `${MARKER} I live in the harbour.`)
    const { id: summary } = await summarize(deps, ann, { conversationId })
    const facts = [
      { subject: 'ann', predicate: 'lives in', object: 'the harbour', sourceTurnId: turn },
      { subject: 'ann', predicate: 'likes', object: 'tea', sourceTurnId: turn },
      { subject: 'ann', predicate: 'knows', object: MARKER, sourceTurnId: turn },
    ]
    const recorded = await recordFacts(deps, ann, { conversationId, userId: 'ann', facts })
    const { turn: open } = await openTurn(deps, ann, {
      writerToken: WRITER,
      conversationId,
      turn: { role: 'ASSISTANT' },
    })
    await appendDelta(deps, ann, { writerToken: WRITER, turnId: open.id, text: MARKER })
    const calls = [{ callId: 'c1', arguments: { amount: 5, to: MARKER } }]
    const { approvalIds } = await requestedApprovals(deps, tenant.name, conversationId, { calls })
    const { run } = await runTurn(deps, ann, {
      conversationId,
      actor: 'ann',
      replyTo: turn,
      instructions: '{"echo": {"tools": [{"name": "look_up"}]}}',
      tools: [{ name: 'look_up', description: 'Looks something up.' }],
    })
    return {
      conversation: conversationId,
      turn,
      open: open.id,
      summary,
      fact: recorded.facts.at(-1)!.id,
      run: run.id,
      approval: approvalIds[0]!,
    }
  }

  const unknown = (): Ids => {
    const id = (kind: Kind) => newId(kind)
    return {
      conversation: id('conversation'),
      turn: id('turn'),
      open: id('turn'),
      summary: id('summary'),
      fact: id('fact'),
      approval: id('approval'),
      run: id('run'),
    }
  }

  async function ask(tenant: Tenant, actor: string | null, query: string): Promise<string> {
    const headers: Record<string, string> = { 'x-tenant': tenant.name, ...(actor !== null && { 'x-actor': actor }) }
    const { status, body } = await server.post({ query }, headers)
    expect(status, query).toBe(200)
    for (const { extensions, message } of body.errors ?? []) {
      expect(extensions?.code, `${message}: ${query}`).not.toMatch(/INTERNAL|VALIDATION|PARSE/)
    }
    return normalized(body)
  }

  it('has a case for every field of Query and Mutation', () => {
    const schema = buildSchema(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'))
    const fields = [schema.getQueryType()!, schema.getMutationType()!].flatMap((type) =>
      Object.keys(type.getFields()).map((field) => `${type.name}.${field}`),
    )
    expect(Object.keys(cases).sort()).toEqual(fields.sort())
    expect(Object.keys(schema.getSubscriptionType()!.getFields()).sort()).toEqual([
      'conversationEvents',
      'inbox',
      'runEvents',
    ])
    // `node` and `nodes` have a case for each type, except Job and UserProfile, whose ids an outsider requests with
    // `jobs` and `userProfile`, and except ApiKey and Viewer, which belong to no conversation.
    const node = schema.getType('Node')
    const kinds = isInterfaceType(node) ? schema.getPossibleTypes(node).filter(isObjectType) : []
    expect(kinds.map(({ name }) => name).sort()).toEqual([
      'ApiKey',
      'Approval',
      'Conversation',
      'Fact',
      'Job',
      'Participant',
      'Run',
      'Summary',
      'Turn',
      'UserProfile',
      'Viewer',
    ])
  })

  it.each<[actor: string | null, as: string | null]>([
    ['eve', null],
    [null, null],
    ['gateway', 'eve'],
  ])(
    // Without LONG, the other actors send an eighth of eve's operations.
    'does not exist for %s, acting as %s, in any query or mutation, and no operation writes or locks a row of it',
    async (actor, as) => {
      const [one, other] = [server.tenant(), server.tenant()]
      const ids = await hiddenConversation(one)
      const none = unknown()
      for (const tenant of [one, other]) await openConversation(tenant)
      const before = await rowsOf(server.deps.pool, ids.conversation)
      for (const [index, [field, operationsOf]] of Object.entries(cases).entries()) {
        if (!isLong && actor !== 'eve' && index % 8 !== 0) continue
        const [queries, twinQueries] = [ids, none].map((each) =>
          [operationsOf(each, as ?? actor ?? 'anonymous')]
            .flat()
            .map((query) => (as === null ? query : actingAs(query, as))),
        )
        for (const [n, query] of queries!.entries()) {
          const answer = await ask(one, actor, query)
          expect(answer, query).toBe(await ask(other, actor, twinQueries![n]!))
          expect(answer.replaceAll(query, ''), field).not.toContain(MARKER)
        }
      }
      expect(await rowsOf(server.deps.pool, ids.conversation)).toEqual(before)
    },
  )

  it("does not exist for subscriptions of an outsider, and is not in an outsider's inbox", async () => {
    const tenant = server.tenant()
    const { conversation, run } = await hiddenConversation(tenant)
    const eve = server.client({ 'x-tenant': tenant.name, 'x-actor': 'eve' })
    const answerOf = async (field: string) => {
      const answers: unknown[] = []
      await expect(
        (async () => {
          for await (const answer of eve.iterate({ query: `subscription { ${field} { __typename } }` }))
            answers.push(answer)
        })().catch((error: unknown) => void answers.push(error)),
      ).resolves.toBeUndefined()
      return normalized(answers)
    }
    const follow = (id: string) => answerOf(`conversationEvents(conversationId: "${id}", afterSeq: 0)`)
    expect(await follow(conversation)).toBe(await follow(newId('conversation')))
    const followRun = (id: string) => answerOf(`runEvents(runId: "${id}")`)
    expect(await followRun(run)).toBe(await followRun(newId('run')))
    const inbox = server
      .client({ 'x-tenant': tenant.name, 'x-actor': 'eve' })
      .iterate({ query: 'subscription { inbox { conversationId reason } }' })
    const first = inbox.next()
    await new Promise((resolve) => setTimeout(resolve, 200))
    await tenant.append(conversation, 'bob', 'hello')
    await removeParticipant(server.deps, tenant.as('ann'), { conversationId: conversation, actor: 'bob' })
    const seen = await tenant.newConversation('ann', 'eve')
    await tenant.append(seen, 'ann', 'hello')
    const { value } = await first
    expect(JSON.stringify(value)).toContain(seen)
    await inbox.return?.()
  })

  it('is read and written by its participants, and read by former participants', async () => {
    const tenant = server.tenant()
    const ids = await hiddenConversation(tenant)
    const { conversation } = ids
    for (const actor of ['ann', 'bob', 'gone']) {
      expect(await ask(tenant, actor, `{ conversation(id: "${conversation}") { title } }`)).toContain(MARKER)
      expect(await ask(tenant, actor, '{ conversation(key: "hidden") { title } }')).toContain(MARKER)
    }
    const turn = `conversationId: "${conversation}", turn: { role: USER, content: "hello" }`
    expect(await ask(tenant, 'bob', mutation('appendTurn', turn))).toContain('"AppendTurnPayload"')
    expect(await ask(tenant, 'gone', mutation('appendTurn', turn))).toContain('NOT_ALLOWED')
    await removeParticipant(server.deps, tenant.as('bob'), { conversationId: conversation, actor: 'bob' })
    expect(await ask(tenant, 'bob', mutation('appendTurn', turn))).toContain('NOT_ALLOWED')
    const add = `conversationId: "${conversation}", participant: { actor: "eve" }`
    for (const actor of ['gone', 'bob']) {
      expect(await ask(tenant, actor, mutation('addParticipant', add))).toContain('NOT_ALLOWED')
      expect(
        await ask(tenant, actor, mutation('updateConversation', `conversationId: "${conversation}", title: "x"`)),
      ).toContain('NOT_ALLOWED')
      expect(
        await ask(
          tenant,
          actor,
          `mutation { deleteConversation(input: { conversationId: "${conversation}" }) { ${ERROR} } }`,
        ),
      ).toContain('NOT_ALLOWED')
    }
    expect(await ask(tenant, 'ann', mutation('addParticipant', add))).toContain('"AddParticipantPayload"')
    expect(await ask(tenant, 'eve', mutation('appendTurn', turn))).toContain('"AppendTurnPayload"')
    await addParticipant(server.deps, tenant.as('eve'), { conversationId: conversation, participant: { actor: 'bob' } })
    expect(await ask(tenant, 'bob', mutation('appendTurn', turn))).toContain('"AppendTurnPayload"')
  })

  it('rejects calls of outsiders even in one statement with calls of participants', async () => {
    const tenant = server.tenant()
    const { conversation } = await hiddenConversation(tenant)
    const open = await tenant.newConversation('eve')
    const before = await tenant.lastSeq(conversation)
    const calls = Array.from({ length: 20 }, (_, n) => [
      tenant.append(conversation, 'ann', `mine ${n}`),
      tenant.append(conversation, 'eve', `theirs ${n}`, { audience: ['ann'] }),
      tenant.append(open, 'eve', `elsewhere ${n}`),
    ]).flat()
    const outcomes = (await Promise.allSettled(calls)).map(({ status }) => status)
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => ['fulfilled', 'rejected', 'fulfilled']).flat())
    for (const call of calls.filter((_, index) => index % 3 === 1)) await expect(call).rejects.toThrow(NotFound)
    expect(await tenant.lastSeq(conversation)).toBe(before! + 20)
    const { rows } = await sql(server.deps.pool).query('SELECT actor FROM participant WHERE conversation_id = $1', [
      conversation,
    ])
    expect(rows.map(({ actor }) => actor).sort()).toEqual(['ann', 'bob', 'bot', 'gone'])
  })
})

// The embedded database accepts no second client that could lock a row.
describe.each(backends.filter(({ name }) => name === 'postgres'))('a locked conversation on $name', (backend) => {
  // Every waiting call needs a connection of its own.
  const world = useWorld(backend, { databasePoolSize: 24 })

  it('is hidden from calls that waited while it became MEMBERS', async () => {
    const tenant = world.tenant()
    const id = await tenant.newConversation('ann')
    const client = new pg.Client(world.url)
    await client.connect()
    await client.query('BEGIN')
    await client.query('SELECT FROM journal WHERE conversation_id = $1 FOR UPDATE', [id])
    const calls = [
      tenant.append(id, 'eve', 'hello'),
      updateConversation(world.deps, tenant.as('eve'), { conversationId: id, title: 'taken' }),
      updateParticipant(world.deps, tenant.as('eve'), { conversationId: id, actor: 'ann', displayName: 'taken' }),
      addParticipant(world.deps, tenant.as('eve'), { conversationId: id, participant: { actor: 'eve' } }),
      recordFacts(world.deps, tenant.as('eve'), {
        conversationId: id,
        facts: [{ subject: 'ann', predicate: 'likes', object: 'tea' }],
      }),
      deleteConversation(world.deps, tenant.as('eve'), id),
    ].map((call) => call.catch((error: unknown) => error))
    await expect
      .poll(
        async () => {
          const text = `SELECT count(*)::integer AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
          return (await sql(world.deps.reads.pool).query(text)).rows[0].n
        },
        { timeout: 15_000 },
      )
      .toBe(calls.length)
    await client.query(`UPDATE journal SET visibility = 'MEMBERS' WHERE conversation_id = $1`, [id])
    await client.query(`UPDATE conversation SET visibility = 'MEMBERS' WHERE id = $1`, [id])
    await client.query('COMMIT')
    await client.end()
    for (const outcome of await Promise.all(calls)) expect(outcome).toBeInstanceOf(NotFound)
    expect(await tenant.lastSeq(id)).toBe(1)
  })
})
