// What a fact's three texts may be, and the hash that tells a repeat: two facts with one hash say the same to the
// letter. Texts are normalised before they are stored, so that whoever has the row can compute the hash from it.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { storable } from '../input.ts'

/** A statement: somebody or something, what is said of it, and with regard to what. */
export type Statement = { subject: string; predicate: string; object: string }

/** UTF-16 units of each text, after normalising. */
export const LONGEST: Readonly<Record<keyof Statement, number>> = { subject: 200, predicate: 200, object: 2_000 }

/** UTF-16 units that are read at all: nobody pays for normalising a megabyte of spaces. */
const READ_UNITS = 16 * 1024

/** Digits kept of the SHA-256, as hex. */
const HASH_DIGITS = 32

/** Control characters, line ends among them: a fact is one line, wherever it is shown. */
const CONTROLS = /\p{Cc}+/gu
/**
 * Characters that show nothing: tags, directions, soft hyphens, zero-width spaces. People cannot see what they spell,
 * models can. The two joiners stay: Persian, Indic scripts and emoji need them.
 */
const INVISIBLE = /[^\P{Cf}\u200c\u200d]+/gu
/** A letter, a digit or a symbol such as an emoji: without any, nothing is said. */
const SAYS_SOMETHING = /[\p{L}\p{N}\p{S}]/u

/** Composed (NFC), on one line, single spaces, nothing invisible. Normalising twice changes nothing. */
export function normaliseText(text: string): string {
  const shown = text.normalize('NFC').replace(CONTROLS, ' ').replace(INVISIBLE, '')
  return shown.replace(/\s+/g, ' ').trim().normalize('NFC')
}

const said = (part: keyof Statement) =>
  z
    .string()
    .max(READ_UNITS, `must be at most ${LONGEST[part]} characters`)
    .transform((given, context) => {
      const fail = (message: string) => {
        context.addIssue({ code: 'custom', message })
        return z.NEVER
      }
      const problem = storable(given)
      if (problem) return fail(problem)
      const text = normaliseText(given)
      if (!SAYS_SOMETHING.test(text)) return fail('must not be empty')
      if (text.length > LONGEST[part]) return fail(`must be at most ${LONGEST[part]} characters`)
      return text
    })

/** Reads the three texts of a fact, and normalises them. Spread into the schema of whatever brings facts. */
export const statementShape = { subject: said('subject'), predicate: said('predicate'), object: said('object') }

/**
 * The first 32 hex digits of SHA-256 over the UTF-8 of "subject predicate object": each trimmed, in lower case by
 * Unicode's rules of no particular language, each run of white space one space. Of normalised texts it is the same
 * before and after storing.
 */
export function contentHash({ subject, predicate, object }: Statement): string {
  const content = [subject, predicate, object]
    .map((text) => text.trim())
    .join(' ')
    .replace(/\s+/g, ' ')
    .toLowerCase()
  return createHash('sha256').update(content, 'utf8').digest('hex').slice(0, HASH_DIGITS)
}
