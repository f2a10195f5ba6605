// Drives the web app in Chromium as a person does, and collects everything that must not happen in a page: errors,
// violations of its policy, dialogs of scripts, and requests to other servers.

import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import { PATIENCE_MS } from './patience.ts'

export type App = {
  page: Page
  /** What must not happen. Tests expect it to stay empty. */
  problems: string[]
  /** Opens the conversation. */
  open(conversationId: string, panel?: string): Promise<void>
  /** Writes a message, and sends it. */
  say(text: string): Promise<void>
  /** Resolves when a message with this text is shown. */
  sees(text: string | RegExp): Promise<void>
  /** The messages that are rendered, as text. */
  messages(): Promise<string[]>
  /** Chooses an item of the menu of the message with this text. */
  choose(text: string, item: string): Promise<void>
  showPanel(name: string): Promise<void>
  close(): Promise<void>
}

/** Messages of the browser about requests that fail while the server is away, or that it refuses. */
const LOSSES = /net::ERR_|WebSocket connection to .* failed|status of (401|503)/

export type AppOptions = BrowserContextOptions & {
  /** Who enters; null to stay at the form. */
  name?: string | null
  /** Whether the server refuses requests or is away during the test. */
  withLosses?: boolean
}

/** Opens the app in a browser context of its own. */
export async function openApp(browser: Browser, origin: string, options: AppOptions = {}): Promise<App> {
  const { name = 'ada', withLosses = false, ...contextOptions } = options
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, ...contextOptions })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  const problems: string[] = []
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type()) || (withLosses && LOSSES.test(message.text()))) return
    problems.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`exception: ${error.message}`))
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) problems.push(`loads ${url}`)
  })
  await page.goto(origin)
  if (name !== null) {
    await page.getByLabel('Your name').fill(name)
    await page.getByRole('button', { name: 'Enter' }).click()
    await page.getByRole('heading', { name: 'Welcome' }).waitFor()
  }
  const message = (text: string | RegExp) => page.locator('.conversation .turn').filter({ hasText: text })
  return {
    page,
    problems,
    async open(conversationId, panel) {
      await page.goto(`${origin}/#/c/${conversationId}${panel ? `?panel=${panel}` : ''}`)
      await page.getByLabel('Message', { exact: true }).waitFor()
    },
    async say(text) {
      await page.getByLabel('Message', { exact: true }).fill(text)
      await page.getByLabel('Message', { exact: true }).press('Enter')
    },
    sees: async (text) => message(text).first().waitFor(),
    messages: () => page.locator('.conversation .turn').allInnerTexts(),
    async choose(text, item) {
      await message(text).first().hover()
      await message(text)
        .first()
        .getByRole('button', { name: /^Actions for the message/ })
        .click()
      await page.getByRole('menuitem', { name: item }).click()
    },
    async showPanel(panel) {
      if (!(await page.getByRole('tab', { name: panel }).isVisible()))
        await page.getByRole('button', { name: /show the panels/ }).click()
      await page.getByRole('tab', { name: panel }).click()
    },
    async close() {
      await context.close()
      expect(problems).toEqual([])
    },
  }
}
