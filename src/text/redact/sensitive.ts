// The detectors of redact.ts: e-mail addresses, payment cards, bank accounts, phone numbers, IP addresses, credentials.
// Each scans the text once per pattern. No pattern has an unbounded repetition that could be retried from another
// position.

import { isIP } from 'node:net'

/** A sensitive range of a text: [start, end) in UTF-16 units. */
export type Finding = { kind: string; start: number; end: number }

const at = (kind: string, start: number, text: string): Finding => ({ kind, start, end: start + text.length })

/** The part before the @: at most 64 characters (RFC 5321). */
const LOCAL = /[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]{1,64}$/u
/** A host name of two labels or more, the last one of letters. */
const DOMAIN = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,8}\p{L}{2,24}(?![\p{L}\p{N}])/u

/** Reads only the characters around each @, because most texts have none. */
export function* emails(text: string): Generator<Finding> {
  for (let sign = text.indexOf('@'); sign >= 0; sign = text.indexOf('@', sign + 1)) {
    const local = LOCAL.exec(text.slice(Math.max(0, sign - 64), sign))?.[0].replace(/^[.'`*]+/, '')
    const domain = local && DOMAIN.exec(text.slice(sign + 1, sign + 256))?.[0]
    if (domain) yield at('email', sign - local.length, `${local}@${domain}`)
  }
}

/** Whether the last digit is the Luhn check digit of the others (ISO/IEC 7812). */
function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i])
    sum += i % 2 === 0 ? digit : digit > 4 ? 2 * digit - 9 : 2 * digit
  }
  return sum % 10 === 0
}

const digitsOf = (text: string) => text.replace(/\D/g, '')

/** 13 to 19 digits, optionally grouped by spaces or hyphens, with a first digit that card networks use. */
const CARD = /(?<![\p{L}\p{N}.-])[2-6]\d(?:[ -]?\d){11,17}(?![\p{L}\p{N}]|[.-]\d)/gu

export function* cards(text: string): Generator<Finding> {
  for (const { 0: match, index } of text.matchAll(CARD)) {
    const digits = digitsOf(match)
    if (passesLuhn(digits) && !/^(\d)\1*$/.test(digits)) yield at('card', index, match)
  }
}

/** Country, check digits, then 11 to 30 letters and digits, optionally grouped by single spaces. */
const IBAN = /(?<![\p{L}\p{N}])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![\p{L}\p{N}])/giu

