// The URLs of the next and the previous page.

import { expect, it } from 'vitest'
import { linkOf } from '../../../../src/faces/rest/links.ts'

const page = (hasPreviousPage: boolean, hasNextPage: boolean) => ({
  nodes: [],
  pageInfo: { hasNextPage, hasPreviousPage, startCursor: 'S', endCursor: 'E' },
})

it.each<[string, object, string | undefined]>([
  ['first=2', page(false, true), '</p?first=2&after=E>; rel="next"'],
  ['first=2&after=A', page(true, true), '</p?first=2&after=E>; rel="next", </p?last=2&before=S>; rel="prev"'],
  ['last=3', page(true, false), '</p?last=3&before=S>; rel="prev"'],
  [
    'last=3&before=B&orderBy=X',
    page(true, true),
    '</p?orderBy=X&first=3&after=E>; rel="next", </p?orderBy=X&last=3&before=S>; rel="prev"',
  ],
  ['', page(true, true), '</p?after=E>; rel="next", </p?last=50&before=S>; rel="prev"'],
  ['', page(false, false), undefined],
  ['first=2', { hits: [], pageInfo: page(true, true).pageInfo }, undefined],
  ['', { id: 'c' }, undefined],
])('of the page %s', (query, answer, expected) => {
  expect(linkOf('/p', new URLSearchParams(query), answer)).toBe(expected)
})
