// The port to summarizers: turns in, a text that replaces them out. A summarizer gets texts, speakers and times;
// visibility is the caller's responsibility.

/** A turn as a summarizer gets it. */
export type Said = { speaker: string; at: Date; text: string }

export type SummaryRequest = {
  /** The summary of the turns before; null for none. The new summary replaces it too. */
  previous: string | null
  /** The turns since, in order. */
  turns: readonly Said[]
  /** Maximum token count of the new summary, as the server counts. */
  maxTokens: number
}

/** Writes summaries. Every summarizer passes test/contract/summarizer.test.ts. */
export type Summarizer = {
  /** The name used in compaction policies and stored with its summaries. */
  readonly model: string
  /**
   * Returns a text of at most `maxTokens` that replaces all input. Not empty if the input has text and a word fits.
   * @throws CallFailed, or the signal's reason after an abort
   */
  summarize(request: SummaryRequest, signal?: AbortSignal): Promise<{ content: string; model: string }>
  /** Ends running calls; afterwards, summarize rejects. Idempotent. */
  close(): Promise<void>
}

/** The summarizers that conversations may name. */
export type Summarizers = {
  /** The server's default, for conversations that name no model or one that no longer exists. */
  readonly standard: Summarizer
  /** All summarizers, by model name. */
  readonly byModel: ReadonlyMap<string, Summarizer>
  close(): Promise<void>
}

/** Returns the text on one line. */
export const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()

/** Returns the beginning of the text, at most `maxTokens` long, cut between words if possible. */
export async function beginningOf(
  text: string,
  maxTokens: number,
  count: (text: string) => number | Promise<number>,
): Promise<string> {
  if (maxTokens < 1) return ''
  // Tokens rarely have more than 16 characters, so the rest need not be counted.
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
