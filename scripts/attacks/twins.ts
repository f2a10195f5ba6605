// Twin worlds: two tenants with the same history, except that the private turns of one world contain a marker, and that
// only this world has a MEMBERS conversation, whose turns contain the marker. Viewers who are neither in the audience
// nor in that conversation must get equal answers to every query, and never the marker.

import { APPEND, check, errorOf } from './attack.ts'
import { createRandom, type Random } from './random.ts'
import type { Target } from './target.ts'

const MARKER = 'zanzibar7f3a9'
const PLAIN = 'ordinary words'
const WORDS =
  'launch review billing harbour garden invoice piano winter bridge market ticket doctor coffee letter'.split(' ')
const TURNS = 120
const MEMBERS_TURNS = 40

/** `membersId`: id of the MEMBERS conversation, or an unused id in the world that has none. */
type World = { tenant: string; conversationId: string; membersId: string }

const sentence = (random: Random) => Array.from({ length: 4 + random.below(12) }, () => random.pick(WORDS)).join(' ')

/** Creates a MEMBERS conversation of ann and bob. Its turns contain the secret, and words of the other conversation. */
async function createMembersConversation(
  target: Target,
  tenant: string,
  secret: string,
  seed: number,
): Promise<string> {
  const random = createRandom(seed + 2)
  const options = { tenant, actor: 'ann' }
  const { conversation } = await target.get<{ conversation: { id: string } }>(
    'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { ... on CreateConversationPayload { conversation { id } } } }',
    {
      input: {
        key: 'members',
        title: secret,
        visibility: 'MEMBERS',
        participants: [{ actor: 'ann' }, { actor: 'bob' }],
      },
    },
    options,
  )
  const conversationId = conversation.id
  for (let n = 0; n < MEMBERS_TURNS; n++) {
    const as = random.pick(['ann', 'bob'])
    const turn = { role: 'USER', content: `${secret} ${sentence(random)}` }
    await target.get(APPEND, { input: { conversationId, as, turn } }, options)
  }
  const facts = [
    { subject: 'ann', predicate: 'lives in', object: 'the harbour' },
    { subject: 'ann', predicate: 'knows', object: secret },
  ]
  await target.get(RECORD, { input: { conversationId, userId: 'ann', facts } }, options)
  return conversationId
}

const RECORD = `mutation ($input: RecordFactsInput!) { recordFacts(input: $input) {
  ... on RecordFactsPayload { exactDuplicatesSkipped } } }`

/** Writes the history of one world. Equal seeds write equal public turns. */
async function createWorld(target: Target, tenant: string, secret: string, seed: number): Promise<World> {
  const membersId =
    secret === MARKER ? await createMembersConversation(target, tenant, secret, seed) : `conv_${'0'.repeat(26)}`
  const random = createRandom(seed)
  const options = { tenant, actor: 'ann' }
  const participants = ['ann', 'bob', 'eve', 'late'].map((actor) => ({
    actor,
    ...(actor === 'late' && { historyVisibility: 'SINCE_JOINED' }),
  }))
  const { conversation } = await target.get<{ conversation: { id: string } }>(
    'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { ... on CreateConversationPayload { conversation { id } } } }',
    { input: { key: 'twin', participants, compaction: { strategy: 'NEVER' } } },
    options,
  )
  const conversationId = conversation.id
  for (let n = 0; n < TURNS; n++) {
    const isPrivate = random.chance(0.3)
    const as = isPrivate ? 'ann' : random.pick(['ann', 'bob', 'eve'])
    const text = sentence(random)
    const turn = {
      role: 'USER',
      content: isPrivate ? `${secret} ${text}` : text,
      createdAt: new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString(),
      ...(isPrivate && { audience: ['bob'], metadata: { secret } }),
    }
    await target.get(APPEND, { input: { conversationId, as, turn } }, options)
  }
  const facts = [{ subject: 'ann', predicate: 'lives in', object: 'the harbour' }]
  await target.get(RECORD, { input: { conversationId, userId: 'ann', facts } }, options)
  return { tenant, conversationId, membersId }
}

/** Placeholders for the conversations' ids in a query. */
const ID = 'CONVERSATION_ID'
const MEMBERS_ID = 'MEMBERS_ID'

