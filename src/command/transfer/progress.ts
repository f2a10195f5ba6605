// The progress of a transfer, as a line that is drawn again and again.

import type { Io } from '../output.ts'

/** Time between two updates of the line, ms. */
const INTERVAL_MS = 200

/** Where a transfer says what it does: lines for people, and the progress. */
export type Notes = { line(text: string): void; draw: Io['draw'] }

export type Progress = {
  /** Shows the number of lines; `total` is null if it is unknown. */
  update(done: number, total: number | null): void
  /** Removes the line. */
  end(): void
}

const grouped = (number: number) => number.toLocaleString('en-US')

/** @param draw see Io */
export function createProgress(label: string, draw: Io['draw']): Progress {
  const begun = performance.now()
  let shown = -INTERVAL_MS
  return {
    update(done, total) {
      const now = performance.now()
      if (!draw || now - shown < INTERVAL_MS) return
      shown = now
      const rate = Math.round(done / Math.max(0.001, (now - begun) / 1000))
      const share = total === null || total === 0 ? '' : ` of ${grouped(total)} (${Math.floor((100 * done) / total)} %)`
      draw(`${label} ${grouped(done)} lines${share}, ${grouped(rate)} a second`)
    },
    end() {
      if (shown >= 0) draw?.('')
    },
  }
}
