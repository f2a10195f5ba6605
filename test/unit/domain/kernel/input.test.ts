// Validation of input: text that Postgres can store, limits, and one error that lists every problem. No database.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { getConversations } from '../../../../src/domain/conversation/conversation.ts'
import type { Deps } from '../../../../src/domain/deps.ts'
import { getFactPages, getFacts } from '../../../../src/domain/memory/fact/fact.ts'
import { getContexts, getReplyPages } from '../../../../src/domain/memory/context/stored.ts'
import { getFactSourcePages } from '../../../../src/domain/memory/fact/source.ts'
import { count, id, json, metadata, name, parse, storable, text } from '../../../../src/domain/kernel/input.ts'
import { newId } from '../../../../src/domain/kernel/id.ts'
import { getParticipants } from '../../../../src/domain/conversation/participant/participant.ts'
import { getProfiles } from '../../../../src/domain/memory/profile/profile.ts'
import { getApprovals } from '../../../../src/domain/agent/run/approval/approval.ts'
import { getPendingAnswers } from '../../../../src/domain/agent/claim/pending-answers.ts'
import { getRunPages, getRuns } from '../../../../src/domain/agent/run/run.ts'
import { getSummaries } from '../../../../src/domain/memory/summary/summary.ts'
import { history, pageOfTurns } from '../../../../src/domain/turn/history.ts'
import { getTurns } from '../../../../src/domain/turn/turn.ts'
import { InvalidInput } from '../../../../src/errors.ts'

const nested = (depth: number): unknown => Array.from({ length: depth }).reduce((inner) => ({ inner }), 0)
const problemsOf = (schema: z.ZodType, input: unknown): string[] => {
  try {
    parse(schema, input)
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidInput)
    return (error as InvalidInput).issues.map(({ message }) => message)
  }
}

describe('text', () => {
  it.each([
    ['', null],
    ['a\u0001\uffff\u2028', null],
    ['😀', null],
    ['\\u0000', null],
    ['a\0', 'must not contain U+0000'],
    ['\0', 'must not contain U+0000'],
    ['\ud83d', 'must not contain half of a surrogate pair'],
    ['\ude00a', 'must not contain half of a surrogate pair'],
    ['a\ude00\ud83d', 'must not contain half of a surrogate pair'],
  ])('storable(%j) returns %j', (value, problem) => {
    expect(storable(value)).toBe(problem)
  })

  it('has a maximum length, in code points', () => {
    expect(problemsOf(text(4), '😀😀😀😀')).toEqual([])
    expect(problemsOf(text(4), '😀😀😀😀a')).toEqual(['must be at most 4 characters'])
    expect(problemsOf(text(4), 7)).toHaveLength(1)
  })

  it('used as a name has 1 to 200 characters', () => {
    for (const good of ['a', ' ', 'ä'.repeat(200)]) expect(problemsOf(name, good)).toEqual([])
    expect(problemsOf(name, '')).toEqual(['must not be empty'])
    expect(problemsOf(name, 'a'.repeat(201))).toEqual(['must be at most 200 characters'])
    expect(problemsOf(name, 'a\0')).toEqual(['must not contain U+0000'])
  })
})

describe('an id', () => {
  it('is accepted only if it is well-formed and of the expected kind', () => {
    const [conversationId, turn] = [newId('conversation'), newId('turn')]
    expect(parse(id('conversation'), conversationId)).toBe(conversationId)
    expect(problemsOf(id('conversation'), turn)).toEqual(['is not the id of a conversation'])
    expect(problemsOf(id('turn'), 'nonsense')).toEqual(['is not the id of a turn'])
  })
})

describe('a count', () => {
  it.each([0, 1, 2 ** 31 - 1])('can be %d', (value) => expect(problemsOf(count, value)).toEqual([]))
  it.each([-1, 0.5, 2 ** 31, 2 ** 53, NaN, Infinity, '1', null])('cannot be %j', (value) => {
    expect(problemsOf(count, value)).not.toEqual([])
  })
})

