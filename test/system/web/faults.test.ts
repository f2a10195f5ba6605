// The web app while its server is killed in the middle of an answer, and started again: it says that the connection is
// lost, keeps what the person writes, and heals without a reload. Runs only with LONG=1.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../../src/client/index.ts'
import { newDataDir } from '../../support/backend.ts'
import { chromiumPath, startChromium } from '../../support/chromium.ts'
import { isLong } from '../../support/long.ts'
import { SHORT_LIVED, START } from '../../support/short-lived.ts'
import { openApp, type App } from '../../support/web-app.ts'

const ANSWER = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ')
const agent = {
  actor: 'fern',
  kind: 'AGENT' as const,
  respond: 'MENTIONED' as const,
  agent: { provider: 'echo', instructions: JSON.stringify({ echo: { text: ANSWER, wordMs: 50 } }) },
}

/** Returns a port on which nothing listens. */
async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return String(port)
}

describe.runIf(isLong && chromiumPath)('the web app and a killed server (needs LONG=1, and Chromium)', () => {
  let port: string
  let dataDir: string
  let child: ChildProcess
  let browser: Browser
  let app: App

  /** Starts the server on the same port and data as before. Resolves when it is ready. */
  async function start(): Promise<void> {
    child = spawn(process.execPath, [...SHORT_LIVED, START], {
      env: { ...process.env, PORT: port, DATA_DIR: dataDir, DATABASE_URL: '', REDIS_URL: '', LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for await (const line of createInterface(child.stdout!)) if ((JSON.parse(line) as { url?: string }).url) break
    child.stdout!.resume()
  }
  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  beforeAll(async () => {
    ;[port, dataDir] = [await freePort(), await newDataDir()]
    await start()
    browser = await startChromium()
    const origin = `http://127.0.0.1:${port}`
    const client = connect({ url: `${origin}/graphql`, actor: 'ada', webSocket: null })
    const { id } = await client.createConversation({ title: 'Garden', participants: [{ actor: 'ada' }, agent] })
    await client.close()
    app = await openApp(browser, origin, { withLosses: true })
    await app.open(id)
  })
  afterAll(async () => {
    await browser?.close()
    child?.kill('SIGKILL')
    await rm(dataDir, { recursive: true, force: true })
  })

  it('says that the connection is lost, and shows the whole answer after the server is back', async () => {
    const { page } = app
    await app.say('@fern, tell me')
    await app.sees(/word5 /)
    await kill()
    await page.getByText('The connection to the server is lost').waitFor()
    await app.say('Sent while the server was away')
    await page.getByText('Sending …').waitFor()
    await start()
    await page.getByText('The connection to the server is lost').waitFor({ state: 'detached' })
    await page.getByText('Sending …').waitFor({ state: 'detached' })
    await app.sees('Sent while the server was away')
    await app.sees(ANSWER)
    const messages = await app.messages()
    expect(messages.filter((text) => text.includes('Sent while'))).toHaveLength(1)
    // The process that wrote the first answer is gone: the answer is marked, and another run has answered.
    const [aborted, complete] = messages.filter((text) => text.includes('word5 '))
    expect(aborted).toContain('Stopped')
    expect(complete!.match(/word\d+/g)).toEqual(ANSWER.split(' '))
    expect(app.problems).toEqual([])
  })
})
