// Appending rejects invalid input with a typed error that names the path, the reason and the limit, and writes nothing.

import { describe, expect, it } from 'vitest'
import { appendTurn, appendTurns, openTurn } from '../../../../../src/domain/turn/append/append.ts'
import type { TurnInput } from '../../../../../src/domain/turn/append/turn-input.ts'
import { InvalidInput } from '../../../../../src/errors.ts'
import { backends } from '../../../../support/backend.ts'
import { LIMITS, useWorld } from '../../../../support/world.ts'
import { WRITER } from '../../../../support/writer.ts'

const lone = '\ud83d'
/** A value as JSON.parse returns it, nested to the given depth. */
const nested = (depth: number): unknown => Array.from({ length: depth }).reduce((inner) => [inner], 0)

/** Invalid inputs and the expected errors; `at` is the path within the turn. */
const BAD: [name: string, turn: Record<string, unknown>, at: string, message: RegExp][] = [
  ['no content', {}, 'content', /must not be empty/],
  ['empty content', { content: '' }, 'content', /must not be empty/],
  ['blank content', { content: ' \n\t' }, 'content', /must not be empty/],
  ['content and parts', { content: 'a', parts: [{ text: 'b' }] }, 'parts', /content or parts, not both/],
  ['no parts', { parts: [] }, 'parts', /must not be empty/],
  ['parts of blank text', { parts: [{ text: ' ' }, { text: '' }] }, 'parts', /must not be empty/],
  ['1,001 parts', { parts: Array(1001).fill({ text: 'a' }) }, 'parts', /at most 1000 parts/],
  ['a part without a field', { parts: [{}] }, 'parts.0', /exactly one field/],
  ['a part with two fields', { parts: [{ text: 'a', data: 1 }] }, 'parts.0', /exactly one field/],
  ['2 MB of content', { content: 'x'.repeat(2 ** 21) }, 'content', /2097152 bytes.*262144/],
  ['content a byte over the limit', { content: 'x'.repeat(LIMITS.turnBytes + 1) }, 'content', /262145 bytes.*262144/],
  [
    'content over the limit in bytes but not in characters',
    { content: '€'.repeat(87_382) },
    'content',
    /262146 bytes.*262144/,
  ],
  [
    'data over the limit',
    { parts: [{ data: 'x'.repeat(LIMITS.turnBytes) }] },
    'parts',
    /bytes; a turn may have at most 262144/,
  ],
  ['U+0000', { content: 'a\0b' }, 'content', /U\+0000/],
  ['an unpaired surrogate', { content: `a${lone}b` }, 'content', /half of a surrogate pair/],
  ['U+0000 in a part', { parts: [{ text: 'a' }, { text: '\0' }] }, 'parts.1.text', /U\+0000/],
  [
    'an unpaired surrogate in a tool call',
    { parts: [{ toolCall: { callId: 'k', name: 'n', arguments: { [lone]: 1 } } }] },
    'parts.0.toolCall.arguments',
    /half of a surrogate pair/,
  ],
  [
    'U+0000 in a tool result',
    { parts: [{ toolResult: { callId: 'k', name: 'n', result: ['\0'] } }] },
    'parts.0.toolResult.result',
    /U\+0000/,
  ],
  ['data that is not JSON', { parts: [{ data: 1n }] }, 'parts.0.data', /must be JSON/],
  ['an unknown role', { content: 'a', role: 'KING' }, 'role', /SYSTEM/],
  ['an empty actor', { content: 'a', actor: '' }, 'actor', /must not be empty/],
  ['an actor with U+0000', { content: 'a', actor: 'a\0' }, 'actor', /U\+0000/],
  ['an actor of 201 characters', { content: 'a', actor: 'a'.repeat(201) }, 'actor', /at most 200/],
  ['an empty clientId', { content: 'a', clientId: '' }, 'clientId', /must not be empty/],
  ['an empty audience', { content: 'a', audience: [] }, 'audience', /omit it/],
  [
    'an audience of 1,001 actors',
    { content: 'a', audience: Array.from({ length: 1001 }, (_, i) => `a${i}`) },
    'audience',
    /1000/,
  ],
  [
    'an audience with a non-participant',
    { content: 'a', audience: ['ann', 'mallory'] },
    'audience',
    /"mallory" is not a participant/,
  ],
  [
    'a negative token count',
    { content: 'a', tokenUsage: { prompt: -1, completion: 1 } },
    'tokenUsage.prompt',
    /negative/,
  ],
  ['101 citations', { content: 'a', citations: Array(101).fill({}) }, 'citations', /100/],
  ['metadata that is not an object', { content: 'a', metadata: [1] }, 'metadata', /JSON object/],
  ['metadata over 64 KiB', { content: 'a', metadata: { a: 'x'.repeat(65_536) } }, 'metadata', /65536 bytes/],
  ['metadata nested too deeply', { content: 'a', metadata: { a: nested(64) } }, 'metadata', /64 levels deep/],
  ['an invalid time', { content: 'a', createdAt: new Date(NaN) }, 'createdAt', /./],
  ['a time after the maximum', { content: 'a', createdAt: new Date(8.64e15) }, 'createdAt', /./],
  ['a time in the future', { content: 'a', createdAt: new Date(Date.now() + 3_600_000) }, 'createdAt', /in the future/],
  ['a time before the minimum', { content: 'a', createdAt: new Date(-8.64e15) }, 'createdAt', /./],
]

