// The type of verb frames: for a verb, its tenses and the words after it, how to read a statement. Frames are found by
// their verb, so a clause is compared with few of them.

import { standalone } from '../sentences/objects.ts'
import type { Period } from '../periods.ts'
import {
  PAST_TENSE,
  PERFECT,
  PERFECT_PROGRESSIVE,
  PRESENT,
  PROGRESSIVE,
  type Predication,
} from '../sentences/predication.ts'
import { statement, type Statement } from '../rule.ts'
import { readTime, type Timed } from '../times.ts'

/** Tenses of what holds at the time of the turn, and of what is over. */
export const NOW = PRESENT | PROGRESSIVE | PERFECT | PERFECT_PROGRESSIVE
export const SIMPLE = PRESENT | PERFECT
export const DONE = PAST_TENSE | PERFECT

/** A clause as the input of a frame. */
export type Scene = {
  /** The subject's name, with which "my" is replaced. */
  name: string
  /** Creation time of the turn. */
  at: Date
  predication: Predication
  period: Period | null
}

/** `what`: the text after the lead; `lead`: the groups of the lead, '' for a group that did not match. */
type Read = (scene: Scene, what: string, lead: string[]) => Statement | Statement[] | null

export type Frame = {
  verbs: string[]
  tenses: number
  /** Whether the frame is for denied statements: "I don't like …". */
  isDenied: boolean
  lead: RegExp
  read: Read
}

const EMPHASIS =
  '(?:really |very |a bit |a little |so |also |actually |quite |pretty |super |especially |just |mostly |mainly )*'

/** `verbs`: base forms, separated by `|`. `lead`: a pattern of the words after the verb; the object follows it. */
export const frame = (verbs: string, tenses: number, lead: string, read: Read): Frame => ({
  verbs: verbs.split('|'),
  tenses,
  isDenied: false,
  lead: new RegExp(lead === '' ? '^' : `^${EMPHASIS}(?:${lead})(?:(?=[\\s,]|$)|(?<=\\s|^))\\s*`, 'u'),
  read,
})
export const denial = (verbs: string, tenses: number, lead: string, read: Read): Frame => ({
  ...frame(verbs, tenses, lead, read),
  isDenied: true,
})

/** A frame whose object is a thing that needs no context, with the period of the clause. */
export const simple = (verbs: string, tenses: number, lead: string, predicate: string): Frame =>
  frame(verbs, tenses, lead, (scene, what) => during(scene, statement(predicate, standalone(what, scene.name), 0.85)))

/** Adds the clause's period to a statement. */
export const during = ({ period }: Scene, given: Statement): Statement =>
  period ? { ...given, validFrom: period.from, validTo: period.to } : given

/** Makes a statement true from the time that the text names: "I moved to Rome in 2019". */
export const since = (given: Statement, time: Timed | null): Statement =>
  time && !time.isFuture ? { ...given, validFrom: time.from } : given

/** Returns the time that the text names and the text without it. */
export function timeOf(what: string, at: Date, isPast: boolean): { time: Timed | null; text: string } {
  const time = readTime(what, at, isPast)
  return { time, text: time ? time.rest : what }
}

const indexes = new WeakMap<readonly Frame[], Map<string, Frame[]>>()

/** Returns the frames of a verb in their order. */
function framesOf(frames: readonly Frame[], verb: string): readonly Frame[] {
  let index = indexes.get(frames)
  if (!index) {
    index = new Map()
    for (const each of frames) {
      for (const one of each.verbs) index.set(one, [...(index.get(one) ?? []), each])
    }
    indexes.set(frames, index)
  }
  return index.get(verb) ?? []
}

/** Returns the statements of the first frame that matches the clause and finds an object. */
export function statementsOfFrames(frames: readonly Frame[], scene: Scene): Statement[] {
  const { verb, tense, isDenied, rest } = scene.predication
  const text = scene.period ? scene.period.rest : rest
  for (const each of framesOf(frames, verb)) {
    if (!(each.tenses & tense) || each.isDenied !== isDenied) continue
    const lead = each.lead.exec(text)
    if (!lead) continue
    const groups = lead.slice(1).map((group) => group?.trim() ?? '')
    const read = each.read(scene, text.slice(lead[0].length).trim(), groups)
    const found = (Array.isArray(read) ? read : [read]).filter((one): one is Statement => !!one && one.object !== null)
    if (found.length > 0) return found
  }
  return []
}
