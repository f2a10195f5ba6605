// The port for summarizers. A summarizer writes a summary from the texts, speakers and times of turns. The caller
// passes only turns that the viewers of the summary may see.

/** A turn as the input of a summarizer. `at` is the creation time of the turn. */
export type SummarizerTurn = { speaker: string; at: Date; text: string }

export type SummaryRequest = {
  /** The summary of the turns before `turns`; null for none. The new summary also replaces this summary. */
  previous: string | null
  /** The turns after `previous`, in order. */
  turns: readonly SummarizerTurn[]
  /** Maximum token count of the new summary, counted by the server. */
  maxTokens: number
}

/** Writes summaries. Every summarizer passes test/contract/summarizer.ts. */
export type Summarizer = {
  /** The name used in compaction policies and stored with its summaries. */
  readonly model: string
  /**
   * Returns a summary of the previous summary and the turns, with at most `maxTokens`. It is empty only if they have no
   * text, or if not even one word fits.
   * @throws CallFailed, or the signal's reason after an abort
   */
  summarize(request: SummaryRequest, signal?: AbortSignal): Promise<{ content: string; model: string }>
  /**
   * Returns a title of one line for a conversation that begins with the turns; null if they contain only small talk.
   * The caller limits the length of the title.
   * @throws CallFailed, or the signal's reason after an abort
   */
  title(turns: readonly SummarizerTurn[], signal?: AbortSignal): Promise<string | null>
  /** Ends running calls. Later calls reject. Idempotent. */
  close(): Promise<void>
}

/** The summarizers that conversations may name. */
export type Summarizers = {
  /** The server's default, for conversations that name no model or a model that no longer exists. */
  readonly default: Summarizer
  /** All summarizers, by model name. */
  readonly byModel: ReadonlyMap<string, Summarizer>
  close(): Promise<void>
}

/** Collapses all white space, line breaks included, to single spaces. */
export const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()

/** Returns the beginning of the text with at most `maxTokens`, cut between words if possible. */
export async function truncateToTokens(
  text: string,
  maxTokens: number,
  count: (text: string) => number | Promise<number>,
): Promise<string> {
  if (maxTokens < 1) return ''
  // Limits the text to count: tokens rarely have more than 16 characters.
  let end = Math.min(text.length, 16 * maxTokens)
  for (;;) {
    const cut = text.slice(0, end).toWellFormed()
    const tokens = await count(cut)
    if (tokens <= maxTokens || end === 0) return cut
    const shorter = Math.min(end - 1, Math.floor((end * maxTokens) / tokens))
    const space = text.lastIndexOf(' ', shorter)
    end = space > shorter / 2 ? space : shorter
  }
}

/** The end of a sentence, with closing quotation marks and brackets, or of a line. */
const SENTENCE_END = /[.!?…]["'”’)\]]*(?=\s|$)|(?=\n)/g

/**
 * Returns the text if it has at most `maxTokens`; otherwise the beginning that `truncateToTokens` returns, cut after
 * its last whole sentence or line if at least half of its length is left.
 */
export async function cutToTokens(
  text: string,
  maxTokens: number,
  count: (text: string) => number | Promise<number>,
): Promise<string> {
  const cut = await truncateToTokens(text, maxTokens, count)
  if (cut.length === text.length) return text
  const end = [...cut.matchAll(SENTENCE_END)]
    .map(({ index, 0: { length } }) => index + length)
    .findLast((each) => each <= cut.length)
  return end !== undefined && end >= cut.length / 2 ? cut.slice(0, end) : cut
}
