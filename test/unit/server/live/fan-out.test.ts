// Shared renderings of events: documents that can be shared, the key of a rendering, and the payload of each view.

import { buildSchema, GraphQLError, parse, type ExecutionArgs, type ExecutionResult } from 'graphql'
import { describe, expect, it, vi } from 'vitest'
import type { ConversationEvent } from '../../../../src/domain/turn/journal/event.ts'
import { OPEN_VIEW, type View, type Viewer } from '../../../../src/domain/kernel/view.ts'
import { NotFound } from '../../../../src/errors.ts'
import { loadConfig } from '../../../../src/config/config.ts'
import { createRequestContext } from '../../../../src/graphql/kernel/request.ts'
import { schema } from '../../../../src/graphql/schema.ts'
import {
  payloadOf,
  rendering,
  sharedDocument,
  WHOLE_RESULT,
  type Rendering,
} from '../../../../src/server/live/fan-out.ts'
import type { Payload } from '../../../../src/server/live/outbox.ts'
import { maskWith } from '../../../../src/server/graphql/yoga.ts'

const LIMITS = loadConfig({}).operationLimits
const as = (actor: string): Viewer => ({ tenant: 'acme', actor })
const viewOf = (actor: string, more: Partial<View> = {}): View => ({ ...OPEN_VIEW, actor, ...more })
const mask = (error: unknown) => new GraphQLError(`masked: ${(error as Error).message}`)

/** A new event object, for which no payload is cached. */
const newEvent = (): ConversationEvent => ({
  type: 'ConversationUpdated',
  conversationId: 'conv_1',
  seq: 7,
  at: new Date(0),
})

/** A rendering that counts its runs. By default, each result contains the viewer's actor. */
const counting = ({ run = (_, { actor }) => ({ data: { for: actor } }), ...more }: Partial<Rendering> = {}) => ({
  key: 'k',
  isShareable: true,
  format: WHOLE_RESULT,
  mask,
  ...more,
  run: vi.fn<Rendering['run']>(run),
})
const contentOf = ({ bytes }: Payload) => JSON.parse(String(bytes))

const FOLLOW = `subscription (
  $id: ID!, $afterSeq: Int, $types: [ConversationEventType!], $as: String, $short: Boolean = false
) {
  conversationEvents(conversationId: $id, afterSeq: $afterSeq, types: $types, as: $as) { seq at @skip(if: $short) }
}`
const shared = (text: string, operationName?: string) => sharedDocument(schema, parse(text), operationName)
const renderingOf = (text: string, variableValues: Record<string, unknown> = { id: 'conv_1' }) => {
  const document = parse(text)
  const args: ExecutionArgs = { schema, document, variableValues }
  const context = vi.fn((viewer: Viewer) => createRequestContext({ reads: {} } as never, viewer, LIMITS))
  const options = { contextOf: context, mask, limits: LIMITS, format: WHOLE_RESULT }
  return { context, ...rendering(sharedDocument(schema, document, null)!, args, options) }
}

describe('sharedDocument', () => {
  it.each([
    ['a query', 'query ($id: ID!) { conversation(id: $id) { id } }'],
    ['another subscription', 'subscription { inbox { reason } }'],
    ['two fields', FOLLOW.replace('{ seq', '{ seq } more: conversationEvents(conversationId: $id) { seq')],
    ['a directive on the field', FOLLOW.replace('as: $as) {', 'as: $as) @include(if: true) {')],
    ['a fragment instead of the field', 'subscription { ...F } fragment F on Subscription { inbox { reason } }'],
  ])('is null for %s', (_, text) => {
    expect(shared(text)).toBeNull()
  })

  it('is created once per document', () => {
    const document = parse(FOLLOW)
    expect(sharedDocument(schema, document, null)).toBe(sharedDocument(schema, document, undefined))
  })

  it('is shareable if every selected field is', () => {
    expect(shared(FOLLOW)!.isShareable).toBe(true)
    const counts = FOLLOW.replace('seq', '... on ConversationUpdated { conversation { turnCount } }')
    expect(shared(counts)!.isShareable).toBe(false)
  })

  it('is not shareable if it selects an unmarked field that does not expose a property', () => {
    const other = buildSchema(`
      type Query { ok: Int }
      type Event { seq: Int }
      type Subscription { conversationEvents: Event }`)
    const document = () => parse('subscription { conversationEvents { seq } }')
    expect(sharedDocument(other, document(), null)!.isShareable).toBe(false)
    for (const type of ['Subscription', 'Event']) {
      const [field] = Object.values((other.getType(type) as never as { getFields(): object }).getFields())
      Object.assign(field, { extensions: { sharing: 'SHAREABLE' } })
    }
    expect(sharedDocument(other, document(), null)!.isShareable).toBe(true)
  })
})

