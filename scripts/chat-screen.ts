// `npm run docs:chat`: plays `colloquy chat` in tmux, and writes its screen into docs/command-line.md. Two agents answer at
// once, while the person types a whisper. The agents are echo providers that stop in the middle of a scripted answer, and
// all earlier turns are written beforehand, so that the screen is the same each time.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../src/config/config.ts'
import { createDeps } from '../src/deps.ts'
import { createConversation } from '../src/domain/conversation/conversation.ts'
import { appendTurn } from '../src/domain/turn/append/append.ts'
import { createLog } from '../src/runtime/log.ts'
import { openTerminal, type PlayedTerminal } from './terminal.ts'

const START = fileURLToPath(new URL('./start.js', import.meta.url))
const PAGE = fileURLToPath(new URL('../docs/command-line.md', import.meta.url))
/** Size of the terminal. */
const [COLUMNS, ROWS] = [76, 14]

/** Marks the code block with the screen in the page. */
const BLOCK = /(<!-- npm run docs:chat -->\n+```text\n)([^`]*)(```)/

/** Returns an agent whose answer is this text. It stops after that many words. */
const agent = (actor: string, text: string, after: number) => ({
  actor,
  kind: 'AGENT' as const,
  agent: { provider: 'echo', instructions: JSON.stringify({ echo: [{ when: 'today', text, after, stall: true }] }) },
})

/** Creates the conversation of the play. */
async function prepare(DATA_DIR: string): Promise<void> {
  const { deps, close } = await createDeps(loadConfig({ DATA_DIR, AUTOMATIC_TITLES: '0' }), createLog('silent'))
  try {
    const bob = { tenant: 'default', actor: 'bob' }
    const { conversation } = await createConversation(deps, bob, {
      key: 'garden',
      participants: [
        { actor: 'bob' },
        { actor: 'ada' },
        agent('fern', 'Water the roses before nine: the soil is dry to the depth of a finger.', 9),
        agent('moss', 'The beans need nothing. It rained on their side of the wall.', 6),
      ],
    })
    const say = (actor: string, role: 'USER' | 'ASSISTANT', content: string, audience?: string[]) =>
      appendTurn(deps, { ...bob, actor }, { conversationId: conversation.id, turn: { role, content, audience } })
    await say('bob', 'USER', 'The roses look dry.')
    await say('ada', 'USER', 'Which roses does Bob mean?', ['fern'])
    await say('fern', 'ASSISTANT', 'He means the ones along the wall.', ['ada'])
  } finally {
    await close()
  }
}

/**
 * Plays the chat in a tmux server of its own. Returns the rows of the screen, without the empty ones at the end. `then` goes
 * on with the play.
 */
export async function playChat(then: (terminal: PlayedTerminal) => Promise<void> = async () => {}): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'colloquy-chat-'))
  try {
    await prepare(directory)
    const command = [process.execPath, START, 'chat', 'garden', '--agent', 'fern', '--agent', 'moss', '--actor', 'ada']
    const env = { NO_COLOR: '1', TERM: 'screen', DATA_DIR: directory, AUTOMATIC_TITLES: '0' }
    const terminal = await openTerminal(command, { columns: COLUMNS, rows: ROWS, env })
    const { see, type, press } = terminal
    try {
      await see('ada@garden>')
      await type('@fern @moss What is to do today?')
      await press('Enter')
      await see('the soil is', 'need nothing. It')
      await type('/whisper mo')
      await press('Tab')
      await see('/whisper moss')
      await type(' And the')
      const played = await see('And the')
      await then(terminal)
      return played
    } finally {
      await terminal.close()
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Returns the screen in the page. */
export const screenInPage = (page: string): string | undefined => BLOCK.exec(page)?.[2]?.trimEnd()

/** Returns the page with the screen. */
const withScreen = (page: string, screen: string): string =>
  page.replace(BLOCK, (_, before: string, __: string, after: string) => `${before}${screen}\n${after}`)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(PAGE, withScreen(readFileSync(PAGE, 'utf8'), await playChat()))
}
