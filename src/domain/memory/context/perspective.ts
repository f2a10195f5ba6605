// Renders turns from one participant's perspective: its own turns become assistant messages, other participants'
// turns become user messages with a name. The participant's own tool calls stay tool calls; other calls become text.
//
// Invariants: a tool result stays a result only if its call stays a call; the same turns become the same messages.

import type { Role } from '../../../store/generated/enums.ts'
import { isDamaged, partsOf, type ContentPart } from '../../turn/content.ts'
import type { Message } from './message.ts'

/** The fields of a turn from which its message is rendered. */
export type ContextTurn = {
  id: string
  position: number
  actor: string
  role: Role
  status: string
  text: string
  parts: unknown[] | null
  tokenCount: number
}

export type Perspective = {
  /** The participant from whose perspective turns are rendered; null keeps each turn's own role. */
  as: string | null
  /** Names of actors in the context (names.ts), by actor. An actor without an entry is its own name. */
  names: ReadonlyMap<string, string>
  /** Whether several participants write to the model, so that their messages need names. */
  needsNames: boolean
}

/** Returns the name on one line, without control characters. */
export const oneLine = (name: string) => name.replace(/[\p{C}\p{Z}]+/gu, ' ').trim() || '?'

/** Returns the actor's name in the context. */
export const nameOf = ({ names }: Perspective, actor: string) => names.get(actor) ?? oneLine(actor)

type Part<Type extends ContentPart['type']> = Extract<ContentPart, { type: Type }>
const textPart = (text: string): Part<'text'> => ({ type: 'text', text })
const asText = {
  toolCall: (part: Part<'toolCall'>) => textPart(`[called ${part.name}: ${JSON.stringify(part.arguments)}]`),
  toolResult: (part: Part<'toolResult'>) => textPart(`[${part.name} answered: ${JSON.stringify(part.result)}]`),
}

/** Returns the role of a turn from this perspective, before its tool results are matched with calls. */
function roleOf({ as }: Perspective, turn: ContextTurn): Role {
  if (as === null || turn.role === 'SYSTEM') return turn.role
  if (turn.actor === as) return 'ASSISTANT'
  return turn.role === 'TOOL' ? 'TOOL' : 'USER'
}

const isBlank = (part: ContentPart) => part.type === 'text' && part.text.trim() === ''
const partsIn = (turn: ContextTurn) => partsOf(turn)

/** Whether the turn is rendered: true for an aborted turn and for a committed turn with content; false if damaged. */
export const hasContent = (turn: ContextTurn) =>
  !isDamaged(turn)
  && (turn.status === 'ABORTED' || (turn.status === 'COMMITTED' && partsIn(turn).some((part) => !isBlank(part))))

/** Identifies a tool call by the position of its turn and its callId. */
export const callKey = (position: number | null | undefined, callId: string) => `${position} ${callId}`

/** Groups of turns that are linked by tool calls and results. Turns are identified by their index in the list. */
export type CallMatches = {
  /** By index: ascending indices of the turns to include or omit together with that turn, including its own index. */
  groups: Map<number, number[]>
  /** By result, as `index:partIndex`: the index of the turn with the call. Results without a call are absent. */
  callTurns: Map<string, number>
}

/** Returns the keys of the calls with a result that was written because of the decision about the call. */
const decidedCalls = (turns: readonly ContextTurn[]): ReadonlySet<string> =>
  new Set(
    turns.flatMap((turn) =>
      turn.role === 'SYSTEM' || turn.parts === null
        ? []
        : partsIn(turn).flatMap((part) =>
            part.type === 'toolResult' && part.approvalId ? [callKey(part.callPosition, part.callId)] : [],
          ),
    ),
  )

/** Returns the keys of the calls with a result that names the very version of the turn with the call. */
function answeredVersions(turns: readonly ContextTurn[]): ReadonlySet<string> {
  const ids = new Set(turns.map(({ id }) => id))
  return new Set(
    turns.flatMap((turn) =>
      turn.parts === null
        ? []
        : partsIn(turn).flatMap((part) =>
            part.type === 'toolResult' && part.callTurnId && ids.has(part.callTurnId)
              ? [callKey(part.callPosition, part.callId)]
              : [],
          ),
    ),
  )
}

/**
 * Matches each result with the earlier call that it names by callId and by the position of the call's turn. Only the
 * first result of a call is matched; of a call that was decided about, the first one that was written because of the
 * decision; and of a reply that was regenerated, the first one that answers its version, if there is one. Ignores results
 * in SYSTEM turns, and results whose call is not in the list.
 */
