// The client's documents against the schema: they are valid, and the subscription without replies is rendered once for
// all viewers.

import { parse, validate } from 'graphql'
import { expect, it } from 'vitest'
import * as documents from '../../src/client/documents.ts'
import { schema } from '../../src/graphql/schema.ts'
import { selectsOnlyShareable } from '../../src/graphql/sharing.ts'

it.each(Object.entries(documents))('%s is valid', (_, text) => {
  expect(validate(schema, parse(text)).map(({ message }) => message)).toEqual([])
})

it('FOLLOW_SHARED selects nothing that differs by viewer', () => {
  expect(selectsOnlyShareable(schema, parse(documents.FOLLOW_SHARED))).toBe(true)
  expect(selectsOnlyShareable(schema, parse(documents.FOLLOW))).toBe(false)
})
