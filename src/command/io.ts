// The process in which a command runs, as the commands use it: its streams, its terminal and its settings.

import type { Config } from '../config/config.ts'
import type { Setting } from '../config/settings.ts'
import type { Terminal } from './chat/screen.ts'
import type { Output } from './output.ts'

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
