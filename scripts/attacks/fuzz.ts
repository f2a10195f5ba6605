// Random operations on every field of the schema with valid and hostile arguments. The server must answer each with
// JSON and without an unexpected error.

import { readFileSync } from 'node:fs'
import {
  buildSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  getNamedType,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
} from 'graphql'
import { APPEND, check, newConversation } from './attack.ts'
import { createRandom, type Random } from './random.ts'
import type { Target } from './target.ts'

const schema = buildSchema(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'))

/** Maximum depth of a selection, in levels of fields. */
const MAX_LEVELS = 4
/** Number of concurrent requests. */
const CONCURRENCY = 8

const HOSTILE_TEXTS = [
  '',
  ' ',
  '\u0000',
  '\ud83d',
  '\u202e',
  "'; DROP TABLE turn; --",
  '${7*7}',
  '../../../etc/passwd',
  '__proto__',
  'constructor',
  '%00',
  'a'.repeat(300),
  'ä'.repeat(5_000),
  '(((((((((((a+)+)+)+)+)+)+)+)+)+)+',
  '```json\n{"facts": []}\n```',
]
const HOSTILE_NUMBERS = [-1, 0, 1, 2, 200, 2_147_483_647, -2_147_483_648]

type Samples = { ids: string[]; actors: string[] }

function text(random: Random, { ids, actors }: Samples, name: string): string {
  if (/id$/i.test(name) && random.chance(0.8)) return random.pick(ids)
  if (/actor|owner|as$|user/i.test(name) && random.chance(0.8)) return random.pick(actors)
  return random.chance(0.5)
    ? random.pick(HOSTILE_TEXTS)
    : random.pick(['hello', 'ann', 'the launch', '2026-01-01T00:00:00Z'])
}

function scalar(random: Random, samples: Samples, type: GraphQLNamedType, name: string): string {
  switch (type.name) {
    case 'Int':
      return String(random.pick(HOSTILE_NUMBERS))
    case 'Float':
      return String(random.pick([0, -1, 0.5, 1e308]))
    case 'Boolean':
      return String(random.chance(0.5))
    case 'DateTime':
      return JSON.stringify(random.pick(['2026-01-01T00:00:00Z', '0001-01-01T00:00:00Z', 'yesterday']))
    case 'JSON':
      return random.pick(['{}', '{ a: [1, { b: null }] }', '[]', '"text"', '{ __proto__: 1 }'])
    default:
      return JSON.stringify(text(random, samples, name))
  }
}

/** Returns a literal of the type; 2 % of the literals have another type. */
function literal(random: Random, samples: Samples, type: GraphQLInputType, name: string, level = 0): string {
  if (random.chance(0.02)) return random.pick(['null', '{}', '[]', '1', '"x"', 'OTHER'])
  if (isNonNullType(type)) return literal(random, samples, type.ofType, name, level)
  if (isListType(type)) {
    const items = Array.from({ length: random.below(3) }, () => literal(random, samples, type.ofType, name, level + 1))
    return `[${items.join(', ')}]`
  }
  if (isEnumType(type)) return random.pick(type.getValues()).name
  if (!isInputObjectType(type)) return scalar(random, samples, type, name)
  const fields = Object.values(type.getFields())
  const given = type.isOneOf
    ? [random.pick(fields)]
    : fields.filter((field) => isNonNullType(field.type) || (level < 4 && random.chance(0.3)))
  return `{ ${given.map((field) => `${field.name}: ${literal(random, samples, field.type, field.name, level + 1)}`).join(', ')} }`
}

function selection(random: Random, samples: Samples, type: GraphQLNamedType, level: number): string {
  if (isUnionType(type) || isInterfaceType(type)) {
    const members = schema.getPossibleTypes(type).filter(() => random.chance(0.6))
    return `{ __typename ${members.map((each) => `... on ${each.name} ${selection(random, samples, each, level)}`).join(' ')} }`
  }
  if (!isObjectType(type)) return ''
  const fields = Object.values(type.getFields()).filter(
    (field) => isLeaf(field) || (level < MAX_LEVELS && random.chance(0.3)),
  )
  const chosen = fields.filter(() => random.chance(0.6)).map((field) => fieldText(random, samples, field, level + 1))
  return `{ __typename ${chosen.map((each, index) => (random.chance(0.1) ? `x${index}: ${each}` : each)).join(' ')} }`
}

const isLeaf = (field: GraphQLField<unknown, unknown>) => {
  const type = getNamedType(field.type)
  return !(isObjectType(type) || isUnionType(type) || isInterfaceType(type)) && field.args.length === 0
}

function fieldText(random: Random, samples: Samples, field: GraphQLField<unknown, unknown>, level: number): string {
  const given = field.args.filter(({ type }) => isNonNullType(type) || random.chance(0.4))
  const values = given.map(({ name, type }) => `${name}: ${literal(random, samples, type, name)}`)
  const type = getNamedType(field.type)
  return `${field.name}${values.length > 0 ? `(${values.join(', ')})` : ''} ${selection(random, samples, type, level)}`
}

function operation(random: Random, samples: Samples): string {
  const isMutation = random.chance(0.4)
  const root = (isMutation ? schema.getMutationType() : schema.getQueryType()) as GraphQLObjectType
  const fields = Object.values(root.getFields()).filter(({ name }) => name !== 'deleteConversation')
  const chosen = Array.from({ length: 1 + random.below(2) }, (_, index) => {
    const text = fieldText(random, samples, random.pick(fields), 1)
    return `f${index}: ${text}`
  })
  return `${isMutation ? 'mutation' : 'query'} { ${chosen.join(' ')} }`
}

/** Sends `requests` random operations. Returns a summary with the number of each outcome and the seed. */
export async function fuzz(target: Target, requests: number, seed: number): Promise<string> {
  const random = createRandom(seed)
  const conversationId = await newConversation(target, { participants: [{ actor: 'ann' }, { actor: 'bob' }] })
  const input = { conversationId, as: 'ann', turn: { role: 'USER', content: 'the launch moves' } }
  const { turn } = await target.get<{ turn: { id: string } }>(APPEND, { input })
  const foreign = await target.get<{ conversation: { id: string } }>(
    'mutation { createConversation(input: {}) { ... on CreateConversationPayload { conversation { id } } } }',
    {},
    { tenant: 'other' },
  )
  const samples = {
    ids: [conversationId, turn.id, foreign.conversation.id, 'conv_', 'turn_00000000000000000000000000', ''],
    actors: ['ann', 'bob', 'nobody', ''],
  }
  const counts = { answered: 0, invalid: 0 }
  let remaining = requests
  async function send(): Promise<void> {
    while (remaining-- > 0) {
      const query = operation(random, samples)
      const { status, body, bytes } = await target.post(query, {}, { actor: random.pick(['ann', 'bob', 'eve']) })
      check(status < 500, `${status} for ${query}`)
      if (bytes > body.length) continue // The answer is truncated.
      const { errors } = JSON.parse(body) as { errors?: { message: string; extensions?: { code?: string } }[] }
      const unexpected = errors?.find(({ extensions }) => extensions?.code === 'INTERNAL_SERVER_ERROR')
      check(!unexpected, `unexpected error for ${query}`)
      counts[errors ? 'invalid' : 'answered'] += 1
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, send))
  return `${counts.answered} answered, ${counts.invalid} with errors; seed ${seed}`
}
