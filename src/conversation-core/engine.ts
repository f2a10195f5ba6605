// Runs turns: stores the new messages, builds the history, calls the provider, and stores the reply with the turn.
//
// Invariant: the new messages are stored before the provider is called, and the reply is stored as a whole or not at
// all. If a turn fails, its new messages stay stored; running it again with the same messages does not store them
// twice.

import type { ProviderCallParams, ProviderCallResult } from '../providers/ports/provider-adapter.ts'
import { ConversationNotFound, ForeignMessage, StreamIncomplete } from './errors.ts'
import { createEventLog } from './event-log.ts'
import { contentOfReply, toContent, toolCallPart, toProviderMessages } from './provider-messages.ts'
import type {
  Conversation,
  ConversationEngine,
  ConversationMessage,
  ConversationStore,
  ConversationTurn,
  HistoryBuilder,
  ProviderCallRecord,
  StreamingTurn,
  StreamingTurnEvent,
  TokenUsage,
  TurnInput,
  TurnOutput,
} from './types.ts'

export interface DefaultConversationEngineOptions {
  store: ConversationStore
  historyBuilder: HistoryBuilder
  /** Creates the ids of turns and messages. Addition to document 003. Default: random UUIDs. */
  createId?: () => string
  /** Whether `raw` of a provider's result is stored with the turn. Addition to document 003. Default: false. */
  storeRaw?: boolean
}

/** A turn whose new messages are stored. */
type StartedTurn = { input: TurnInput; params: ProviderCallParams; replyId: string }

const withTotal = (usage: TokenUsage): TokenUsage => ({
  ...usage,
  totalTokens: usage.totalTokens ?? usage.inputTokens + usage.outputTokens,
})

/** Returns the current time, or the time of the newest message if that is later. */
const timeAfter = (messages: readonly ConversationMessage[]): Date =>
  new Date(Math.max(Date.now(), ...messages.map(({ createdAt }) => createdAt.getTime())))

/** The types of the parts of deltas that only announce what a later event contains. Messages have no reasoning. */
const LIVE_PARTS: ReadonlySet<string> = new Set(['reasoning', 'reasoning-end', 'tool-call-start', 'tool-call-delta'])

export class DefaultConversationEngine implements ConversationEngine {
  readonly store: ConversationStore
  readonly historyBuilder: HistoryBuilder
  readonly #createId: () => string
  readonly #storeRaw: boolean

  constructor(options: DefaultConversationEngineOptions) {
    const { store, historyBuilder, createId = () => crypto.randomUUID(), storeRaw = false } = options
    this.store = store
    this.historyBuilder = historyBuilder
    this.#createId = createId
    this.#storeRaw = storeRaw
  }

  /**
   * Runs a turn.
   * @throws ConversationNotFound @throws ForeignMessage @throws HistoryBudgetTooSmall
   * @throws the error of the provider or the store
   */
  async runTurn(input: TurnInput): Promise<TurnOutput> {
    const started = await this.#start(input)
    return this.#finish(started, await input.provider.complete(started.params))
  }

  /**
   * Runs a turn and reports the reply while it arrives. The turn completes even if the events are not read; to stop it,
   * abort `providerParams.signal`. Only the complete reply is stored. A provider that does not stream sends one delta.
   * @throws the errors of runTurn until the provider begins to answer; later errors reject `final` and the iteration of
   * the events
   */
  async runStreamingTurn(input: TurnInput): Promise<StreamingTurn> {
    const started = await this.#start(input)
    const stream = await input.provider.completeStream?.(started.params)
    const log = createEventLog<StreamingTurnEvent>()
    const final = (stream ? this.#relay(started, stream, log.push) : this.#reply(started, log.push)).then(
      async (result) => {
        const output = await this.#finish(started, result)
        log.push({ type: 'completed', output })
        log.end()
        return output
      },
    )
    // The iteration of the events throws the same error, so an unread `final` must not cause an unhandled rejection.
    final.catch((error: unknown) => log.end(error))
    return { final, [Symbol.asyncIterator]: () => log[Symbol.asyncIterator]() }
  }

