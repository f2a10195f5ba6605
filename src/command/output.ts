// The process in which a command runs, as the commands use it: its streams, its terminal and its settings; and the
// output of commands: lines for people, or JSON for programs.

import { plain } from './text.ts'
import type { Config } from '../config/config.ts'
import type { Setting } from '../config/settings.ts'

/** The streams of a command, and how it must write. */
export type Output = {
  /** Whether --json was given. */
  isJson: boolean
  /** Writes text to the standard output. Resolves when more may be written. */
  write(text: string): Promise<void>
  /** Aborted by Ctrl-C, and when the reader of the output has closed its end. */
  signal: AbortSignal
}

/** The streams of a terminal. */
export type Terminal = { input: NodeJS.ReadStream; output: NodeJS.WriteStream; isColoured: boolean }

/** The process of a command. */
export type Io = Omit<Output, 'isJson'> & {
  writeError(text: string): void
  input: NodeJS.ReadableStream
  /** Null if the input or the output is no terminal. */
  terminal: Terminal | null
  /** Shows a line of progress in place of the line before; an empty one removes it. Null without a terminal. */
  draw: ((line: string) => void) | null
  /** Defaults of --url and --token. */
  defaults: { url?: string | undefined; token?: string | undefined }
  /** Reads the settings of the server. @throws ConfigError */
  loadConfig(): Config
  /** Returns the settings as text, with their sources. */
  readSettings(): Setting[]
}

/** The result of a command: a value for --json, and lines for people. */
export type Result = { json: unknown; lines: readonly string[] }

/** Prints the result. */
export async function print(output: Output, { json, lines }: Result): Promise<void> {
  const text = output.isJson ? JSON.stringify(json, null, 2) : plain(lines.join('\n'))
  if (text !== '') await output.write(`${text}\n`)
}

/** Returns the rows as lines with columns of the same width. The last column is not padded. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>(
    (max, row) => row.map((cell, index) => Math.max(max[index] ?? 0, cell.length)),
    [],
  )
  return rows.map((row) =>
    row
      .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index]!)))
      .join('  ')
      .trimEnd(),
  )
}

/** Returns the text on one line, at most `max` characters. */
export function oneLine(text: string, max = 100): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > max ? `${line.slice(0, max - 1)}…` : line
}
