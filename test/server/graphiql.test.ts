// GraphiQL's initial tabs contain operations that can be run unchanged.

import { parse, validate } from 'graphql'
import { expect, test } from 'vitest'
import { schema } from '../../src/graphql/schema.ts'
import { tabs } from '../../src/server/graphiql.ts'

test.each(tabs)(
  'an initial tab is a valid operation of the schema with the variables it needs: $query',
  ({ query, variables }) => {
    const document = parse(query)
    expect(validate(schema, document)).toEqual([])
    const [operation] = document.definitions
    if (operation?.kind !== 'OperationDefinition') throw new Error('The tab does not begin with an operation.')
    const names = operation.variableDefinitions!.map(({ variable }) => variable.name.value)
    expect(Object.keys(JSON.parse(variables))).toEqual(names)
  },
)
