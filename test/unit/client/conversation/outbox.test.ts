// The order in which the client sends turns, and the turns that it shows until they are acknowledged.

import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Turn, TurnInput } from '../../../../src/client/generated.ts'
import { createOutbox } from '../../../../src/client/conversation/outbox.ts'

/** An outbox whose calls are answered by the test. `sent` has the texts in the order in which they were sent. */
function start() {
  const outbox = createOutbox()
  const sent: string[] = []
  const answers = new Map<string, { resolve(turn: Turn): void; reject(error: unknown): void }>()
  const append = (id: string, content: string, signal?: AbortSignal) => {
    let resolve!: (turn: Turn) => void
    let reject!: (error: unknown) => void
    const promise = new Promise<Turn>((...functions) => ([resolve, reject] = functions))
    answers.set(content, { resolve, reject })
    const send = async (turn: TurnInput, before: () => Promise<void>) => {
      await before()
      signal?.throwIfAborted()
      sent.push(turn.content!)
      return promise
    }
    return outbox.append({ id }, { role: 'USER', content }, send, signal)
  }
  const shown = (id: string) => outbox.of({ id }).map(({ turn, status }) => `${turn.content} ${status}`)
  return { outbox, sent, append, shown, answer: (content: string) => answers.get(content)! }
}

it('sends the turns of a conversation one after another, in the order of the calls, whether they fail or not', async () => {
  const { sent, append, answer } = start()
  const calls = ['one', 'two', 'three'].map((content) => append('a', content).catch((error) => error))
  const elsewhere = append('b', 'elsewhere')
  await turnOfLoop()
  expect(sent).toEqual(['one', 'elsewhere'])
  answer('one').reject('refused')
  expect(await calls[0]).toBe('refused')
  await turnOfLoop()
  expect(sent).toEqual(['one', 'elsewhere', 'two'])
  answer('two').resolve({ id: 'turn_2' } as Turn)
  expect(await calls[1]).toEqual({ id: 'turn_2' })
  await turnOfLoop()
  expect(sent).toEqual(['one', 'elsewhere', 'two', 'three'])
  for (const last of ['three', 'elsewhere']) answer(last).resolve({ id: last } as Turn)
  await Promise.all([...calls, elsewhere])
})

it('ends a waiting call at once if its signal is aborted; later calls still wait for earlier ones', async () => {
  const { sent, append, answer, shown } = start()
  const first = append('a', 'one')
  const controller = new AbortController()
  const second = append('a', 'two', controller.signal)
  const third = append('a', 'three')
  expect(shown('a')).toEqual(['one PENDING', 'two PENDING', 'three PENDING'])
  controller.abort('stopped')
  await expect(second).rejects.toBe('stopped')
  expect(shown('a')).toEqual(['one PENDING', 'three PENDING'])
  await turnOfLoop()
  expect(sent).toEqual(['one'])
  answer('one').resolve({ id: 'turn_1' } as Turn)
  await first
  await turnOfLoop()
  expect(sent).toEqual(['one', 'three'])
  answer('three').resolve({ id: 'turn_3' } as Turn)
  await third
  expect(shown('a')).toEqual([])
})

it('keeps a turn that failed, for a transcript, and sends it again with the same key', async () => {
  const { outbox, append, answer, shown } = start()
  const forgotten = append('a', 'nobody listens')
  answer('nobody listens').reject('offline')
  await expect(forgotten).rejects.toBe('offline')
  expect(shown('a')).toEqual([])

  const acknowledged: unknown[] = []
  outbox.listen((turn) => void (turn && acknowledged.push(turn)))
  const failed = append('a', 'one')
  answer('one').reject('offline')
  await expect(failed).rejects.toBe('offline')
  const [pending] = outbox.of({ id: 'a' })
  expect(pending).toMatchObject({ status: 'FAILED', error: 'offline' })
  pending!.retry()
  expect(shown('a')).toEqual(['one PENDING'])
  await turnOfLoop()
  expect(outbox.of({ id: 'a' })).toMatchObject([{ status: 'FAILED', clientId: pending!.clientId }])
  pending!.discard()
  expect(shown('a')).toEqual([])
  expect(acknowledged).toEqual([])
})
