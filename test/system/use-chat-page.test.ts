// The page of examples/use-chat in Chromium: the AI SDK's useChat, in React's strict mode, on a conversation with people
// and agents. Its messages are streamed, resumed after a reload, stopped and approved.

import { build } from 'esbuild'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startJobs } from '../../src/domain/background/jobs.ts'
import { embedded } from '../support/backend.ts'
import { chromiumPath, screenshot, startChromium } from '../support/chromium.ts'
import { clientOf } from '../support/client.ts'
import { isLong } from '../support/long.ts'
import { createScriptedProvider, gate } from '../support/scripted-provider.ts'
import { useServer } from '../support/server.ts'

const root = new URL('../..', import.meta.url).pathname

/** Bundles the page, with React's strict mode, and the client of a tenant. */
async function bundle(tenant: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `
        import { StrictMode } from 'react'
        import { createRoot } from 'react-dom/client'
        import { connect } from 'colloquy-client'
        import { createChatTransport } from 'colloquy-client/ai-sdk'
        import { Page } from './examples/use-chat/Page.tsx'
        const client = connect({ url: '/graphql', tenant: ${JSON.stringify(tenant)}, actor: 'ada' })
        const transport = createChatTransport({ client })
        const messages = await transport.load('chat')
        createRoot(document.getElementById('root')).render(
          <StrictMode><Page id="chat" transport={transport} messages={messages} /></StrictMode>,
        )`,
      resolveDir: root,
      loader: 'tsx',
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    alias: { 'colloquy-client': `${root}src/client/index.ts`, 'colloquy-client/ai-sdk': `${root}src/ai-sdk/index.ts` },
    // One React for the page and the AI SDK, whatever the examples have installed.
    nodePaths: [`${root}node_modules`],
    define: { 'process.env.NODE_ENV': '"development"' },
  })
  return outputFiles[0]!.text
}

describe.runIf(isLong && chromiumPath)('the page of examples/use-chat in Chromium (needs LONG=1)', () => {
  const provider = createScriptedProvider()
  const pay = { name: 'pay', requiresApproval: true, execute: async () => 'paid' }
  const server = useServer(embedded, {}, { settings: { providers: { scripted: provider }, tools: [pay] } })
  const closing: (() => unknown)[] = []
  let stopJobs = async () => {}
  beforeAll(async () => void (stopJobs = await startJobs(server.deps)))
  afterAll(() => stopJobs())
  beforeEach(() => provider.reset())
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  async function start() {
    const tenant = server.tenant()
    const ada = clientOf(server.url, tenant.name, 'ada')
    const participants = [
      { actor: 'bob', kind: 'HUMAN' as const },
      { actor: 'fern', displayName: 'Fern', respond: 'ALWAYS' as const, agent: { provider: 'scripted' } },
      { actor: 'moss', respond: 'MENTIONED' as const, agent: { provider: 'scripted' } },
    ]
    const { id } = await ada.createConversation({ key: 'chat', participants })
    const content = await bundle(tenant.name)
    const browser = await startChromium()
    closing.push(() => browser.close())
    const errors: string[] = []
    /** Opens the page anew, in another tab. */
    async function open() {
      const page = await browser.newPage({ bypassCSP: true })
      page.on('pageerror', (error) => errors.push(String(error)))
      page.on('console', (message) => {
        const isIcon = message.location().url.endsWith('/favicon.ico')
        if (message.type() === 'error' && !isIcon) errors.push(message.text())
      })
      await page.goto(`${server.url}/health`)
      await page.evaluate('document.body.innerHTML = "<div id=root></div>"')
      await page.addScriptTag({ type: 'module', content })
      await page.locator('input[name=text]').waitFor()
      return page
    }
    return { id, tenant, open, errors }
  }
  const lines = async (page: Page) =>
    (await page.locator('section').allInnerTexts()).map((text) =>
      text.replaceAll(/\s*\n\s*/g, ' | ').replace(/ \| Again$/, ''),
    )
  async function say(page: Page, text: string) {
    await page.locator('input[name=text]').fill(text)
    await page.keyboard.press('Enter')
  }

  it('streams, resumes in another tab, and shows other people and agents', async () => {
    const { id, tenant, open, errors } = await start()
    const first = await open()
    const { pause, open: goOn } = gate()
    provider.next(['High tide ', pause, 'is at six, says @moss.'], ['Six it is.'])
    await say(first, 'When is high tide?')
    await expect.poll(() => lines(first)).toEqual(['ada | When is high tide?', 'Fern | High tide'])
    const second = await open()
    await expect.poll(() => lines(second)).toEqual(['ada | When is high tide?', 'Fern | High tide'])
    goOn()
    const answered = ['ada | When is high tide?', 'Fern | High tide is at six, says @moss.', 'moss | Six it is.']
    for (const page of [first, second]) await expect.poll(async () => (await lines(page)).slice(0, 3)).toEqual(answered)
    await expect.poll(() => second.locator('input[name=text]').isEnabled()).toBe(true)
    provider.reset()
    const { pause: forever } = gate()
    provider.next(['Never ', forever])
    await tenant.append(id, 'bob', 'And low tide?')
    for (const page of [first, second]) {
      await expect.poll(async () => (await lines(page)).slice(-2)).toEqual(['bob | And low tide?', 'Fern | Never'])
    }
    await screenshot(first, 'use-chat')
    const third = await open()
    await expect.poll(async () => (await lines(third)).at(-1)).toBe('Fern | Never')
    expect(errors).toEqual([])
  })

  it('stops the answer, and asks for approval', async () => {
    const { open, errors, tenant } = await start()
    const page = await open()
    const { pause: forever } = gate()
    provider.next(['Never ', forever])
    await say(page, 'When?')
    await expect.poll(async () => (await lines(page)).at(-1)).toBe('Fern | Never')
    await page.locator('input[value=Stop]').click()
    const client = clientOf(server.url, tenant.name, 'ada')
    const newest = async () => (await client.conversation({ key: 'chat' }).turns({ last: 1 })).nodes[0]
    await expect.poll(newest).toMatchObject({ status: 'ABORTED', text: 'Never ' })
    provider.next([{ id: 'p1', name: 'pay', arguments: { amount: 5 } }], ['Paid.'])
    await say(page, 'Pay.')
    await page.locator('button', { hasText: 'Approve' }).click()
    await expect.poll(async () => (await lines(page)).at(-1)).toBe('Fern | pay: output-available | Paid.')
    await expect.poll(() => page.locator('input[name=text]').isEnabled()).toBe(true)
    expect(errors).toEqual([])
  })
})
