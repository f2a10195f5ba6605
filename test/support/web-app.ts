// Drives the web app in Chromium as a person does, and records problems of the page: errors, violations of its policy,
// dialogs of scripts, and requests to other servers.

import type { Browser, BrowserContextOptions, Locator, Page, Route } from 'playwright-core'
import { expect } from 'vitest'
import { PATIENCE_MS } from './patience.ts'

export type App = {
  page: Page
  /** Errors and other problems of the page. Tests expect none. */
  problems: string[]
  /** Opens the conversation. */
  open(conversationId: string, panel?: string): Promise<void>
  /** Writes a message, and sends it. */
  say(text: string): Promise<void>
  /** Changes the draft until `shown` is visible. A slow server is not told that a person writes who has paused since. */
  writeUntil(shown: Locator): Promise<void>
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
    async writeUntil(shown) {
      let isLong = false
      const write = async () => {
        isLong = !isLong
        await page.getByLabel('Message', { exact: true }).fill(isLong ? 'Wait a moment' : 'Wait')
        return shown.isVisible()
      }
      await expect.poll(write, { interval: 100 }).toBe(true)
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
      const tab = page.getByRole('tablist', { name: 'Panels' }).getByRole('tab', { name: panel })
      if (!(await tab.isVisible())) await page.getByRole('button', { name: /show the panels/ }).click()
      await tab.click()
    },
    async close() {
      await context.close()
      expect(problems).toEqual([])
    },
  }
}

export type HeldRequests = {
  /** Resolves when the first request has arrived. */
  arrived: Promise<void>
  /** Answers the requests with a permanent error, those to come too. Resolves when the first one is answered. */
  fail(): Promise<void>
  /** Sends the requests to the server, and holds no more. */
  release(): Promise<void>
}

/** A promise, and the function that resolves it. */
function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}

/** Holds the requests of the page to the GraphQL endpoint whose documents begin with `start`. */
export async function holdRequests(page: Page, start: string): Promise<HeldRequests> {
  const [arrived, decided, failed] = [deferred(), deferred(), deferred()]
  let isFailing = false
  const errors = [{ message: 'The test refuses this.', extensions: { code: 'BAD_USER_INPUT' } }]
  const handle = async (route: Route) => {
    const { query } = route.request().postDataJSON() as { query: string }
    if (!query.startsWith(start)) return route.fallback()
    arrived.resolve()
    await decided.promise
    // The page may have given up the request.
    if (!isFailing) return route.continue().catch(() => {})
    await route.fulfill({ json: { errors } }).catch(() => {})
    failed.resolve()
  }
  await page.route('**/graphql', handle)
  return {
    arrived: arrived.promise,
    fail() {
      isFailing = true
      decided.resolve()
      return failed.promise
    },
    async release() {
      isFailing = false
      decided.resolve()
      await page.unroute('**/graphql', handle)
    },
  }
}

/** The views of the panels: the panel, its tab if it has tabs, and a text that the view shows once it is loaded. */
const VIEWS: readonly (readonly [panel: string, tab: string | null, text: string | RegExp])[] = [
  ['People', null, /^People and agents/],
  ['View as', null, /absent from this view|sees every message/],
  ['Context', null, /every source is included|some sources did not fit/],
  ['Memory', 'Recall', /ranked, /],
  ['Memory', 'Facts', /confidence/],
  ['Memory', 'Profiles', /^None yet/],
  ['Memory', 'Summaries', /^Summary of turns/],
  ['Journal', 'Events', /in order, each once/],
  ['Journal', 'Copy as code', /^Open GraphiQL/],
  ['Server', 'Jobs', /for searches by meaning/],
  ['Server', 'Memory audit', 'Active facts'],
  ['Server', 'Audit log', 'Create API key'],
  ['Server', 'Keys', /^Last used/],
  ['Server', 'Settings', /^Recall threshold/],
  ['Server', 'Retention', 'Legal hold of an actor'],
  ['Server', 'Erasure', 'Erase the data of an actor'],
]

/**
 * Shows each view of the panels, in a conversation with a fact and a summary, of a tenant with an API key. Opens all
 * folds, and calls `act` with the name of the view once it is loaded. The list of panels must be shown.
 * @param query what is recalled
 */
export async function showViews(app: App, query: string, act: (view: string) => Promise<void>): Promise<void> {
  const { page } = app
  const panel = page.locator('.panel[role=tabpanel]')
  for (const [name, tab, text] of VIEWS) {
    await app.showPanel(name)
    if (tab !== null) await panel.getByRole('tab', { name: tab, exact: true }).click()
    if (tab === 'Recall') await panel.getByLabel('Question or topic').fill(query)
    await panel.getByText(text).filter({ visible: true }).first().waitFor()
    if (tab === 'Copy as code')
      await panel.getByRole('list', { name: 'Calls, newest first' }).getByRole('button').first().click()
    // A fold may contain others.
    const folds = panel.locator('details:not([open]) > summary').filter({ visible: true })
    while ((await folds.count()) > 0) {
      await folds.first().click()
      await expect.poll(() => panel.getByText('Loading …').filter({ visible: true }).count()).toBe(0)
    }
    await act(tab ?? name)
  }
}
