// The two surfaces of a chat: a terminal, on which the input line survives output above it, and plain streams. A terminal
// shows, from the top: lines that are final, the answers that are being written, and the input line.

import { createInterface, type Interface } from 'node:readline'
import type { Line } from './state.ts'
import type { Terminal } from '../output.ts'
import { endOf, widthOf, wrap } from '../text.ts'

export type Listener = {
  line(text: string): void
  /** Ctrl-C; `typed` is the line so far. */
  interrupt(typed: string): void
  /** The input has ended. */
  end(): void
  complete(line: string): [string[], string]
}

export type Screen = {
  /** Adds lines above the input line. */
  print(lines: readonly Line[]): void
  /** Replaces the answers that are being written, each with the name of its author. */
  write(answers: readonly { name: string; text: string }[]): void
  /** Replaces the prompt, and the line that was typed so far. Returns the replaced line. */
  ask(prompt: string, typed: string): string
  clear(): void
  close(): void
}

/** Milliseconds between redraws of the answers that are being written. */
const REDRAW_MS = 40
/** Minimum number of rows for the answers on a small terminal. */
const MIN_ROWS = 2

const COLOURS: Readonly<Record<Line['tone'], string | null>> = { turn: null, own: '36', note: '2', problem: '31' }

const paint = ({ text, tone }: Line, isColoured: boolean): string => {
  const colour = COLOURS[tone]
  return isColoured && colour !== null ? `\x1b[${colour}m${text}\x1b[0m` : text
}

/**
 * Returns the rows for the answers, each the end of one with its author, so that several remain legible. All together take
 * at most `rows` rows, and each row less than `columns` columns.
 * @internal
 */
export function rowsOf(answers: readonly { name: string; text: string }[], columns: number, rows: number): string[] {
  const space = Math.max(rows, MIN_ROWS)
  const each = Math.max(1, Math.floor(space / Math.max(1, answers.length)))
  const width = columns - 1
  return answers.slice(0, space).flatMap(({ name, text }) => {
    const lines = wrap(`${name}: ${text}`, width)
    if (lines.length <= each) return lines
    if (each > 1) return [...wrap(`${name}: …`, width).slice(0, 1), ...lines.slice(1 - each)]
    return [endOf(`${name}: …`, text.replaceAll(/\s+/g, ' ').trimEnd(), width)]
  })
}

/** A chat on a terminal. */
export function createTerminalScreen({ input, output, isColoured }: Terminal, listener: Listener): Screen {
  // prevRows is the row of the cursor at the last refresh, from which readline moves up; the types do not have it.
  const rl = createInterface({
    input,
    output,
    terminal: true,
    historySize: 200,
    removeHistoryDuplicates: true,
    completer: (line: string) => listener.complete(line),
  }) as Interface & { prevRows: number }
  let answers: readonly { name: string; text: string }[] = []
  /** Number of rows of the answers on the screen. */
  let shown = 0
  let timer: NodeJS.Timeout | null = null
  /** Whether the input has ended; readline then refuses every call. */
  let isClosed = false
  // A terminal may not know its size.
  const columns = () => output.columns || 80
  const height = () => output.rows || 24

  /** Writes `above`, the answers and the input line. `typedRows` is the number of rows from the input line's start. */
  function redraw(above = '', typedRows = rl.getCursorPos().rows): void {
    if (isClosed) return
    if (timer) clearTimeout(timer)
    timer = null
    const rows = rowsOf(answers, columns(), Math.floor(height() / 2))
    const up = typedRows + shown
    const toTop = `\r${up > 0 ? `\x1b[${up}A` : ''}\x1b[J`
    output.write(`${toTop}${above}${rows.map((row) => `${paint({ text: row, tone: 'turn' }, false)}\n`).join('')}`)
    shown = rows.length
    rl.prevRows = 0
    rl.prompt(true)
  }

  rl.on('line', (text) => {
    // Removes the typed line: its turn is printed when the server has numbered it.
    const width = widthOf(rl.getPrompt()) + widthOf(text)
    redraw('', Math.floor(width / columns()) + 1)
    listener.line(text)
  })
  rl.on('SIGINT', () => listener.interrupt(rl.line))
  rl.on('close', () => {
    if (isClosed) return
    output.write('\n')
    isClosed = true
    listener.end()
  })
  const resized = () => redraw()
  output.on('resize', resized)
  // Not exiting on Ctrl-Z: the terminal is restored, and the line is drawn again afterwards.
  rl.on('SIGCONT', () => redraw())

  return {
    print(lines) {
      const rows = lines.flatMap(({ text, tone }) => wrap(text, columns() - 1).map((row) => ({ text: row, tone })))
      if (rows.length > 0) redraw(rows.map((row) => `${paint(row, isColoured)}\n`).join(''))
    },
    write(next) {
      answers = next
      timer ??= setTimeout(redraw, REDRAW_MS).unref()
    },
    ask(prompt, typed) {
      if (isClosed) return ''
      const { line } = rl
      rl.setPrompt(prompt)
      rl.write(null, { ctrl: true, name: 'e' })
      rl.write(null, { ctrl: true, name: 'u' })
      if (typed !== '') rl.write(typed)
      redraw()
      return line
    },
    clear() {
      if (isClosed) return
      answers = []
      shown = 0
      output.write('\x1b[H\x1b[2J\x1b[3J')
      rl.prevRows = 0
      rl.prompt(true)
    },
    close() {
      output.off('resize', resized)
      if (isClosed) return
      answers = []
      rl.setPrompt('')
      redraw()
      isClosed = true
      rl.close()
    },
  }
}

/** A chat on plain streams: lines are read and written, and an answer is printed when it is complete. */
export function createPlainScreen(
  input: NodeJS.ReadableStream,
  write: (text: string) => Promise<void>,
  listener: Listener,
): Screen {
  const rl = createInterface({ input, terminal: false })
  let isClosed = false
  rl.on('line', (text) => listener.line(text))
  rl.on('close', () => {
    if (!isClosed) listener.end()
  })
  return {
    print: (lines) => {
      if (lines.length > 0) void write(lines.map(({ text }) => `${text}\n`).join(''))
    },
    write() {},
    ask: () => '',
    clear() {},
    close() {
      isClosed = true
      rl.close()
    },
  }
}
