// The sources that a model may receive: those that all readers of its answer may see.

import { expect, it } from 'vitest'
import { admitsAll } from '../../../../src/domain/kernel/view.ts'

it.each([
  [null, null, true],
  [null, ['ada'], true],
  [['ada', 'bot'], null, false],
  [['ada', 'bot'], ['ada', 'bot'], true],
  [['ada', 'bot', 'bob'], ['ada', 'bot'], true],
  [['ada', 'bot'], ['ada', 'bob', 'bot'], false],
])('a source with the audience %j may be used for the readers %j: %s', (audience, readers, admits) => {
  expect(admitsAll(audience, readers)).toBe(admits)
})
