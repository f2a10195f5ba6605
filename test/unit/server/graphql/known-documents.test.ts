// The cache keeps a document only if it contains no text that may be content of a conversation.

import { parse } from 'graphql'
import { describe, expect, it } from 'vitest'
import { newId } from '../../../../src/domain/kernel/id.ts'
import { createDocumentCache } from '../../../../src/server/graphql/known-documents.ts'

describe('the cache of documents', () => {
  it.each([
    ['variables only', 'query ($q: String!) { recall(input: { query: $q }) { __typename } }', false],
    ['an id', `{ conversation(id: "${newId('conversation')}") { title } }`, false],
    ['numbers and enums', '{ conversations(first: 10, orderBy: UPDATED_AT) { nodes { id } } }', false],
    ['an empty text', 'mutation { updateConversation(input: { title: "" }) { __typename } }', false],
    ['a text', 'mutation { appendTurn(input: { turn: { content: "secret" } }) { __typename } }', true],
    ['a block text', 'mutation { appendTurn(input: { turn: { content: """secret""" } }) { __typename } }', true],
    ['names in a mutation', 'mutation { openTurn(input: { as: "ada", writerToken: "w-1" }) { __typename } }', false],
    ['a name with a space', 'mutation { openTurn(input: { as: "Ada L" }) { __typename } }', true],
    ['a name in a list', 'mutation { appendTurn(input: { turn: { audience: ["secret"] } }) { __typename } }', true],
    [
      'a name in metadata',
      'mutation { openTurn(input: { turn: { metadata: { key: "secret" } } }) { __typename } }',
      true,
    ],
    ['a default name', 'mutation ($as: String = "secret") { openTurn(input: { as: $as }) { __typename } }', true],
    ['a key in a query', '{ conversation(key: "project-7") { title } }', false],
    ['words in a query', '{ recall(input: { query: "two words" }) { __typename } }', true],
    ['an address in a query', '{ conversations(filter: { owner: "ann@example.com" }) { nodes { id } } }', true],
    ['a long text in a query', `{ conversation(key: "${'x'.repeat(65)}") { title } }`, true],
    ['a default value', 'query ($q: String = "a secret") { recall(input: { query: $q }) { __typename } }', true],
    ['an id with more text', `{ conversation(id: "${newId('conversation')} secret") { title } }`, true],
  ])('keeps a document unless it contains a text: %s', (_, text, has) => {
    const cache = createDocumentCache()
    cache.set(text, parse(text))
    expect(cache.has(text)).toBe(!has)
  })
})