describe('the key of a rendering', () => {
  it('consists of the document and its variables, without those used only for `afterSeq`, `types` and `as`', () => {
    const { key } = renderingOf(FOLLOW, { id: 'conv_1', afterSeq: 3, as: 'ada' })
    expect(renderingOf(FOLLOW, { id: 'conv_1', afterSeq: 9, types: ['TURN_DELTA'], as: 'bob' }).key).toBe(key)
    expect(renderingOf(FOLLOW, { id: 'conv_1', afterSeq: 3, as: 'ada', short: true }).key).not.toBe(key)
    expect(renderingOf(FOLLOW.replace('seq', '__typename')).key).not.toBe(renderingOf(FOLLOW).key)
  })

  it('includes a variable of `as` that is also used elsewhere', () => {
    const text = `subscription ($as: String) {
      conversationEvents(conversationId: "c", as: $as) {
        ... on ConversationUpdated { conversation { turns(after: $as) { edges { cursor } } } }
      }
    }`
    expect(renderingOf(text, { as: 'ada' }).key).not.toBe(renderingOf(text, { as: 'bob' }).key)
  })
})

describe('a rendering', () => {
  it('renders the event for the viewer, and masks the errors of its fields', async () => {
    const { run, context } = renderingOf(FOLLOW)
    const event = { ...newEvent(), type: 'ConversationUpdated', seq: 7 } as const
    expect(await run(event, as('ada'))).toEqual({
      data: { conversationEvents: { seq: 7, at: '1970-01-01T00:00:00.000Z' } },
    })
    expect(context).toHaveBeenCalledWith(as('ada'))
    const { errors } = await run({ ...event, at: 'never' as never }, as('ada'))
    expect(errors!.map(({ message }) => message)).toEqual([expect.stringMatching(/^masked: /)])
  })

  it('returns an error, without reading anything, if the result could contain too many values', async () => {
    const text = `subscription ($id: ID!, $n: Int) { conversationEvents(conversationId: $id) {
      ... on ConversationUpdated { conversation { history(limit: $n) {
        ... on Turn { conversation { history(limit: $n) { ... on Turn { conversation { history(limit: $n) { ... on Turn { id } } } } } } }
      } } }
    } }`
    const { run } = renderingOf(text, { id: 'conv_1', n: 200 })
    const { data, errors } = await run({ ...newEvent(), type: 'ConversationUpdated', seq: 7 }, as('ada'))
    expect(data).toBeUndefined()
    expect(errors).toMatchObject([{ message: expect.stringContaining('values in the answer') }])
  })
})

