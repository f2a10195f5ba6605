// DefaultConversationEngine on the stores of this package, and on a store with only the guarantees of document 003.

import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  ColloquyConversationStore,
  ConversationNotFound,
  DefaultConversationEngine,
  ForeignMessage,
  InMemoryConversationStore,
  RecentNTurnsHistoryBuilder,
  StreamIncomplete,
  type ConversationMessage,
  type ConversationStore,
  type ConversationTurn,
  type ProviderAdapter,
  type ProviderCallParams,
  type ProviderCallResult,
  type ProviderMessage,
  type ProviderStreamEvent,
  type StreamingTurnEvent,
  type TurnInput,
} from '../../../src/conversation-core/index.ts'
import { buildContext } from '../../../src/domain/memory/context/build.ts'
import { getConversationByKey } from '../../../src/domain/conversation/conversation.ts'
import { history } from '../../../src/domain/turn/history.ts'
import { openTranscript } from '../../../src/open-transcript.ts'
import { backends } from '../../support/backend.ts'
import { useWorld } from '../../support/world.ts'

/** A store with only the behaviour that document 003 requires: appendTurn stores the record, but no messages. */
class PlainStore extends InMemoryConversationStore {
  override readonly guarantees = [] as never
  readonly #turns: ConversationTurn[] = []
  override async appendTurn(turn: ConversationTurn): Promise<void> {
    this.#turns.push(turn)
  }
  override async listTurns(): Promise<ConversationTurn[]> {
    return this.#turns
  }
}

const reply = (text: string, more: Partial<ProviderCallResult> = {}): ProviderCallResult => ({
  id: randomUUID(),
  createdAt: new Date(0),
  message: { role: 'assistant', content: text === '' ? [] : [{ type: 'text', text }] },
  usage: { inputTokens: 5, outputTokens: 2 },
  raw: { secret: true },
  ...more,
})

/** A provider that returns the replies in order, or throws those that are errors, and records its calls. */
function scripted(...replies: (ProviderCallResult | Error)[]) {
  const calls: ProviderCallParams[] = []
  const next = (params: ProviderCallParams) => {
    calls.push(params)
    const given = replies.shift()
    if (!given || given instanceof Error) throw given ?? new Error('The script has no more replies.')
    return given
  }
  const provider: ProviderAdapter = { complete: async (params) => next(params) }
  return { provider, calls }
}

/** A provider that streams the events, and then fails if an error is given. */
const streaming = (events: ProviderStreamEvent[], failure?: Error): ProviderAdapter => ({
  complete: async () => reply('not streamed'),
  async completeStream() {
    const done = events.find((event) => event.type === 'done')
    const final = done ? Promise.resolve(done.result) : Promise.reject(failure ?? new Error('no result'))
    final.catch(() => {})
    return {
      final,
      async *[Symbol.asyncIterator]() {
        yield* events
        if (failure) throw failure
      },
    }
  },
})

const delta = (text: string): ProviderStreamEvent => ({
  type: 'delta',
  delta: { role: 'assistant', content: [{ type: 'text', text }] },
})

const METADATA = { provider: 'scripted', model: 'model-1', extensions: { 'ai.operation': 'chat' } }
const historyBuilder = new RecentNTurnsHistoryBuilder({ maxTurns: 10 })

/** Makes a message of the conversation. */
const says = (conversationId: string, text: string, more: Partial<ConversationMessage> = {}): ConversationMessage => ({
  id: randomUUID(),
  conversationId,
  role: 'user',
  createdAt: new Date(),
  content: [{ type: 'text', text }],
  ...more,
})

const textOf = ({ content }: ConversationMessage) =>
  content.map((part) => (part.type === 'text' ? part.text : part.type)).join(' ')
const sent = ({ messages }: ProviderCallParams) =>
  messages.map(
    ({ role, content }) => `${role}: ${content.map((part) => ('text' in part ? part.text : part.type)).join(' ')}`,
  )

