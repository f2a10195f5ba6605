// Lines of a transfer file: a line that was printed is read again, and a damaged one is refused with the reason.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  BadLine,
  MAX_LINE_BYTES,
  parseLine,
  parseManifest,
  printLine,
} from '../../../../../src/domain/trust/transfer/format.ts'
import { readLines } from '../../../../../src/domain/trust/transfer/import/import-lines.ts'

const MANIFEST = '{"type":"manifest","format":"colloquy-transcript","version":1,"scope":"TENANT"}'
const CONVERSATION = {
  type: 'conversation',
  id: 'conv_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  visibility: 'OPEN',
  owner: 'ann',
  metadata: {},
  triggerTurns: 50,
  triggerTokens: 8000,
  compactionStrategy: 'ROLLING',
  retention: 'FULL',
  maxAgentTurns: 6,
  version: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
  lastSeq: 1,
  updatedAt: '2026-01-01T00:00:00.000Z',
}
const TURN = {
  id: 'turn_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  position: 1,
  actor: 'ann',
  role: 'USER',
  status: 'COMMITTED',
  text: 'Hello',
  tokenCount: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
}
const ENTRY = { type: 'entry', seq: 1, kind: 'APPENDED', at: '2026-01-01T00:00:00.000Z', turn: TURN }
const PARTICIPANT = {
  type: 'participant',
  actor: 'ann',
  kind: 'HUMAN',
  historyVisibility: 'ALL',
  metadata: {},
  joinedAt: '2026-01-01T00:00:00.000Z',
  windows: [1],
  respond: 'NEVER',
}
const FACT = {
  type: 'fact',
  id: 'fact_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  saidBy: 'HUMAN',
  subject: 'ann',
  predicate: 'likes',
  object: 'tea',
  confidence: 1,
  observedAt: '2026-01-01T00:00:00.000Z',
  createdAt: '2026-01-01T00:00:00.000Z',
  sources: [],
}
const END = { type: 'conversationEnd', id: CONVERSATION.id }

const text = fc.string({ unit: 'grapheme' }).filter((each) => !each.includes('\0'))
const json = fc
  .jsonValue({ noUnicodeString: false, maxDepth: 4 })
  .filter((value) => !/\\u(0000|d[89a-f])/i.test(JSON.stringify(value)))

describe('a line', () => {
  it('that was printed is read again, whatever its text and JSON are', () => {
    fc.assert(
      fc.property(
        text,
        fc.option(fc.array(json), { nil: undefined }),
        fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }),
        (content, parts, at) => {
          const turn = { ...TURN, text: content, ...(parts && { parts }), createdAt: at.toISOString() }
          const line = { ...ENTRY, turn }
          const printed = printLine(line)
          expect(printed).not.toContain('\n')
          expect(parseLine(printed)).toEqual(JSON.parse(JSON.stringify(line)))
        },
      ),
    )
  })

  it.each<[string, string, string]>([
    ['is cut', printLine(CONVERSATION).slice(0, -5), 'is not JSON'],
    ['is empty', '', 'is not JSON'],
    ['is a list', '[]', 'is not a JSON object'],
    ['has a misspelt type', '{"type":"conversatoin"}', 'Did you mean conversation?'],
    ['has no type', '{}', 'unknown type ""'],
    ['has another id', printLine({ ...CONVERSATION, id: 'x' }), 'id: is not the id of a conversation'],
    ['has an unknown property', printLine({ ...CONVERSATION, colour: 'red' }), 'colour'],
    ['has no owner', printLine({ ...CONVERSATION, owner: undefined }), 'owner'],
    ['has a long name', printLine({ ...CONVERSATION, owner: 'x'.repeat(201) }), 'at most 200'],
    ['has a wrong time', printLine({ ...CONVERSATION, createdAt: 'yesterday' }), 'must be a time in UTC'],
    ['has an unknown kind', printLine({ ...ENTRY, kind: 'SAID' }), 'kind'],
    ['has text that Postgres cannot store', printLine({ ...ENTRY, turn: { ...TURN, text: 'a\0b' } }), 'U+0000'],
    [
      'is nested too deeply',
      printLine({ ...CONVERSATION, metadata: JSON.parse('['.repeat(99) + ']'.repeat(99)) }),
      'levels deep',
    ],
    ['has a fact without sources', printLine({ ...FACT, sources: [] }), 'sources'],
    ['has a fact without an object', printLine({ ...FACT, object: ' ' }), 'object: must not be empty'],
  ])('that %s is refused', (_, line, reason) => {
    expect(() => parseLine(line)).toThrow(BadLine)
    expect(() => parseLine(line)).toThrow(reason)
  })
})

