// The parts of a model's stream other than its text: a transcript of another client shows them while they arrive, also
// while connections are cut, and the turn contains them.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { clientOf, nextMutation, TRANSPORTS } from '../../../support/client.ts'
import { createProxy } from '../../../support/proxy.ts'
import { useServer } from '../../../support/server.ts'

const text = (of: string) => ({ type: 'text-delta', id: '1', text: of })
const call = { toolCallId: 'c1', toolName: 'search' }
const searched = (given: unknown) => ({ __typename: 'ToolCallPart', callId: 'c1', name: 'search', arguments: given })

describe.each(backends)('parts written on $name', (backend) => {
  const server = useServer(backend)
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  async function start(transport: (typeof TRANSPORTS)[number]) {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada', 'bob')
    const [toWriter, toReader] = [await createProxy(server.url), await createProxy(server.url)]
    const ada = clientOf(toReader.url, tenant.name, 'ada', transport)
    closing.push(toWriter.close, toReader.close, ada.close)
    const bob = clientOf(toWriter.url, tenant.name, 'bob', transport, { timeoutMs: 1_000 }).conversation(id)
    const transcript = ada.conversation(id).transcript()
    closing.push(transcript.subscribe(() => {}))
    /** Waits until the reader sees the parts of the newest turn. */
    const shown = (parts: object[]) =>
      vi.waitFor(() => expect(transcript.get().turns.at(-1)?.parts).toMatchObject(parts), { interval: 10 })
    const cut = () => {
      toWriter.drop()
      toReader.drop()
    }
    return { bob, transcript, shown, cut }
  }

  it.each(TRANSPORTS)('are shown while they arrive, over $transport, while connections are cut', async (transport) => {
    const { bob, transcript, shown, cut } = await start(transport)
    const reasoning = { __typename: 'ReasoningPart', reasoning: 'I search.' }
    const hello = { __typename: 'TextPart', text: 'Hello. ' }
    const source = { __typename: 'SourcePart', url: 'https://example.org/', title: 'Example' }
    async function* parts() {
      yield { type: 'start' }
      yield { type: 'reasoning-delta', id: 'r', text: 'I ' }
      await shown([{ __typename: 'ReasoningPart', reasoning: 'I ' }])
      cut()
      yield { type: 'reasoning-delta', id: 'r', text: 'search.' }
      yield { type: 'reasoning-end', id: 'r' }
      yield text('Hello. ')
      yield { type: 'tool-input-start', id: 'c1', toolName: 'search' }
      await shown([reasoning, hello, searched('')])
      for (const delta of ['{"for":', '"tides"', '}']) {
        const executed = nextMutation()
        yield { type: 'tool-input-delta', id: 'c1', delta }
        await executed
        cut()
      }
      yield { type: 'tool-call', ...call, input: { for: 'tides' } }
      await shown([reasoning, hello, searched({ for: 'tides' })])
      yield { type: 'tool-result', ...call, output: 'half', preliminary: true }
      await vi.waitFor(() => {
        const progress = transcript
          .get()
          .turns.at(-1)
          ?.live?.find(({ type }) => type === 'TOOL_PROGRESS')
        expect(progress).toMatchObject({ callId: 'c1', joined: 'half\n' })
      })
      yield { type: 'tool-result', ...call, output: [6.1] }
      yield { type: 'source', sourceType: 'url', id: 's', url: source.url, title: source.title }
      yield text('At six.')
      yield { type: 'finish', finishReason: 'stop', totalUsage: { inputTokens: 5, outputTokens: 2 } }
    }
    const whole = [
      reasoning,
      hello,
      searched({ for: 'tides' }),
      { __typename: 'ToolResultPart', callId: 'c1', name: 'search', result: [6.1] },
      source,
      { __typename: 'TextPart', text: 'At six.' },
    ]
    const committed = await bob.write(parts(), { reasoning: true })
    expect(committed).toMatchObject({ status: 'COMMITTED', text: 'Hello. At six.', parts: whole })
    await shown(whole)
    await vi.waitFor(() => expect(transcript.get().turns.at(-1)).toMatchObject({ status: 'COMMITTED' }))
    expect(transcript.get().turns.at(-1)).not.toHaveProperty('live')
  })

  it('have no reasoning by default', async () => {
    const { bob } = await start(TRANSPORTS[0])
    const stream = [{ type: 'start' }, { type: 'reasoning-delta', text: 'secret' }, text('Hi'), { type: 'finish' }]
    expect((await bob.write(stream)).parts).toEqual([{ __typename: 'TextPart', text: 'Hi' }])
  })

  it('are kept when the source fails, except tool calls without a result', async () => {
    const { bob, transcript } = await start(TRANSPORTS[0])
    async function* failing() {
      yield { type: 'start' }
      yield { type: 'reasoning-delta', text: 'Hm.' }
      yield { type: 'tool-call', ...call, input: {} }
      yield { type: 'error', error: new Error('overloaded') }
    }
    await expect(bob.write(failing(), { reasoning: true })).rejects.toMatchObject({ code: 'SOURCE_FAILED' })
    await vi.waitFor(() => expect(transcript.get().turns.at(-1)).toMatchObject({ status: 'ABORTED' }))
    expect(transcript.get().turns.at(-1)!.parts).toMatchObject([{ __typename: 'ReasoningPart', reasoning: 'Hm.' }])
  })

  it('may be more than a turn receives with deltas: the commit has the rest', async () => {
    const { bob } = await start(TRANSPORTS[0])
    const calls = Array.from({ length: 450 }, (_, n) => ({
      type: 'tool-call',
      toolCallId: `c${n}`,
      toolName: 'search',
      input: { n },
    }))
    const { parts } = await bob.write([{ type: 'start' }, ...calls, { type: 'finish' }])
    expect(parts.map((part) => part.__typename === 'ToolCallPart' && part.arguments.n)).toEqual(calls.map((_, n) => n))
  })
})
