// Random conversations and the invariants of contexts built from them. The tests run some of the cases;
// `npm run check:context` runs 100,000 by default.

import fc from 'fast-check'
import { assemble } from '../../../../../src/domain/memory/context/budget/assemble.ts'
import type {
  AssemblyRequest,
  ContextMaterial,
} from '../../../../../src/domain/memory/context/budget/assembly-input.ts'
import {
  DEFAULT_SHARES,
  STATE_SHARE,
  TOKENS_PER_MESSAGE,
} from '../../../../../src/domain/memory/context/budget/budget.ts'
import type { Assembled, ItemKind } from '../../../../../src/domain/memory/context/message.ts'
import { hasContent, type ContextTurn } from '../../../../../src/domain/memory/context/perspective.ts'
import { factLine, type QuotedFact } from '../../../../../src/domain/memory/context/quote.ts'
import { FORMATS, render, type Format } from '../../../../../src/domain/memory/context/render.ts'
import { partsOf, type ContentPart } from '../../../../../src/domain/turn/content.ts'
import { BudgetTooSmall, InvalidInput } from '../../../../../src/errors.ts'
import { countInline } from '../../../../../src/text/tokens.ts'

export type Case = {
  material: ContextMaterial
  request: Omit<AssemblyRequest, 'recall' | 'findFacts' | 'shares'> & { k: number | null }
}

/**
 * Texts of many kinds: prose, code, other scripts, runs of one letter, and text that looks like a fence or a control
 * token.
 */
const words = fc
  .oneof(
    { weight: 4, arbitrary: fc.lorem({ maxCount: 30 }) },
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.constantFrom(
      '~~~',
      '~~~~~~~~',
      '<|endoftext|>',
      '\n\n\n',
      '{"a":"\\"b\\""}',
      '👩‍👩‍👧‍👦🇩🇪',
      'const x = `a${b}`\n\tif (!x) {}',
      ' ',
    ),
    fc.nat({ max: 300 }).map((n) => 'a'.repeat(n)),
  )
  .map((text) => text.toWellFormed().replaceAll('\0', ''))

const json = fc.oneof(words, fc.record({ q: words }), fc.constant([1, { deep: ['x', null] }]), fc.boolean())
const tool = fc.constantFrom('search', 'run')
const callId = fc.constantFrom('c1', 'c2', 'c3', 'c4', 'c5')
const part: fc.Arbitrary<ContentPart> = fc.oneof(
  { weight: 3, arbitrary: words.map((text) => ({ type: 'text' as const, text })) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('toolCall' as const), callId, name: tool, arguments: json }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('toolResult' as const), callId, name: tool, result: json }) },
  fc.record({
    type: fc.constant('file' as const),
    mediaType: fc.constantFrom('image/png', 'application/pdf', 'text/plain'),
    url: fc.constantFrom('https://x.example/a.png', 'data:image/png;base64,iVBORw0KGgo=', 's3://bucket/a'),
    fileName: fc.option(fc.constant('a.png')),
  }),
  fc.record({ type: fc.constant('reasoning' as const), reasoning: words, signature: fc.option(fc.constant('c2ln')) }),
  fc.record({ type: fc.constant('data' as const), data: json }),
)

const actors = ['ada', 'bob', 'bot', 'search', '李雷'] as const
const turn = fc.record({
  actor: fc.constantFrom(...actors),
  role: fc.constantFrom('USER', 'USER', 'ASSISTANT', 'ASSISTANT', 'TOOL', 'TOOL', 'SYSTEM'),
  status: fc.constantFrom('COMMITTED', 'COMMITTED', 'COMMITTED', 'COMMITTED', 'ABORTED'),
  content: fc.oneof(words, fc.array(part, { minLength: 1, maxLength: 3 })),
  gap: fc.integer({ min: 1, max: 4 }),
  pinned: fc.nat({ max: 9 }).map((n) => n === 0),
})

/** Makes each result name an earlier call with its callId, if one exists. Calls of different turns may share an id. */
function nameCalls(turns: readonly ContextTurn[]): void {
  const callers = new Map<string, number[]>()
  for (const [index, { position, parts }] of turns.entries()) {
    for (const each of (parts ?? []) as ContentPart[]) {
      if (each.type === 'toolCall') callers.set(each.callId, [...(callers.get(each.callId) ?? []), position])
      if (each.type !== 'toolResult') continue
      const positions = callers.get(each.callId) ?? []
      each.callPosition = positions[index % Math.max(1, positions.length)] ?? 1
      each.callTurnId = `turn_${each.callPosition}`
    }
  }
}

