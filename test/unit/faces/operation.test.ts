// The inputs of an operation, and the part of its result that a face answers with.

import { buildSchema, print } from 'graphql'
import { describe, expect, it } from 'vitest'
import { readOperation } from '../../../src/faces/operation.ts'

const schema = buildSchema(`
  type Query {
    "Finds a house."
    house("Id of the house." id: ID!): House
    find(input: FindInput!): FindResult!
  }
  type House {
    name: String!
    "The rooms, smallest first."
    rooms("Maximum number." first: Int = 10, "Minimum size." above: Float): Rooms!
  }
  type Rooms { nodes: [Room!]! total: Int! }
  type Room { size: Float! }
  input FindInput { "Name of the house." name: String!, limit: Int }
  union FindResult = Found | Failure
  type Found { house: House, view(lang: String): String }
  type Failure implements UserError { code: String! }
  interface UserError { code: String! }
`)

describe('readOperation', () => {
  it('answers with the innermost field if each field selects only one', () => {
    const text =
      'query ($houseId: ID!, $first: Int) { house(id: $houseId) { rooms(first: $first) { nodes { size } total } } }'
    const { inputs, path, description, selection, type, kind } = readOperation(schema, text)
    expect([path, description, String(type), kind]).toEqual([
      ['house', 'rooms'],
      'The rooms, smallest first.',
      'Rooms!',
      'query',
    ])
    expect(print(selection).replaceAll(/\s+/g, ' ')).toBe('{ nodes { size } total }')
    expect(
      inputs.map(({ name, definition, isField }) => [name, String(definition.type), definition.description, isField]),
    ).toEqual([
      ['houseId', 'ID!', 'Id of the house.', false],
      ['first', 'Int', 'Maximum number.', false],
    ])
  })

  it('answers with the root field if it selects several fields', () => {
    expect(readOperation(schema, 'query ($id: ID!) { house(id: $id) { name rooms { total } } }').path).toEqual([
      'house',
    ])
  })

  it('answers with the payload of a union, and takes the fields of `input` and arguments within the payload', () => {
    const text = `query ($input: FindInput!, $lang: String) {
      find(input: $input) { ... on Found { view(lang: $lang) } ...E }
    }
    fragment E on UserError { code }`
    const { inputs, path, type } = readOperation(schema, text)
    expect([path, String(type)]).toEqual([['find'], 'Found!'])
    expect(inputs.map(({ name, isField }) => [name, isField])).toEqual([
      ['name', true],
      ['limit', true],
      ['lang', false],
    ])
  })

  it('uses the alias of a field as the key', () => {
    expect(readOperation(schema, 'query ($id: ID!) { home: house(id: $id) { name rooms { total } } }').path).toEqual([
      'home',
    ])
  })
})
