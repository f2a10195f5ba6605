// Rights through the API: descriptions, `viewer { rights }`, `as`, and refusals that name the right.

import { describe, expect, it } from 'vitest'
import { RIGHTS, type Right } from '../../../../../src/domain/kernel/rights/principal.ts'
import { VERBS } from '../../../../../src/domain/kernel/rights/rights.ts'
import type { Viewer } from '../../../../../src/domain/kernel/view.ts'
import { verbOf } from '../../../../../src/graphql/kernel/rights/rights.ts'
import { schema } from '../../../../../src/graphql/schema.ts'
import { backends } from '../../../../support/backend.ts'
import { TENANT, useClients } from '../../client.ts'

/** A viewer whose credential was issued to the actor. */
const withRights = (actor: string, ...rights: Right[]): Viewer => ({
  tenant: TENANT,
  actor,
  principal: {
    tenant: TENANT,
    actor,
    kind: 'AGENT',
    rights: new Set(rights),
    conversations: null,
    credential: 'key:test',
    expiresAt: null,
  },
})

describe('the description of each root field', () => {
  const fields = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
    Object.values(type!.getFields()),
  )

  it('states the right that its verb needs, if it has one verb', () => {
    const without = fields.filter((field) => verbOf(field) === null).map(({ name }) => name)
    expect(without.toSorted()).toEqual(['node', 'nodes', 'viewer'])
    for (const field of fields) {
      const { name, description } = field
      const verb = verbOf(field)
      if (verb) expect(description).toMatch(RegExp(` Needs the right \`${VERBS[verb].right}\`[^.]*\\.$`))
      expect(description!.match(/Needs the right/g)?.length ?? 0, name).toBe(verb ? 1 : 0)
    }
  })

  it.each([
    ['markRead', 'Needs the right `write`.'],
    ['appendTurn', 'Needs the right `write`; some input needs more.'],
    ['pruneConversations', 'Needs the right `operate`, and `erase`.'],
    [
      'pinTurn',
      'Needs the right `write`, and `manage` unless the actor is the owner or an administrator of the conversation.',
    ],
    [
      'updateConversation',
      'Needs the right `write`, and `manage` unless the actor is a participant of the conversation; some input needs more.',
    ],
  ])('of %s ends with one short sentence', (field, sentence) => {
    expect(fields.find(({ name }) => name === field)!.description!.endsWith(` ${sentence}`)).toBe(true)
  })
})

