// Splits texts into sentences.

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Yields the sentences of each line. White space is not collapsed. */
export function* sentencesOf(text: string): Generator<string> {
  for (const line of text.split(/\n+/)) for (const { segment } of segmenter.segment(line)) yield segment
}
