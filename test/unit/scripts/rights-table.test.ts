// docs/rights.md must contain the table of rights that the code defines.

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { MARKS, withRights } from '../../../scripts/rights-table.ts'

const page = readFileSync(new URL('../../../docs/rights.md', import.meta.url), 'utf8')

it('the table of rights is in docs/rights.md as `npm run docs:rights` prints it', () => {
  expect(page).toBe(withRights(page))
})

it('npm run docs:rights replaces only the text between the marks', () => {
  const written = withRights(`before\n${MARKS.begin}\nstale text\n${MARKS.end}\nafter`)
  expect(written).toMatch(/^before\n/)
  expect(written).toMatch(/\nafter$/)
  expect(written).not.toContain('stale text')
  expect(written).toContain('| `deleteConversation` | `erase` | owner, or `manage` |')
  expect(() => withRights('no marks')).toThrow('lacks the comment')
})