describe.each(backends)('a credential, on $name', (backend) => {
  const clients = useClients(backend)
  const { answerTo, newConversation, append } = clients

  it('is shown with its rights', async () => {
    const { data } = await answerTo(withRights('bot', 'read', 'act-as'), '{ viewer { actor rights } }')
    expect(data).toEqual({ viewer: { actor: 'bot', rights: ['READ', 'ACT_AS'] } })
    const all = await answerTo({ tenant: TENANT, actor: 'bot' }, '{ viewer { rights } }')
    expect(all.data.viewer.rights).toHaveLength(RIGHTS.length)
  })

  it('gets NotAllowed with the missing right as the result of a mutation', async () => {
    const conversationId = await newConversation(['bot', 'ada'])
    const document = `mutation ($input: AppendTurnInput!) {
      appendTurn(input: $input) { __typename ... on NotAllowed { code right message } }
    }`
    const turn = { role: 'USER', content: 'hello' }
    const without = await answerTo(withRights('bot', 'read'), document, { input: { conversationId, turn } })
    expect(without.data.appendTurn).toEqual({
      __typename: 'NotAllowed',
      code: 'NOT_ALLOWED',
      right: 'write',
      message: 'This call needs the right `write`, which this credential does not have. Use a credential that has it.',
    })
    const system = { input: { conversationId, turn: { ...turn, role: 'SYSTEM' } } }
    const instructing = await answerTo(withRights('bot', 'read', 'write'), document, system)
    expect(instructing.data.appendTurn).toMatchObject({ right: 'manage' })
    expect(instructing.data.appendTurn.message).toBe(
      'A call with `role: SYSTEM` must come from the owner or an administrator of the conversation, or needs the right '
        + '`manage`, which this credential does not have. Ask the owner or an administrator of the conversation, or use '
        + 'a credential that has the right.',
    )
  })

  it('gets an error with the code NOT_ALLOWED for a query', async () => {
    const { errors } = await answerTo(withRights('bot', 'read', 'write'), '{ jobs { nodes { id } } }')
    expect(errors).toMatchObject([{ extensions: { code: 'NOT_ALLOWED' } }])
    expect(errors[0].message).toContain('`operate`')
  })

  it('needs act-as for `as`, whether the actor is known or not', async () => {
    await newConversation(['ada'])
    const plain = withRights('bot', 'read', 'write')
    for (const as of ['ada', 'nobody']) {
      const { errors } = await answerTo(plain, 'query ($as: String) { viewer(as: $as) { actor } }', { as })
      expect(errors).toMatchObject([{ extensions: { code: 'NOT_ALLOWED' } }])
      expect(errors[0].message).toContain('`act-as`')
    }
    const acting = withRights('bot', 'read', 'act-as')
    const { data } = await answerTo(acting, '{ viewer(as: "ada") { actor } }')
    expect(data.viewer.actor).toBe('ada')
    expect((await answerTo(plain, '{ viewer(as: "bot") { actor } }')).data.viewer.actor).toBe('bot')
  })

  it('with only `write` gets the result of its write, and may name the conversation by its key', async () => {
    await newConversation(['bot'], { key: 'by-key' })
    const document = `mutation ($input: AppendTurnInput!) {
      appendTurn(input: $input) { ... on AppendTurnPayload { turn { text } } ... on UserError { message } }
    }`
    const input = { conversationKey: 'by-key', turn: { role: 'ASSISTANT', content: 'done' } }
    const { data } = await answerTo(withRights('bot', 'write'), document, { input })
    expect(data.appendTurn.turn.text).toBe('done')
  })

  it('that is limited to some conversations finds no other conversation, by id, by key or in a list', async () => {
    const [inside, outside] = [
      await newConversation(['bot'], { key: 'in' }),
      await newConversation(['bot'], { key: 'out' }),
    ]
    const [own, other] = [await append(inside, 'here'), await append(outside, 'there')]
    const viewer = withRights('bot', ...RIGHTS)
    const limited: Viewer = { ...viewer, principal: { ...viewer.principal!, conversations: new Set([inside]) } }
    const { data } = await answerTo(
      limited,
      `{ in: conversation(id: "${inside}") { id } out: conversation(id: "${outside}") { id }
         key: conversation(key: "out") { id } nodes(ids: ["${own.id}", "${other.id}", "${outside}"]) { id }
         conversations { nodes { id } } }`,
    )
    expect(data).toEqual({
      in: { id: inside },
      out: null,
      key: null,
      nodes: [{ id: own.id }, null, null],
      conversations: { nodes: [{ id: inside }] },
    })
    const write = `mutation { appendTurn(input: { conversationKey: "out", turn: { role: USER, content: "x" } }) {
      ... on UserError { code message } } }`
    const written = await answerTo(limited, write)
    expect(written.data.appendTurn).toEqual({ code: 'NOT_FOUND', message: expect.not.stringContaining(outside) })
    const inbox = await answerTo(limited, 'subscription { inbox { reason } }')
    expect(inbox.errors).toMatchObject([{ extensions: { code: 'NOT_ALLOWED' } }])
  })

  it('is recorded in the audit log with its refused operations and its operations as another actor', async () => {
    const conversationId = await newConversation(['eve'])
    const eve = withRights('eve', 'read', 'act-as')
    await answerTo(
      eve,
      `mutation { appendTurn(input: { conversationId: "${conversationId}",
      turn: { role: USER, content: "canary" } }) { __typename } }`,
    )
    await answerTo(eve, '{ jobs { nodes { id } } }')
    await answerTo(eve, `subscription { inbox { reason } }`)
    await answerTo(eve, '{ conversations(as: "ada") { nodes { id } } }')
    await answerTo(withRights('eve', 'read'), '{ facts(as: "ada") { nodes { id } } }')
    await clients.deps.audit.flush()
    const document = '{ auditLog(filter: { actor: "eve" }) { nodes { verb actedAs outcome resources details } } }'
    const { data } = await answerTo(withRights('op', 'operate'), document)
    const lines = data.auditLog.nodes.toSorted((a: { verb: string }, b: { verb: string }) =>
      a.verb.localeCompare(b.verb),
    )
    expect(lines).toMatchObject([
      { verb: 'appendTurn', outcome: 'DENIED', resources: [conversationId], details: { right: 'write' } },
      { verb: 'conversations', outcome: 'DONE', actedAs: 'ada' },
      { verb: 'facts', outcome: 'DENIED', actedAs: 'ada', details: { right: 'act-as' } },
      { verb: 'jobs', outcome: 'DENIED', details: { right: 'operate' } },
    ])
    expect(JSON.stringify(lines)).not.toContain('canary')
  })

  it('of an agent makes its actor a participant of kind AGENT', async () => {
    const { data } = await answerTo(
      withRights('bot', 'read', 'write'),
      `mutation { createConversation(input: { visibility: MEMBERS }) {
        ... on CreateConversationPayload { conversation { participants { nodes { actor kind administrator } } } } } }`,
    )
    expect(data.createConversation.conversation.participants.nodes).toEqual([
      { actor: 'bot', kind: 'AGENT', administrator: false },
    ])
    const open = await newConversation([])
    const joined = await answerTo(
      withRights('tim', 'read', 'write'),
      `mutation { appendTurn(input: { conversationId: "${open}", turn: { role: USER, content: "hi" } }) {
        ... on AppendTurnPayload { turn { author { kind } } } } }`,
    )
    expect(joined.data.appendTurn.turn.author.kind).toBe('AGENT')
  })
})
