// Live transcripts and the live inbox on a server: the state that a front end shows while connections are cut.

import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Live, Transcript } from '../../../../src/client/index.ts'
import { backends } from '../../../support/backend.ts'
import { clientOf, nextMutation, TRANSPORTS } from '../../../support/client.ts'
import { createProxy } from '../../../support/proxy.ts'
import { useServer } from '../../../support/server.ts'

describe.each(backends)('on $name', (backend) => {
  const server = useServer(backend)
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })
  /** Listens until the end of the test. Returns a function that waits until the state is as the test expects. */
  function watch<State>(live: Live<State>) {
    closing.push(live.subscribe(() => {}))
    return (expectation: (state: State) => void) => vi.waitFor(() => expectation(live.get()), { interval: 10 })
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
            if (index % 5 === 2) {
              await nextMutation()
              proxy.drop()
            }
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

  describe.each(TRANSPORTS)('over $transport, a transcript', (transport) => {
    /** Records the texts that a user interface shows: those of the turns, and then those that are pending. */
    function record(transcript: Transcript) {
      const shown: string[][] = []
      const note = () => {
        const { turns, pending } = transcript.get()
        shown.push([...turns.map(({ text }) => text), ...pending.map(({ turn }) => turn.content!)])
      }
      closing.push(transcript.subscribe(note))
      return shown
    }

    it('shows turns that are written while the server cannot be reached, and then these turns once, in order', async () => {
      const tenant = server.tenant()
      const id = await tenant.newConversation('ada', 'bob')
      const proxy = await createProxy(server.url)
      const ada = clientOf(proxy.url, tenant.name, 'ada', transport)
      closing.push(proxy.close, ada.close)
      const live = ada.conversation(id).transcript()
      const shown = record(live)
      const until = watch(live)
      await until(({ status }) => expect(status).toBe('live'))

      await proxy.cut()
      const texts = ['one', 'two', 'three']
      const sent = texts.map((text) => ada.conversation(id).append(text))
      expect(live.get().pending.map(({ status, turn }) => [status, turn.content])).toEqual(
        texts.map((text) => ['PENDING', text]),
      )
      await until(({ status }) => expect(status).toBe('waiting'))
      expect(live.get().pending).toHaveLength(3)
      await proxy.restore()
      await Promise.all(sent)
      await until(({ turns, pending, status }) => {
        expect(turns.map(({ text }) => text)).toEqual(texts)
        expect([pending, status]).toEqual([[], 'live'])
      })
      // No state shows a turn twice, or in another place, or hides it once it was shown.
      const counts = shown.map((each) => each.length)
      expect(counts).toEqual(counts.toSorted())
      for (const each of shown) expect(each).toEqual(texts.slice(0, each.length))
    })

    it('shows a turn once whose event arrives before the answer of its call', async () => {
      const tenant = server.tenant()
      const id = await tenant.newConversation('ada', 'bob')
      let release!: () => void
      const released = new Promise<void>((resolve) => (release = resolve))
      const ada = clientOf(server.url, tenant.name, 'ada', transport, {
        async fetch(input, init) {
          const response = await fetch(input, init)
          if (String(init?.body).includes('mutation AppendTurn')) await released
          return response
        },
      })
      closing.push(ada.close)
      const transcript = ada.conversation(id).transcript()
      const shown = record(transcript)
      const until = watch(transcript)
      await until(({ status }) => expect(status).toBe('live'))
      const sent = ada.conversation(id).append('one')
      await clientOf(server.url, tenant.name, 'bob').conversation(id).append('two')
      await until(({ turns }) => expect(turns.map(({ text }) => text)).toEqual(['two']))
      release()
      await sent
      await until(({ turns, pending }) => {
        expect(turns.map(({ text }) => text)).toEqual(['one', 'two'])
        expect(pending).toEqual([])
      })
      for (const each of shown) expect(each.filter((text) => text === 'one').length).toBeLessThan(2)
    })

    it('shows turns that could not be sent, until they are sent again or discarded', async () => {
      const tenant = server.tenant()
      const id = await tenant.newConversation('ada')
      const proxy = await createProxy(server.url)
      const ada = clientOf(proxy.url, tenant.name, 'ada', transport, { retryForMs: 0 })
      closing.push(proxy.close, ada.close)
      const transcript = ada.conversation(id).transcript()
      const until = watch(transcript)
      await until(({ status }) => expect(status).toBe('live'))
      await proxy.cut()
      await Promise.allSettled(['one', 'two'].map((text) => ada.conversation(id).append(text)))
      const { pending } = transcript.get()
      expect(pending).toMatchObject(
        ['one', 'two'].map((content) => ({ status: 'FAILED', error: { code: 'NETWORK' }, turn: { content } })),
      )
      await proxy.restore()
      pending[1]!.discard()
      pending[0]!.retry()
      expect(transcript.get().pending.map(({ status }) => status)).toEqual(['PENDING'])
      await until(({ turns, pending: left }) => {
        expect(turns.map(({ text }) => text)).toEqual(['one'])
        expect(left).toEqual([])
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