/** Whether the check digits are right (ISO 7064): the rotated number modulo 97 is 1. */
function isIban(text: string): boolean {
  const compact = text.replaceAll(' ', '').toUpperCase()
  let remainder = 0
  for (const character of compact.slice(4) + compact.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return remainder === 1
}

export function* ibans(text: string): Generator<Finding> {
  for (const { 0: match, index } of text.matchAll(IBAN)) {
    // The match may include a word after the number, so groups are removed from its end.
    for (let candidate = match; candidate.length >= 15; candidate = candidate.slice(0, candidate.lastIndexOf(' '))) {
      if (isIban(candidate)) {
        yield at('iban', index, candidate)
        break
      }
      if (!candidate.includes(' ')) break
    }
  }
}

const IPV4 = /(?<![\p{L}\p{N}.])\d{1,3}(?:\.\d{1,3}){3}(?![\p{L}\p{N}]|\.\d)/gu
/** A run of hex digits with at least two colons. node:net decides whether it is an address. */
const IPV6 = /(?<![\p{L}\p{N}:.])(?=[0-9a-f]{0,4}:[0-9a-f]{0,4}:)[0-9a-f:]{2,39}(?:\.\d{1,3}){0,3}(?![\p{L}\p{N}:])/giu
/** Words after which four numbers are a version or a section, not an address. */
const VERSION = /\b(?:v|versions?|releases?|build|upgraded? to|section|chapter)[ .:]*$/i

export function* ips(text: string): Generator<Finding> {
  for (const { 0: match, index } of text.matchAll(IPV4)) {
    if (isIP(match) === 4 && !VERSION.test(text.slice(Math.max(0, index - 16), index))) yield at('ip', index, match)
  }
  for (const { 0: match, index } of text.matchAll(IPV6)) {
    // "::" alone is punctuation in many programming languages.
    if (isIP(match) === 6 && /[0-9a-f]/i.test(match)) yield at('ip', index, match)
  }
}

/** Groups of digits with the separators used in phone numbers. */
const NUMBER = /(?<![\p{L}\p{N}_#$€£.:/-])\+?\(?\d(?:[ ().\u2010-\u2015/-]{0,3}\d){5,22}(?![\p{L}\p{N}_%]|[.:,/-]\d)/gu
/** Matches one of the words that introduce a phone number, and the text between it and the number. */
const PHONE_WORDS =
  /\b(?:(?:tele)?phone|telefon|tel|mobile|cell|call|ring|text|sms|whatsapp|signal|fax|handy|reach)\b(?! it\b)[^\n]*$/i
const DATE = /^\(?(?:\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./](?:\d{4}|\d{2}))\b/
/** North American numbers: 3-3-4 digits, with or without the country code 1. */
const NANP = /^(?:1[ .-])?\(?[2-9]\d\d\)?[ .\u2010-\u2015-]{1,2}\d{3}[ .\u2010-\u2015-]\d{4}$/
/** Numbers of most other countries: a zero, the area code, a separator, the number. */
const TRUNK = /^\(?0[1-9]\d{0,4}\)?[ /\u2010-\u2015-]+\d[\d \u2010-\u2015-]{3,12}$/

export function* phones(text: string): Generator<Finding> {
  for (const { 0: match, index } of text.matchAll(NUMBER)) {
    const digits = digitsOf(match).length
    // E.164 allows at most 15 digits.
    if (digits < 7 || digits > 15 || DATE.test(match)) continue
    const before = text.slice(Math.max(0, index - 32), index)
    const isFormatted = (match.startsWith('+') && digits >= 8) || NANP.test(match) || TRUNK.test(match)
    const isIntroduced = PHONE_WORDS.test(before) && !/\b(?:order|id|ticket|invoice|number of|room)\b/i.test(before)
    if (isFormatted || isIntroduced) yield at('phone', index, match)
  }
}

/** Well-known API keys, recognised by their prefixes, and JSON Web Tokens. */
const KEYS = new RegExp(
  `(?<![\\p{L}\\p{N}_-])(?:${[
    'sk-(?:proj-|ant-|or-|svcacct-)?[\\w-]{16,200}',
    '(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,120}',
    'whsec_\\w{16,80}',
    'gh[pousr]_[A-Za-z0-9]{20,255}',
    'github_pat_\\w{20,255}',
    'glpat-[\\w-]{16,64}',
    'xox[abeoprs]-[\\w-]{10,200}',
    '(?:AKIA|ASIA)[A-Z0-9]{16}',
    'AIza[\\w-]{30,40}',
    'ya29\\.[\\w-]{20,300}',
    'npm_[A-Za-z0-9]{30,60}',
    'hf_[A-Za-z0-9]{20,60}',
    'SG\\.[\\w-]{16,32}\\.[\\w-]{16,64}',
    'dop_v1_[a-f0-9]{40,80}',
    'pypi-[\\w-]{16,250}',
    'eyJ[\\w-]{8,2000}\\.eyJ[\\w-]{8,4000}\\.[\\w-]{8,1000}',
  ].join('|')})`,
  'gu',
)
const PRIVATE_KEY =
  /-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY-----(?:(?!-----(?:BEGIN|END))[A-Za-z0-9+/=\s\\:,-]){0,8000}(?:-----END [A-Z0-9 ]{1,40}-----)?/g
/** The password of `user:password@` in a URL. */
const URL_PASSWORD = /:\/\/[^\s:/@]{0,64}:([^\s:/@[][^\s:/@]{2,127})@/dg
/** A word such as "password", followed by a possible value, which `credentials` checks. */
const NAMED = new RegExp(
  '\\b(?:pass(?:word|wd|phrase|code)|pwd|pw|pin|secret(?:[ _-]?key)?|'
    + '(?:api|access|auth|private|signing)[ _-]?(?:key|token)|'
    + 'token|bearer|client[ _-]?secret)["\'`]?(?:\\s{0,3}(?::=|[:=])\\s{0,3}|\\s{1,3}(?:is|was)\\s{1,3}|\\s)["\'`]?'
    + '([^\\s"\'`,;]{4,256})',
  'gdi',
)
/** A run of characters that may be a credential. `credentials` checks its character classes and its entropy. */
const TOKEN = /(?<![\w+/.-])[\w+/-]{24,128}={0,2}(?![\w+/=-])/g
/**
 * Minimum Shannon entropy of a credential, in bits per character. About 99 % of random base64 texts of 24 characters
 * reach it; joined words have less.
 */
const RANDOM_BITS = 3.9

function entropy(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  return [...counts.values()].reduce((sum, n) => sum - (n / text.length) * Math.log2(n / text.length), 0)
}

/** Number of character classes in the text: lower case, upper case, digits, others. */
const countClasses = (text: string) =>
  [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((pattern) => pattern.test(text)).length

export function* credentials(text: string): Generator<Finding> {
  for (const { 0: match, index } of text.matchAll(PRIVATE_KEY)) yield at('secret', index, match)
  for (const { 0: match, index } of text.matchAll(KEYS)) yield at('secret', index, match)
  for (const match of text.matchAll(URL_PASSWORD)) {
    const [start, end] = match.indices![1]!
    yield { kind: 'secret', start, end }
  }
  for (const match of text.matchAll(NAMED)) {
    const value = match[1]!.replace(/[.?)]+$/, '')
    const [start] = match.indices![1]!
    const isAssigned = /[:=]["'`\s]*$/.test(text.slice(match.index, start))
    const isStated = isAssigned || /\b(?:is|was)\s+["'`]?$/i.test(text.slice(match.index, start))
    if (value.length < 4 || value.startsWith('[')) continue
    // Excludes "the password is wrong", "token usage" and "token 4000": a plain word is a password only after : or =, a
    // number only after these or after "is" or "was".
    if (/^\d+$/.test(value) ? isStated : isAssigned || countClasses(value) > 1) yield at('secret', start, value)
  }
  for (const { 0: match, index } of text.matchAll(TOKEN)) {
    if (
      /[a-z]/.test(match)
      && /[A-Z]/.test(match)
      && /\d/.test(match)
      && !/^(?:conv|turn|fact|sum|run)_/.test(match)
      && !match.includes('/')
      && entropy(match) >= RANDOM_BITS
    )
      yield at('secret', index, match)
  }
}
