// Reads places, homes and organisations from the text that a rule matched; null for text that is none.

import { PLACES } from './lists.ts'
import { LINK, NO_NAME, properName, standalone, thing, WORD } from './sentences/objects.ts'

const PLACE = new RegExp(`^(?:the )?${WORD}(?:(?:,? ${LINK}){0,2},? ${WORD}){0,4}`, 'u')
/** Today's name of a place: "Illyria, known today as Albania". */
const KNOWN_AS = /,? (?:now |today |also |better )?known(?: today| now)? as (.+)$/i

const KNOWN_PLACE = new RegExp(`^(?:${PLACES})(?=$|[,.!;]| (?!(?:style|food|time)\\b)\\p{L})`, 'iu')

/** Reads a place, such as "Berlin, Germany", "the Netherlands" or "new york"; null for other text. */
export function place(text: string): string | null {
  const [, today] = KNOWN_AS.exec(text) ?? []
  if (today !== undefined) return place(today)
  const found = PLACE.exec(text.trim())?.[0] ?? KNOWN_PLACE.exec(text.trim())?.[0]
  if (!found || found.endsWith("'s") || NO_NAME.test(found.split(/[ ,]/)[0]!)) return null
  const rest = text.trim().slice(found.length)
  if (/^(?:'s|’s|-)|^ (?:style|food|time|area of my)\b/.test(rest)) return null
  const clean = found.replace(/[.,'’-]+$/u, '')
  return clean.replace(/,? (?:and|of|the|for|&)$/, '')
}

/** Organisations of which there are many, so that "the" would refer to the context. */
const ONE_OF_MANY = new RegExp(
  String.raw`^the ((?:\p{Ll}[\p{L}-]* )*(?:shelter|company|firm|club|clinic|school|team|office|shop|`
    + String.raw`store|restaurant|hospital|church|cent(?:er|re)|agency|startup|studio|factory|farm|`
    + String.raw`league|choir|band|group))$`,
  'u',
)
/** Replaces the article of an organisation that has no name: "a chess club" for "the chess club". */
export const indefinite = (organisation: string): string =>
  organisation.replace(ONE_OF_MANY, (_, kind: string) => `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`)

/** Reads an employer or a school, such as "Initech" or "the local bakery"; null for other text. */
export function organisation(text: string, speaker: string): string | null {
  const name = properName(text)
  if (name) return name.replace(/ (?:and|for|of)$/, '')
  const other = thing(text.replace(/\s+(?:in|for|as|near|with|downtown)\s.*$/i, ''), speaker)
  return other && /^(?:an?|the|my)\s/i.test(other) ? indefinite(other) : null
}

const DWELLING = new RegExp(
  String.raw`^(?:an?|the) (?:[\p{L}-]+ ){0,3}?(?:house|apartment|flat|condo|studio|dorm|dorms|town|`
    + String.raw`city|village|suburbs?|countryside|country|farm|neighbou?rhood|townhouse|trailer|cabin|`
    + String.raw`loft|residence hall)(?=$|[,.;]| (?:in|near|with|of|by|and|outside|but|called|where|`
    + String.raw`so)\b)`,
  'iu',
)

/** Reads a kind of home: "a small town near Lyon"; null for other text. */
export function dwelling(text: string, speaker: string): string | null {
  return DWELLING.test(text) && !/^the (?:house|apartment|flat|town|village|city)$/i.test(text)
    ? standalone(text, speaker)
    : null
}
