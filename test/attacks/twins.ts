// Twin worlds: two tenants with the same history, except for the text of private turns. Viewers outside the audience of
// these turns must get equal answers to every query, and never the marker that the private turns of one world contain.

import { APPEND, check, errorOf } from './attack.ts'
import { createRandom, type Random } from './random.ts'
import type { Target } from './target.ts'

const MARKER = 'zanzibar7f3a9'
const PLAIN = 'ordinary words'
const WORDS =
  'launch review billing harbour garden invoice piano winter bridge market ticket doctor coffee letter'.split(' ')
const TURNS = 120

type World = { tenant: string; conversationId: string }

const sentence = (random: Random) => Array.from({ length: 4 + random.below(12) }, () => random.pick(WORDS)).join(' ')

/** Writes the history of one world. Equal seeds write equal public turns. */
async function createWorld(target: Target, tenant: string, secret: string, seed: number): Promise<World> {
  const random = createRandom(seed)
  const at = { tenant, actor: 'ann' }
  const participants = ['ann', 'bob', 'eve', 'late'].map((actor) => ({
    actor,
    ...(actor === 'late' && { history: 'SINCE_JOINED' }),
  }))
  const { id: conversationId } = await target.get<{ id: string }>(
    'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { ... on Conversation { id } } }',
    { input: { key: 'twin', participants, compaction: { strategy: 'NEVER' } } },
    at,
  )
  for (let n = 0; n < TURNS; n++) {
    const isPrivate = random.chance(0.3)
    const actor = isPrivate ? 'ann' : random.pick(['ann', 'bob', 'eve'])
    const text = sentence(random)
    const turn = {
      role: 'USER',
      actor,
      content: isPrivate ? `${secret} ${text}` : text,
      createdAt: new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString(),
      ...(isPrivate && { audience: ['bob'], metadata: { secret } }),
    }
    await target.get(APPEND, { input: { conversationId, turn } }, at)
  }
  return { tenant, conversationId }
}

/** Placeholder for the conversation's id in a query. */
const ID = 'CONVERSATION'

/** Returns a random GraphQL query about the conversation ID. */
function randomQuery(random: Random): string {
  const query = JSON.stringify(random.pick([sentence(random), MARKER, `${MARKER} ${sentence(random)}`, 'ordinary']))
  const first = 1 + random.below(50)
  const fields = 'seq actor text tokenCount createdAt'
  const turn = `... on Turn { ${fields} }`
  const page = `edges { node { ${fields} } } pageInfo { hasNextPage hasPreviousPage }`
  return random.pick([
    `{ conversation(id: "${ID}") { turns(${random.pick(['first', 'last'])}: ${first}) { ${page} } } }`,

    `{ conversation(id: "${ID}") { history(limit: ${first}) { ${turn} ... on Summary { content tokenCount } } } }`,
    `{ conversation(id: "${ID}") { turnCount tokenCount participants { actor unreadCount } } }`,
    `{ recall(input: { conversationId: "${ID}", query: ${query}, k: ${first} }) {
      ... on Recall { hits { score textScore memory { ${turn} } } } ... on Error { message } } }`,
    `{ recall(input: { scope: TENANT, query: ${query}, k: ${first} }) {
      ... on Recall { hits { score textScore memory { ${turn} } } } ... on Error { message } } }`,
    `{ buildContext(input: { conversationId: "${ID}", tokenBudget: ${200 + random.below(4_000)},
      query: ${query}, semanticRecall: { k: 5 } }) {
      ... on Context { tokens messages { role name content } } ... on Error { message } } }`,
    `{ facts(filter: { conversationId: "${ID}" }) { edges { node { subject predicate object } } } }`,
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

/** Sends `pairs` random queries to both worlds. Returns the number of equal pairs of answers and the seed. */
export async function compareTwins(target: Target, pairs: number, seed: number): Promise<string> {
  const [one, other] = [
    await createWorld(target, `twin-one-${seed}`, MARKER, seed),
    // The private turns of this world have another text, without the marker.
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
    for (const { tenant, conversationId } of [one, other]) {
      const { body } = await target.post(document.replace(ID, conversationId), {}, { tenant, actor })
      check(errorOf(body) === null, `${errorOf(body)} for ${document}`)
      check(!body.includes(MARKER), `${actor} received the marker from ${document.replace(ID, conversationId)}`)
      answers.push(normalized(body))
    }
    check(answers[0] === answers[1], `${actor} got different answers to ${document}:\n${answers.join('\n')}`)
  }
  return `${pairs} pairs of answers equal; seed ${seed}`
}
