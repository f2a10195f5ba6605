// Selects the messages of a conversation that are sent to a provider, within a budget. `chooseHistory` is pure except
// for `countTokens`; the builders read the store.
//
// Invariant: the history consists of the newest messages without gaps, preceded only by older system messages if these
// are kept. It ends with the new messages, and never begins between a tool call and its result. It never exceeds the
// budget.

import { HistoryBudgetTooSmall } from './errors.ts'
import { pairToolResults } from './tool-pairs.ts'
import type {
  ConversationMessage,
  ConversationStore,
  HistoryBudget,
  HistoryBuilder,
  HistoryBuildRequest,
  HistoryBuildResult,
} from './types.ts'

/** Counts the tokens of a text. */
export type CountTokens = (text: string) => number | Promise<number>

/** Number of characters (UTF-16 units) per token in the default estimate. */
const CHARS_PER_TOKEN = 4

/** Estimates the tokens of a text from its length. */
export const estimateTokens: CountTokens = (text) => Math.ceil(text.length / CHARS_PER_TOKEN)

/**
 * Returns for each index, `length` included, whether a history may begin there: not between a call and its result.
 * @internal
 */
export function allowedStarts(messages: readonly ConversationMessage[]): boolean[] {
  // A pair forbids the indexes after its call, up to its result. Sums of `opened` count the pairs around an index.
  const opened = new Array<number>(messages.length + 2).fill(0)
  for (const { index, resultIndex } of pairToolResults(messages)) {
    if (index === resultIndex) continue
    opened[index + 1]! += 1
    opened[resultIndex + 1]! -= 1
  }
  let around = 0
  return opened.slice(0, -1).map((change) => (around += change) === 0)
}

/** Whether a turn begins with the message: it is from the user or the system, and the previous message is not. */
const beginsTurn = (messages: readonly ConversationMessage[], index: number): boolean => {
  const asks = (message: ConversationMessage | undefined) => message?.role === 'user' || message?.role === 'system'
  return asks(messages[index]) && !asks(messages[index - 1])
}

/** Returns the index at which the newest `maxTurns` turns begin; 0 if there are fewer. @internal */
export function startOfTurns(messages: readonly ConversationMessage[], maxTurns: number): number {
  if (maxTurns <= 0) return messages.length
  let turns = 0
  for (let index = messages.length - 1; index >= 0; index--) {
    if (beginsTurn(messages, index) && ++turns === maxTurns) return index
  }
  return 0
}

type Size = Required<HistoryBudget>
const LIMITS = ['maxMessages', 'maxChars', 'maxTokens'] as const

async function sizeOf({ content }: ConversationMessage, count: CountTokens | null): Promise<Size> {
  const texts = content.flatMap((part) => (part.type === 'text' ? part.text : []))
  const tools = content.flatMap((part) => {
    if (part.type === 'tool-call') return `${part.name} ${JSON.stringify(part.arguments)}`
    return part.type === 'tool-result' ? `${part.name} ${JSON.stringify(part.result)}` : []
  })
  return {
    maxMessages: 1,
    maxChars: texts.reduce((sum, text) => sum + text.length, 0),
    maxTokens: count ? await count([...texts, ...tools].join('\n')) : 0,
  }
}

const add = (one: Size, other: Size): Size => ({
  maxMessages: one.maxMessages + other.maxMessages,
  maxChars: one.maxChars + other.maxChars,
  maxTokens: one.maxTokens + other.maxTokens,
})

const exceeded = (size: Size, budget: HistoryBudget) =>
  LIMITS.find((limit) => size[limit] > (budget[limit] ?? Infinity))

const EMPTY: Size = { maxMessages: 0, maxChars: 0, maxTokens: 0 }

export type HistoryChoice = {
  older: readonly ConversationMessage[]
  fresh: readonly ConversationMessage[]
  /** Maximum number of turns among `older`. Default: no limit. */
  maxTurns?: number | undefined
  budget?: HistoryBudget | undefined
  countTokens: CountTokens
  /** Whether all older system messages are kept. */
  keepSystem: boolean
}

/**
 * Chooses the messages of a history. A tool call that a new message answers is kept with the messages in between.
 * @throws HistoryBudgetTooSmall if the messages that must be kept exceed the budget
 * @internal
 */
