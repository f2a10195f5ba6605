// Live transcripts and the live inbox on a server: the state that a front end shows while connections are cut.

import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Live } from '../../src/client/index.ts'
import { backends } from '../support/backend.ts'
import { clientOf, TRANSPORTS } from '../support/client.ts'
import { createProxy } from '../support/proxy.ts'
import { useServer } from '../support/server.ts'

describe.each(backends)('on $name', (backend) => {
  const server = useServer(backend)
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })
  /** Listens until the end of the test. Returns a function that waits until the state is as the test expects. */
  function watch<State>(live: Live<State>) {
    closing.push(live.subscribe(() => {}))
    return (expectation: (state: State) => void) =>
      vi.waitFor(() => expectation(live.get()), { timeout: 20_000, interval: 10 })
  }

  describe.each(TRANSPORTS)('over $transport, a transcript', (transport) => {
    it('shows all turns, edits and older pages while connections are cut', async () => {
      const tenant = server.tenant()
      const id = await tenant.newConversation('ada', 'bob')
      const proxy = await createProxy(server.url)
      const ada = clientOf(proxy.url, tenant.name, 'ada', transport)
      closing.push(proxy.close, ada.close)
      const bob = clientOf(server.url, tenant.name, 'bob').conversation(id)
      for (let index = 1; index <= 5; index++) await bob.append(`turn ${index}`)

      const transcript = ada.conversation(id).transcript({ pageSize: 3 })
      const until = watch(transcript)
      await until(({ turns, hasOlder }) => {
        expect(turns.map(({ text }) => text)).toEqual(['turn 3', 'turn 4', 'turn 5'])
        expect(hasOlder).toBe(true)
      })
      let show!: () => void
      const shown = new Promise<void>((resolve) => (show = resolve))
      const written = bob.write(
        (async function* () {
          for (let index = 0; index < 12; index++) {
            yield `${index} `
            await sleep(10)
            if (index % 5 === 2) proxy.drop()
            if (index === 4) await shown
          }
        })(),
      )
      await until(({ turns }) => expect(turns.at(-1)).toMatchObject({ status: 'STREAMING', text: '0 1 2 3 4 ' }))
      show()
      await transcript.older()
      const edited = transcript.get().turns[0]!
      await bob.edit(edited, 'turn 1, edited')
      await bob.setPresence('TYPING')
      await proxy.cut()
      await bob.append('while ada is away')
      await proxy.restore()
      const { text } = await written
      await until(({ turns, participants, status }) => {
        expect(turns.map((turn) => turn.text)).toEqual([
          'turn 1, edited',
          ...['turn 2', 'turn 3', 'turn 4', 'turn 5'],
          text,
          'while ada is away',
        ])
        expect(participants.map(({ actor }) => actor)).toEqual(['ada', 'bob'])
        expect(status).toBe('live')
      })
    })
  })

  it('a transcript of an unknown conversation fails with NOT_FOUND', async () => {
    const transcript = clientOf(server.url, server.tenant().name, 'ada').conversation({ key: 'unknown' }).transcript()
    await watch(transcript)(({ status, error }) => expect([status, error?.code]).toEqual(['failed', 'NOT_FOUND']))
  })

  it.each(TRANSPORTS)('the list of conversations has unread counts, over $transport', async (transport) => {
    const tenant = server.tenant()
    const [first, second] = [await tenant.newConversation('ada', 'bob'), await tenant.newConversation('ada')]
    await tenant.append(first, 'bob', 'one')
    const ada = clientOf(server.url, tenant.name, 'ada', transport)
    closing.push(ada.close)
    const until = watch(ada.conversations())
    const isShown = (...expected: [string, number][]) =>
      until(({ conversations }) =>
        expect(conversations.map((each) => [each.id, each.viewerUnreadCount])).toEqual(expected),
      )
    await isShown([first, 1], [second, 0])
    await tenant.append(second, 'owner', 'two')
    await isShown([second, 1], [first, 1])
    await ada.conversation(second).markRead()
    await isShown([second, 0], [first, 1])
  })
})
