// The number of messages that a socket may send, in a burst and per second.

import { expect, test } from 'vitest'
import { createMessageRate, MESSAGE_BURST, MESSAGES_PER_SECOND } from '../../../src/server/message-rate.ts'

const accepted = (isWithinRate: (now: number) => boolean, count: number, now: number) =>
  Array.from({ length: count }, () => isWithinRate(now)).filter(Boolean).length

test('a message rate accepts a burst, then as many messages as the rate allows', () => {
  const rate = createMessageRate()
  expect(accepted(rate, 2 * MESSAGE_BURST, 5)).toBe(MESSAGE_BURST)
  expect(accepted(rate, 10_000, 1005)).toBe(MESSAGES_PER_SECOND)
  expect(accepted(rate, 10_000, 1_000_005)).toBe(MESSAGE_BURST)
})

test('a message rate accepts a steady stream at the rate without end', () => {
  const rate = createMessageRate()
  for (let n = 0; n < 20_000; n++) expect(rate((n * 1000) / MESSAGES_PER_SECOND)).toBe(true)
})
