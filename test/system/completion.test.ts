// The scripts of `colloquy completion` in interactive shells: what Tab makes of the line. Needs tmux and the shells.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openTerminal } from '../../scripts/terminal.ts'
import { runCommand } from '../support/command.ts'
import { isLong } from '../support/long.ts'

const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0
const hasTmux = has('tmux', '-V')

/** For each shell, how it starts without settings, and how it loads a script. */
const SHELLS: Record<string, { start: string[]; load(path: string): string }> = {
  bash: { start: ['bash', '--norc', '--noprofile', '-i'], load: (path) => `source ${path}` },
  zsh: { start: ['zsh', '-f', '-i'], load: (path) => `autoload -U compinit; compinit -u -D; source ${path}` },
  fish: { start: ['fish', '--no-config', '-i'], load: (path) => `source ${path}` },
}

const LINES: [typed: string, completed: string][] = [
  ['colloquy rec', 'colloquy recall '],
  ['colloquy history --la', 'colloquy history --last '],
  ['colloquy token cr', 'colloquy token create '],
  ['colloquy token create --actor x --ri', 'colloquy token create --actor x --rights '],
  ['colloquy jobs --state FAI', 'colloquy jobs --state FAILED '],
  ['colloquy --vers', 'colloquy --version '],
  ['colloquy completion z', 'colloquy completion zsh '],
]

describe.each(Object.keys(SHELLS))('the completion of %s', (shell) => {
  const isInstalled = isLong && hasTmux && has(shell, '--version')

  it.runIf(isInstalled)('completes commands, options and values (needs LONG=1, tmux and the shell)', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'completion-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const path = join(directory, 'script')
    writeFileSync(path, (await runCommand(['completion', shell])).stdout)
    const { start, load } = SHELLS[shell]!
    const env = { HOME: directory, TERM: 'screen', PS1: '> ', PROMPT: '> ' }
    const terminal = await openTerminal(start, { columns: 100, rows: 20, env })
    onTestFinished(() => terminal.close())
    await terminal.type(`${load(path)}; clear; echo is loaded`)
    await terminal.press('Enter')
    await terminal.see(/^is loaded/)
    for (const [typed, completed] of LINES) {
      await terminal.type(typed)
      await terminal.see(typed)
      await terminal.press('Tab')
      // The blank after a completed word.
      await terminal.type('END')
      const shown = await terminal.see(`${completed}END`)
      expect(shown).not.toMatch(/error|not found/)
      // Deletes the line. An interrupt would also drop what is typed while the shell handles it.
      await terminal.press('C-u')
      await terminal.type('clear; echo is cleared')
      await terminal.press('Enter')
      await terminal.see(/^is cleared/)
    }
  })
})
