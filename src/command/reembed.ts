// The command `colloquy reembed`: waits until the configured embedder has embedded all entries, and shows the progress.
// The embedding workers of the server do the work, and continue where they stopped; so may this command.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../client/index.ts'
import type { Output, Result } from './output.ts'

const DOCUMENT = `query Reembed { embedding { embedder serving done remaining perSecond etaSeconds } }`

type Progress = {
  embedder: string
  serving: string
  done: number
  remaining: number
  perSecond: number
  etaSeconds: number | null
}

/** Interval of the progress, ms. The server measures it once a second. */
const INTERVAL_MS = 1_000
/** Number of characters of the bar. */
const BAR = 24

/** Returns the line of a progress bar. @internal */
export function barOf({ done, remaining, perSecond, etaSeconds }: Progress): string {
  const share = remaining === 0 ? 1 : done / (done + remaining)
  const full = Math.floor(share * BAR)
  const eta = etaSeconds === null ? '' : `, about ${etaSeconds} s left`
  const bar = `${'#'.repeat(full)}${'.'.repeat(BAR - full)}`
  return `[${bar}] ${Math.floor(share * 100)} %  ${remaining} entries remain, ${perSecond}/s${eta}`
}

/**
 * Resolves when no entry remains, or when the command is stopped. `draw` shows a line on a terminal, in place of the line
 * before.
 */
export async function reembed(
  client: Client,
  { signal }: Pick<Output, 'signal'>,
  draw: ((line: string) => void) | null,
): Promise<Result> {
  for (;;) {
    const { embedding }: { embedding: Progress } = await client.request(DOCUMENT)
    draw?.(barOf(embedding))
    const { embedder, done, remaining } = embedding
    if (remaining === 0 || signal.aborted) {
      draw?.('')
      const line =
        remaining === 0
          ? `${embedder} has embedded all ${done} entries.`
          : `${embedder} has embedded ${done} of ${done + remaining} entries. Run the command again to continue.`
      return { json: embedding, lines: [line] }
    }
    await sleep(INTERVAL_MS, null, { signal }).catch(() => {})
  }
}