async function collect(events: AsyncIterable<StreamingTurnEvent>): Promise<StreamingTurnEvent[]> {
  const collected: StreamingTurnEvent[] = []
  for await (const event of events) collected.push(event)
  return collected
}

function testEngine(open: () => ConversationStore): void {
  const start = async () => {
    const store = open()
    const { id } = await store.createConversation({})
    const engine = new DefaultConversationEngine({ store, historyBuilder })
    const input = (provider: ProviderAdapter, ...userMessages: ConversationMessage[]): TurnInput => ({
      conversationId: id,
      userMessages,
      provider,
      providerParams: { metadata: METADATA, maxTokens: 100 },
    })
    return { store, id, engine, input }
  }

  it('stores the messages, calls the provider with the history, and stores the reply and the turn', async () => {
    const { store, id, engine, input } = await start()
    const { provider, calls } = scripted(reply('Hello.'), reply('Fine.'))
    const first = await engine.runTurn(input(provider, says(id, 'Hello?')))
    const createdAt = first.conversation.createdAt.getTime()
    while (Date.now() <= createdAt) await new Promise((resolve) => setImmediate(resolve))
    const agentContext = { trace: 't' }
    const second = await engine.runTurn({ ...input(provider, says(id, 'How are you?')), agentContext })
    expect(calls.map(sent)).toEqual([['user: Hello?'], ['user: Hello?', 'assistant: Hello.', 'user: How are you?']])
    expect(calls[1]).toMatchObject({ metadata: METADATA, maxTokens: 100, agentContext })
    expect(calls[0]).not.toHaveProperty('agentContext')
    expect((await store.listMessages(id)).map(textOf)).toEqual(['Hello?', 'Hello.', 'How are you?', 'Fine.'])
    expect(await store.listTurns(id)).toEqual([first.turn, second.turn])
    expect(first.turn).toMatchObject({
      assistantMessages: first.assistantMessages,
      providerCalls: [{ metadata: METADATA, usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 } }],
      metadata: { usage: { totalTokens: 7 } },
    })
    expect(first.turn.providerCalls[0]).not.toHaveProperty('raw')
    expect(second.conversation).toEqual(await store.getConversation(id))
    expect(second.conversation.updatedAt.getTime()).toBeGreaterThan(createdAt)
  })

  it('leaves tool calls to the caller, whose tool messages continue the turn', async () => {
    const { store, id, engine, input } = await start()
    const toolCalls = [{ id: 'c1', name: 'weather', arguments: { city: 'Oslo' } }]
    const { provider, calls } = scripted(reply('', { toolCalls }), reply('7 degrees'))
    const asked = await engine.runTurn(input(provider, says(id, 'Weather?')))
    expect(asked.assistantMessages[0]!.content).toEqual([{ type: 'tool-call', ...toolCalls[0] }])
    expect(asked).not.toHaveProperty('toolMessages')
    const content = [{ type: 'tool-result' as const, id: 'c1', name: 'weather', result: 7 }]
    const answered = await engine.runTurn(input(provider, says(id, '', { role: 'tool', content })))
    expect(answered.toolMessages).toMatchObject([{ role: 'tool', content }])
    expect(answered.turn.userMessages).toEqual([])
    expect(sent(calls[1]!)).toEqual(['user: Weather?', 'assistant: tool-call', 'tool: tool-result'])
    expect((await store.listMessages(id)).map(textOf)).toEqual(['Weather?', 'tool-call', 'tool-result', '7 degrees'])
  })

  it('keeps the messages of a failed turn, and does not store them twice when the turn runs again', async () => {
    const { store, id, engine, input } = await start()
    const { provider } = scripted(new Error('503'), reply('Hello.'))
    const question = says(id, 'Hello?')
    await expect(engine.runTurn(input(provider, question))).rejects.toThrow('503')
    expect((await store.listMessages(id)).map(textOf)).toEqual(['Hello?'])
    expect(await store.listTurns(id)).toEqual([])
    await engine.runTurn(input(provider, question))
    expect((await store.listMessages(id)).map(textOf)).toEqual(['Hello?', 'Hello.'])
  })

  it('refuses a missing conversation and messages of another one, before it stores anything', async () => {
    const { store, id, engine, input } = await start()
    const { provider, calls } = scripted()
    const lost = { ...input(provider, says('missing', 'Hello?')), conversationId: 'missing' }
    await expect(engine.runTurn(lost)).rejects.toThrow(ConversationNotFound)
    await expect(engine.runTurn(input(provider, says(id, 'a'), says('other', 'b')))).rejects.toThrow(ForeignMessage)
    expect(await store.listMessages(id)).toEqual([])
    expect(calls).toEqual([])
  })

  it('streams deltas and tool calls, and completes with the output of `final`', async () => {
    const { store, id, engine, input } = await start()
    const toolCall = { id: 'c1', name: 'weather', arguments: {} }
    const result = reply('Let me look.', { toolCalls: [toolCall], finishReason: 'tool-calls' })
    const events: ProviderStreamEvent[] = [delta('Let me '), delta('look.'), { type: 'tool-call', toolCall }]
    const turn = await engine.runStreamingTurn(
      input(streaming([...events, { type: 'done', result }]), says(id, 'Weather?')),
    )
    const seen = await collect(turn)
    expect(seen.map(({ type }) => type)).toEqual(['delta', 'delta', 'tool-call', 'completed'])
    const output = await turn.final
    expect(seen.at(-1)).toEqual({ type: 'completed', output })
    const deltas = seen.flatMap((event) => (event.type === 'delta' ? [event.delta] : []))
    expect(deltas.map(textOf).join('')).toBe('Let me look.')
    expect(new Set(deltas.map((each) => each.id))).toEqual(new Set([output.assistantMessages[0]!.id]))
    expect(await store.listTurns(id)).toEqual([output.turn])
    expect(output.turn.metadata).toMatchObject({ finishReason: 'tool-calls' })
    expect((await store.listMessages(id)).map(textOf)).toEqual(['Weather?', 'Let me look. tool-call'])
    expect(await collect(turn)).toEqual(seen)
  })

  it('drops the reasoning and the announcements of tool calls', async () => {
    const { store, id, engine, input } = await start()
    const toolCall = { id: 'c1', name: 'weather', arguments: {} }
    const live = (...content: ProviderMessage['content']): ProviderStreamEvent => ({
      type: 'delta',
      delta: { role: 'assistant', content },
    })
    const events: ProviderStreamEvent[] = [
      live({ type: 'reasoning', text: 'Hm.' }),
      live({ type: 'reasoning-end', signature: 's' }, { type: 'text', text: 'I look.' }),
      live({ type: 'tool-call-start', id: 'c1', name: 'weather' }),
      live({ type: 'tool-call-delta', id: 'c1', text: '{}' }),
      { type: 'tool-call', toolCall },
      { type: 'done', result: reply('I look.', { toolCalls: [toolCall] }) },
    ]
    const turn = await engine.runStreamingTurn(input(streaming(events), says(id, 'Weather?')))
    const seen = await collect(turn)
    expect(seen.map(({ type }) => type)).toEqual(['delta', 'tool-call', 'completed'])
    expect(seen[0]).toMatchObject({ delta: { content: [{ type: 'text', text: 'I look.' }] } })
    expect((await store.listMessages(id)).map(textOf)).toEqual(['Weather?', 'I look. tool-call'])
  })

  it('stores no part of a reply whose stream fails or ends early', async () => {
    const { store, id, engine, input } = await start()
    const cut = await engine.runStreamingTurn(input(streaming([delta('Hel')], new Error('cut off')), says(id, 'one')))
    await expect(collect(cut)).rejects.toThrow('cut off')
    await expect(cut.final).rejects.toThrow('cut off')
    const early = await engine.runStreamingTurn(input(streaming([delta('Hel')]), says(id, 'two')))
    await expect(early.final).rejects.toThrow(StreamIncomplete)
    expect((await store.listMessages(id)).map(textOf)).toEqual(['one', 'two'])
    expect(await store.listTurns(id)).toEqual([])
  })

  it('completes a streaming turn whose events are not read, or whose provider does not stream', async () => {
    const { store, id, engine, input } = await start()
    const read = await engine.runStreamingTurn(
      input(streaming([{ type: 'done', result: reply('Unread.') }]), says(id, 'one')),
    )
    expect((await read.final).assistantMessages.map(textOf)).toEqual(['Unread.'])
    const { provider } = scripted(reply('At once.'))
    const whole = await engine.runStreamingTurn(input(provider, says(id, 'two')))
    expect((await collect(whole)).map(({ type }) => type)).toEqual(['delta', 'completed'])
    expect((await store.listMessages(id)).map(textOf)).toEqual(['one', 'Unread.', 'two', 'At once.'])
  })

  it('stores the raw reply if storeRaw is set', async () => {
    const { store, id, input } = await start()
    const engine = new DefaultConversationEngine({ store, historyBuilder, storeRaw: true })
    await engine.runTurn(input(scripted(reply('Hello.')).provider, says(id, 'Hello?')))
    expect((await store.listTurns(id))[0]!.providerCalls[0]!.raw).toEqual({ secret: true })
  })
}

