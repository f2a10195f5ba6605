// REDACT_PATTERNS_FILE: its format, its limits, and its errors.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { redact } from '../../../src/text/redact/redact.ts'
import { problemsOf } from '../../support/environment.ts'

const directory = mkdtempSync(join(tmpdir(), 'colloquy-patterns-'))
const path = join(directory, 'patterns.json')
afterAll(() => rmSync(directory, { recursive: true }))

describe('REDACT_PATTERNS_FILE', () => {
  test('names a file that contains patterns by name', () => {
    writeFileSync(path, JSON.stringify({ badge: String.raw`B-\d{4}`, 'staff id': 'E-[0-9]+' }))
    const { redactPatterns } = loadConfig({ REDACT_PATTERNS_FILE: path })
    expect(redact('B-1234 of E-7', redactPatterns).text).toBe('[BADGE] of [STAFF ID]')
  })

  test.each([
    ['a text that is not JSON', '{', /REDACT_PATTERNS_FILE/],
    ['a list', '["a"]', /expected record/],
    ['a pattern with a syntax error', '{"badge":"("}', /the pattern "badge": .*missing/],
    ['a pattern that is too long', JSON.stringify({ badge: 'a'.repeat(1_001) }), /badge .*1000/],
    ['a name that a placeholder cannot contain', '{"1":"a"}', /name of 1 to 40 letters/],
    [
      'too many patterns',
      JSON.stringify(
        Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`p${'a'.repeat(n % 30)}${'b'.repeat(n / 30)}`, 'a'])),
      ),
      /at most 50 patterns/,
    ],
  ])('rejects a file with %s', (_, text, message) => {
    writeFileSync(path, text)
    expect(problemsOf({ REDACT_PATTERNS_FILE: path }).join()).toMatch(message)
  })

  test('rejects a file that does not exist', () => {
    expect(problemsOf({ REDACT_PATTERNS_FILE: join(directory, 'none') }).join()).toContain('cannot be read (ENOENT)')
  })
})