/** Returns a fact of the material. */
export const toFact = (
  id: string,
  statement: Pick<QuotedFact, 'subject' | 'predicate' | 'object'>,
  {
    saidBy = 'HUMAN',
    observedAt,
    sourceTurnId = null,
  }: { saidBy?: 'HUMAN' | 'AGENT' | 'TOOL'; observedAt: Date; sourceTurnId?: string | null },
): QuotedFact => ({
  ...statement,
  id,
  userId: 'ada',
  sourceTurnId,
  observedAt,
  stated: saidBy === 'HUMAN',
  text: factLine({
    sentence: `${statement.subject} ${statement.predicate} ${statement.object}`,
    saidBy,
    observedAt,
    validFrom: null,
    validTo: null,
    userId: 'ada',
    assertedBy: 'ada',
  }),
})

/** A tool result may occur without its call, because the call may precede all turns read. */
export const cases: fc.Arbitrary<Case> = fc
  .record({
    turns: fc.array(turn, { maxLength: 25 }),
    unread: fc.nat({ max: 6 }),
    answered: fc.option(fc.nat({ max: 24 })),
    covered: fc.option(fc.nat({ max: 24 })),
    as: fc.option(fc.constantFrom(...actors)),
    needsNames: fc.boolean(),
    systemPrompt: fc.option(words),
    summaries: fc.array(words, { maxLength: 2 }),
    profiles: fc.array(fc.record({ name: words, text: words }), { maxLength: 3 }),
    facts: fc.array(
      fc.record({
        sentence: words,
        saidBy: fc.constantFrom('HUMAN', 'HUMAN', 'AGENT', 'TOOL'),
        observedAt: fc.date({ min: new Date(0), max: new Date('2030-01-01'), noInvalidDate: true }),
      }),
      { maxLength: 12 },
    ),
    states: fc.array(fc.oneof(json, words), { maxLength: 3 }),
    hasAllFacts: fc.nat({ max: 9 }).map((n) => n > 0),
    tokenBudget: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 60, max: 3000 }), fc.constant(2_000_000)),
    maxMessages: fc.option(fc.integer({ min: 1, max: 20 }), { freq: 3 }),
    maxChars: fc.option(fc.integer({ min: 1, max: 3000 }), { freq: 3 }),
    recentTurns: fc.option(fc.integer({ min: 0, max: 10 })),
    inSteps: fc.boolean(),
    k: fc.option(fc.integer({ min: 1, max: 10 })),
  })
  .map(
    ({
      turns,
      unread,
      answered,
      covered,
      as,
      needsNames,
      systemPrompt,
      summaries,
      profiles,
      facts,
      states,
      hasAllFacts,
      k,
      ...request
    }) => {
      let seq = 10
      const contextTurns = turns
        .map(({ content, gap, ...rest }, index): ContextTurn & { createdAt: Date; pinned: boolean } => {
          const text =
            typeof content === 'string'
              ? content || 'x'
              : content.map((each) => (each.type === 'text' ? each.text : '')).join('')
          return {
            ...rest,
            id: `turn_${index}`,
            position: (seq += gap),
            text,
            tokenCount: 0,
            createdAt: new Date(1_700_000_000_000 + index * 60_000),
            parts: typeof content === 'string' ? null : content,
          }
        })
        .filter(({ status, parts, text }) => status === 'ABORTED' || parts !== null || text.trim() !== '')
      nameCalls(contextTurns)
      const answerable =
        answered === null ? [] : contextTurns.filter((each) => each.status !== 'ABORTED' && hasContent(each))
      // All turns were read, and the last summary covers those up to `through`.
      const isWhole = covered !== null && unread === 0 && summaries.length > 0 && contextTurns.length > 0
      const through = isWhole ? contextTurns[Math.min(covered, contextTurns.length - 1)]!.position : summaries.length
      return {
        material: {
          systemPrompt,
          isWhole,
          damaged: [],
          // One of the committed turns with content, perhaps one that was not read.
          answered: answerable[Math.min(answered ?? 0, answerable.length - 1)] ?? null,
          complete: unread === 0,
          perspective: { as, needsNames, names: new Map([['ada', 'Ada "the first"\nL.']]) },
          tooLong: [],
          hasAllFacts,
          hasEndedFacts: false,
          states: states.map((value, index) => ({
            id: `state_${index}`,
            text: `"key ${index}": ${JSON.stringify({ version: 1, value })}`,
            omittedBytes: 0,
          })),
          profiles: profiles.map((each, index) => ({ ...each, id: `user_${index}` })),
          facts: facts
            .toSorted((a, b) => b.observedAt.getTime() - a.observedAt.getTime())
            .map(({ sentence, ...each }, index) =>
              toFact(`fact_${index}`, { subject: 'Ada', predicate: 'said', object: sentence }, each),
            ),
          summaries: summaries.map((content, index) => ({
            id: `sum_${index}`,
            content,
            fromPosition: index,
            toPosition: index === summaries.length - 1 ? through : index,
          })),
          kept: contextTurns.filter(({ role, pinned }) => role === 'SYSTEM' || pinned),
          recent: contextTurns.slice(Math.min(unread, Math.max(0, contextTurns.length - 1))),
        },
        request: { ...request, k },
      }
    },
  )

