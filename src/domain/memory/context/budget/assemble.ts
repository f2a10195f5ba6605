// Assembles a context from its material, section by section. The manifest lists items that do not fit, with the reason.
// Does no I/O: the caller passes functions that search for turns and facts. They are called last, because they need the
// ids of the sources that are already included.
//
// Invariants: the budget is never exceeded; the system prompt, the newest turn and the turn
// to answer are always included; instructions are included up to their share of the budget, the oldest first; a tool
// call and its results stay together; if turns are left out that a summary covers, a part of the summary is included
// unless no sentence of it fits; nothing before the recalled part depends on the query; the same material, recalled
// turns and facts give the same context.

import { BudgetTooSmall, InvalidInput } from '../../../../errors.ts'
import { endingWith, measureAnswered } from '../material/answered.ts'
import type { AssemblyRequest, ContextMaterial } from './assembly-input.ts'
import {
  INSTRUCTION_SHARE,
  minus,
  NOTHING,
  openingSize,
  partOf,
  plus,
  spaceOf,
  STATE_BYTES_PER_TOKEN,
  STATE_SHARE,
  sum,
  tokensOf,
  type Size,
} from './budget.ts'
import { chooseInstructions } from '../material/choose-turns.ts'
import { fillSections, type Fixed, type Sections } from './fill-sections.ts'
import { fillRest } from './fill-rest.ts'
import { itemsOf, quoteThatFit, stateQuoting } from './fit-quotes.ts'
import {
  measureMessage,
  measureTurns,
  sizesOf,
  type MeasuredMessage,
  type MeasuredTurns,
  type Tokens,
} from './measure.ts'
import { textMessage, type Assembled, type ContextItem } from '../message.ts'
import { matchCalls } from '../perspective.ts'
import { needsOpening, toContext } from '../to-context.ts'
import { createYield } from '../../../../runtime/yield.ts'

/**
 * Builds the context and its manifest. If all turns of the conversation fit, they are included instead of summaries, so
 * that a new summary does not change the prefix of the conversation's contexts.
 * @throws BudgetTooSmall if the system prompt, the newest turn and the turn to answer exceed the token budget
 * @throws InvalidInput if they exceed maxMessages or maxChars
 */
export async function assemble(
  tokens: Tokens,
  material: ContextMaterial,
  request: AssemblyRequest,
): Promise<Assembled> {
  const through = material.summaries.at(-1)?.toPosition ?? 0
  let filled = material.isWhole ? await fill(tokens, { ...material, summaries: [], tooLong: [] }, request) : null
  if (!filled?.sections.isWhole) {
    filled = await fill(tokens, { ...material, recent: uncovered(material.recent, through) }, request)
  }
  const { fixed, sections } = filled
  const { prefix, newest } = sections
  const rest = await fillRest(tokens, material, request, filled)
  const ending = fixed.answered ? endingWith(fixed.answered, [...prefix, ...newest]) : []
  return toContext(
    request.tokenBudget,
    { prefix, recalled: [...messagesOf(fixed.state), ...rest.messages], newest: [...newest, ...ending] },
    fixed.opening,
    [
      ...damagedItems(material),
      ...(await omittedStates(tokens, material, fixed)),
      ...sections.omitted,
      ...rest.omitted,
    ],
  )
}

/** Returns the manifest item of the turns whose content cannot be read. Their size is unknown. */
const damagedItems = ({ damaged }: ContextMaterial): ContextItem[] =>
  damaged.length === 0
    ? []
    : [{ kind: 'RECENT', sourceIds: damaged, tokenCount: 0, included: false, reason: 'the stored content is damaged' }]

const messagesOf = ({ message }: Fixed['state']): MeasuredMessage[] => (message ? [message] : [])

/** Returns the manifest items of the states whose value is not in the context. The sizes of unread values are estimated. */
async function omittedStates(tokens: Tokens, { states }: ContextMaterial, { state }: Fixed): Promise<ContextItem[]> {
  const about = { kind: 'SHARED_STATE', reason: 'no space for more shared state' } as const
  const unread = states.filter(({ omittedBytes }) => omittedBytes > 0)
  const [item] = await itemsOf(
    tokens,
    state.omitted.filter(({ omittedBytes }) => omittedBytes === 0),
    stateQuoting([]),
    about,
  )
  if (unread.length === 0) return item ? [item] : []
  const bytes = unread.reduce((total, { omittedBytes }) => total + omittedBytes, 0)
  const tokenCount = (item?.tokenCount ?? 0) + Math.ceil(bytes / STATE_BYTES_PER_TOKEN)
  const sourceIds = [...(item?.sourceIds ?? []), ...unread.map(({ id }) => id)]
  return [{ ...about, sourceIds, tokenCount, included: false }]
}