/** Returns a random GraphQL operation on the tenant, the conversation ID or the conversation MEMBERS_ID. */
function randomQuery(random: Random): string {
  const query = JSON.stringify(random.pick([sentence(random), MARKER, `${MARKER} ${sentence(random)}`, 'ordinary']))
  const first = 1 + random.below(50)
  const fields = 'seq actor text tokenCount createdAt'
  const turn = `... on Turn { ${fields} }`
  const page = `edges { node { ${fields} } } pageInfo { hasNextPage hasPreviousPage }`
  return random.pick([
    `{ conversation(id: "${ID}") { turns(${random.pick(['first', 'last'])}: ${first}) { ${page} } } }`,

    `{ conversation(id: "${ID}") { history(limit: ${first}) { ${turn} ... on Summary { content tokenCount } } } }`,
    `{ conversation(id: "${ID}") { turnCount tokenCount participants { nodes { actor unreadCount } } } }`,
    `{ recall(input: { conversationId: "${ID}", query: ${query}, k: ${first} }) {
      ... on Recall { hits { score textScore memory { ${turn} } } } ... on UserError { message } } }`,
    `{ recall(input: { scope: TENANT, query: ${query}, k: ${first} }) {
      ... on Recall { hits { score textScore memory { ${turn} } } } ... on UserError { message } } }`,
    `{ buildContext(input: { conversationId: "${ID}", tokenBudget: ${200 + random.below(4_000)},
      query: ${query}, semanticRecall: { k: 5 } }) {
      ... on Context { tokenCount messages { role name content } } ... on UserError { message } } }`,
    `{ facts(filter: { conversationId: "${ID}" }) { edges { node { subject predicate object } } } }`,
    `{ facts(filter: { userId: "ann", includeSuperseded: true }) { edges { node { subject predicate object } } } }`,
    `{ conversation(id: "${MEMBERS_ID}") { title turns(first: ${first}) { ${page} } } }`,
    `{ conversation(key: "members") { title } }`,
    `{ node(id: "${MEMBERS_ID}") { __typename id } }`,
    `{ conversations(first: ${first}, filter: { search: ${query} }) { edges { node { title } } } }`,
    `{ conversations(orderBy: UPDATED_AT) { edges { node { title turnCount participants { nodes { actor } } } } } }`,
    `{ recall(input: { conversationId: "${MEMBERS_ID}", scope: ${random.pick(['CONVERSATION', 'OWNER', 'TENANT'])},
      query: ${query} }) { ... on Recall { hits { score } } ... on UserError { message } } }`,
    `{ buildContext(input: { conversationId: "${MEMBERS_ID}", tokenBudget: 500 }) {
      ... on Context { tokenCount } ... on UserError { message } } }`,
    `mutation { appendTurn(input: { conversationId: "${MEMBERS_ID}", turn: { role: USER, content: ${query} } }) {
      ... on UserError { message } } }`,
    `mutation { addParticipant(input: { conversationId: "${MEMBERS_ID}", participant: { actor: "eve" } }) {
      ... on UserError { message } } }`,
    `{ userProfile(userId: "ann") { content } memoryAudit { activeFacts exactDuplicatesSkipped openContradictions } }`,
    `{ jobs { nodes { name userId } } }`,
  ])
}

/** Replaces ids, which differ between the worlds, by their order of occurrence. */
function normalized(body: string): string {
  const seen = new Map<string, string>()
  return body.replace(/\b[a-z]+_[0-9A-Z]{26}\b/g, (id) => {
    const replacement = seen.get(id) ?? `id${seen.size}`
    seen.set(id, replacement)
    return replacement
  })
}

/** Sends `pairs` random operations to both worlds. Throws if their answers differ. Returns a summary with the seed. */
export async function compareTwins(target: Target, pairs: number, seed: number): Promise<string> {
  const [one, other] = [
    await createWorld(target, `twin-one-${seed}`, MARKER, seed),
    // The private turns of this world have a different text, without the marker.
    await createWorld(target, `twin-other-${seed}`, PLAIN, seed),
  ]
  const idle = '{ embedding { remaining } }'
  for (const { tenant } of [one, other]) {
    while ((await target.get<{ remaining: number }>(idle, {}, { tenant })).remaining > 0) {
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
  const random = createRandom(seed + 1)
  for (let n = 0; n < pairs; n++) {
    const document = randomQuery(random)
    const actor = random.pick(['eve', 'late', 'stranger'])
    const answers = []
    for (const { tenant, conversationId, membersId } of [one, other]) {
      const query = document.replace(ID, conversationId).replace(MEMBERS_ID, membersId)
      const { body } = await target.post(query, {}, { tenant, actor })
      check(errorOf(body) === null, `${errorOf(body)} for ${document}`)
      check(!body.includes(MARKER), `${actor} received the marker from ${query}`)
      answers.push(normalized(body))
    }
    check(answers[0] === answers[1], `${actor} got different answers to ${document}:\n${answers.join('\n')}`)
  }
  return `${pairs} pairs of answers equal; seed ${seed}`
}
