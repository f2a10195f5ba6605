// GraphiQL's initial tabs contain operations that can be run unchanged.

import { parse, validate, type OperationDefinitionNode } from 'graphql'
import { describe, expect, test } from 'vitest'
import { schema } from '../../../../../src/graphql/schema.ts'
import { tabs } from '../../../../../src/server/pages/graphiql/graphiql.ts'

/** Number of characters of a line that GraphiQL shows in a window of 1,360 px, without a scroll bar. */
const COLUMNS = 48

describe.each(tabs.map((tab, at) => ({ ...tab, at: at + 1 })))(
  'the initial tab $at',
  ({ query, variables, headers }) => {
    test('contains valid operations of the schema, with the variables that they need', () => {
      const document = parse(query)
      expect(validate(schema, document)).toEqual([])
      const operations = document.definitions as OperationDefinitionNode[]
      const names = operations.flatMap((each) => each.variableDefinitions!.map(({ variable }) => variable.name.value))
      expect(new Set(Object.keys(JSON.parse(variables || '{}')))).toEqual(new Set(names))
    })

    test('names its actor, and the conversation by its key', () => {
      expect(Object.keys(JSON.parse(headers))).toEqual(['x-actor'])
      expect(query).toMatch(/[kK]ey: "welcome"/)
      expect(query + variables).not.toMatch(/conv_|turn_/)
    })

    test('has no line that is cut off', () => {
      const lines = [query, variables, headers].flatMap((text) => text.split('\n'))
      expect(lines.filter((line) => line.length > COLUMNS)).toEqual([])
    })
  },
)
