// A terminal in a tmux server of its own, for programs that play an interactive command: types, presses keys, and reads the
// screen. Needs tmux.

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Milliseconds after which an awaited screen counts as missing. */
const LIMIT_MS = 60_000
const INTERVAL_MS = 50

export type PlayedTerminal = {
  /** Resolves when the screen contains all texts, with its rows. @throws Error with the screen if that takes too long */
  see(...texts: (string | RegExp)[]): Promise<string>
  type(text: string): Promise<unknown>
  /** Presses a key, by tmux's name of it. */
  press(key: string): Promise<unknown>
  /** Resolves when the command has ended. @throws Error with the screen if that takes too long */
  ended(): Promise<void>
  close(): Promise<void>
}

/** Starts the command in a terminal of this size. */
export async function openTerminal(
  command: readonly string[],
  { columns, rows, env }: { columns: number; rows: number; env: Readonly<Record<string, string>> },
): Promise<PlayedTerminal> {
  // The path of a socket must be short.
  const directory = mkdtempSync(join(process.platform === 'win32' ? tmpdir() : '/tmp', 'colloquy-tmux-'))
  const tmux = async (...args: string[]) =>
    (await run('tmux', ['-S', join(directory, 'socket'), '-f', '/dev/null', ...args])).stdout
  const screen = async () => (await tmux('capture-pane', '-p', '-t', 'play')).trimEnd()

  /** Repeats the check until it is true. @throws Error with the screen */
  async function until(check: () => Promise<boolean>, missing: string): Promise<void> {
    for (const end = Date.now() + LIMIT_MS; !(await check()); await sleep(INTERVAL_MS)) {
      if (Date.now() > end) throw new Error(`${missing}:\n${await screen()}`)
    }
  }

  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const size = ['-x', String(columns), '-y', String(rows)]
  await tmux('new-session', '-d', '-s', 'play', ...size, 'env', ...variables, ...command)
  return {
    async see(...texts) {
      let shown = ''
      await until(
        async () => {
          shown = await screen()
          return texts.every((text) => (typeof text === 'string' ? shown.includes(text) : text.test(shown)))
        },
        `The screen does not show ${texts.join(' and ')}`,
      )
      return shown
    },
    type: (text) => tmux('send-keys', '-t', 'play', '-l', text),
    press: (key) => tmux('send-keys', '-t', 'play', key),
    ended: () =>
      until(
        () =>
          tmux('has-session', '-t', 'play').then(
            () => false,
            () => true,
          ),
        'The command has not ended',
      ),
    async close() {
      await tmux('kill-server').catch(() => {})
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