export async function chooseHistory(choice: HistoryChoice): Promise<HistoryBuildResult> {
  const { older, fresh, maxTurns, budget = {}, countTokens, keepSystem } = choice
  const all = [...older, ...fresh]
  const starts = allowedStarts(all)
  const before = (index: number) => starts.lastIndexOf(true, index)
  const oldest = maxTurns === undefined ? 0 : before(startOfTurns(older, maxTurns))
  const required = before(older.length)
  const count = budget.maxTokens === undefined ? null : countTokens
  const isKept = ({ role }: ConversationMessage) => keepSystem && role === 'system'

  let size = EMPTY
  for (const [index, message] of all.entries()) {
    if (index >= required || isKept(message)) size = add(size, await sizeOf(message, count))
  }
  const limit = exceeded(size, budget)
  if (limit) throw new HistoryBudgetTooSmall(limit, budget[limit]!, size[limit])
  let start = required
  for (let index = required - 1; index >= oldest; index--) {
    if (!isKept(all[index]!)) size = add(size, await sizeOf(all[index]!, count))
    if (exceeded(size, budget)) break
    if (starts[index]) start = index
  }
  const messages = all.filter((message, index) => index >= start || isKept(message))
  return { messages, truncated: messages.length < all.length }
}

/** Returns the messages without the new ones, which the engine stores before it builds the history. */
function withoutFresh(messages: ConversationMessage[], fresh: readonly ConversationMessage[]): ConversationMessage[] {
  const ids = new Set(fresh.map(({ id }) => id))
  return messages.filter(({ id }) => !ids.has(id))
}

/** Number of messages in the first read of a store with the guarantee LIMIT_IS_NEWEST. */
const FIRST_READ = 64

/** Returns the newest messages: at least those of `maxTurns` + 1 turns, or all if there are fewer turns. */
async function readNewestTurns(
  store: ConversationStore,
  conversationId: string,
  maxTurns: number,
  fresh: readonly ConversationMessage[],
): Promise<ConversationMessage[]> {
  if (!store.guarantees?.includes('LIMIT_IS_NEWEST')) {
    return withoutFresh(await store.listMessages(conversationId, { ascending: true }), fresh)
  }
  for (let limit = FIRST_READ; ; limit *= 4) {
    const read = await store.listMessages(conversationId, { ascending: true, limit })
    const older = withoutFresh(read, fresh)
    if (read.length < limit || startOfTurns(older, maxTurns + 1) > 0) return older
  }
}

export interface RecentNTurnsHistoryBuilderOptions {
  /** Maximum number of turns before the new messages. A turn begins with messages of the user or the system. */
  maxTurns: number
  /** Counts tokens for a budget with maxTokens. Addition to document 003. Default: one token per 4 characters. */
  countTokens?: CountTokens
}

/** Selects the newest turns; fewer if they exceed the budget. System messages are left out together with their turn. */
export class RecentNTurnsHistoryBuilder implements HistoryBuilder {
  readonly #options: RecentNTurnsHistoryBuilderOptions
  constructor(options: RecentNTurnsHistoryBuilderOptions) {
    this.#options = options
  }

  /** @throws HistoryBudgetTooSmall @throws ConversationNotFound */
  async buildHistory(req: HistoryBuildRequest): Promise<HistoryBuildResult> {
    const { conversation, store, newUserMessages: fresh, budget } = req
    const { maxTurns, countTokens = estimateTokens } = this.#options
    const older = await readNewestTurns(store, conversation.id, maxTurns, fresh)
    return chooseHistory({ older, fresh, maxTurns, budget, countTokens, keepSystem: false })
  }
}

export interface BudgetedHistoryBuilderOptions {
  /** Budget of requests without one. Default: no limit. */
  budget?: HistoryBudget
  /** Counts tokens for a budget with maxTokens. Default: one token per 4 characters. */
  countTokens?: CountTokens
}

/** Selects all system messages, and as many of the newest messages as fit the budget. Reads the whole conversation. */
export class BudgetedHistoryBuilder implements HistoryBuilder {
  readonly #options: BudgetedHistoryBuilderOptions
  constructor(options: BudgetedHistoryBuilderOptions = {}) {
    this.#options = options
  }

  /** @throws HistoryBudgetTooSmall @throws ConversationNotFound */
  async buildHistory(req: HistoryBuildRequest): Promise<HistoryBuildResult> {
    const { conversation, store, newUserMessages: fresh, budget = this.#options.budget } = req
    const older = withoutFresh(await store.listMessages(conversation.id, { ascending: true }), fresh)
    const { countTokens = estimateTokens } = this.#options
    return chooseHistory({ older, fresh, budget, countTokens, keepSystem: true })
  }
}
