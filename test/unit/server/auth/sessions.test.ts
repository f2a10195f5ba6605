// The sessions of tokens, with a clock and a verifier that the test controls.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Principal } from '../../../../src/domain/kernel/rights/principal.ts'
import { EXPIRED, OF_PROBLEM } from '../../../../src/server/auth/refusals.ts'
import { createSessions, RECHECK_MS, type Credential, type Sessions } from '../../../../src/server/auth/sessions.ts'
import { fakeClock, type FakeClock } from '../../../support/fake-clock.ts'

const DAY = 24 * 3600_000

const principal = (expiresAt: Date | null): Principal => ({
  tenant: 'acme',
  actor: 'ada',
  kind: 'HUMAN',
  rights: new Set(['read']),
  conversations: null,
  credential: 'key:1',
  expiresAt,
})
const credential = (digest: string, expiresAt: Date | null, keyId: string | null = null): Credential => ({
  digest,
  principal: principal(expiresAt),
  key: keyId === null ? null : { keyId, secretHash: Buffer.alloc(32) },
})

let clock: FakeClock
let start: number
let verify: ReturnType<typeof vi.fn>
let sessions: Sessions
beforeEach(() => {
  clock = fakeClock()
  start = clock.Date.now()
  verify = vi.fn(async () => principal(null))
  sessions = createSessions(clock, verify as never, EXPIRED)
})
afterEach(() => sessions.close())

describe('a session', () => {
  test('ends when its token expires, once, and other tokens continue', async () => {
    const [ended, other] = [vi.fn(), vi.fn()]
    sessions.watch(credential('a', new Date(start + 1_000)), ended)
    sessions.watch(credential('b', new Date(start + 9_000)), other)
    await clock.advance(999)
    expect(ended).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(ended.mock.calls).toEqual([[EXPIRED]])
    await clock.advance(5_000)
    expect(ended).toHaveBeenCalledTimes(1)
    expect(other).not.toHaveBeenCalled()
  })

  test('with a token that has already expired ends at once', () => {
    const ended = vi.fn()
    sessions.watch(credential('a', new Date(start)), ended)
    expect(ended.mock.calls).toEqual([[EXPIRED]])
  })

  test('ends after a time that is longer than a timer of Node can be', async () => {
    const ended = vi.fn()
    sessions.watch(credential('a', new Date(start + 60 * DAY)), ended)
    await clock.advance(59 * DAY)
    expect(ended).not.toHaveBeenCalled()
    await clock.advance(DAY)
    expect(ended).toHaveBeenCalledTimes(1)
  })

  test('of a revoked key ends with the message of the bus, or at the next check', async () => {
    for (const announce of [() => sessions.recheck('key_1'), () => clock.advance(RECHECK_MS)]) {
      const [ended, other] = [vi.fn(), vi.fn()]
      sessions.watch(credential('a', null, 'key_1'), ended)
      const stop = sessions.watch(credential('b', null, 'key_2'), other)
      verify.mockImplementation(async ({ keyId }) => (keyId === 'key_1' ? OF_PROBLEM.REVOKED : principal(null)))
      await announce()
      expect(ended.mock.calls).toEqual([[OF_PROBLEM.REVOKED]])
      expect(other).not.toHaveBeenCalled()
      stop()
    }
  })

  test('of a rotated key ends when the previous secret expires', async () => {
    const ended = vi.fn()
    sessions.watch(credential('a', null, 'key_1'), ended)
    verify.mockResolvedValue(principal(new Date(start + 3_000)))
    await sessions.recheck('key_1')
    await clock.advance(3_000)
    expect(ended.mock.calls).toEqual([[EXPIRED]])
  })

  test('continues while the key cannot be read', async () => {
    const ended = vi.fn()
    sessions.watch(credential('a', null, 'key_1'), ended)
    verify.mockRejectedValue(new Error('no database'))
    await clock.advance(5 * RECHECK_MS)
    expect(verify.mock.calls.length).toBeGreaterThan(3)
    expect(ended).not.toHaveBeenCalled()
  })

  test('that stopped watching is not ended, and no check runs without sessions', async () => {
    const ended = vi.fn()
    sessions.watch(credential('a', new Date(start + 1_000), 'key_1'), ended)()
    await clock.advance(5_000)
    expect(ended).not.toHaveBeenCalled()
    expect(verify).not.toHaveBeenCalled()
  })

  test('shares one check with all sessions of the token', async () => {
    for (let n = 0; n < 100; n++) sessions.watch(credential('a', null, 'key_1'), () => {})
    await sessions.recheck('key_1')
    expect(verify).toHaveBeenCalledTimes(1)
  })

  test('neither ends nor is checked after the server has closed', async () => {
    const ended = vi.fn()
    sessions.watch(credential('a', new Date(start + 1_000)), ended)
    sessions.watch(credential('b', null, 'key_1'), ended)
    sessions.close()
    await clock.advance(2 * RECHECK_MS)
    expect(ended).not.toHaveBeenCalled()
    expect(verify).not.toHaveBeenCalled()
  })
})
