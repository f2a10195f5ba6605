// What the importers of other programs produce: conversations and facts in a form that all of them share. lines-of.ts
// converts it to the lines of an export.

import type { ParticipantKind, Role } from '../../../../store/generated/enums.ts'
import type { ContentPart } from '../../../turn/content.ts'
import { BadLine } from '../format.ts'

/** Programs whose files can be imported. */
export const PROGRAMS = ['chatgpt', 'claude', 'openai', 'letta', 'mem0', 'langgraph', 'slack', 'discord'] as const
export type Program = (typeof PROGRAMS)[number]

export type ForeignTurn = {
  /** The id in the other program, unique within the conversation. */
  id: string
  actor: string
  role: Role
  /** Its content: text, or parts. */
  content: string | ContentPart[]
  /** Null for that of the turn before. */
  createdAt: Date | null
  model?: string
  /** The id of the turn that it replies to. */
  replyTo?: string
}

export type ForeignParticipant = { actor: string; kind: ParticipantKind; displayName?: string }

export type ForeignConversation = {
  /** The id in the other program. */
  id: string
  title?: string
  createdAt: Date | null
  systemPrompt?: string
  /** Authors who are not among them are added, with the kind that their role implies. */
  participants: ForeignParticipant[]
  turns: ForeignTurn[]
}

export type ForeignFact = {
  id: string
  userId: string | null
  subject: string
  predicate: string
  object: string
  createdAt: Date | null
}

export type Converted = { conversations?: ForeignConversation[]; facts?: ForeignFact[] }

/** Counts something that cannot be imported, by the reason. */
export type Unfit = (reason: string, number?: number) => void

export type ConverterOptions = {
  /** The actor of the person whose data it is, and owner of the conversations. */
  owner: string
  unfit: Unfit
}

/**
 * Converts one element of a file: an element of its list, or the whole of it. `end` returns what could only be converted
 * when all elements were read.
 */
export type Converter = { convert(element: unknown): Converted; end?(): Converted }

export type Json = Record<string, any>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the value as an object. @throws BadLine if the element is not of the program */
export function objectOf(value: unknown, program: string, needed: string): Json {
  if (isObject(value) && needed in value) return value
  throw new BadLine(`is not of an export of ${program}: it has no "${needed}"`)
}

export const listOf = (value: unknown): any[] => (Array.isArray(value) ? value : [])
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Returns the time of ISO 8601 text, or of a number of seconds since 1970; null for neither. */
export function timeOf(value: unknown): Date | null {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^\d+(\.\d+)?$/.test(value))
  if (typeof value !== 'string' && !isNumber) return null
  const date = new Date(isNumber ? Math.round(Number(value) * 1000) : value)
  const time = date.getTime()
  return time >= 0 && time < Date.UTC(9999, 0) ? date : null
}

/** Returns the JSON value in a text, or the text itself. */
export function jsonOf(value: unknown): unknown {
  if (typeof value !== 'string') return value ?? null
  try {
    return JSON.parse(value) as unknown
  } catch {
    return value
  }
}
