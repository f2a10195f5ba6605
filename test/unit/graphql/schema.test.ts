// Rules for the whole schema: its printed form, descriptions, mutation results and connections.

import { readFileSync } from 'node:fs'
import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  isUnionType,
  validateSchema,
  type GraphQLObjectType,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { printContract } from '../../../scripts/contract.ts'
import { schema } from '../../../src/graphql/schema.ts'

const types = Object.values(schema.getTypeMap()).filter(
  (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
)

type Described = { name: string; description?: string | null }
type Element = [name: string, description: string]

/** All named elements of the schema, with their descriptions. */
function elements(): Element[] {
  const of = (path: string, { description }: Described): Element => [path, description ?? '']
  return types.flatMap((type) => {
    const own = of(type.name, type)
    if (isEnumType(type)) return [own, ...type.getValues().map((value) => of(`${type.name}.${value.name}`, value))]
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) return [own]
    return [
      own,
      ...Object.values(type.getFields()).flatMap((field: Described & { args?: readonly Described[] }) => [
        of(`${type.name}.${field.name}`, field),
        ...(field.args ?? []).map((arg) => of(`${type.name}.${field.name}(${arg.name}:`, arg)),
      ]),
    ]
  })
}

const wordsOf = (text: string) =>
  text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .match(/[a-z]+/g) ?? []
const STOP_WORDS = new Set('a an the of is are it its this that to by in for or and'.split(' '))

describe('the GraphQL schema', () => {
  it('is valid', () => {
    expect(validateSchema(schema)).toEqual([])
  })

  it('equals schema.graphql', () => {
    const file = readFileSync(new URL('../../../schema.graphql', import.meta.url), 'utf8')
    expect(file, 'run `npm run schema`').toBe(printContract(schema))
  })

  it('describes every element with words that its name does not contain', () => {
    const undescribed = elements().filter(([name, description]) => {
      const named = new Set(wordsOf(name.replace(':', '').split(/[.(]/).at(-1)!))
      return wordsOf(description).filter((word) => !named.has(word) && !STOP_WORDS.has(word)).length < 1
    })
    expect(undescribed).toEqual([])
  })

  it('describes every element in sentences', () => {
    expect(elements().filter(([, text]) => !/^[A-Z`].*[.!?]$/s.test(text) || text.includes('  '))).toEqual([])
  })

  it('returns the payload or an error from every mutation', () => {
    const error = schema.getType('UserError')
    for (const [name, field] of Object.entries(schema.getMutationType()!.getFields())) {
      const result = getNamedType(field.type)
      const capital = name[0]!.toUpperCase() + name.slice(1)
      expect(result.name).toBe(`${capital}Result`)
      if (!isUnionType(result)) throw new Error(`the result of ${name} is not a union`)
      const payloads = result.getTypes().filter((member) => !member.getInterfaces().includes(error as never))
      expect(payloads.map(String)).toEqual([`${capital}Payload`])
    }
  })

  it('paginates with Relay connections only', () => {
    const connections = types.filter(({ name }) => name.endsWith('Connection')) as GraphQLObjectType[]
    expect(connections.map(({ name }) => name)).toEqual([
      'ApiKeyConnection',
      'ApprovalConnection',
      'AuditLineConnection',
      'ConversationConnection',
      'FactConnection',
      'FactSourceConnection',
      'JobConnection',
      'ParticipantConnection',
      'ReplyConnection',
      'RunConnection',
      'SharedStateConnection',
      'SummaryConnection',
      'TurnConnection',
      'WakeUpConnection',
    ])
    for (const connection of connections) {
      const { edges, pageInfo } = connection.getFields()
      expect(String(pageInfo!.type)).toBe('PageInfo!')
      const edge = getNamedType(edges!.type) as GraphQLObjectType
      expect(String(edges!.type)).toBe(`[${edge.name}!]!`)
      expect(String(edge.getFields().cursor!.type)).toBe('String!')
      const node = getNamedType(edge.getFields().node!.type) as GraphQLObjectType
      // A source belongs to its fact, a line to the audit log of its tenant, and a wake-up to its turn: they have no ids of
      // their own.
      if (!['AuditLine', 'FactSource', 'WakeUp'].includes(node.name))
        expect(node.getInterfaces().map(String)).toContain('Node')
    }
  })
})
