// The port to what summarises: turns in, a text in their place out. What it is given is what was said, by whom and
// when; what that may be shown to is not its business.

/** Something that was said. */
export type Said = { speaker: string; at: Date; text: string }

export type SummaryRequest = {
  /** The summary of what was said before; null for none. The new one stands for it, too. */
  previous: string | null
  /** What was said since, in order. */
  turns: readonly Said[]
  /** The new summary's tokens, at most, as the server counts them. */
  maxTokens: number
}

/** Makes summaries. Every summarizer passes test/contract/summarizer.test.ts. */
export type Summarizer = {
  /** Names it in a conversation's policy, and in what it wrote. */
  readonly model: string
  /**
   * A text of at most `maxTokens` in the place of all that was given. Not empty where anything was said and a word
   * fits.
   * @throws CallFailed, or the reason of the signal that was aborted
   */
  summarize(request: SummaryRequest, signal?: AbortSignal): Promise<{ content: string; model: string }>
  /** Ends what runs; afterwards, summarize rejects. May be called twice. */
  close(): Promise<void>
}

/** The summarizers that conversations may name. */
export type Summarizers = {
  /** The server's own: for conversations that name none, or one that is not there any more. */
  readonly standard: Summarizer
  /** All of them, by the model's name. */
  readonly byModel: ReadonlyMap<string, Summarizer>
  close(): Promise<void>
}

/** On one line. */
export const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()

/** The text's beginning, in whole words where it has any, of at most that many tokens. */
export async function beginningOf(
  text: string,
  maxTokens: number,
  count: (text: string) => number | Promise<number>,
): Promise<string> {
  if (maxTokens < 1) return ''
  // A token is seldom over 16 characters; what is beyond is not worth counting.
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