  /** Stores the new messages and builds the call. */
  async #start(input: TurnInput): Promise<StartedTurn> {
    const { conversationId, userMessages, providerParams, historyBudget: budget } = input
    const foreign = userMessages.find((message) => message.conversationId !== conversationId)
    if (foreign) throw new ForeignMessage(foreign.id, conversationId)
    const { store } = this
    const conversation = await this.#conversation(conversationId)
    if (userMessages.length > 0) await store.appendMessages(userMessages)
    const history = await this.historyBuilder.buildHistory({
      conversation,
      store,
      newUserMessages: userMessages,
      ...(budget && { budget }),
    })
    const agentContext = input.agentContext ?? providerParams.agentContext
    const params: ProviderCallParams = {
      ...providerParams,
      messages: toProviderMessages(history.messages),
      ...(agentContext !== undefined && { agentContext }),
    }
    return { input, params, replyId: this.#createId() }
  }

  /** Calls a provider that does not stream. */
  async #reply({ input, params, replyId }: StartedTurn, emit: (event: StreamingTurnEvent) => void) {
    const result = await input.provider.complete(params)
    const content = contentOfReply(result.message, result.toolCalls)
    const text = content.filter(({ type }) => type !== 'tool-call')
    if (text.length > 0) emit({ type: 'delta', delta: this.#delta(input, replyId, text) })
    for (const part of content) if (part.type === 'tool-call') emit({ type: 'tool-call', toolCall: part })
    return result
  }

  /** Reports the events of a provider's stream, and returns its result. @throws StreamIncomplete */
  async #relay(
    { input, replyId }: StartedTurn,
    stream: Awaited<ReturnType<NonNullable<TurnInput['provider']['completeStream']>>>,
    emit: (event: StreamingTurnEvent) => void,
  ): Promise<ProviderCallResult> {
    stream.final.catch(() => {}) // The iteration throws the same error.
    for await (const event of stream) {
      if (event.type === 'done') return event.result
      if (event.type === 'tool-call') emit({ type: 'tool-call', toolCall: toolCallPart(event.toolCall) })
      else {
        const content = event.delta.content.filter(({ type }) => !LIVE_PARTS.has(type as string))
        if (content.length > 0) emit({ type: 'delta', delta: this.#delta(input, replyId, toContent(content)) })
      }
    }
    throw new StreamIncomplete()
  }

  #delta({ conversationId }: TurnInput, id: string, content: ConversationMessage['content']): ConversationMessage {
    return { id, conversationId, role: 'assistant', createdAt: new Date(), content }
  }

  /** Stores the reply and the turn. */
  async #finish({ input, params, replyId }: StartedTurn, result: ProviderCallResult): Promise<TurnOutput> {
    const { conversationId, userMessages } = input
    const { provider, model } = params.metadata
    const usage = result.usage && withTotal(result.usage)
    const createdAt = timeAfter(userMessages)
    const content = contentOfReply(result.message, result.toolCalls)
    const metadata = { provider, model, ...(usage && { usage }) }
    const reply: ConversationMessage = { id: replyId, conversationId, role: 'assistant', createdAt, content, metadata }
    const assistantMessages = content.length > 0 ? [reply] : []
    const toolMessages = userMessages.filter(({ role }) => role === 'tool')
    const call: ProviderCallRecord = {
      id: result.id,
      createdAt: result.createdAt,
      metadata: params.metadata,
      ...(usage && { usage }),
      ...(this.#storeRaw && result.raw !== undefined && { raw: result.raw }),
    }
    const { finishReason } = result
    const turn: ConversationTurn = {
      id: this.#createId(),
      conversationId,
      createdAt,
      userMessages: userMessages.filter(({ role }) => role !== 'tool'),
      assistantMessages,
      ...(toolMessages.length > 0 && { toolMessages }),
      providerCalls: [call],
      ...((usage ?? finishReason) && { metadata: { ...(usage && { usage }), ...(finishReason && { finishReason }) } }),
    }
    const conversation = await this.#store(turn)
    return { conversation, turn, assistantMessages, ...(toolMessages.length > 0 && { toolMessages }) }
  }

  /** Stores a turn with its reply, and returns the updated conversation. */
  async #store(turn: ConversationTurn): Promise<Conversation> {
    const { store } = this
    await store.appendTurn(turn)
    if (store.guarantees?.includes('ATOMIC_TURNS')) return this.#conversation(turn.conversationId)
    if (turn.assistantMessages.length > 0) await store.appendMessages(turn.assistantMessages)
    const updated = await store.updateConversation(turn.conversationId, {})
    if (!updated) throw new ConversationNotFound(turn.conversationId)
    return updated
  }

  async #conversation(id: string): Promise<Conversation> {
    const conversation = await this.store.getConversation(id)
    if (!conversation) throw new ConversationNotFound(id)
    return conversation
  }
}
