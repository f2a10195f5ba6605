// Turns as one participant is told them: its own are what the model said, everyone else's are said to it, by name. Tool
// calls stay calls only where the model made them itself; what others did with tools is told in words.
//
// Invariant: a tool's result is one only together with its call, and the same turns give the same messages.

import type { Role } from '../../store/generated/enums.ts'
import { partsOf, type ContentPart } from '../turn/content.ts'
import type { Message } from './message.ts'

/** What of a turn its message is made of. */
export type ContextTurn = {
  id: string
  rootSeq: number
  actor: string
  role: Role
  status: string
  text: string
  parts: unknown[] | null
  tokenCount: number
}

export type Perspective = {
  /** Whose eyes; null tells every turn in the role it has. */
  as: string | null
  /** Names to show, by actor; who has none is called by the actor itself. */
  names: ReadonlyMap<string, string>
  /** Whether several people speak to the model, so that words alone do not tell them apart. */
  several: boolean
}

/** On one line, without control characters. */
export const oneLine = (name: string) => name.replace(/[\p{C}\p{Z}]+/gu, ' ').trim() || '?'

const nameOf = ({ names }: Perspective, actor: string) => oneLine(names.get(actor) ?? actor)

type Part<Type extends ContentPart['type']> = Extract<ContentPart, { type: Type }>
const words = (text: string): Part<'text'> => ({ type: 'text', text })
const asWords = {
  toolCall: (part: Part<'toolCall'>) => words(`[called ${part.name}: ${JSON.stringify(part.arguments)}]`),
  toolResult: (part: Part<'toolResult'>) => words(`[${part.name} answered: ${JSON.stringify(part.result)}]`),
}

/** The role a turn has in these eyes, before it is known whether its tools' results belong to a call. */
function roleOf({ as }: Perspective, turn: ContextTurn): Role {
  if (as === null || turn.role === 'SYSTEM') return turn.role
  if (turn.actor === as) return 'ASSISTANT'
  return turn.role === 'TOOL' ? 'TOOL' : 'USER'
}

const isBlank = (part: ContentPart) => part.type === 'text' && part.text.trim() === ''
const partsIn = (turn: ContextTurn) => partsOf(turn as { text: string; parts: ContentPart[] | null })

/** Whether the turn says anything; erased ones and empty streams do not. */
export const saysSomething = (turn: ContextTurn) =>
  turn.status === 'ABORTED' || (turn.status === 'COMMITTED' && partsIn(turn).some((part) => !isBlank(part)))

/** Turns by their places in a list: those of each call with its results, and which results answer nothing there. */
export type Ties = {
  /** Places of the turns that stand or fall with the one at that place, itself among them, ascending. */
  groups: Map<number, number[]>
  /** Of each result that belongs to a call, named `place:part`, the place of the turn that called. */
  callers: Map<string, number>
}

/** Each result belongs to the latest call of that id before it that has none yet; instructions answer no calls. */
export function tie(turns: readonly ContextTurn[]): Ties {
  const open = new Map<string, number[]>()
  const parent = turns.map((_, place) => place)
  const find = (place: number): number => (parent[place] === place ? place : (parent[place] = find(parent[place]!)))
  const callers = new Map<string, number>()
  for (const [place, turn] of turns.entries()) {
    for (const [index, part] of partsIn(turn).entries()) {
      if (part.type === 'toolCall') {
        const waiting = open.get(part.callId)
        if (waiting) waiting.push(place)
        else open.set(part.callId, [place])
      } else if (part.type === 'toolResult' && turn.role !== 'SYSTEM') {
        const caller = open.get(part.callId)?.pop()
        if (caller === undefined) continue
        callers.set(`${place}:${index}`, caller)
        const [a, b] = [find(caller), find(place)]
        parent[Math.max(a, b)] = Math.min(a, b)
      }
    }
  }
  const members = new Map<number, number[]>()
  for (const place of turns.keys()) {
    const root = find(place)
    const group = members.get(root)
    if (group) group.push(place)
    else members.set(root, [place])
  }
  return { groups: new Map([...members.values()].flatMap((group) => group.map((place) => [place, group]))), callers }
}

/** Whether a turn is nothing but results of calls that are not there: without them it means nothing to a model. */
export const isStray = (turns: readonly ContextTurn[], place: number, { callers }: Ties) => {
  const parts = partsIn(turns[place]!)
  return (
    parts.length > 0 && parts.every((part, index) => part.type === 'toolResult' && !callers.has(`${place}:${index}`))
  )
}

/** How an aborted turn ends. */
const BROKEN_OFF = '[broken off]'

/**
 * The messages of the turns, one each, in their order.
 *
 * `tools`: false tells every call and result in words, for turns that stand alone.
 */
export function seenFrom(
  perspective: Perspective,
  turns: readonly ContextTurn[],
  { ties = tie(turns), tools = true }: { ties?: Ties; tools?: boolean } = {},
): Pick<Message, 'role' | 'name' | 'labelled' | 'parts' | 'sources'>[] {
  const isOwn = (key: string) => {
    const caller = ties.callers.get(key)
    return tools && caller !== undefined && roleOf(perspective, turns[caller]!) === 'ASSISTANT'
  }
  return turns.map((turn, place) => {
    let role = roleOf(perspective, turn)
    const parts = partsIn(turn).flatMap((part, index): ContentPart[] => {
      switch (part.type) {
        case 'toolCall':
          return [tools && role === 'ASSISTANT' ? part : asWords.toolCall(part)]
        case 'toolResult':
          return [isOwn(`${place}:${index}`) ? part : asWords.toolResult(part)]
        // Thoughts are the thinker's own.
        case 'reasoning':
          return role === 'ASSISTANT' ? [part] : []
        default:
          return isBlank(part) ? [] : [part]
      }
    })
    if (turn.status === 'ABORTED') parts.push(words(parts.length > 0 ? ` ${BROKEN_OFF}` : BROKEN_OFF))
    if (parts.length === 0) parts.push(words('[thought, and said nothing]'))
    const hasResult = parts.some(({ type }) => type === 'toolResult')
    if (role === 'TOOL' && !hasResult) role = 'USER'
    else if (role === 'USER' && hasResult && parts.every(({ type }) => type === 'toolResult')) role = 'TOOL'
    const named = role === 'USER' || role === 'TOOL' || (role === 'ASSISTANT' && perspective.as === null)
    return {
      role,
      parts,
      sources: [turn.id],
      name: named ? nameOf(perspective, turn.actor) : null,
      labelled: role === 'USER' && perspective.several,
    }
  })
}
