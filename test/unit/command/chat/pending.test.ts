// What a chat waits for: the answers that it has started, and the events of its turns.

import { expect, it } from 'vitest'
import { createPending } from '../../../../src/command/chat/pending.ts'

/** Whether `settled` has resolved. */
async function isSettled(pending: ReturnType<typeof createPending>): Promise<boolean> {
  let is = false
  void pending.settled().then(() => (is = true))
  await new Promise((resolve) => setImmediate(resolve))
  return is
}

it('is settled when each run has ended or waits, and each turn was shown', async () => {
  const pending = createPending()
  expect(await isSettled(pending)).toBe(true)
  pending.sent(3)
  pending.started('a')
  pending.started('b')
  expect(await isSettled(pending)).toBe(false)
  pending.seen(3)
  pending.changed({ id: 'a', state: 'COMPLETED' })
  expect(await isSettled(pending)).toBe(false)
  pending.changed({ id: 'b', state: 'WAITING_FOR_APPROVAL' })
  expect([await isSettled(pending), pending.runs()]).toEqual([true, ['b']])
  pending.changed({ id: 'b', state: 'RUNNING' })
  expect(await isSettled(pending)).toBe(false)
  pending.changed({ id: 'b', state: 'FAILED' })
  expect([await isSettled(pending), pending.runs()]).toEqual([true, []])
})

it('ignores a run whose end arrived before its start, and the runs of others', async () => {
  const pending = createPending()
  pending.changed({ id: 'a', state: 'COMPLETED' })
  pending.started('a')
  pending.changed({ id: 'other', state: 'RUNNING' })
  expect([await isSettled(pending), pending.runs()]).toEqual([true, []])
})

it('is settled when no further event will arrive', async () => {
  const pending = createPending()
  pending.started('a')
  const settled = pending.settled()
  pending.end()
  await settled
})