describe('the engine on the in-memory store', () => {
  testEngine(() => new InMemoryConversationStore())
})

describe('the engine on a store without further guarantees', () => {
  testEngine(() => new PlainStore())
})

describe.each(backends)('the engine on Colloquy, $name,', (backend) => {
  const world = useWorld(backend)
  testEngine(() => new ColloquyConversationStore(openTranscript(world.deps, world.tenant().as('owner'))))

  it('writes a transcript for other clients, with authors, models and usage, but no provider calls', async () => {
    const owner = world.tenant().as('owner')
    const store = new ColloquyConversationStore(openTranscript(world.deps, owner), {
      actorOf: ({ role }) => (role === 'user' ? 'ada' : 'bot'),
    })
    await store.createConversation({ id: 'shared' })
    const engine = new DefaultConversationEngine({ store, historyBuilder })
    const { provider } = scripted(reply('Hello.'))
    await engine.runTurn({
      conversationId: 'shared',
      userMessages: [says('shared', 'Hello?')],
      provider,
      providerParams: { metadata: METADATA },
    })
    const { id: conversationId } = (await getConversationByKey(world.deps, owner, 'shared'))!
    const turns = (await history(world.deps, owner, [conversationId], {})).get(conversationId)!
    expect(turns).toMatchObject([
      { actor: 'ada', role: 'USER', text: 'Hello?' },
      { actor: 'bot', role: 'ASSISTANT', text: 'Hello.', model: 'model-1', promptTokens: 5, completionTokens: 2 },
    ])
    const context = await buildContext(world.deps, owner, { conversationId, tokenBudget: 1000 })
    expect(JSON.stringify(context)).not.toContain('providerCalls')
  })

  it('stores nothing of a reply that is too large for a turn', async () => {
    const store = new ColloquyConversationStore(openTranscript(world.deps, world.tenant().as('owner')))
    const { id } = await store.createConversation({})
    const engine = new DefaultConversationEngine({ store, historyBuilder })
    const userMessages = [says(id, 'Write a book.')]
    const { provider } = scripted(reply('x'.repeat(300_000)))
    const input = { conversationId: id, userMessages, provider, providerParams: { metadata: METADATA } }
    await expect(engine.runTurn(input)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect((await store.listMessages(id)).map(textOf)).toEqual(['Write a book.'])
    expect(await store.listTurns(id)).toEqual([])
  })
})
