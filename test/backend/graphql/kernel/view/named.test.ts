// `as` names the actor of a whole operation: every root field with a view accepts it, except `node`, and the fields
// below inherit it. An unknown actor fails with UNKNOWN_ACTOR, except in mutations that may introduce an actor. A new
// root field or mutation fails this test until it accepts `as`.

import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { schema } from '../../../../../src/graphql/schema.ts'
import { acceptsActor } from '../../../../../src/graphql/kernel/view/named.ts'
import { requestedApprovals } from '../../../../support/approvals.ts'
import { backends } from '../../../../support/backend.ts'
import { WRITER } from '../../../../support/writer.ts'
import { take, TENANT, useClients, type Answer } from '../../client.ts'
import { createConversation } from '../../../../../src/domain/conversation/conversation.ts'
import { sql } from '../../../../support/sql.ts'

const CANARY = 'canary-51c7'
const fieldsOf = (type: 'Query' | 'Mutation' | 'Subscription') =>
  Object.values((schema.getType(type) as Answer).getFields()) as Answer[]

/** Fields whose answers do not depend on the viewer. */
const WITHOUT_VIEW = new Set([
  'apiKeys',
  'auditLog',
  'embedding',
  'erasure',
  'providers',
  'tenantSettings',
  'verifyAuditLog',
  'verifyErasureReceipt',
])
/** The field with a view but without `as`: Relay requires `id` to be its only argument. Its view is the operation's. */
const ONLY_ID = 'node'
/** Mutations that may introduce an actor who is not known yet. */
const INTRODUCING = new Set([
  'appendTurn',
  'appendTurns',
  'createConversation',
  'openTurn',
  'runTurn',
  'updateSharedState',
])
/** Mutations whose input has an `actor` other than the author: the key's actor, the agent or the participant. */
const ABOUT_ACTORS = new Set(['createApiKey', 'removeParticipant', 'runTurn', 'updateParticipant'])
const READS = [...fieldsOf('Query'), ...fieldsOf('Subscription')].filter(({ name }) => !WITHOUT_VIEW.has(name))

it('every field of Query, Mutation and Subscription accepts `as`, except those without a view and `node`', () => {
  const all = [...fieldsOf('Query'), ...fieldsOf('Mutation'), ...fieldsOf('Subscription')]
  const without = all.filter(({ args }) => !args.some(acceptsActor)).map(({ name }) => name)
  expect(without.toSorted()).toEqual([...WITHOUT_VIEW, ONLY_ID].toSorted())
})

it('no field below them accepts `as`', () => {
  const roots = new Set(['Query', 'Mutation', 'Subscription'])
  const nested = Object.values(schema.getTypeMap()).filter(({ name }) => !roots.has(name) && !name.endsWith('Input'))
  const fields = nested.flatMap((type: Answer) => Object.values(type.getFields?.() ?? {}) as Answer[])
  expect(fields.filter(({ args = [] }) => args.some(({ name }: Answer) => name === 'as'))).toEqual([])
})

it('no input has both `as` and another word for the author', () => {
  for (const { name, args } of fieldsOf('Mutation')) {
    const fields = args[0].type.ofType.getFields()
    const authors = [fields.actor, fields.turn?.type.ofType.getFields().actor].filter(Boolean)
    if (!ABOUT_ACTORS.has(name)) expect(authors, name).toEqual([])
  }
})

type Ids = {
  conversation: string
  members: string
  turn: string
  fact: string
  run: string
  transfer: string
  context: string
}

