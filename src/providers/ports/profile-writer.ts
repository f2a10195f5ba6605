// The port for profile writers. A writer merges changed facts into a user's previous profile. A profile is a text for
// models. The caller passes only facts that the same viewers may see.

/** The text of a fact. */
type FactText = { subject: string; predicate: string; object: string }

/** A fact that the profile must include. */
export type AddedFact = FactText & {
  /** Time at which the fact was last asserted: ISO 8601, in UTC. */
  observedAt: string
  /** The author of an unconfirmed claim, which the profile must mark as a claim; null for any other fact. */
  claimedBy: string | null
}

export type ProfileRequest = {
  userId: string
  /** Names that facts use for the user, besides the id. */
  names: readonly string[]
  /** The previous profile, by any writer; null for none. */
  previous: string | null
  /** Facts to add. They may include facts that the previous profile contains. */
  added: readonly AddedFact[]
  /**
   * Facts superseded or retracted since the previous profile. A model may fail to remove such a fact from the profile.
   * Therefore, after an erasure, `previous` is null and the profile is rewritten from the remaining facts.
   */
  removed: readonly FactText[]
  /** Maximum token count of the new profile, counted by the server. */
  maxTokens: number
}

/** Writes profiles. Every writer passes test/contract/profile-writer.ts. */
export type ProfileWriter = {
  /** Identifies the method and its version, or the model. */
  readonly name: string
  /**
   * Returns the new profile: lines without control or invisible characters, with at most `maxTokens`. It is empty if no
   * fact is left, or if no text fits. If nothing was added or removed, returns the previous profile, shortened if
   * necessary.
   * @throws CallFailed, or the signal's reason after an abort
   */
  write(request: ProfileRequest, signal?: AbortSignal): Promise<string>
  /** Ends running calls. Later calls of `write` reject. Idempotent. */
  close(): Promise<void>
}

/** Control characters other than line breaks. */
const CONTROLS = /[^\P{Cc}\n]+/gu
/** Format characters, which a person cannot see but a model reads, except the joiners of some scripts and emoji. */
const INVISIBLE = /[^\P{Cf}\u200c\u200d]+/gu

/**
 * Removes or replaces characters that Postgres cannot store or a person cannot see. Removes spaces around line breaks,
 * and collapses other runs of spaces to one space and runs of empty lines to one line. Takes linear time.
 */
export function sanitizeProfile(text: string): string {
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