describe('JSON values', () => {
  it.each([
    null,
    0,
    false,
    '',
    'a',
    [],
    {},
    [1, 'a', { b: null }],
    '\\u0000',
    '\\\\ud83d',
    { '\\u0000': 1 },
    '\u2028 😀',
    '"\\',
  ])('can be %j', (value) => {
    expect(problemsOf(json, value)).toEqual([])
  })

  const malformed = ['must not contain U+0000 or half of a surrogate pair']
  it.each([['\0'], [['\ud83d']], [{ a: { b: '\ude00' } }], [{ '\0': 1 }], ['\\\0'], ['\\\\\ud83d']])(
    'cannot be %j',
    (value) => {
      expect(problemsOf(json, value)).toEqual(malformed)
    },
  )

  it('are accepted if and only if Postgres can store their strings and keys, even if these contain backslashes', () => {
    const unit = fc.constantFrom('\\', '\0', '\ud83d', '\ude00', 'u', '0000', 'd83d', '"', 'a', '\n')
    const units = fc.array(unit, { maxLength: 8 })
    fc.assert(
      fc.property(
        units.map((parts) => parts.join('')),
        (value) => {
          expect(problemsOf(json, [value])).toEqual(storable(value) === null ? [] : malformed)
          expect(problemsOf(json, { [value]: 1 })).toEqual(storable(value) === null ? [] : malformed)
        },
      ),
    )
  })

  it('can be nested at most 64 levels deep; brackets inside strings do not count', () => {
    expect(problemsOf(json, [nested(63), '[[[{{', { '"{\\': ']' }])).toEqual([])
    expect(problemsOf(json, [nested(64)])).toEqual(['must be nested at most 64 levels deep'])
    expect(problemsOf(json, ['"]]]]', nested(64)])).toEqual(['must be nested at most 64 levels deep'])
  })

  it('cannot contain a bigint', () => {
    expect(problemsOf(json, [1n])).toEqual(['must be JSON'])
  })

  it('cannot contain themselves, or be nested deeper than the stack allows', () => {
    const cycle: unknown[] = []
    cycle.push(cycle)
    for (const value of [
      cycle,
      nested(5_000),
      nested(100_000),
      [Array.from({ length: 5_000 }).reduce((inner) => [inner])],
    ])
      expect(problemsOf(json, value)).toEqual(['must be nested at most 64 levels deep'])
  })

  it('count as the JSON that their toJSON returns', () => {
    expect(problemsOf(json, { at: new Date(0), inner: { toJSON: () => nested(63) } })).toEqual([])
    expect(problemsOf(json, { inner: { toJSON: () => nested(64) } })).toEqual(['must be nested at most 64 levels deep'])
  })
})

describe('metadata', () => {
  it.each([[{}], [{ a: 1 }], [nested(64)], [{ a: 'x'.repeat(65_536 - 8) }]])('can be an object: %#', (value) => {
    expect(problemsOf(metadata, value)).toEqual([])
  })

  it.each<[unknown, string]>([
    [[], 'must be a JSON object'],
    ['a', 'must be a JSON object'],
    [1, 'must be a JSON object'],
    [null, 'must be a JSON object'],
    [{ a: 'x'.repeat(65_536 - 7) }, 'must be at most 65536 bytes of JSON'],
    [{ a: '€'.repeat(22_000) }, 'must be at most 65536 bytes of JSON'],
    [nested(65), 'must be nested at most 64 levels deep'],
    [{ a: '\0' }, 'must not contain U+0000 or half of a surrogate pair'],
  ])('is rejected if it is not an object, exceeds a limit or cannot be stored: %#', (value, message) => {
    expect(problemsOf(metadata, value)).toContain(message)
  })

  it.each([1_000, 4_000, 100_000])('is rejected with its maximum depth if it is nested %d levels deep', (depth) => {
    expect(problemsOf(metadata, nested(depth))).toEqual(['must be nested at most 64 levels deep'])
  })
})

describe('parse', () => {
  const schema = z.object({ a: name, list: z.array(z.object({ n: count })), as: name.nullish() })

  it('returns the parsed value', () => {
    expect(parse(schema, { a: 'x', list: [{ n: 1 }], more: true })).toEqual({ a: 'x', list: [{ n: 1 }] })
  })

  it('throws one error that lists every problem', () => {
    expect(() => parse(schema, { a: '', list: [{ n: 1 }, { n: -1 }], as: '\0' })).toThrow(
      new InvalidInput([
        { path: ['a'], message: 'must not be empty' },
        { path: ['list', '1', 'n'], message: 'must not be negative' },
        { path: ['as'], message: 'must not contain U+0000' },
      ]),
    )
  })

  it.each([undefined, null, 1, 'a', []])('rejects %j as input', (input) => {
    expect(problemsOf(schema, input)).toHaveLength(1)
  })
})

describe('reads of several objects', () => {
  const reads = Object.entries({
    getApprovals,
    getContexts,
    getConversations,
    getFactPages,
    getFacts,
    getFactSourcePages,
    getParticipants,
    getPendingAnswers,
    getProfiles,
    getReplyPages,
    getRunPages,
    getRuns,
    getSummaries,
    getTurns,
    history,
    pageOfTurns,
  }) as [
    string,
    (deps: Deps, viewer: { tenant: string; actor: string }, ids: unknown, args: object) => Promise<unknown>,
  ][]
  const [deps, viewer] = [{} as Deps, { tenant: 't', actor: 'ada' }]

  it.each(reads)('%s rejects one id in place of a list, and a list of other values', async (_, read) => {
    const one = await read(deps, viewer, newId('conversation'), {}).catch((error: unknown) => error)
    expect(one).toBeInstanceOf(InvalidInput)
    expect((one as InvalidInput).issues).toMatchObject([{ message: 'must be a list of strings' }])
    const numbers = await read(deps, viewer, ['a', 7], {}).catch((error: unknown) => error)
    expect(numbers).toBeInstanceOf(InvalidInput)
    expect((numbers as InvalidInput).issues).toMatchObject([{ message: 'must be a string' }])
  })
})
