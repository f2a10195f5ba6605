// The pause before a call of a provider is repeated, in ms, null if it is not repeated; and the reasoning of its reply.

import { describe, expect, it } from 'vitest'
import {
  callProvider,
  MAX_CALL_ATTEMPTS,
  pauseBefore,
} from '../../../../../../src/domain/agent/run/answer/call-provider.ts'
import { CallFailed } from '../../../../../../src/providers/ports/call-failed.ts'
import {
  ProviderCallFailed,
  type ProviderAdapter,
  type ProviderCallResult,
  type ProviderDeltaPart,
  type ProviderStreamEvent,
} from '../../../../../../src/providers/ports/provider-adapter.ts'
import { fakeClock } from '../../../../../support/fake-clock.ts'

const busy = (retryAfterMs: number | null = null) =>
  new ProviderCallFailed('RATE_LIMITED', 'Busy.', true, { status: 429, retryAfterMs })

describe('pauseBefore', () => {
  it.each([
    ['doubles from attempt to attempt', 2, busy(), false, 500],
    ['doubles from attempt to attempt', 3, busy(), false, 1000],
    ['doubles from attempt to attempt', 4, busy(), false, 2000],
    ['is as long as the provider asks', 2, busy(7_000), false, 7_000],
    ['is null if the provider asks for more than the limit', 2, busy(31_000), false, null],
    ['is null after the last attempt', MAX_CALL_ATTEMPTS + 1, busy(), false, null],
    ['is null once a part of the reply has arrived', 2, busy(), true, null],
    ['is null for a stalled call', 2, new ProviderCallFailed('STALLED', 'Silent.', true), false, null],
    ['is null for a call that the provider refused', 2, new ProviderCallFailed('REFUSED', 'No.', false), false, null],
    ['is set for any failure that is marked as temporary', 2, new CallFailed('Later.', true), false, 500],
    ['is null for an unexpected error', 2, new Error('x'), false, null],
  ] as const)('%s', (_, attempt, error, hasBegun, pause) => {
    expect(pauseBefore(attempt, error, hasBegun)).toBe(pause)
  })
})

describe('the reasoning of a reply', () => {
  const delta = (...content: ProviderDeltaPart[]): ProviderStreamEvent => ({
    type: 'delta',
    delta: { role: 'assistant', content },
  })
  const result: ProviderCallResult = {
    id: 'r',
    createdAt: new Date(0),
    message: { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
  }
  const thought = delta({ type: 'reasoning', text: 'Hm.' }, { type: 'reasoning-end', signature: 's' })
  const whole: ProviderStreamEvent[] = [thought, delta({ type: 'text', text: 'Hello.' }), { type: 'done', result }]

  /** Calls a provider that plays a reply for each attempt, each of them cut off without its end. */
  async function called(hasReasoning: boolean, ...replies: ProviderStreamEvent[][]) {
    const adapter: ProviderAdapter = {
      complete: () => expect.unreachable(),
      completeStream: async () => ({
        final: new Promise<never>(() => {}),
        async *[Symbol.asyncIterator]() {
          yield* replies.shift()!
        },
      }),
    }
    const received: string[] = []
    let attempts = 0
    const clock = fakeClock()
    const calling = callProvider(
      adapter,
      { messages: [], metadata: { provider: 'p', model: 'm' } },
      {
        clock,
        stallMs: 5_000,
        signal: new AbortController().signal,
        hasReasoning,
        onDelta: async ({ type }) => void received.push(type),
        onCall: async () => {},
        onAttempt: (attempt) => void (attempts = attempt),
      },
    ).then(
      () => null,
      (thrown: ProviderCallFailed) => thrown.code,
    )
    await clock.advance(1_000)
    return { received, attempts, error: await calling }
  }

  it('is passed on only if it is asked for', async () => {
    const all = ['reasoning', 'reasoning-end', 'text']
    expect(await called(true, whole)).toEqual({ received: all, attempts: 1, error: null })
    expect(await called(false, whole)).toEqual({ received: ['text'], attempts: 1, error: null })
  })

  it('ends the attempts of a call that fails after it, if it has been passed on', async () => {
    expect(await called(false, [thought], whole)).toEqual({ received: ['text'], attempts: 2, error: null })
    expect(await called(true, [thought], whole)).toMatchObject({ attempts: 1, error: 'CUT_OFF' })
    const begun = [thought, delta({ type: 'tool-call-start', id: 'a', name: 'now' })]
    // A call that is not whole is left out of the turn.
    expect(await called(false, begun, whole)).toMatchObject({ attempts: 2, error: null })
    const said = [thought, delta({ type: 'text', text: 'So' })]
    expect(await called(false, said, whole)).toMatchObject({ attempts: 1, error: 'CUT_OFF' })
  })
})
