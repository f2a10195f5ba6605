// `colloquy chat` on a terminal: the screen in docs/command-line.md is the real one, and Ctrl-C stops answers, then clears the
// line, then ends the chat. Needs tmux.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { playChat, screenInPage } from '../../../scripts/chat-screen.ts'
import { isLong } from '../../support/long.ts'

const hasTmux = spawnSync('tmux', ['-V']).status === 0

it.runIf(isLong && hasTmux)('a chat on a terminal (needs LONG=1 and tmux)', async () => {
  const typed = 'ada@garden> /whisper moss And the'
  const screen = await playChat(async ({ see, press, ended }) => {
    await press('C-c')
    const stopped = await see('fern (aborted): Water the roses', 'moss (aborted): The beans need', typed)
    expect(stopped.trimEnd().endsWith(typed)).toBe(true)
    await press('C-c')
    await see(/ada@garden>$/)
    await press('C-c')
    await ended()
  })
  const page = new URL('../../../docs/command-line.md', import.meta.url)
  expect(screen).toBe(screenInPage(readFileSync(page, 'utf8')))
})