/** For each read, a selection and a marker: bob's result contains the marker, cy's does not. */
const CASES: Record<string, (ids: Ids) => [selection: string, marker: string]> = {
  approvals: () => ['approvals(as: $as) { nodes { arguments turn { parts { __typename } } } }', CANARY],
  buildContext: ({ conversation }) => [
    `buildContext(input: { as: $as, conversationId: "${conversation}", tokenBudget: 4000, includeFacts: true }) {
      ... on Context { messages { content } items { reason } } }`,
    CANARY,
  ],
  contextById: ({ context }) => [
    `contextById(id: "${context}", as: $as) { messages { content } items { reason } }`,
    CANARY,
  ],
  conversation: ({ conversation }) => [
    `conversation(id: "${conversation}", as: $as) {
      history { ... on Turn { text replyTo { text } } } turns { nodes { text } }
      first: turns(first: 1) { nodes { text conversation { turns(first: 1) { nodes { text } } } } }
      facts { nodes { object sourceTurn { text } sources { nodes { turn { text } } } } } lastTurn { text replyTo { text } }
      participants { nodes { actor unreadCount } } }`,
    CANARY,
  ],
  conversations: () => [
    'conversations(as: $as) { nodes { turns { nodes { text } } facts { nodes { object } } } }',
    CANARY,
  ],
  facts: () => ['facts(as: $as) { nodes { object sourceTurn { text } } }', CANARY],
  jobs: ({ members }) => ['jobs(as: $as) { nodes { conversation { id } } }', members],
  memoryAudit: () => ['memoryAudit(as: $as) { activeFacts }', '"activeFacts":1'],
  node: ({ turn }) => [`viewer(as: $as) { actor } node(id: "${turn}") { ... on Turn { text } }`, CANARY],
  nodes: ({ turn, fact }) => [
    `nodes(ids: ["${turn}", "${fact}"], as: $as) { ... on Turn { text } ... on Fact { object } }`,
    CANARY,
  ],
  recall: () => [
    `recall(input: { as: $as, scope: TENANT, query: "vault code ${CANARY}" }) {
      ... on Recall { hits { memory { ... on Turn { text } ... on Fact { object } } neighbours { text } } } }`,
    CANARY,
  ],
  run: ({ run }) => [`run(id: "${run}", as: $as) { replies { text } replyTo { text } }`, CANARY],
  runEvents: ({ run }) => [`runEvents(runId: "${run}", as: $as) { replies { text } replyTo { text } }`, CANARY],
  transfer: ({ transfer }) => [`transfer(id: "${transfer}", as: $as) { id }`, transfer],
  userProfile: () => ['userProfile(userId: "ada", as: $as) { content }', CANARY],
  viewer: () => ['viewer(as: $as) { actor }', 'bob'],
  wakeUps: () => ['wakeUps(as: $as) { nodes { turn { text } } }', CANARY],
  conversationEvents: ({ conversation }) => [
    `conversationEvents(conversationId: "${conversation}", afterSeq: 0, types: [TURN_APPENDED], as: $as) {
      ... on TurnAppended { turn { text conversation { turns(first: 1) { nodes { text } } } } } }`,
    CANARY,
  ],
  inbox: () => ['inbox(as: $as) { conversation { turns(first: 1) { nodes { text } } } }', CANARY],
}

