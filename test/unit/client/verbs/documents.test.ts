// The client's documents against the schema: they are valid, and the subscription without replies is rendered once for
// all viewers.

import { isAbstractType, parse, validate } from 'graphql'
import { expect, it } from 'vitest'
import * as documents from '../../../../src/client/verbs/documents.ts'
import { possibleTypes } from '../../../../src/client/generated.ts'
import { schema } from '../../../../src/graphql/schema.ts'
import { selectsOnlyShareable } from '../../../../src/graphql/kernel/rights/sharing.ts'

it.each(Object.entries(documents))('%s is valid', (_, text) => {
  expect(validate(schema, parse(text)).map(({ message }) => message)).toEqual([])
})

it('FOLLOW_SHARED selects nothing that differs by viewer', () => {
  expect(selectsOnlyShareable(schema, parse(documents.FOLLOW_SHARED))).toBe(true)
  expect(selectsOnlyShareable(schema, parse(documents.FOLLOW))).toBe(false)
})

it('`possibleTypes` has the object types of each interface and union', () => {
  const abstract = Object.values(schema.getTypeMap()).filter(
    (type) => isAbstractType(type) && !type.name.startsWith('__'),
  )
  expect(Object.keys(possibleTypes).toSorted()).toEqual(abstract.map(({ name }) => name).toSorted())
  for (const type of abstract.filter(isAbstractType)) {
    const names = schema.getPossibleTypes(type).map(({ name }) => name)
    expect(possibleTypes[type.name]!.toSorted()).toEqual(names.toSorted())
  }
})
