// The verb of a method and a path.

import { describe, expect, it } from 'vitest'
import { matchRoute, ROUTES } from '../../../../src/faces/rest/route.ts'

describe('matchRoute', () => {
  it('finds every route by its own segments', () => {
    for (const { verb, method, segments } of ROUTES) {
      const path = `/api/v1/${segments.map((segment) => segment.replace(/^\{(\w+)\}$/, 'of-$1')).join('/')}`
      const names = segments.filter((segment) => segment.startsWith('{')).map((segment) => segment.slice(1, -1))
      const parameters = Object.fromEntries(names.map((name) => [name, `of-${name}`]))
      expect(matchRoute(method, path)).toEqual({ verb, parameters })
    }
  })

  it.each([
    ['GET', '/conversations/key:a%2Fb', { verb: 'conversation', parameters: { conversation: 'key:a/b' } }],
    ['GET', '/conversations/%ff', { problem: 'encoding', segment: '%ff' }],
    ['PUT', '/conversations', { problem: 'method', allowed: ['POST', 'GET'] }],
    ['GET', '/conversations/', { problem: 'path', similar: '/api/v1/conversations' }],
    ['GET', '/conversation', { problem: 'path', similar: '/api/v1/conversations' }],
    ['GET', '/conversations/c/turn', { problem: 'path', similar: '/api/v1/conversations/c/turns' }],
    ['GET', '', { problem: 'path', similar: null }],
    ['GET', '/a/b/c/d/e/f', { problem: 'path', similar: null }],
  ])('answers %s %s with %j', (method, path, expected) => {
    expect(matchRoute(method, `/api/v1${path}`)).toEqual(expected)
  })
})