describe.each(backends)('input validation of appending on $name', (backend) => {
  const world = useWorld(backend)
  // All tests of rejected input share one conversation, because none of them may write to it.
  const tenant = world.tenant()
  let shared: Promise<string> | undefined
  const sharedConversation = () => (shared ??= tenant.newConversation('ann'))

  async function faultOf(work: () => Promise<unknown>): Promise<InvalidInput> {
    const before = await tenant.lastSeq(await sharedConversation())
    const error = await work().then(
      () => {
        throw new Error('the input was accepted')
      },
      (reason) => reason,
    )
    expect(error).toBeInstanceOf(InvalidInput)
    expect(await tenant.lastSeq(await sharedConversation())).toBe(before)
    return error
  }

  it.each(BAD)('rejects %s, naming the path', async (_, turn, at, message) => {
    const conversationId = await sharedConversation()
    const bad = { role: 'USER', ...turn } as TurnInput
    const fault = await faultOf(() => appendTurn(world.deps, tenant.as('ann'), { conversationId, turn: bad }))
    expect(fault.message).toMatch(message)
    expect(fault.issues[0]!.path.join('.')).toBe(`turn.${at}`)
  })

  it.each(BAD)('rejects a batch for %s, naming the turn, and writes none of it', async (_, turn, at, message) => {
    const conversationId = await sharedConversation()
    const good: TurnInput = { role: 'USER', content: 'good' }
    const turns = [good, { role: 'USER', ...turn } as TurnInput, good]
    const fault = await faultOf(() => appendTurns(world.deps, tenant.as('ann'), { conversationId, turns }))
    expect(fault.message).toMatch(message)
    expect(fault.issues[0]!.path.join('.')).toBe(`turns.1.${at}`)
  })

  it('either accepts deep JSON or rejects it with a validation error', async () => {
    const other = await tenant.newConversation()
    for (const depth of [1_000, 3_000, 4_000, 5_000, 8_000, 64_000]) {
      const data = { role: 'USER' as const, parts: [{ data: nested(depth) }] }
      const about = { role: 'USER' as const, content: 'a', metadata: { a: nested(depth) } }
      for (const turn of [data, { ...data, clientId: `${depth}` }, about] satisfies TurnInput[]) {
        const answer = appendTurn(world.deps, tenant.as('ann'), { conversationId: other, turn })
        const error = await answer.then(
          () => null,
          (reason) => reason,
        )
        expect(error, `${depth} deep`).toSatisfy((reason) => reason === null || reason instanceof InvalidInput)
      }
    }
  })

  it.each([
    '',
    'conv_',
    'conv_01ARZ3NDEKTSV4RRFFQ69G5FAU',
    'turn_01ARZ3NDEKTSV4RRFFQ69G5FAV',
    'conv_\0',
    'x'.repeat(99),
  ])('rejects the conversation id %j', async (conversationId) => {
    const turn: TurnInput = { role: 'USER', content: 'a' }
    for (const operation of [
      () => appendTurn(world.deps, tenant.as('ann'), { conversationId, turn }),
      () => appendTurns(world.deps, tenant.as('ann'), { conversationId, turns: [turn] }),
      () => openTurn(world.deps, tenant.as('ann'), { writerToken: WRITER, conversationId, turn: { role: 'USER' } }),
    ]) {
      expect((await faultOf(operation)).message).toBe('conversationId: is not the id of a conversation')
    }
  })

  it('rejects an empty batch, and a batch of 10,000 turns', async () => {
    const conversationId = await sharedConversation()
    const batch = (length: number) => () =>
      appendTurns(world.deps, tenant.as('ann'), {
        conversationId,
        turns: Array(length).fill({ role: 'USER', content: 'a' }),
      })
    expect((await faultOf(batch(0))).message).toBe('turns: must not be empty')
    expect((await faultOf(batch(10_000))).message).toBe('turns: has 10000 turns; at most 1000 can be appended at once')
  })

  it('rejects a clientId that occurs twice in a batch', async () => {
    const turns = [1, 2].map((n): TurnInput => ({ role: 'USER', content: `t${n}`, clientId: 'c' }))
    const conversationId = await sharedConversation()
    const fault = await faultOf(() => appendTurns(world.deps, tenant.as('ann'), { conversationId, turns }))
    expect(fault.issues).toEqual([{ path: ['turns', '1', 'clientId'], message: 'occurs twice in the batch' }])
  })

  it.each([-1, 1.5, 2 ** 31, NaN])('rejects expectedLastSeq %d', async (expectedLastSeq) => {
    const input = {
      conversationId: await sharedConversation(),
      expectedLastSeq,
      turn: { role: 'USER' as const, content: 'a' },
    }
    const fault = await faultOf(() => appendTurn(world.deps, tenant.as('ann'), input))
    expect(fault.issues[0]!.path).toEqual(['expectedLastSeq'])
  })

  it('lists every problem in one error', async () => {
    const turn = { role: 'KING', actor: '', clientId: 'a\0' } as unknown as TurnInput
    const conversationId = await sharedConversation()
    const fault = await faultOf(() => appendTurn(world.deps, tenant.as('ann'), { conversationId, turn }))
    expect(fault.issues.map(({ path }) => path.at(-1)).sort()).toEqual(['actor', 'clientId', 'role'])
  })

  it('accepts values at and within the limits, and text that only looks like an invalid escape', async () => {
    const other = await tenant.newConversation('ann')
    const fits: Partial<TurnInput>[] = [
      { content: 'x'.repeat(LIMITS.turnBytes) },
      { parts: Array(1000).fill({ text: 'a' }) },
      { content: '😀' },
      { content: 'a', metadata: { a: nested(63) } },
      { content: 'a', createdAt: new Date(Date.now() + 30_000) },
      { content: 'a', createdAt: new Date('0001-01-01T00:00:00.000Z') },
      { content: 'a', actor: 'ä'.repeat(200) },
      { content: 'the text \\u0000 \\ud83d is no such character' },
      { content: 'a', metadata: { '\\u0000': '\\\\ud83d' } },
      { parts: [{ data: false }] },
    ]
    for (const turn of fits) {
      await appendTurn(world.deps, tenant.as('ann'), { conversationId: other, turn: { role: 'USER', ...turn } })
    }
    const turns = Array(LIMITS.batchTurns).fill({ role: 'USER', content: 'a' }) as TurnInput[]
    const { turns: appended } = await appendTurns(world.deps, tenant.as('ann'), { conversationId: other, turns })
    expect(appended.at(-1)!.seq).toBe(await tenant.lastSeq(other))
  })
})
