// A line with the progress of a long command, which is written again and again to a terminal. Nothing is written if the
// standard error is no terminal.

/** Time between two updates of the line, ms. */
const INTERVAL_MS = 200

export type Progress = {
  /** Shows the number of lines; `total` is null if it is unknown. */
  update(done: number, total: number | null): void
  /** Removes the line. */
  end(): void
}

const grouped = (number: number) => number.toLocaleString('en-US')

/** @param write writes to the terminal; null for none */
export function createProgress(label: string, write: ((text: string) => void) | null): Progress {
  const begun = performance.now()
  let shown = -INTERVAL_MS
  return {
    update(done, total) {
      const now = performance.now()
      if (!write || now - shown < INTERVAL_MS) return
      shown = now
      const rate = Math.round(done / Math.max(0.001, (now - begun) / 1000))
      const share = total === null || total === 0 ? '' : ` of ${grouped(total)} (${Math.floor((100 * done) / total)} %)`
      write(`\r\u001b[K${label} ${grouped(done)} lines${share}, ${grouped(rate)} a second`)
    },
    end() {
      if (write && shown >= 0) write('\r\u001b[K')
    },
  }
}
