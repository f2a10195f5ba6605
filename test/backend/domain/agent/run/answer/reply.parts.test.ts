// The parts of a reply other than its text: participants see them while the provider writes them, in every process.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runTurn, type RunTurnInput } from '../../../../../../src/domain/agent/run/start.ts'
import { cancelRun } from '../../../../../../src/domain/agent/run/cancel.ts'
import { addParticipant } from '../../../../../../src/domain/conversation/participant/participant.ts'
import { createConversation } from '../../../../../../src/domain/conversation/conversation.ts'
import type { Viewer } from '../../../../../../src/domain/kernel/view.ts'
import { history } from '../../../../../../src/domain/turn/history.ts'
import type { Turn } from '../../../../../../src/domain/turn/turn.ts'
import type { ProviderDeltaPart } from '../../../../../../src/providers/ports/provider-adapter.ts'
import { backends } from '../../../../../support/backend.ts'
import { newViewer, openSite, type Process, type Site } from '../../../../../support/process.ts'
import { partsOf, read, type Reading } from '../../../../../support/reading.ts'
import { createScriptedProvider, gate } from '../../../../../support/scripted-provider.ts'

const provider = createScriptedProvider()
const LOOK_UP = { name: 'look_up', description: 'Looks something up.', schema: { type: 'object' } }
const reasoning = (text: string): ProviderDeltaPart => ({ type: 'reasoning', text })
const started: ProviderDeltaPart = { type: 'tool-call-start', id: 'c1', name: 'look_up' }
const more = (text: string): ProviderDeltaPart => ({ type: 'tool-call-delta', id: 'c1', text })
const called = { id: 'c1', name: 'look_up', arguments: { word: 'tide' } }
const callPart = { type: 'toolCall', callId: 'c1', name: 'look_up', arguments: { word: 'tide' } }

describe.each(backends)('the parts of a reply on $name', (backend) => {
  let site: Site
  let one: Process
  let other: Process
  let ada: Viewer
  let conversationId: string
  let reading: Reading

  beforeAll(async () => {
    site = await openSite(backend, { providers: { scripted: provider } })
    one = await site.start()
    other = await site.start()
  })
  afterAll(() => site.close())
  beforeEach(async () => {
    provider.reset()
    ada = newViewer()
    conversationId = (await createConversation(one.deps, ada, {})).conversation.id
    await addParticipant(one.deps, ada, { conversationId, participant: { actor: 'bot', kind: 'AGENT' } })
    reading = await read(other.deps, ada, { conversationId })
  })

  const ask = (more: Partial<RunTurnInput> = {}) =>
    runTurn(one.deps, ada, {
      conversationId,
      actor: 'bot',
      wait: true,
      provider: 'scripted',
      turns: [{ role: 'USER', content: 'What is it?' }],
      tools: [LOOK_UP],
      ...more,
    })
  const reply = async (): Promise<Turn> =>
    (await history(one.deps, ada, [conversationId], {})).get(conversationId)!.findLast(({ actor }) => actor === 'bot')!
  /** Waits until a reader in the other process has received the texts of the parts of the reply. */
  const shown = (...texts: string[]) =>
    reading.until(texts.join(', '), () => {
      const opened = reading.events.flatMap((event) => (event.type === 'TurnOpened' ? [event.turn.id] : [])).at(-1)
      return (
        opened
        && partsOf(reading, opened)
          .map(({ text }) => text)
          .join('|') === texts.join('|')
      )
    })

  it('reach a reader in another process one by one: the name of a tool before its arguments', async () => {
    const steps = [gate(), gate(), gate()]
    const [toArguments, toRest, toEnd] = steps as [(typeof steps)[0], (typeof steps)[0], (typeof steps)[0]]
    provider.next([
      reasoning('Hm.'),
      'Let me see. ',
      started,
      toArguments.pause,
      more('{"word":'),
      toRest.pause,
      more('"tide"}'),
      called,
      toEnd.pause,
    ])
    const running = ask({ reasoning: true })
    await shown('Hm.', '')
    toArguments.open()
    await shown('Hm.', '{"word":')
    toRest.open()
    await shown('Hm.', '{"word":"tide"}')
    expect((await reply()).status).toBe('STREAMING')
    toEnd.open()
    expect((await running).run.state).toBe('WAITING_FOR_TOOLS')
    expect(await reply()).toMatchObject({
      status: 'COMMITTED',
      text: 'Let me see. ',
      parts: [{ type: 'reasoning', reasoning: 'Hm.' }, { type: 'text', text: 'Let me see. ' }, callPart],
    })
  })

  it('have no reasoning unless the run or the settings of the agent ask for it', async () => {
    provider.next([reasoning('secret'), 'Hello.'])
    await ask()
    expect(await reply()).toMatchObject({ text: 'Hello.', parts: null })
    expect(JSON.stringify(reading.events)).not.toContain('secret')
  })

  it('are whole if the provider announces nothing', async () => {
    provider.next(['Let me see. ', called])
    await ask()
    expect((await reply()).parts).toEqual([{ type: 'text', text: 'Let me see. ' }, callPart])
    await shown('{"word":"tide"}')
  })

  it('keep arguments that are not JSON as a text, which the run corrects', async () => {
    provider.next([started, more('{"word":'), { ...called, arguments: '{"word":' }], ['Sorry.'])
    expect((await ask()).run.state).toBe('COMPLETED')
    const turns = (await history(one.deps, ada, [conversationId], {})).get(conversationId)!
    expect(turns[1]!.parts).toEqual([{ ...callPart, arguments: '{"word":' }])
    expect(turns.at(-1)!.text).toBe('Sorry.')
  })

  it('are kept when the run is cancelled, except the unfinished call', async () => {
    provider.next([
      reasoning('Hm.'),
      'Let me',
      started,
      more('{'),
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error))
        }),
    ])
    const running = ask({ reasoning: true })
    await shown('Hm.', '{')
    const run = reading.events.flatMap((event) => (event.type === 'RunStarted' ? [event.run.id] : []))[0]!
    await cancelRun(other.deps, ada, { runId: run })
    await running
    await reading.until('the abort', ({ events }) => events.some(({ type }) => type === 'TurnAborted'))
    expect((await reply()).parts).toEqual([
      { type: 'reasoning', reasoning: 'Hm.' },
      { type: 'text', text: 'Let me' },
    ])
  })
})
