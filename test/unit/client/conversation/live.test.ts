// Live values: after a temporary failure they are read again, after a permanent one they are not.

import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLive } from '../../../../src/client/conversation/live.ts'
import { ColloquyError } from '../../../../src/client/transport/errors.ts'
import type { Connection } from '../../../../src/client/transport/connection.ts'

type Action = { type: 'read' } | { type: 'connection'; status: string }

/** A live value whose runs fail with these codes, one after another, and then succeed. */
function liveOf(codes: string[]) {
  const reported: unknown[] = []
  const connection = {
    report: (error: unknown) => reported.push((error as ColloquyError).code),
  } as unknown as Connection
  let runs = 0
  const live = createLive<string, Action>(
    connection,
    'loading',
    (_, action) => (action.type === 'read' ? 'live' : action.status),
    async ({ apply }) => {
      const code = codes[runs++]
      if (code) throw new ColloquyError(code, code)
      apply({ type: 'read' })
    },
  )
  return { live, reported, runs: () => runs }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('is read again after temporary failures, until it succeeds', async () => {
  const { live, reported } = liveOf(['NETWORK', 'TIMEOUT'])
  live.subscribe(() => {})
  await vi.advanceTimersByTimeAsync(0)
  expect(live.get()).toBe('waiting')
  await vi.advanceTimersByTimeAsync(20_000)
  expect(live.get()).toBe('live')
  expect(reported).toEqual(['NETWORK', 'TIMEOUT'])
})

it.each(['NOT_FOUND', 'INTERNAL_SERVER_ERROR'])('fails for good with %s', async (code) => {
  const { live, runs } = liveOf([code])
  live.subscribe(() => {})
  await vi.advanceTimersByTimeAsync(20_000)
  expect([live.get(), runs()]).toEqual(['failed', 1])
})

it('is not read again without listeners, and once with a new listener', async () => {
  const { live, runs } = liveOf(['NETWORK'])
  const remove = live.subscribe(() => {})
  await vi.advanceTimersByTimeAsync(0)
  remove()
  await vi.advanceTimersByTimeAsync(20_000)
  expect(runs()).toBe(1)
  live.subscribe(() => {})
  await vi.advanceTimersByTimeAsync(20_000)
  expect([live.get(), runs()]).toEqual(['live', 2])
})
