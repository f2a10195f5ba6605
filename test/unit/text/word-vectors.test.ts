// The file of word vectors: its size, and the errors for other files.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseWordVectors } from '../../../src/text/word-vectors.ts'

const FILE = readFileSync(new URL('../../../src/text/word-vectors.bin', import.meta.url))

describe('the word vector file', () => {
  it('is at most 6 MB, and its rows are not copied', () => {
    expect(FILE.length).toBeLessThan(6e6)
    const { rows, index, dimension } = parseWordVectors(FILE, 'file')
    expect(rows.buffer).toBe(FILE.buffer)
    expect(rows).toHaveLength(index.size * dimension)
  })

  it('is rejected with the reason if it is truncated, or of another type or layout', () => {
    expect(() => parseWordVectors(FILE.subarray(0, -1), 'v.bin')).toThrow(
      /^v\.bin is not a file of word vectors: it has \d+ bytes, not \d+\. .*npm run word-vectors/,
    )
    expect(() => parseWordVectors(Buffer.from('PK'), 'v.bin')).toThrow('it does not begin with CQWV')
    const other = Buffer.from(FILE)
    other.writeUInt16LE(9, 4)
    expect(() => parseWordVectors(other, 'v.bin')).toThrow('its layout is 9, not 1')
    const twice = Buffer.from(FILE)
    twice.write('aa\naa\naa\n', FILE.length - 9, 'latin1')
    expect(() => parseWordVectors(twice, 'v.bin')).toThrow(/names \d+ words, not 50000/)
  })
})
