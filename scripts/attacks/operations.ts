// Attacks with expensive GraphQL operations: nested history, many aliases and directives, large and deep documents,
// deep JSON, and a turn of 7 MB.

import { APPEND, appendTurns, check, errorOf, newConversation, type Attack } from './attack.ts'
import type { Reply, Target } from './target.ts'

/** Number of large turns in one conversation. */
const LARGE_TURNS = 200
/** Length of a large turn, in characters. */
const LARGE_UNITS = 250_000

const rejectionOf = (reply: Reply) => {
  const error = errorOf(reply.body)
  check(error !== null, `the operation was answered with ${reply.bytes} bytes instead of an error`)
  return `${reply.status} ${error}`
}

/** Sends the operation and expects an error instead of an answer. */
const expectRejected = async (target: Target, query: string, variables: object = {}) =>
  rejectionOf(await target.post(query, variables))

/** Returns a selection that nests `conversation { history }` in a turn `depth` times, with 200 turns per level. */
function nested(depth: number): string {
  const inner = depth === 0 ? 'seq' : `conversation { history(limit: 200) { ... on Turn { ${nested(depth - 1)} } } }`
  return inner
}

export const operationAttacks: Attack[] = [
  {
    section: 'A1',
    name: 'three levels of conversation history, each level nested in the turns of the previous one',
    async run(target) {
      const id = await newConversation(target)
      await appendTurns(target, id, { count: 200, units: 20 })
      return expectRejected(
        target,
        `query ($id: ID!) { conversation(id: $id) { history(limit: 200) { ... on Turn { ${nested(2)} } } } }`,
        { id },
      )
    },
  },
  {
    section: 'A1',
    name: '40 aliases of 200 turns of 250 KB',
    async run(target) {
      const id = await newConversation(target)
      await appendTurns(target, id, { count: LARGE_TURNS, units: LARGE_UNITS })
      const aliases = Array.from({ length: 40 }, (_, n) => `a${n}: turns(last: 200) { edges { node { text } } }`)
      return expectRejected(target, `query ($id: ID!) { conversation(id: $id) { ${aliases.join(' ')} } }`, { id })
    },
  },
  {
    section: 'A3',
    name: '69 documents of 1.2 MB',
    async run(target) {
      const outcomes = new Set<string>()
      for (let n = 0; n < 69; n++) {
        const fields = Array.from({ length: 80_000 }, (_, field) => `f${n}_${field}: id`).join(' ')
        const reply = await target.post(`{ viewer { ${fields} } }`)
        outcomes.add(`${reply.status} ${errorOf(reply.body)}`)
      }
      check(![...outcomes].includes('200 null'), 'a document of 1.2 MB was executed')
      return [...outcomes].join(', ').slice(0, 80)
    },
  },
  {
    section: 'A10',
    name: 'a document 5,000 levels deep',
    run: (target) =>
      expectRejected(
        target,
        `{ conversation(id: "c") ${'{ history { ... on Turn '.repeat(5_000)}{ id }${' } }'.repeat(5_000)} }`,
      ),
  },
  {
    section: 'A10',
    name: '20,000 aliases of one field',
    run: (target) =>
      expectRejected(target, `{ ${Array.from({ length: 20_000 }, (_, n) => `a${n}: viewer { actor }`).join(' ')} }`),
  },
  {
    section: 'A10',
    name: '20,000 directives on one field',
    run: (target) => expectRejected(target, `{ viewer ${'@include(if: true) '.repeat(20_000)} { actor } }`),
  },
  {
    section: 'A10',
    name: 'metadata nested 20,000 levels deep',
    async run(target) {
      // Build the JSON as text: JSON.stringify exceeds the call stack at this depth.
      const query = 'mutation ($m: JSON) { createConversation(input: { metadata: $m }) { __typename } }'
      const variables = `{"m":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`
      const reply = await target.send(`{"query":${JSON.stringify(query)},"variables":${variables}}`)
      check(!reply.body.includes('"CreateConversationPayload"'), 'metadata of that depth was stored')
      return `${reply.status} ${errorOf(reply.body) ?? 'InvalidInput'}`
    },
  },
  {
    section: 'A8',
    name: '7 million line breaks',
    async run(target) {
      const id = await newConversation(target)
      const input = { conversationId: id, turn: { role: 'USER', content: '\n'.repeat(7_000_000) } }
      const reply = await target.post(APPEND, { input })
      check(!reply.body.includes('"id"'), 'the turn was stored')
      return `${reply.status} ${errorOf(reply.body) ?? 'InvalidInput'}`
    },
  },
]