const tokens = { count: countInline }

/**
 * Builds the context of a case, or returns the error if its limits are too small. Recall returns the turns of the case,
 * every second one under a different id.
 */
export async function contextOf({
  material,
  request: { k, ...request },
}: Case): Promise<Assembled | BudgetTooSmall | InvalidInput> {
  const recall =
    k === null
      ? null
      : {
          k,
          find: async () =>
            material.recent
              .filter(({ text }) => text)
              .toReversed()
              .map(({ id, position, actor, text }, n) => ({
                position,
                tokenCount: 0,
                id: n % 2 ? id : `other_${id}`,
                name: actor,
                text,
                createdAt: new Date(1_700_000_000_000 + n * 60_000),
                neighbours: [],
              })),
        }
  // Every third fact is relevant, the oldest most.
  const findFacts = async () => material.facts.filter((_, n) => n % 3 === 0).toReversed()
  try {
    return await assemble(tokens, material, { ...request, recall, findFacts, shares: DEFAULT_SHARES })
  } catch (error) {
    if (error instanceof BudgetTooSmall || error instanceof InvalidInput) return error
    throw error
  }
}

/** Returns the messages of a rendering as a model gets them: UI messages without their ids and metadata. */
function sentMessages({ messages }: Assembled, format: Format): unknown[] {
  switch (format) {
    case 'OPENAI':
      return render(messages, format)
    case 'ANTHROPIC': {
      const prompt = render(messages, format)
      return [...prompt.system, ...prompt.messages]
    }
    case 'AI_SDK': {
      const prompt = render(messages, format)
      return [...(prompt.system === undefined ? [] : [{ role: 'system', content: prompt.system }]), ...prompt.messages]
    }
    case 'UI_MESSAGES':
      return render(messages, format).map(({ role, parts }) =>
        role === 'system'
          ? { role, content: parts.map((each) => (each.type === 'text' ? each.text : '')).join('') }
          : { role, content: parts },
      )
  }
}

export const tokensOfJson = (messages: readonly unknown[]) =>
  messages.reduce<number>((sum, each) => sum + countInline(JSON.stringify(each)) + TOKENS_PER_MESSAGE, 0)

/** Token count of a rendering as sent, including the provider's overhead per message. */
export const tokensSent = (context: Assembled, format: Format) => tokensOfJson(sentMessages(context, format))

/** Yields the errors in the tool calls of the OpenAI rendering. OpenAI rejects a request that contains any of them. */
export function* toolFaults(context: Assembled): Generator<string> {
  const messages = render(context.messages, 'OPENAI')
  let pending: string[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!pending.includes(message.tool_call_id)) yield `${message.tool_call_id} answers no pending call`
      pending = pending.toSpliced(pending.indexOf(message.tool_call_id), 1)
    } else {
      if (pending.length) yield `${pending.join()} has no result directly after the call`
      pending = message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : []
    }
  }
  if (pending.length) yield `${pending.join()} has no result`
}

