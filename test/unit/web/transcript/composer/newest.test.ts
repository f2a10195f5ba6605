// States that are sent one after another.

import { expect, it } from 'vitest'
import { createSender } from '../../../../../src/web/transcript/composer/newest.ts'

it('sends the newest state after the one that is being sent, and none of those between them', async () => {
  const sent: string[] = []
  const ends: (() => void)[] = []
  const send = createSender((state: string) => {
    sent.push(state)
    return new Promise<void>((resolve) => ends.push(resolve))
  })
  send('TYPING')
  send('AWAY')
  send('ONLINE')
  expect(sent).toEqual(['TYPING'])
  ends[0]!()
  await new Promise((resolve) => setImmediate(resolve))
  expect(sent).toEqual(['TYPING', 'ONLINE'])
})

it('sends a state after one that failed', async () => {
  const sent: string[] = []
  const send = createSender(async (state: string) => {
    sent.push(state)
    throw new Error('lost')
  })
  send('TYPING')
  await new Promise((resolve) => setImmediate(resolve))
  send('ONLINE')
  expect(sent).toEqual(['TYPING', 'ONLINE'])
})
