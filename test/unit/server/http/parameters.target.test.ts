// The forms of a request's target.

import { expect, test } from 'vitest'
import { targetOf } from '../../../../src/server/http/parameters.ts'

test.each([
  ['/graphql', { path: '/graphql', url: '/graphql', host: null }],
  ['/graphql?query=%7B%7D', { path: '/graphql', url: '/graphql?query=%7B%7D', host: null }],
  ['//evil.example/graphql', { path: '//evil.example/graphql', url: '//evil.example/graphql', host: null }],
  ['*', { path: '*', url: '*', host: null }],
  ['http://localhost:4000/graphql?a=1', { path: '/graphql', url: '/graphql?a=1', host: 'localhost:4000' }],
  ['HTTPS://Evil.example', { path: '/', url: '/', host: 'evil.example' }],
  ['http://', null],
  ['ftp://localhost/graphql', null],
  ['graphql', null],
  ['', null],
  [undefined, null],
])('targetOf parses %j', (url, target) => expect(targetOf(url)).toEqual(target))
