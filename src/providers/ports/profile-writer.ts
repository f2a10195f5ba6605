// The port to what writes a user's profile with more skill than rules: the old profile and what is new in, a text for
// models out. It is given what may be shown together, and invents nothing.

/** A statement: somebody or something, what is said of it, and with regard to what. */
type FactText = { subject: string; predicate: string; object: string }

/** A fact that is to be in the profile. */
export type LearntFact = FactText & {
  /** ISO 8601, in UTC. */
  observedAt: string
  /** Otherwise somebody claims it, and the profile must say so. */
  believed: boolean
}

export type ProfileRequest = {
  userId: string
  /** What the user is called in facts, besides the id: "I" is one of these. */
  names: readonly string[]
  /** The profile as it was made last, by whichever writer; null for none. */
  previous: string | null
  /** What is not in it yet. What is does no harm. */
  added: readonly LearntFact[]
  /**
   * Superseded or retracted since. A model may miss one: what must be gone for certain, since it was erased, is neither
   * given here nor in `previous`; the profile is written anew from what is left.
   */
  removed: readonly FactText[]
  /** The new profile's tokens, at most, as the server counts them. */
  maxTokens: number
}

/** Writes profiles. Every writer passes test/contract/profile-writer.ts. */
export type ProfileWriter = {
  /** Says the method and its version, or the model. */
  readonly name: string
  /**
   * The new profile, of at most `maxTokens`: lines of what can be shown, no control characters but line ends. Empty
   * where nothing is known, or no line fits. The old one, if need be shortened, where nothing was added or removed.
   * @throws CallFailed, or the reason of the signal that was aborted
   */
  write(request: ProfileRequest, signal?: AbortSignal): Promise<string>
  /** Ends what runs; afterwards, write rejects. May be called twice. */
  close(): Promise<void>
}

/** Control characters but line ends. */
const CONTROLS = /[^\P{Cc}\n]+/gu
/** What shows nothing, but the joiners that scripts and emoji need. People cannot see what it spells, models can. */
const INVISIBLE = /[^\P{Cf}\u200c\u200d]+/gu

/** What Postgres can hold and people can see: whole characters, single spaces, one empty line at most. Linear time. */
export function presentable(text: string): string {
  const lines = text
    .toWellFormed()
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replace(/[^\S\n]+/g, ' ')
  const shown = lines
    .replace(CONTROLS, '')
    .replace(INVISIBLE, '')
    .replace(/ *\n */g, '\n')
  return shown.replace(/\n{3,}/g, '\n\n').trim()
}