describe.each(backends)('as, on $name', (backend) => {
  const clients = useClients(backend)
  const { as, append, failure, follow, newConversation } = clients
  const gateway = as('gateway')
  const documentOf = (name: string, selection: string) =>
    `${['conversationEvents', 'inbox', 'runEvents'].includes(name) ? 'subscription' : 'query'} ($as: String) { ${selection} }`
  let ids: Ids

  async function read(name: string, actor: string): Promise<string> {
    const [selection] = CASES[name]!(ids)
    const document = documentOf(name, selection)
    if (document.startsWith('query')) return JSON.stringify(await gateway(document, { as: actor }))
    // An actor who does not see the run may not follow it.
    const events = await follow('gateway', document, { as: actor }).catch((error: unknown) => String(error))
    if (typeof events === 'string') return events
    const received = await take(events, 1)
    await events.return?.()
    return JSON.stringify(received)
  }

  beforeAll(async () => {
    const conversation = await newConversation(['ada', 'bob', 'cy'])
    const members = await newConversation(['bob'], { visibility: 'MEMBERS' })
    const { id: turn } = await append(conversation, `The vault code is ${CANARY}.`, { audience: ['bob'] })
    await append(conversation, 'Good morning.', { replyToId: turn })
    const { recordFacts } = await as('ada')(
      `mutation ($input: RecordFactsInput!) { recordFacts(input: $input) { ... on RecordFactsPayload { facts { id } } } }`,
      { input: { facts: [{ subject: 'ada', predicate: 'knows', object: CANARY, sourceTurnId: turn }] } },
    )
    const fact = recordFacts.facts[0].id
    const calls = [{ callId: 'c1', arguments: { amount: 1, to: CANARY } }]
    await requestedApprovals(clients.deps, TENANT, conversation, { calls, audience: ['bob'] })
    const { runTurn } = await as('bob')(
      `mutation ($input: RunTurnInput!) { runTurn(input: $input) { ... on RunTurnPayload { run { id } } } }`,
      { input: { conversationId: conversation, actor: 'bob', replyTo: turn } },
    )
    const run = runTurn.run.id
    const { pool, jobs } = clients.deps
    await sql(pool).query(
      `INSERT INTO user_profile (tenant, user_id, content, token_count, made_by, made_of, claims, updated_at)
       VALUES ($1, 'ada', $2, 1, 'rules', ARRAY[$3], '{}', now())`,
      [TENANT, `Ada knows ${CANARY}.`, fact],
    )
    await sql(pool).query(
      `INSERT INTO wake_up (turn_id, actor, conversation_id, tenant, position)
       SELECT t.id, a, t.conversation_id, t.tenant, t.root_seq FROM turn t, unnest(ARRAY['bob', 'cy']) a WHERE t.id = $1`,
      [turn],
    )
    await jobs.work('compact', 1, async (_, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    await jobs.send('compact', [{ tenant: TENANT, key: members }])
    const { startExport } = await as('bob')(
      'mutation { startExport(input: { scope: USER, userId: "bob" }) { ... on StartExportPayload { transfer { id } } } }',
    )
    const { buildContext } = await as('bob')(
      `query ($input: BuildContextInput!) { buildContext(input: $input) { ... on Context { id } } }`,
      { input: { conversationId: conversation, store: true } },
    )
    ids = { conversation, members, turn, fact, run, transfer: startExport.transfer.id, context: buildContext.id }
  })

  it('has a case for every root field that reads', () => {
    expect(Object.keys(CASES).toSorted()).toEqual(READS.map(({ name }) => name).toSorted())
  })

  it.each(READS.map(({ name }) => name))(
    'reads %s, and everything below it, in the view of the actor',
    async (name) => {
      const [, marker] = CASES[name]!(ids)
      expect(await read(name, 'bob')).toContain(marker)
      expect(await read(name, 'cy')).not.toContain(marker)
    },
  )

  it('reads the payload of a mutation in the view of its actor', async () => {
    const seen = async (actor: string) =>
      JSON.stringify(
        await gateway(
          `mutation ($input: AppendTurnInput!) { appendTurn(input: $input) { ... on AppendTurnPayload {
            turn { actor conversation { turns { nodes { text } } viewerParticipant { actor } } } } } }`,
          { input: { conversationId: ids.conversation, as: actor, turn: { role: 'USER', content: 'Hello.' } } },
        ),
      )
    const [bob, cy] = [await seen('bob'), await seen('cy')]
    expect([bob.includes(CANARY), cy.includes(CANARY)]).toEqual([true, false])
    expect(cy).toContain('"viewerParticipant":{"actor":"cy"}')
  })

  const mutate = async (verb: string, input: object, selection = '', actor = 'gateway'): Promise<Answer> => {
    const name = verb[0]!.toUpperCase() + verb.slice(1)
    const document = `mutation ($input: ${name}Input!) { ${verb}(input: $input) {
      __typename ... on ${name}Payload { ${selection || '__typename'} } ... on UserError { code } } }`
    return (await as(actor)(document, { input }))[verb]
  }

  it('is the author of the data that a mutation writes', async () => {
    const conversationId = ids.conversation
    const created = await mutate('createConversation', { as: 'bob' }, 'conversation { id owner }')
    expect(created.conversation.owner).toBe('bob')
    const turns = [
      { role: 'USER', content: 'One.' },
      { role: 'USER', content: 'Two.', actor: 'cy' },
    ]
    const batch = await mutate('appendTurns', { conversationId, as: 'bob', turns }, 'turns { actor }')
    expect(batch.turns).toEqual([{ actor: 'bob' }, { actor: 'cy' }])
    const statement = { subject: 'bob', predicate: 'likes', object: 'tea' }
    const recorded = await mutate(
      'recordFacts',
      { as: 'bob', userId: 'bob', facts: [statement] },
      'facts { id assertedBy }',
    )
    expect(recorded.facts[0].assertedBy).toBe('bob')
    // Only the person may retract what the person stated about themselves.
    const { id: factId } = recorded.facts[0]
    expect(await mutate('retractFact', { factId })).toMatchObject({ code: 'NOT_ALLOWED' })
    expect((await mutate('retractFact', { factId, as: 'bob' })).__typename).toBe('RetractFactPayload')
    const turn = { role: 'ASSISTANT' }
    const opened = await mutate(
      'openTurn',
      { conversationId, as: 'bob', turn, writerToken: WRITER },
      'turn { id actor }',
    )
    expect(opened.turn.actor).toBe('bob')
    const writer = { turnId: opened.turn.id, writerToken: WRITER, as: 'bob' }
    expect((await mutate('appendDelta', { ...writer, text: 'Hi' }, 'turn { text }')).turn.text).toBe('Hi')
    const { turn: committed } = await mutate('commitTurn', writer, 'turn { id }')
    const edit = { turnId: committed.id, turn: { role: 'ASSISTANT', content: 'Hello' } }
    expect(await mutate('supersedeTurn', edit)).toMatchObject({ code: 'NOT_ALLOWED' })
    expect((await mutate('supersedeTurn', { ...edit, as: 'bob' }, 'turn { actor }')).turn.actor).toBe('bob')
    const left = await mutate('removeParticipant', { conversationId, actor: 'cy', as: 'cy' }, 'participant { leftAt }')
    expect(left.participant.leftAt).not.toBeNull()
    // An actor who left can rejoin by appending a turn; one removed by another actor cannot. So cy left as itself.
    expect(
      (await mutate('appendTurn', { conversationId, as: 'cy', turn: { role: 'USER', content: 'Back.' } })).__typename,
    ).toBe('AppendTurnPayload')
  })

  describe('an unknown actor', () => {
    const unknown = [
      { message: expect.stringContaining('"nobody", given as `as`'), extensions: { code: 'UNKNOWN_ACTOR' } },
    ]

    it.each(READS.map(({ name }) => name))('is rejected by the read %s', async (name) => {
      expect(await failure(documentOf(name, CASES[name]!(ids)[0]), { as: 'nobody' })).toEqual(unknown)
    })

    const strict = fieldsOf('Mutation').filter(({ name }) => !INTRODUCING.has(name))
    it.each(strict.map(({ name }) => name))('is rejected by the mutation %s', async (name) => {
      const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input!`
      const document = `mutation ($input: ${type}) { ${name}(input: $input) { __typename } }`
      expect(await failure(document, { input: { as: 'nobody' } })).toEqual(unknown)
    })

    it.each<[verb: string, input: (conversationId: string, actor: string) => object]>([
      ['createConversation', (_, actor) => ({ as: actor })],
      ['appendTurn', (conversationId, actor) => ({ conversationId, as: actor, turn: { role: 'USER', content: 'x' } })],
      [
        'appendTurns',
        (conversationId, actor) => ({ conversationId, as: actor, turns: [{ role: 'USER', content: 'x' }] }),
      ],
      [
        'openTurn',
        (conversationId, actor) => ({ conversationId, as: actor, turn: { role: 'USER' }, writerToken: WRITER }),
      ],
      ['updateSharedState', (conversationId, actor) => ({ conversationId, as: actor, key: actor, value: 1 })],
    ])('is introduced by the mutation %s', async (verb, input) => {
      const actor = `new-${randomUUID()}`
      const viewer = 'query ($as: String) { viewer(as: $as) { actor } }'
      expect(await failure(viewer, { as: actor })).toMatchObject([{ extensions: { code: 'UNKNOWN_ACTOR' } }])
      expect((await mutate(verb, input(ids.conversation, actor))).__typename).toMatch(/Payload$/)
      expect(await gateway(viewer, { as: actor })).toEqual({ viewer: { actor } })
    })

    it('is accepted if it is the actor of the request', async () => {
      const { viewer, conversations } = await as('somebody')(
        '{ viewer(as: "somebody") { actor } conversations { nodes { id } } }',
      )
      expect(viewer).toEqual({ actor: 'somebody' })
      expect(conversations.nodes.length).toBeGreaterThan(0)
    })

    it('is rejected even if another tenant knows it', async () => {
      await createConversation(clients.deps, { tenant: 'other', actor: 'foreign' }, {})
      expect(await failure('{ viewer(as: "foreign") { actor } }')).toMatchObject([
        { extensions: { code: 'UNKNOWN_ACTOR' } },
      ])
    })
  })

  it.each(['', '\0', 'x'.repeat(201)])(
    'fails with INVALID_INPUT for an invalid name, also in a mutation that may introduce an actor (%j)',
    async (name) => {
      const invalid = [
        { extensions: { code: 'INVALID_INPUT', issues: [{ path: ['as'], message: expect.any(String) }] } },
      ]
      expect(await failure('query ($as: String) { viewer(as: $as) { actor } }', { as: name })).toMatchObject(invalid)
      const create = 'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { __typename } }'
      expect(await failure(create, { input: { as: name } })).toMatchObject(invalid)
    },
  )

  it('must name the same actor in all root fields; otherwise nothing is executed', async () => {
    const [error] = await failure(
      'mutation { a: createConversation(input: { key: "mixed", as: "bob" }) { __typename } b: createConversation(input: { as: "cy" }) { __typename } }',
    )
    expect(error.extensions).toEqual({ code: 'MIXED_VIEWS' })
    expect(await gateway('{ conversation(key: "mixed") { id } }')).toEqual({ conversation: null })
  })
})