/** Yields the errors in profiles and facts: position, fences, share, order, and the report of omissions. */
function* memoryFaults({ material, request }: Case, { messages, items }: Assembled): Generator<string> {
  /** The kinds that precede the turns, in order. All others are of the same rank. */
  const first: ItemKind[] = ['SYSTEM_PROMPT', 'PROFILE', 'FACT', 'SUMMARY']
  const timeOf = new Map(material.facts.map(({ id, observedAt }) => [id, observedAt.getTime()]))
  const rank = (kind: ItemKind) => (first.includes(kind) ? first.indexOf(kind) : first.length)
  // Relevant facts directly precede the recalled turns, or follow the other turns.
  const relevant = messages.filter(({ kind, content }) => kind === 'FACT' && content.includes('most relevant first'))
  // Profiles that do not fit into their share precede the relevant facts.
  const last = messages.findLastIndex(({ kind }) => kind === 'PROFILE')
  const isLater = messages.slice(0, Math.max(0, last)).some(({ kind }) => kind !== 'SYSTEM_PROMPT')
  const sections = messages.filter((each, index) => !relevant.includes(each) && !(isLater && index === last))
  const ranks = sections.map(({ kind }) => rank(kind))
  if (ranks.some((each, index) => index > 0 && each < ranks[index - 1]!)) yield 'sections are out of order'
  for (const [kind, name] of [
    ['PROFILE', 'profile'],
    ['FACT', 'facts'],
  ] as const) {
    if (sections.filter((each) => each.kind === kind).length > 1 || relevant.length > 1) yield `${kind} occurs twice`
    for (const message of messages.filter((each) => each.kind === kind)) {
      const share = DEFAULT_SHARES.facts * request.tokenBudget
      if (kind === 'FACT' && !relevant.includes(message) && message.tokenCount > share)
        yield `${kind} takes more than its share: ${message.tokenCount} of ${share}`
      if (message.role !== 'USER' || message.name !== name) yield `${kind} is ${message.role} ${message.name}`
      const lines = message.content.split('\n')
      const fence = lines.at(-1)!
      const fences = kind === 'FACT' ? 2 : 2 * message.sourceIds.length
      if (!/^~{3,}$/.test(fence) || message.content.split(fence).length - 1 !== fences) yield `${kind} is not fenced`
      // Facts are in the order of their times, profiles in that of the material.
      const places = message.sourceIds.map((id) =>
        kind === 'FACT' ? timeOf.get(id)! : material.profiles.findIndex((profile) => profile.id === id),
      )
      const isOrdered = places.every((place, n) => n === 0 || place >= places[n - 1]!)
      if (!isOrdered && !relevant.includes(message)) yield `${kind} is out of order: ${message.sourceIds.join()}`
    }
  }
  const reported = items.flatMap(({ sourceIds }) => sourceIds)
  for (const { id } of [...material.profiles, ...material.facts, ...material.states]) {
    if (reported.filter((each) => each === id).length !== 1) yield `${id} is not named by one item`
  }
  if (!material.hasAllFacts && !items.some(({ kind, included }) => kind === 'FACT' && !included)) {
    yield 'no item reports the facts that were not read'
  }
}

/** Yields the errors in the shared state: its share, its place after the other turns, and JSON between fences. */
function* stateFaults({ material, request }: Case, { messages, stablePrefixTokens, tokenCount }: Assembled) {
  const index = messages.findIndex(({ kind }) => kind === 'SHARED_STATE')
  if (messages.filter(({ kind }) => kind === 'SHARED_STATE').length > 1) yield 'shared state occurs twice'
  if (index < 0) return
  const { role, name, content, sourceIds, tokenCount: own } = messages[index]!
  if (role !== 'USER' || name !== 'state') yield `shared state is ${role} ${name}`
  if (own > STATE_SHARE * request.tokenBudget) yield `shared state takes more than its share: ${own}`
  if (stablePrefixTokens + own > tokenCount) yield 'shared state is in the stable prefix'
  if (messages.slice(0, index).some(({ kind }) => kind === 'RECALLED')) yield 'recalled turns precede shared state'
  const lines = content.split('\n')
  if (lines[1] !== lines.at(-1) || !/^~{3,}$/.test(lines[1]!)) yield 'shared state is not fenced'
  const found = Object.keys(JSON.parse(lines.slice(2, -1).join('\n')) as object)
  const given = material.states
    .filter(({ id }) => sourceIds.includes(id))
    .map(({ text }) => /^"([^"]*)"/.exec(text)![1])
  if (found.join() !== given.join()) yield `shared state has ${found.join()} instead of ${given.join()}`
}

