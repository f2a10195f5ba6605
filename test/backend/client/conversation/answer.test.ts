// Agents that answer with the client: one process answers each turn, streamed or whole. The turn is released if the
// handler fails, and dismissed if the handler returns no answer.

import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { AnswerHandler, AnswerOptions, ColloquyError } from '../../../../src/client/index.ts'
import { backends } from '../../../support/backend.ts'
import { clientOf, skipAnswerPauses } from '../../../support/client.ts'
import { useServer } from '../../../support/server.ts'

describe.each(backends)('answer on $name', (backend) => {
  const server = useServer(backend)
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  /** A conversation of ada and the agents, each of whom is woken up when it is mentioned. */
  async function start(...agents: string[]) {
    const tenant = server.tenant()
    const ada = clientOf(server.url, tenant.name, 'ada')
    const { id } = await ada.createConversation({
      participants: agents.map((actor) => ({ actor, kind: 'AGENT', respond: 'MENTIONED' })),
    })
    /** Runs one process of the agent until the end of the test. */
    const run = (actor: string, handler: AnswerHandler, options: AnswerOptions = {}) => {
      const controller = new AbortController()
      const client = clientOf(server.url, tenant.name, actor)
      const done = client.answer(handler, { signal: controller.signal, ...options })
      closing.push(async () => {
        controller.abort()
        await done
        await client.close()
      })
      return { stop: () => controller.abort(), done }
    }
    const query = `{ conversation(id: "${id}") { history { ... on Turn { actor status text replyTo { text } } } } }`
    /** The turns of agents, each with the text that it answers. */
    const answers = async () => {
      const { body } = await server.post({ query }, { 'x-tenant': tenant.name, 'x-actor': 'ada' })
      const history: { actor: string; status: string; text: string; replyTo: { text: string } | null }[] =
        body.data.conversation.history
      return history
        .filter(({ actor }) => actor !== 'ada')
        .map(({ actor, status, text, replyTo }) => `${actor} ${status}: ${text} (${replyTo?.text})`)
    }
    const until = (expected: string[]) =>
      vi.waitFor(async () => expect(await answers()).toEqual(expected), { interval: 50 })
    return { say: (text: string) => ada.conversation(id).append(text), run, answers, until }
  }

  it('answers turns from before its start, then new ones, whole or streamed', async () => {
    const { say, run, until } = await start('scribe')
    await say('@scribe, one')
    await say('not to anybody')
    run('scribe', ({ turn, signal }) => {
      expect(signal.aborted).toBe(false)
      return turn.text === '@scribe, one'
        ? 'yes'
        : (async function* () {
            yield* ['Hello ', 'there']
          })()
    })
    await until(['scribe COMMITTED: yes (@scribe, one)'])
    await say('@scribe, two')
    await until(['scribe COMMITTED: yes (@scribe, one)', 'scribe COMMITTED: Hello there (@scribe, two)'])
  })

  it('answers each turn once, with several processes of an agent', async () => {
    const { say, run, answers } = await start('scribe')
    const calls: string[] = []
    for (let process = 0; process < 3; process++) {
      run('scribe', async ({ turn }) => {
        calls.push(turn.text)
        await setImmediate()
        return `answer to ${turn.text}`
      })
    }
    const asked = Array.from({ length: 12 }, (_, index) => `@scribe ${index}`)
    for (const text of asked) await say(text)
    await vi.waitFor(async () => expect(await answers()).toHaveLength(asked.length), { interval: 50 })
    // Another answer would have been written before the one to a later turn.
    await say('@scribe, last')
    asked.push('@scribe, last')
    await vi.waitFor(async () => expect(await answers()).toHaveLength(asked.length), { interval: 50 })
    const expected = asked.map((text) => `scribe COMMITTED: answer to ${text} (${text})`)
    expect((await answers()).toSorted()).toEqual(expected.toSorted())
    expect(calls.toSorted()).toEqual(asked.toSorted())
  })

  it('calls the handler again after it failed, even in the middle of an answer', async () => {
    closing.push(skipAnswerPauses())
    const { say, run, answers, until } = await start('scribe')
    const errors: unknown[] = []
    let attempts = 0
    run(
      'scribe',
      async () => {
        attempts += 1
        if (attempts === 1) throw new Error('no model')
        return attempts === 3
          ? 'at last'
          : (async function* () {
              yield 'half'
              throw new Error('overloaded')
            })()
      },
      { onError: (error) => errors.push((error as { code?: string }).code ?? (error as Error).message) },
    )
    await say('@scribe, hello')
    await until(['scribe ABORTED: half (@scribe, hello)', 'scribe COMMITTED: at last (@scribe, hello)'])
    expect(errors).toEqual(['no model', 'SOURCE_FAILED'])
    expect(await answers()).toHaveLength(2)
  })

  it('dismisses a turn that the handler does not answer', async () => {
    const { say, run, answers, until } = await start('scribe')
    const seen: string[] = []
    const first = run('scribe', ({ turn }) => {
      seen.push(turn.text)
      return turn.text.includes('please') ? 'gladly' : null
    })
    await say('@scribe is not asked anything')
    await say('@scribe, please')
    await until(['scribe COMMITTED: gladly (@scribe, please)'])
    first.stop()
    await first.done
    // The turns that wait are delivered to a new process before later ones.
    run('scribe', ({ turn }) => void seen.push(turn.text))
    await say('@scribe, later')
    await vi.waitFor(() => expect(seen).toContain('@scribe, later'))
    // The first two are claimed at the same time, in any order.
    expect(seen.toSorted()).toEqual(['@scribe is not asked anything', '@scribe, later', '@scribe, please'])
    expect(await answers()).toHaveLength(1)
  })

  it('is woken up in conversations that existed before, and in later ones, with `respond`', async () => {
    const tenant = server.tenant()
    const ada = clientOf(server.url, tenant.name, 'ada')
    const scribe = clientOf(server.url, tenant.name, 'scribe')
    const participants = [{ actor: 'ada' }, { actor: 'scribe', kind: 'AGENT' as const }]
    const old = await ada.createConversation({ key: 'minutes', participants })
    expect(old.created).toBe(true)
    const again = await scribe.createConversation({
      key: 'minutes',
      participants: [{ actor: 'scribe', kind: 'AGENT', respond: 'MENTIONED' }],
    })
    expect(again).toEqual({ ...old, created: false })

    const controller = new AbortController()
    const asked: string[] = []
    const done = scribe.answer(({ turn }) => void asked.push(turn.text), {
      respond: 'MENTIONED',
      signal: controller.signal,
    })
    closing.push(async () => {
      controller.abort()
      await done
    })
    const isWokenUp = async (id: string, text: string) =>
      vi.waitFor(
        async () => {
          await ada.conversation(id).append(text)
          expect(asked).toContain(text)
        },
        { interval: 100 },
      )
    await isWokenUp(old.id, '@scribe, in the old one')
    const { id } = await ada.createConversation({ participants })
    await isWokenUp(id, '@scribe, in the new one')
  })

  it('reports the conversations whose turns never wake it up, without `respond`', async () => {
    const tenant = server.tenant()
    const ada = clientOf(server.url, tenant.name, 'ada')
    const silent = () => ada.createConversation({ participants: [{ actor: 'scribe', kind: 'AGENT' }] })
    const ids = [(await silent()).id, (await silent()).id]
    await ada.createConversation({ participants: [{ actor: 'scribe', kind: 'AGENT', respond: 'ALWAYS' }] })
    const reported: unknown[] = []
    const controller = new AbortController()
    const scribe = clientOf(server.url, tenant.name, 'scribe', undefined, {
      onError: (error) => reported.push([(error as ColloquyError).code, (error as ColloquyError).message]),
    })
    const done = scribe.answer(() => 'yes', { signal: controller.signal })
    await vi.waitFor(() => expect(reported).toHaveLength(1))
    expect(reported).toEqual([
      ['NEVER_WOKEN', `No turn of ${ids.toSorted().join(', ')} wakes up scribe: set \`respond\`.`],
    ])
    const later = (await silent()).id
    await vi.waitFor(() => expect(reported).toHaveLength(2))
    expect(reported[1]).toEqual(['NEVER_WOKEN', expect.stringContaining(later)])
    controller.abort()
    await done
  })

  it('leaves a turn to another process when it stops in the middle of its answer', async () => {
    const { say, run, until } = await start('scribe')
    const first = run('scribe', async ({ write }) => {
      await write(
        (async function* () {
          yield 'half'
          await new Promise(() => {})
        })(),
      )
    })
    await say('@scribe, hello')
    await until(['scribe STREAMING: half (@scribe, hello)'])
    first.stop()
    await first.done
    run('scribe', () => 'whole')
    await until(['scribe ABORTED: half (@scribe, hello)', 'scribe COMMITTED: whole (@scribe, hello)'])
  })
})