describe('payloadOf', () => {
  it('is shared by all viewers of one view class, and by no others', () => {
    const [event, counted] = [newEvent(), counting()]
    const ada = payloadOf(event, viewOf('ada'), as('ada'), counted)
    expect(payloadOf(event, viewOf('bob'), as('bob'), counted)).toBe(ada)
    expect(contentOf(ada)).toEqual({ data: { for: 'ada' } })
    const late = payloadOf(event, viewOf('eve', { windows: [5] }), as('eve'), counted)
    expect(payloadOf(event, viewOf('fay', { windows: [5] }), as('fay'), counted)).toBe(late)
    const addressed = ['ada', 'bob'].map((actor) =>
      payloadOf(event, viewOf(actor, { addressed: true }), as(actor), counted),
    )
    expect(new Set([ada, late, ...addressed]).size).toBe(4)
    expect(counted.run).toHaveBeenCalledTimes(4)
  })

  it('is separate for each event and each rendering key', () => {
    const [event, counted] = [newEvent(), counting()]
    const payload = payloadOf(event, viewOf('ada'), as('ada'), counted)
    expect(payloadOf(newEvent(), viewOf('ada'), as('ada'), counted)).not.toBe(payload)
    expect(payloadOf(event, viewOf('ada'), as('ada'), { ...counted, key: 'other' })).not.toBe(payload)
    expect(payloadOf(event, viewOf('ada'), as('ada'), { ...counted })).toBe(payload)
  })

  it('is separate for each actor if the rendering is not shareable', () => {
    const [event, counted] = [newEvent(), counting({ isShareable: false })]
    const of = (actor: string) => payloadOf(event, viewOf(actor), as(actor), counted)
    expect([contentOf(of('ada')), contentOf(of('bob'))]).toEqual([{ data: { for: 'ada' } }, { data: { for: 'bob' } }])
    expect(of('ada')).toBe(of('ada'))
    expect(counted.run).toHaveBeenCalledTimes(2)
  })

  it('renders only the part of an event that the view contains', () => {
    const version = { position: 3, seq: 3 }
    const event: ConversationEvent = {
      ...newEvent(),
      type: 'FactsChanged',
      seq: 7,
      facts: [
        { ...version, id: 'fact_1', audience: null },
        { ...version, id: 'fact_2', audience: ['bob'] },
      ],
    }
    const counted = counting()
    payloadOf(event, viewOf('ada'), as('ada'), counted)
    payloadOf(event, viewOf('bob', { addressed: true }), as('bob'), counted)
    expect(counted.run.mock.calls.map(([event]) => event)).toMatchObject([
      { factIds: ['fact_1'] },
      { factIds: ['fact_1', 'fact_2'] },
    ])
    expect(counted.run.mock.calls.flatMap(([event]) => Object.keys(event))).not.toContain('facts')
  })

  it('has the same bytes for all waiting viewers once an asynchronous result is available', async () => {
    let settle!: (result: ExecutionResult) => void
    const counted = counting({ run: () => new Promise((resolve) => (settle = resolve)) })
    const event = newEvent()
    const payload = payloadOf(event, viewOf('ada'), as('ada'), counted)
    expect(payload).toMatchObject({ bytes: null, ready: expect.any(Promise) })
    expect(payloadOf(event, viewOf('bob'), as('bob'), counted)).toBe(payload)
    settle({ data: { late: true } })
    await payload.ready
    expect(contentOf(payload)).toEqual({ data: { late: true } })
  })

  describe('when rendering fails,', () => {
    const fault = new Error('the secret reason')
    it.each<[string, Rendering['run']]>([
      [
        'throws',
        () => {
          throw fault
        },
      ],
      ['rejects', () => Promise.reject(fault)],
      [
        'returns a value that JSON cannot represent',
        () => ({
          data: {
            toJSON() {
              throw fault
            },
          },
        }),
      ],
      [
        'resolves to a value that JSON cannot represent',
        async () => ({
          data: {
            toJSON() {
              throw fault
            },
          },
        }),
      ],
    ])('returns a masked error and logs it once (run %s)', async (_, run) => {
      const error = vi.fn()
      const counted = counting({ run, mask: maskWith({ log: { error } } as never) })
      const event = newEvent()
      const payload = payloadOf(event, viewOf('ada'), as('ada'), counted)
      expect(payloadOf(event, viewOf('bob'), as('bob'), counted)).toBe(payload)
      await payload.ready
      expect(contentOf(payload)).toEqual({
        errors: [{ message: 'Unexpected error.', extensions: { code: 'INTERNAL_SERVER_ERROR' } }],
      })
      expect(error.mock.calls).toEqual([[{ err: fault }, expect.any(String)]])
      expect(counted.run).toHaveBeenCalledTimes(1)
    })

    it('keeps the code of an expected failure', () => {
      const run = () => {
        throw new NotFound('turn', 'turn_1')
      }
      const counted = counting({ run, mask: maskWith({ log: { error: vi.fn() } } as never) })
      expect(contentOf(payloadOf(newEvent(), viewOf('ada'), as('ada'), counted))).toMatchObject({
        errors: [{ extensions: { code: 'NOT_FOUND' } }],
      })
    })
  })
})