export function matchCalls(turns: readonly ContextTurn[]): CallMatches {
  const decided = decidedCalls(turns)
  const answered = answeredVersions(turns)
  const open = new Map<string, number[]>()
  const parent = turns.map((_, index) => index)
  const find = (index: number): number => (parent[index] === index ? index : (parent[index] = find(parent[index]!)))
  const callTurns = new Map<string, number>()
  for (const [index, turn] of turns.entries()) {
    for (const [partIndex, part] of partsIn(turn).entries()) {
      if (part.type === 'toolCall') {
        const call = callKey(turn.position, part.callId)
        const waiting = open.get(call)
        if (waiting) waiting.push(index)
        else open.set(call, [index])
      } else if (part.type === 'toolResult' && turn.role !== 'SYSTEM') {
        const call = callKey(part.callPosition, part.callId)
        const waiting = open.get(call)
        const isOfOlder = answered.has(call) && part.callTurnId !== turns[waiting?.at(-1) ?? -1]?.id
        const callTurn = isOfOlder || (decided.has(call) && !part.approvalId) ? undefined : waiting?.pop()
        if (callTurn === undefined) continue
        callTurns.set(`${index}:${partIndex}`, callTurn)
        const [a, b] = [find(callTurn), find(index)]
        parent[Math.max(a, b)] = Math.min(a, b)
      }
    }
  }
  const members = new Map<number, number[]>()
  for (const index of turns.keys()) {
    const root = find(index)
    const group = members.get(root)
    if (group) group.push(index)
    else members.set(root, [index])
  }
  return { groups: new Map([...members.values()].flatMap((group) => group.map((index) => [index, group]))), callTurns }
}

/** Whether a turn has only results of calls that are not in the list. Such a turn is useless to a model. */
export const isOrphanResult = (turns: readonly ContextTurn[], index: number, { callTurns }: CallMatches) => {
  const parts = partsIn(turns[index]!)
  return (
    parts.length > 0
    && parts.every((part, partIndex) => part.type === 'toolResult' && !callTurns.has(`${index}:${partIndex}`))
  )
}

/** Marks the end of an aborted turn. */
const ABORTED_MARK = '[aborted]'

/**
 * Returns one message for each turn, in the same order. If `tools` is false, renders every call and result as text, for
 * a turn that is rendered without its group.
 */
export function renderFrom(
  perspective: Perspective,
  turns: readonly ContextTurn[],
  { matches = matchCalls(turns), tools = true }: { matches?: CallMatches; tools?: boolean } = {},
): Pick<Message, 'role' | 'name' | 'labelled' | 'parts' | 'sourceIds' | 'position'>[] {
  const staysResult = (key: string) => {
    const callTurn = matches.callTurns.get(key)
    return tools && callTurn !== undefined && roleOf(perspective, turns[callTurn]!) === 'ASSISTANT'
  }
  return turns.map((turn, index) => {
    let role = roleOf(perspective, turn)
    const parts = partsIn(turn).flatMap((part, partIndex): ContentPart[] => {
      switch (part.type) {
        case 'toolCall':
          return [tools && role === 'ASSISTANT' ? part : asText.toolCall(part)]
        case 'toolResult':
          return [staysResult(`${index}:${partIndex}`) ? part : asText.toolResult(part)]
        // A participant's reasoning is not shown to other participants.
        case 'reasoning':
          return role === 'ASSISTANT' ? [part] : []
        default:
          return isBlank(part) ? [] : [part]
      }
    })
    if (turn.status === 'ABORTED') parts.push(textPart(parts.length > 0 ? ` ${ABORTED_MARK}` : ABORTED_MARK))
    if (parts.length === 0) parts.push(textPart('[thought, and said nothing]'))
    const hasResult = parts.some(({ type }) => type === 'toolResult')
    if (role === 'TOOL' && !hasResult) role = 'USER'
    else if (role === 'USER' && hasResult && parts.every(({ type }) => type === 'toolResult')) role = 'TOOL'
    const hasName = role === 'USER' || role === 'TOOL' || (role === 'ASSISTANT' && perspective.as === null)
    return {
      role,
      parts,
      sourceIds: [turn.id],
      position: turn.position,
      name: hasName ? nameOf(perspective, turn.actor) : null,
      labelled: role === 'USER' && perspective.needsNames,
    }
  })
}
