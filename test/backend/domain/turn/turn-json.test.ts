// The JSON that Postgres renders for turns equals JSON.stringify of the same properties.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eraseTurn } from '../../../../src/domain/trust/erasure/erase-turn.ts'
import { appendDelta } from '../../../../src/domain/turn/streaming/append-delta.ts'
import { abortTurn } from '../../../../src/domain/turn/streaming/stream.ts'
import { appendTurns, openTurn } from '../../../../src/domain/turn/append/append.ts'
import { pageOfTurnJson, pageOfTurns } from '../../../../src/domain/turn/history.ts'
import { pinTurn } from '../../../../src/domain/turn/pin.ts'
import { turnTemplate, type TemplateField } from '../../../../src/domain/turn/turn-json.ts'
import { backends } from '../../../support/backend.ts'
import { casesOf } from '../../../support/long.ts'
import { EVERYTHING, expectSameJson } from '../../../support/turn-json.ts'
import { useWorld, type Tenant } from '../../../support/world.ts'
import { WRITER } from '../../../support/writer.ts'

describe.each(backends)('turns as JSON on $name', (backend) => {
  const world = useWorld(backend)

  /** Checks the conversation's turns, and returns them as objects. */
  async function check(tenant: Tenant, conversationId: string, actor = 'ann') {
    const args = { first: 200, includeSuperseded: true }
    const page = (await pageOfTurns(world.deps, tenant.as(actor), [conversationId], args)).get(conversationId)!
    await expectSameJson(world.deps, tenant.as(actor), conversationId, args, page)
    return page.items
  }

  it('escape the same characters as JSON.stringify', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const controls = String.fromCharCode(...Array.from({ length: 31 }, (_, index) => index + 1))
    const texts = [
      '"',
      '\\',
      '\\"\\\\',
      '\\n',
      controls,
      '\u007f\u0080\u2028\u2029\ufeff',
      'é 語 👩‍👩‍👧',
      '%',
      '%1$s %% %L',
      'null',
    ]
    for (const content of texts) await tenant.append(conversationId, 'ann', content, { model: content })
    expect((await check(tenant, conversationId)).map(({ text }) => text)).toEqual(texts)
  })

  /** Postgres has no null character, and the text of a turn is not blank. */
  const isStorable = (each: string) => !each.includes('\0') && each.trim() !== ''

  it('are the same for any text', async () => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }).filter(isStorable)
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 100 }), async (texts) => {
        const tenant = world.tenant()
        const conversationId = await tenant.newConversation('ann')
        const turns = texts.map((content) => ({ role: 'USER' as const, content, traceId: content }))
        await appendTurns(world.deps, tenant.as('ann'), { conversationId, turns })
        await check(tenant, conversationId)
      }),
      { numRuns: casesOf(10) },
    )
  })

  it.each([
    '0001-01-01T00:00:00.000Z',
    '1582-10-10T12:00:00.001Z',
    '1969-12-31T23:59:59.999Z',
    '2026-02-28T23:59:59.990Z',
  ])('have the time %s', async (time) => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    await tenant.append(conversationId, 'ann', 'said', { createdAt: new Date(time) })
    const [turn] = await check(tenant, conversationId)
    expect(turn!.createdAt.toISOString()).toBe(time)
  })

  it('have the text so far of open turns, and every status', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const writer = { writerToken: WRITER }
    const open = async () =>
      (await openTurn(world.deps, tenant.as('ann'), { ...writer, conversationId, turn: { role: 'ASSISTANT' } })).turn.id
    const [streaming, aborted] = [await open(), await open()]
    await open()
    await appendDelta(world.deps, tenant.as('ann'), { ...writer, turnId: streaming, start: 0, text: 'one "' })
    await appendDelta(world.deps, tenant.as('ann'), { ...writer, turnId: streaming, start: 5, text: 'two"' })
    await abortTurn(world.deps, tenant.as('ann'), { ...writer, turnId: aborted, reason: 'a "reason"' })
    const erased = await tenant.append(conversationId, 'ann', 'secret')
    await eraseTurn(world.deps, tenant.as('ann'), { turnId: erased.id })
    const pinned = await tenant.append(conversationId, 'ann', 'pinned')
    await pinTurn(world.deps, tenant.as('ann'), { turnId: pinned.id })
    const turns = await check(tenant, conversationId)
    expect(turns.map(({ status, text }) => [status, text])).toEqual([
      ['STREAMING', 'one "two"'],
      ['ABORTED', ''],
      ['STREAMING', ''],
      ['ERASED', ''],
      ['COMMITTED', 'pinned'],
    ])
  })

  it('are those that the viewer sees', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob')
    await tenant.append(conversationId, 'ann', 'to all')
    await tenant.append(conversationId, 'ann', 'to ann', { audience: ['ann'] })
    const textsOf = async (actor: string) => (await check(tenant, conversationId, actor)).map(({ text }) => text)
    expect(await textsOf('ann')).toEqual(['to all', 'to ann'])
    expect(await textsOf('bob')).toEqual(['to all'])
    const foreign = await pageOfTurnJson(world.deps, world.tenant().as('ann'), [conversationId], {
      args: {},
      template: EVERYTHING,
    })
    expect([...foreign]).toEqual([])
  })

  it.each<[string, TemplateField[], string]>([
    ['no field', [], '{}'],
    ['a constant', [{ key: 'type', value: { constant: '100 % "T"' } }], '{"type":"100 % \\"T\\""}'],
    [
      'a property under two keys',
      [
        { key: 'a', value: 'text' },
        { key: 'b', value: 'text' },
      ],
      '{"a":"said","b":"said"}',
    ],
    ['objects', [{ key: 'node', value: { fields: [{ key: 'seq', value: 'seq' }] } }], '{"node":{"seq":2}}'],
    ['a null', [{ key: 'model', value: 'model' }], '{"model":null}'],
    [
      'another order',
      [
        { key: 'text', value: 'text' },
        { key: 'role', value: 'role' },
      ],
      '{"text":"said","role":"USER"}',
    ],
  ])('follow a template with %s', async (_, fields, item) => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    await tenant.append(conversationId, 'ann', 'said')
    const template = turnTemplate(fields, false)
    const pages = await pageOfTurnJson(world.deps, tenant.as('ann'), [conversationId], { args: {}, template })
    expect(pages.get(conversationId)).toMatchObject({ items: [], list: { text: `[${item}]` } })
  })
})
