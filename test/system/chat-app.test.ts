// Runs the chat app of docs/guides/chat-app.md with the commands of the guide: the agent, Vite's development server, and
// the built app, driven in Chromium. The conversations of the app are on a server of its own.

import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { reply } from '../../examples/chat-app/model.ts'
import { startServer, type RunningServer } from '../../scripts/demo/server.ts'
import { connect } from '../../src/client/index.ts'
import { embedded } from '../support/backend.ts'
import { chromiumPath, screenshot, startChromium } from '../support/chromium.ts'
import { blocks, readDocument, root } from '../support/documents.ts'
import { createFakeChat } from '../support/fake-chat.ts'
import { isLong } from '../support/long.ts'

const commands = blocks(readDocument('docs/guides/chat-app.md'), 'sh').flatMap(({ text }) => text.trim().split('\n'))
/** Returns the arguments of the guide's command that begins with these words. */
function argumentsOf(start: string): string[] {
  const command = commands.find((each) => each.startsWith(`npx ${start}`))
  expect(command, start).toBeDefined()
  return command!.split(' ').slice(1)
}

describe.runIf(isLong && chromiumPath)('the chat app (needs LONG=1 and Chromium)', () => {
  let server: RunningServer
  let browser: Browser
  let directory: string
  const running: ChildProcess[] = []

  /** Starts a command of the guide in the repository, with more arguments. Its processes are one group. */
  function start([program, ...args]: string[], ...more: string[]) {
    const child = spawn(process.execPath, [join(root, 'node_modules/.bin', program!), ...args, ...more], {
      cwd: root,
      env: { ...process.env, COLLOQUY: new URL(server.url).origin, OPENAI_API_KEY: '', NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    running.push(child)
    return child
  }

  /** Starts a server of Vite on a free port. Returns its address. */
  async function serve(command: string[], ...more: string[]): Promise<string> {
    for await (const line of createInterface(start(command, '--port', '0', ...more).stdout)) {
      const [url] = /http:\/\/\S+/.exec(line) ?? []
      if (url) return url
    }
    throw new Error(`vite ${command.join(' ')} exited before it was ready.`)
  }

  async function open(url: string) {
    const page = await browser.newPage()
    page.on('pageerror', (error) => console.error(error))
    await page.goto(url)
    const say = async (text: string) => {
      await page.locator('input').fill(text)
      await page.locator('input').press('Enter')
    }
    const turns = () => page.locator('main p').allInnerTexts()
    return { page, say, turns, create: () => page.locator('button', { hasText: 'New chat' }).first().click() }
  }

  beforeAll(async () => {
    server = await startServer(embedded)
    browser = await startChromium()
    directory = await mkdtemp(join(tmpdir(), 'colloquy-chat-'))
    start(argumentsOf('tsx'))
  })
  afterAll(async () => {
    for (const { pid, exitCode } of running) if (exitCode === null) process.kill(-pid!, 'SIGKILL')
    await browser.close()
    await server.stop()
    await rm(directory, { recursive: true })
  })

  it('is built, streams the answers of the agent, and remembers in another chat', async () => {
    const built = start(argumentsOf('vite build'), '--outDir', directory, '--emptyOutDir')
    expect(await new Promise((resolve) => built.once('exit', resolve))).toBe(0)
    const { page, say, turns, create } = await open(
      await serve(['vite', 'preview', 'examples/chat-app'], '--outDir', directory),
    )
    await create()
    await say('I live in Porto.')
    await expect.poll(turns).toEqual(['Ada I live in Porto.', expect.stringMatching(/^helper \S/)])
    await expect.poll(() => page.locator('aside span').innerText()).toContain('lives in Porto')

    await create()
    await expect.poll(turns).toEqual([])
    await say('Where do I live?')
    await expect
      .poll(turns)
      .toEqual(['Ada Where do I live?', expect.stringMatching(/^helper I remember: Ada lives in Porto/)])
    await screenshot(page, 'chat-app')
  })

  it('shows the growing answer, and lets the user have a fact forgotten', async () => {
    const { page, say, turns, create } = await open(await serve(argumentsOf('vite examples')))
    await create()
    const seen = new Set<string>()
    await page.exposeFunction('see', (text: string) => seen.add(text))
    await page.evaluate(`new MutationObserver(() => {
      const text = document.querySelectorAll('main p')[1]?.innerText
      if (text) see(text)
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`)
    await say('I work at the harbour.')
    await expect.poll(turns).toEqual(['Ada I work at the harbour.', expect.stringMatching(/^helper \S[\s\S]*\.$/)])
    expect(seen.size).toBeGreaterThan(3)
    await page.locator('aside button').click()
    await expect.poll(() => page.locator('aside span').count()).toBe(0)
  })

  it('streams the replies of a model at OPENAI_BASE_URL', async () => {
    const chunks = ['At ', 'six.'].map((content) => ({ choices: [{ index: 0, delta: { content } }] }))
    const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
    const fake = await createFakeChat('key', () => (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const chunk of [...chunks, end]) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
      response.end('data: [DONE]\n\n')
    })
    vi.stubEnv('OPENAI_API_KEY', 'key').stubEnv('OPENAI_BASE_URL', fake.url)
    const client = connect({ url: server.url, tenant: 'model', actor: 'helper' })
    try {
      const { id } = await client.createConversation()
      const messages = [{ role: 'user' as const, content: 'When is high tide?' }]
      const turn = await client.conversation(id).write(reply(messages, new AbortController().signal))
      expect(turn).toMatchObject({ text: 'At six.', role: 'ASSISTANT', status: 'COMMITTED' })
      expect(fake.requests).toMatchObject([{ model: 'gpt-5-mini', messages }])
    } finally {
      vi.unstubAllEnvs()
      await client.close()
      await fake.stop()
    }
  })
})
