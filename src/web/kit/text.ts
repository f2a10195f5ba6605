// How the page writes numbers, times and errors.

import { ColloquyError } from '../../client/index.ts'

const numbers = new Intl.NumberFormat()
/** Returns a number with the separators of the browser's language. */
export const formatNumber = (value: number | string): string => numbers.format(Number(value))

/** Returns a share from 0 to 1 in per cent, with at most `digits` decimals; a dash for null. */
export const percentOf = (share: number | null, digits = 0): string =>
  share === null
    ? '–'
    : new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: digits }).format(share)

/** Returns `1 turn`, `2 turns`. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`

const times = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const days = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
export const timeOf = (at: string): string => times.format(new Date(at))
export const dateOf = (at: string): string => dates.format(new Date(at))

const startOfDay = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()
/** Returns the day of a time: Today, Yesterday, or its date. */
export function dayOf(at: string, now = new Date()): string {
  const age = Math.round((startOfDay(now) - startOfDay(new Date(at))) / 86_400_000)
  return age === 0 ? 'Today' : age === 1 ? 'Yesterday' : days.format(new Date(at))
}

/** Returns the time of today, or the date of an earlier day. */
export const whenOf = (at: string, now = new Date()): string =>
  dayOf(at, now) === 'Today' ? timeOf(at) : new Date(at).toLocaleDateString()

/** Returns what happened, in words. The messages of the server name the cause and the limit. */
export function errorText(error: unknown): string {
  if (!(error instanceof ColloquyError)) return error instanceof Error ? error.message : String(error)
  const issue = error.issues?.[0]?.message ?? ''
  return error.message.includes(issue) ? error.message : `${error.message} ${issue}`
}

/**
 * Returns the text between marks that keep its direction from changing the order of the words around it. Only for text
 * in a string: elements have `bdi`, or `dir`.
 */
export const isolated = (text: string): string => `\u2068${text}\u2069`

/** Returns the text in a line of at most `length` UTF-16 units. */
export function shorten(text: string, length: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= length ? line : `${line.slice(0, length - 1).trimEnd()}…`
}
