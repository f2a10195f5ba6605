// Defines what a context is assembled from: the material that was read, and the limits and functions of the request.

import type { Shares } from './budget.ts'
import type { CoveringSummary } from './fit-summaries.ts'
import type { ContextTurn, Perspective } from '../perspective.ts'
import type { QuotedFact, QuotedProfile, QuotedState, RecalledTurn } from '../quote.ts'

export type ContextMaterial = {
  systemPrompt: string | null
  /** Profiles of people in the conversation, the owner's first. */
  profiles: QuotedProfile[]
  /** Facts of the conversation and about its people, most recently observed first. */
  facts: QuotedFact[]
  /** Whether `facts` contains every fact; false if more exist than were read. */
  hasAllFacts: boolean
  /** Whether there are facts that have ended, which are included only if they are relevant. */
  hasEndedFacts: boolean
  /** The shared state, oldest key first. */
  states: QuotedState[]
  /** Summaries of the oldest turns, oldest first. */
  summaries: CoveringSummary[]
  /**
   * Summaries of which no sentence fits into the budget, oldest first. Then `summaries` is empty, and `recent` may
   * contain the turns that they cover.
   */
  tooLong: CoveringSummary[]
  /**
   * Kept turns, which are read regardless of age: instructions, pinned turns, and turns that summaries never cover.
   * Ascending by position.
   */
  kept: (ContextTurn & { createdAt: Date; pinned: boolean })[]
  /**
   * The newest turns after those that `summaries` cover; the newest of all turns if all may fit without summaries. The
   * newest turn is present even if a summary covers it. Ascending by position. May contain kept turns.
   */
  recent: (ContextTurn & { createdAt: Date })[]
  /** Whether `recent` contains all of these turns; false if older ones were not read. */
  complete: boolean
  /** Ids of turns that are omitted because their stored content cannot be read. */
  damaged: string[]
  /** The turn to answer, which has content; null for the newest turn. May be in `recent` or `kept`, too. */
  answered: ContextTurn | null
  /** Whether `summaries` is not empty and `recent` contains all turns, with content, also those that `summaries` cover. */
  isWhole: boolean
  perspective: Perspective
}

/** A turn that the model answers: it has text. If it is not given, it is rendered with the role USER. */
export type AddressedTurn = { id: string; text: string }

export type AssemblyRequest = {
  tokenBudget: number
  /** Maximum number of messages; null for no limit. */
  maxMessages: number | null
  /** Maximum length of all messages together, in UTF-16 units; null for no limit. */
  maxChars: number | null
  /** Number of newest turns to include if they fit (window.ts); null for as many as fit. */
  recentTurns: number | null
  /** Whether the window is trimmed in steps (window.ts). If not, it has as many turns as fit, up to `recentTurns`. */
  inSteps: boolean
  shares: Shares
  /**
   * Finds turns to quote, best first; at most `k` of them are quoted. Null for no recall. `addressed` is the turn to
   * answer or, if none is given, the newest turn addressed to the model; null for none; `included` contains the ids of
   * the sources already in the context.
   */
  recall: {
    k: number
    find(addressed: AddressedTurn | null, included: ReadonlySet<string>): Promise<RecalledTurn[]>
  } | null
  /**
   * Finds the facts that are relevant to the query, best first; they may include others than those of the material.
   * Called only if the context does not contain all facts. `addressed` as for `recall`. Null for no facts.
   */
  findFacts: ((addressed: AddressedTurn | null) => Promise<QuotedFact[]>) | null
}
