// Validates and normalises a statement with its period, and hashes it: facts with equal hashes are exact duplicates.
// Texts are normalised before they are stored, so hashing a stored fact returns its stored hash.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { storable, time } from '../../kernel/input.ts'
import type { Period } from './period.ts'

/** A statement about a subject, for example "Ada", "lives in", "London". */
export type Statement = { subject: string; predicate: string; object: string }

/** Maximum length of each text after normalising, in UTF-16 units. */
export const MAX_LENGTHS: Readonly<Record<keyof Statement, number>> = { subject: 200, predicate: 200, object: 2_000 }

/** Maximum length before normalising, in code points, so that a megabyte of spaces is rejected cheaply. */
const MAX_READ = 16 * 1024

/** Length of a content hash: the first hex digits of a SHA-256 hash. */
const HASH_DIGITS = 32

/** Control characters, including line breaks: a fact is always a single line. */
const CONTROLS = /\p{Cc}+/gu
/**
 * Invisible format characters: tags, direction marks, soft hyphens, zero-width spaces. They can hide text that models
 * read and people cannot see. Excludes the two zero-width joiners, because Persian, Indic scripts and emoji need them.
 */
const INVISIBLE = /[^\P{Cf}\u200c\u200d]+/gu
/** A letter, a digit or a symbol such as an emoji. A text without any of these counts as empty. */
const HAS_CONTENT = /[\p{L}\p{N}\p{S}]/u

/** Returns the text in NFC, on one line, with single spaces and no invisible characters. Idempotent. */
export function normaliseText(text: string): string {
  const visible = text.normalize('NFC').replace(CONTROLS, ' ').replace(INVISIBLE, '')
  return visible.replace(/\s+/g, ' ').trim().normalize('NFC')
}

const statementText = (part: keyof Statement) =>
  z
    .string()
    .max(MAX_READ, `must be at most ${MAX_LENGTHS[part]} characters`)
    .transform((given, context) => {
      const fail = (message: string) => {
        context.addIssue({ code: 'custom', message })
        return z.NEVER
      }
      const problem = storable(given)
      if (problem) return fail(problem)
      const text = normaliseText(given)
      if (!HAS_CONTENT.test(text)) return fail('must not be empty')
      if (text.length > MAX_LENGTHS[part]) return fail(`must be at most ${MAX_LENGTHS[part]} characters`)
      return text
    })

const statedTime = time.nullish().transform((given) => given ?? null)

/**
 * Zod fields that validate and normalise the three texts of a fact, and its period, for schemas of inputs that contain
 * facts. Whether the period ends after it begins is not checked.
 */
export const statementShape = {
  subject: statementText('subject'),
  predicate: statementText('predicate'),
  object: statementText('object'),
  validFrom: statedTime,
  validTo: statedTime,
}

/**
 * Returns the first HASH_DIGITS hex digits of the SHA-256 hash of "subject predicate object" in UTF-8. Before hashing,
 * trims each text, replaces each run of white space by one space, and converts to lower case independently of the
 * locale. If the fact has a period, a space and the period as an ISO 8601-2 interval follow, for example
 * "2024-05-01T00:00:00.000Z/..".
 */
export function contentHash({ subject, predicate, object, validFrom, validTo }: Statement & Partial<Period>): string {
  const statement = [subject, predicate, object]
    .map((text) => text.trim())
    .join(' ')
    .replace(/\s+/g, ' ')
    .toLowerCase()
  const period = [validFrom, validTo].map((time) => time?.toISOString() ?? '..').join('/')
  const content = period === '../..' ? statement : `${statement} ${period}`
  return createHash('sha256').update(content, 'utf8').digest('hex').slice(0, HASH_DIGITS)
}