/** Returns the turns after a position, and in any case the newest turn with its tool call and results. */
function uncovered(recent: ContextMaterial['recent'], through: number): ContextMaterial['recent'] {
  const newest = matchCalls(recent).groups.get(recent.length - 1)
  return recent.filter(({ position }, index) => position > through || newest?.includes(index))
}

/** Measures the turns and fills the sections that do not depend on the query. @throws as `assemble` */
async function fill(
  tokens: Tokens,
  material: ContextMaterial,
  request: AssemblyRequest,
): Promise<{ fixed: Fixed; sections: Sections }> {
  const yieldIfDue = createYield()
  const measured = await measureTurns(tokens, material.perspective, material.recent, material.kept)
  await yieldIfDue()
  const fixed = await measureFixed(tokens, material, request, measured)
  return { fixed, sections: await fillSections(tokens, material, request, fixed) }
}

/** Measures the messages that every context has, and chooses the instructions. @throws as `assemble` */
async function measureFixed(
  tokens: Tokens,
  material: ContextMaterial,
  request: AssemblyRequest,
  measured: MeasuredTurns,
): Promise<Fixed> {
  const { turns, kept } = measured
  const all = spaceOf(request.tokenBudget, request.maxMessages ?? undefined, request.maxChars ?? undefined)
  const newest = measured.newest.map((index) => turns[index]!)
  const systemPrompt = await measureSystemPrompt(tokens, material.systemPrompt)
  const opening = [...turns, ...kept].some(({ role }) => role === 'ASSISTANT') ? await openingSize(tokens) : NOTHING
  const isNewest = material.answered === null || material.answered.id === material.recent.at(-1)?.id
  const answered = isNewest ? null : await measureAnswered(tokens, material.perspective, material.answered!)
  const ending = answered ? endingWith(answered, newest) : []
  const required = sum([sizesOf(systemPrompt), sizesOf(newest), sizesOf(ending)])
  checkRequired(request, needsOpening(newest) ? plus(required, opening) : required, all, answered !== null)
  // A turn to answer among the newest turns is quoted if other turns follow it, which may be chosen later.
  const answeredSize = answered ? sizesOf(ending.length > 0 ? ending : [answered.short]) : NOTHING
  const needed = sum([sizesOf(systemPrompt), sizesOf(newest), answeredSize])
  // Space for the opening is reserved even if the first message does not need it. So the space of the sections may be
  // negative; they are then empty.
  const instructions = chooseInstructions(kept, partOf(minus(all, plus(needed, opening)), INSTRUCTION_SHARE))
  const left = minus(all, sum([opening, sizesOf(systemPrompt), sizesOf(instructions.taken), answeredSize]))
  const forState = partOf(minus(left, sizesOf(newest)), STATE_SHARE)
  const state = await quoteThatFit(tokens, material.states, stateQuoting(material.states), forState)
  return {
    measured,
    newest,
    systemPrompt,
    opening,
    answered,
    instructions,
    state,
    space: minus(left, sizesOf(messagesOf(state))),
  }
}

/** Returns the message of the system prompt; an empty array if there is no prompt. */
async function measureSystemPrompt(tokens: Tokens, systemPrompt: string | null): Promise<MeasuredMessage[]> {
  if (!systemPrompt?.trim()) return []
  const source = { sourceIds: [], reason: "the conversation's system prompt" }
  return [await measureMessage(tokens, textMessage({ kind: 'SYSTEM_PROMPT', role: 'SYSTEM', ...source }, systemPrompt))]
}

/** Throws if the system prompt, the newest turn, and a turn to answer that `answersEarlier` it exceed a limit. */
function checkRequired({ tokenBudget }: AssemblyRequest, required: Size, all: Size, answersEarlier: boolean): void {
  const what = answersEarlier
    ? 'the system prompt, the turn to answer and the newest turn'
    : 'the system prompt and the newest turn'
  if (tokensOf(required) > tokenBudget) throw new BudgetTooSmall(tokenBudget, tokensOf(required), what)
  for (const [measure, path] of [
    ['messages', 'maxMessages'],
    ['chars', 'maxChars'],
  ] as const) {
    if (required[measure] <= all[measure]) continue
    throw InvalidInput.at(path, `is ${all[measure]}; ${what} need ${required[measure]}`)
  }
}