describe('the first line', () => {
  it.each([
    ['of another program', '{"mapping":{}}', 'give --from'],
    ['of a newer version', MANIFEST.replace(':1,', ':2,'), 'reads versions up to 1'],
    ['that is damaged', MANIFEST.slice(0, 20), 'is not JSON'],
    ['with another scope', MANIFEST.replace('TENANT', 'WORLD'), 'scope'],
  ])('%s is refused', (_, line, reason) => {
    expect(() => parseManifest(line)).toThrow(reason)
  })
})

describe('the order of lines', () => {
  const read = (...lines: object[]) =>
    readLines(
      { lines: 10, chain: '', counts: {}, manifest: MANIFEST },
      null,
      lines.map((line) => printLine(line)),
    )

  it('is that of an export', async () => {
    const { lines, counts } = await read(CONVERSATION, ENTRY, END)
    expect(lines.map(({ number }) => number)).toEqual([12, 13, 14])
    expect(counts).toEqual({ conversation: 1, entry: 1, conversationEnd: 1 })
  })

  it.each<[string, object[], string]>([
    ['an entry without a conversation', [ENTRY], 'line 12 of type entry belongs to no conversation'],
    [
      'a missing entry',
      [
        { ...CONVERSATION, lastSeq: 2 },
        { ...ENTRY, seq: 2 },
      ],
      'line 13 has seq 2, but seq 1 must follow',
    ],
    ['an entry too many', [CONVERSATION, ENTRY, { ...ENTRY, seq: 2 }], 'no more entries (lastSeq is 1) must follow'],
    ['an end without the entries', [CONVERSATION, END], 'follows seq 0, but the conversation has 1 entries'],
    ['another conversation inside', [CONVERSATION, CONVERSATION], 'begins before the conversation'],
    [
      'the end of another one',
      [CONVERSATION, ENTRY, { ...END, id: 'conv_01ARZ3NDEKTSV4RRFFQ69G5FAA' }],
      'ends another conversation',
    ],
    [
      'a turn before its place',
      [CONVERSATION, { ...ENTRY, turn: { ...TURN, position: 2 } }],
      'position is after its seq',
    ],
    ['closed windows', [CONVERSATION, ENTRY, { ...PARTICIPANT, windows: [] }], 'windows: must not be empty'],
    [
      'too many participants',
      [CONVERSATION, ENTRY, ...Array.from({ length: 2001 }, () => PARTICIPANT)],
      'line 2014 is one participant too many: a conversation may have at most 2000',
    ],
    [
      'a hash that differs',
      [CONVERSATION, ENTRY, { ...END, sha256: 'x' }],
      'line 14 has a hash (sha256) that does not match',
    ],
    [
      'a count that differs',
      [{ type: 'end', lines: 1, counts: {}, sha256: '', manifestSha256: '' }],
      'counts 1 lines, but 10 precede it',
    ],
    [
      'a changed manifest',
      [{ type: 'end', lines: 10, counts: {}, sha256: '', manifestSha256: '' }],
      'the manifest was changed',
    ],
  ])('refuses %s, with the number of the line', async (_, lines, reason) => {
    await expect(read(...lines)).rejects.toThrow(reason)
  })

  it('refuses a line that is too long', async () => {
    const long = { ...CONVERSATION, title: 'x'.repeat(MAX_LINE_BYTES) }
    await expect(read(long)).rejects.toThrow(`a line may have at most ${MAX_LINE_BYTES}`)
  })
})
