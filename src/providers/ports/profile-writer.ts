// The port to profile writers: the previous profile and changed facts in, a text for models out. The caller passes only
// facts that may be shown together.

/** A statement of subject, predicate and object. */
type FactText = { subject: string; predicate: string; object: string }

/** A fact that the profile must include. */
export type LearntFact = FactText & {
  /** ISO 8601, in UTC. */
  observedAt: string
  /** False for a claim, which the profile must mark as one. */
  believed: boolean
}

export type ProfileRequest = {
  userId: string
  /** The user's names in facts, besides the id. */
  names: readonly string[]
  /** The previous profile, by any writer; null for none. */
  previous: string | null
  /** Facts to add. Facts that the previous profile has already do no harm. */
  added: readonly LearntFact[]
  /**
   * Facts superseded or retracted since. A model may miss one, so erased facts are passed neither here nor in
   * `previous`: after an erasure, the profile is rewritten from the remaining facts.
   */
  removed: readonly FactText[]
  /** Maximum token count of the new profile, as the server counts. */
  maxTokens: number
}

/** Writes profiles. Every writer passes test/contract/profile-writer.ts. */
export type ProfileWriter = {
  /** The method and its version, or the model. */
  readonly name: string
  /**
   * Returns the new profile: visible lines without control characters, at most `maxTokens`. Empty if no fact is left or
   * no line fits. If nothing was added or removed, returns the previous profile, shortened if necessary.
   * @throws CallFailed, or the signal's reason after an abort
   */
  write(request: ProfileRequest, signal?: AbortSignal): Promise<string>
  /** Ends running calls; afterwards, write rejects. Idempotent. */
  close(): Promise<void>
}

/** Control characters except line ends. */
const CONTROLS = /[^\P{Cc}\n]+/gu
/** Invisible characters, which people cannot see and models can, except the joiners that scripts and emoji need. */
const INVISIBLE = /[^\P{Cf}\u200c\u200d]+/gu

/**
 * Removes characters that Postgres cannot store or people cannot see. Collapses spaces, and empty lines to one. Takes
 * linear time.
 */
export function presentable(text: string): string {
  const lines = text
    .toWellFormed()
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replace(/[^\S\n]+/g, ' ')
  const visible = lines
    .replace(CONTROLS, '')
    .replace(INVISIBLE, '')
    .replace(/ *\n */g, '\n')
  return visible.replace(/\n{3,}/g, '\n\n').trim()
}
