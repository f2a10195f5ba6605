// The protocol at a path, by which the server chooses a door and the format of refusals.

import { expect, test } from 'vitest'
import { protocolAt } from '../../../src/faces/paths.ts'

test.each([
  ['/graphql', 'graphql'],
  ['/mcp', 'mcp'],
  ['/api/v1', 'rest'],
  ['/api/v1/conversations', 'rest'],
  ['/api/v10', null],
  ['/graphql/', null],
  ['/mcp/session', null],
  ['/', null],
  ['', null],
])('%j has the protocol %j', (path, protocol) => {
  expect(protocolAt(path)).toBe(protocol)
})
