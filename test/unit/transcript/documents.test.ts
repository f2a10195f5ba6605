// The GraphQL documents of the transcript are valid for schema.graphql.

import { readFileSync } from 'node:fs'
import { buildSchema, parse, validate } from 'graphql'
import { expect, it } from 'vitest'
import * as documents from '../../../src/transcript/documents.ts'

const schema = buildSchema(readFileSync(new URL('../../../schema.graphql', import.meta.url), 'utf8'))

it.each(Object.entries(documents))('%s is valid', (_, document) => {
  expect(validate(schema, parse(document))).toEqual([])
})
