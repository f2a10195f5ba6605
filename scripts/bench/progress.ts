// Prints the progress of a long run: on a terminal, one line per stage, which is updated; elsewhere, one line for each
// tenth of a stage.

export type Progress = {
  /** Shows that `done` of `total` items are finished. `label` names the stage; a different name begins a new stage. */
  show(label: string, done: number, total: number): void
  /** Ends the current line. */
  end(): void
}

const WIDTH = 24

export function createProgress(out: { isTTY?: boolean; write(text: string): unknown }): Progress {
  let stage = ''
  let tenths = 0
  const end = () => {
    if (out.isTTY && stage) out.write('\n')
    stage = ''
  }
  return {
    end,
    show(label, done, total) {
      if (label !== stage) {
        end()
        stage = label
        tenths = 0
      }
      const share = total === 0 ? 1 : done / total
      const figures =
        `${String(Math.floor(100 * share)).padStart(3)} %  `
        + `${done.toLocaleString('en-US')}/${total.toLocaleString('en-US')}`
      if (out.isTTY) {
        const filled = Math.floor(share * WIDTH)
        out.write(`\r\x1b[2K${label.padEnd(20)} ${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${figures}`)
      } else if (Math.floor(10 * share) > tenths) {
        tenths = Math.floor(10 * share)
        out.write(`${label}: ${figures.trimStart()}\n`)
      }
    },
  }
}
