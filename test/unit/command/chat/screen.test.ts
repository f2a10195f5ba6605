// The rows of a terminal for the answers that are being written.

import { describe, expect, it } from 'vitest'
import { rowsOf } from '../../../../src/command/chat/screen.ts'
import { widthOf } from '../../../../src/command/text.ts'

describe('the rows of answers', () => {
  const long = 'word '.repeat(60).trim()
  it.each([
    [[{ name: 'bot', text: 'Hi' }], 40, 10],
    [[{ name: 'bot', text: long }], 40, 4],
    [Array.from({ length: 3 }, (_, n) => ({ name: `agent${n}`, text: long })), 30, 6],
    [Array.from({ length: 9 }, (_, n) => ({ name: `agent${n}`, text: long })), 30, 6],
  ])('never exceed the space: %#', (answers, columns, rows) => {
    const shown = rowsOf(answers, columns, rows)
    expect(shown.length).toBeLessThanOrEqual(rows)
    for (const row of shown) expect(widthOf(row)).toBeLessThan(columns)
    for (const { name } of answers.slice(0, rows)) expect(shown.some((row) => row.startsWith(`${name}: `))).toBe(true)
    if (answers[0]!.text === long) expect(shown.at(-1)!.endsWith('word')).toBe(true)
  })
})
