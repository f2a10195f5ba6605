// JSON Schema of inputs and selections.

import {
  buildSchema,
  getNamedType,
  parse,
  type FieldNode,
  type GraphQLObjectType,
  type OperationDefinitionNode,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { createJsonSchemas } from '../../../src/faces/json-schema.ts'

const schema = buildSchema(`
  scalar DateTime
  scalar JSON
  type Query { pets(input: PetsInput!): [Pet!]! one: Dog animal: Animal }
  "Conditions."
  input PetsInput { "Size." size: Size = SMALL, all: [PetsInput!], since: DateTime!, by: Choice, any: JSON, deep: [[Int]] }
  input Choice @oneOf { name: String, age: Int }
  "How large."
  enum Size { "Fits." SMALL "Does not." LARGE }
  interface Animal { "Its name." name: String }
  "A dog." type Dog implements Animal { name: String, born: DateTime!, size: Size!, toys: [String]! }
  "A cat." type Cat implements Animal { name: String, lives: Int! }
  "A pet." union Pet = Cat | Dog
`)

const FRAGMENTS = parse(`
  fragment Pet on Pet { __typename ... on Animal { name } ... on Dog { born } }
  fragment Dog on Dog { called: name size toys }
`)
const create = () => createJsonSchemas(schema, [FRAGMENTS], '#/$defs/')
const outputOf = (selection: string) => {
  const schemas = create()
  const [operation] = parse(`{ ${selection} }`).definitions as [OperationDefinitionNode]
  const { selectionSet: selected } = operation.selectionSet.selections[0] as FieldNode
  const field = (schema.getQueryType() as GraphQLObjectType).getFields()[selection.split(' ')[0]!]!
  return { output: schemas.outputOf(field.type, selected), definitions: schemas.definitions }
}

describe('the schema of an input', () => {
  it('has the description, the default and the definitions of its types, which may contain themselves', () => {
    const { inputOf, definitions } = create()
    const [argument] = schema.getQueryType()!.getFields().pets!.args
    expect(inputOf(argument!)).toEqual({ $ref: '#/$defs/PetsInput' })
    expect(definitions).toEqual({
      PetsInput: {
        type: 'object',
        description: 'Conditions.',
        properties: {
          size: { anyOf: [{ $ref: '#/$defs/Size' }, { type: 'null' }], default: 'SMALL', description: 'Size.' },
          all: { anyOf: [{ type: 'array', items: { $ref: '#/$defs/PetsInput' } }, { type: 'null' }] },
          since: { type: 'string', format: 'date-time' },
          by: { anyOf: [{ $ref: '#/$defs/Choice' }, { type: 'null' }] },
          any: {},
          deep: { anyOf: [{ type: 'array', items: { type: 'array', items: { type: 'integer' } } }, { type: 'null' }] },
        },
        required: ['since'],
        additionalProperties: false,
      },
      Size: { type: 'string', enum: ['SMALL', 'LARGE'], description: 'How large.\n- SMALL: Fits.\n- LARGE: Does not.' },
      Choice: {
        type: 'object',
        description: undefined,
        properties: {
          name: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          age: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
        },
        minProperties: 1,
        maxProperties: 1,
        additionalProperties: false,
      },
    })
    expect(getNamedType(argument!.type).name).toBe('PetsInput')
  })
})

describe('the schema of a selection', () => {
  it('is a reference for a fragment, with null for a field that may be null', () => {
    const { output, definitions } = outputOf('one { ...Dog }')
    expect(output).toEqual({ anyOf: [{ $ref: '#/$defs/Dog' }, { type: 'null' }] })
    expect(definitions.Dog).toEqual({
      type: 'object',
      description: 'A dog.',
      properties: {
        called: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        size: { $ref: '#/$defs/Size' },
        toys: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
      },
      required: ['called', 'size', 'toys'],
    })
  })

  it('lists the types of a union, each with the fields of its own selections and its interfaces', () => {
    const { output, definitions } = outputOf('pets { ...Pet }')
    expect(output).toEqual({ type: 'array', items: { $ref: '#/$defs/Pet' } })
    const name = { anyOf: [{ type: 'string' }, { type: 'null' }] }
    expect(definitions.Pet).toEqual({
      description: 'A pet.',
      anyOf: [
        {
          type: 'object',
          description: 'A cat.',
          properties: { __typename: { const: 'Cat' }, name },
          required: ['__typename', 'name'],
        },
        {
          type: 'object',
          description: 'A dog.',
          properties: { __typename: { const: 'Dog' }, name, born: { type: 'string', format: 'date-time' } },
          required: ['__typename', 'name', 'born'],
        },
      ],
    })
  })
})