/** Yields the errors in the end of a context: the newest turn, and the turn to answer. */
function* endingFaults({ recent, answered }: ContextMaterial, { messages }: Assembled): Generator<string> {
  const last = recent.at(-1)
  const turns = messages.filter(({ kind }) => kind !== 'ANSWERED')
  if (last && turns.at(-1)!.sourceIds[0] !== last.id) yield `the newest turn ${last.id} is not the last`
  const quotations = messages.filter(({ kind }) => kind === 'ANSWERED')
  if (quotations.length > 1) yield 'several messages quote the turn to answer'
  if (answered === null) {
    if (quotations.length > 0) yield 'a turn is quoted although none is to be answered'
    return
  }
  for (const { kind, sourceIds } of messages) {
    if (kind === 'RECALLED' && sourceIds.includes(answered.id)) yield 'the turn to answer is recalled as well'
  }
  const at = turns.findIndex(({ kind, sourceIds }) => kind !== 'RECALLED' && sourceIds.includes(answered.id))
  if (quotations.length === 0) {
    const isExchange = (type: string) => type === 'toolCall' || type === 'toolResult'
    // Of what fills the rest of the space, too.
    const isQuoted = (kind: ItemKind) => (['SHARED_STATE', 'RECALLED', 'FACT', 'PROFILE'] as ItemKind[]).includes(kind)
    const isEnd = turns
      .slice(at + 1)
      .every(({ kind, parts }) => isQuoted(kind) || parts.some(({ type }) => isExchange(type)))
    if (at < 0 || !isEnd) yield `the context does not end with the turn to answer, ${answered.id}`
    return
  }
  if (messages.at(-1) !== quotations[0]) yield 'a message follows the turn to answer'
  const { role, content, sourceIds } = quotations[0]!
  if (role !== 'USER' || sourceIds.join() !== answered.id)
    yield `the turn to answer is quoted as ${role} ${sourceIds.join()}`
  if (at === turns.length - 1) yield 'the newest turn is quoted'
  for (const part of partsOf(answered)) {
    if (part.type !== 'text' || part.text.trim() === '') continue
    if (!content.includes(part.text) && (at < 0 || content.length < 2_000)) {
      yield 'the text of the turn to answer is incomplete'
    }
  }
}

/** Yields all errors of a context; none for a valid one. */
export function* faults({ material, request }: Case, context: Assembled): Generator<string> {
  if (context.tokenCount > request.tokenBudget) yield `over budget: ${context.tokenCount} of ${request.tokenBudget}`
  for (const format of FORMATS) {
    const sent = tokensSent(context, format)
    if (sent > context.tokenCount) yield `${format} sends ${sent} tokens, but the context reports ${context.tokenCount}`
  }
  if (context.messages.length > (request.maxMessages ?? Infinity)) yield `has ${context.messages.length} messages`
  const chars = context.messages.reduce((sum, { content }) => sum + content.length, 0)
  if (chars > (request.maxChars ?? Infinity)) yield `has ${chars} characters`
  yield* toolFaults(context)
  yield* memoryFaults({ material, request }, context)
  yield* stateFaults({ material, request }, context)

  const { items } = context
  const roles = render(context.messages, 'ANTHROPIC').messages.map(({ role }) => role)
  if (roles.some((role, index) => role !== (index % 2 ? 'assistant' : 'user'))) yield `Anthropic gets ${roles.join()}`
  const positions = new Map(material.recent.concat(material.kept).map(({ id, position }) => [id, position]))
  const isQuotation = (kind: ItemKind) => kind === 'RECALLED' || kind === 'ANSWERED'
  const ids = context.messages.filter(({ kind }) => !isQuotation(kind)).flatMap(({ sourceIds }) => sourceIds)
  if (new Set(ids).size < ids.length) yield `a turn occurs twice: ${ids.join()}`
  const shownIds = new Set(ids)
  for (const { id } of material.kept.filter(({ role }) => role === 'SYSTEM')) {
    const isReported = items.some(
      ({ included, reason, sourceIds }) => !included && sourceIds.includes(id) && /instruct/.test(reason),
    )
    if (!shownIds.has(id) && !isReported) yield `the instruction ${id} is missing`
  }
  yield* endingFaults(material, context)
  const shownPositions = ids.flatMap((id) => positions.get(id) ?? [])
  if (shownPositions.some((position, index) => index > 0 && position <= shownPositions[index - 1]!))
    yield `out of order: ${shownPositions.join()}`
  if (items.filter(({ included }) => included).length !== context.messages.length) yield 'a message has no item'
  for (const { kind, sourceIds } of context.messages) {
    if (sourceIds.length === 0 && kind !== 'SYSTEM_PROMPT') yield `${kind} names no source`
  }
  const reported = new Set(items.flatMap(({ sourceIds }) => sourceIds))
  const through = items.some(({ kind }) => kind === 'SUMMARY') ? material.summaries.at(-1)!.toPosition : 0
  for (const { id, position } of material.recent) {
    if (position > through && !reported.has(id)) yield `no item names ${id}`
  }
  if (material.isWhole && through === 0 && items.some(({ reason }) => reason === 'no space for older turns')) {
    yield 'turns are left out although a summary covers them'
  }
}
