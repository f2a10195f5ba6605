// The pause before a call of a provider is repeated, in ms; null if it is not repeated.

import { describe, expect, it } from 'vitest'
import { MAX_CALL_ATTEMPTS, pauseBefore } from '../../../../../../src/domain/agent/run/answer/call-provider.ts'
import { CallFailed } from '../../../../../../src/providers/ports/call-failed.ts'
import { ProviderCallFailed } from '../../../../../../src/providers/ports/provider-adapter.ts'

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
