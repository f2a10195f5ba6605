// The first minute of a newcomer: a name, the sample conversation, an answer word by word, an approval, and the view of
// an agent that does not see everything. Runs only with LONG=1. SCREENSHOTS names a directory for screenshots.

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startServer, type RunningServer } from '../../../scripts/demo/server.ts'
import { embedded } from '../../support/backend.ts'
import { chromiumPath, screenshot, startChromium } from '../../support/chromium.ts'
import { isLong } from '../../support/long.ts'
import { PATIENCE_MS } from '../../support/patience.ts'
import { openApp, type App } from '../../support/web-app.ts'

describe.runIf(isLong && chromiumPath)('the first minute in the web app (needs LONG=1, and Chromium)', () => {
  let server: RunningServer
  let browser: Browser
  let app: App

  beforeAll(async () => {
    server = await startServer(embedded)
    browser = await startChromium()
    app = await openApp(browser, new URL(server.url).origin, { name: 'Zoë' })
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  it('begins with a sample conversation that plays itself, word by word', async () => {
    const { page } = app
    await screenshot(page, 'web-welcome')
    await page.evaluate(() => {
      const texts = new Set<string>()
      const read = () => [...document.querySelectorAll('.turn .markdown')].at(-1)?.textContent ?? ''
      new MutationObserver(() => texts.add(read())).observe(document, { subtree: true, childList: true })
      Object.assign(globalThis, { texts })
    })
    await page.getByRole('button', { name: 'Play a sample conversation' }).click()
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor()
    /** Each text of the newest message that was shown. */
    const texts = await page.evaluate(() => [...(globalThis as unknown as { texts: Set<string> }).texts])
    const answer = '@planner, two places have a table for six. Casa do Rio has a terrace'
    expect(texts.filter((text) => text !== '' && answer.startsWith(text.trim())).length).toBeGreaterThan(3)
    // A form in a live region would be read as a whole after each change.
    expect(await page.locator('[role=status]').locator('button, input, textarea').count()).toBe(0)
    await screenshot(page, 'web-approval')
  })

  it('asks for an approval, whose arguments can be edited, and which ends the run', async () => {
    const { page } = app
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    const field = page.getByLabel('Arguments, as JSON')
    await field.fill('{ "place": ')
    await page.getByRole('button', { name: 'Approve as edited' }).click()
    await page.getByText(/The arguments are not JSON/).waitFor()
    await field.fill('{ "place": "Casa do Rio", "people": 6, "time": "19:30" }')
    await page.getByRole('button', { name: 'Approve as edited' }).click()
    await app.sees(/Done\. This is what the restaurant says: .*19:30.*R-417/)
    await page.getByText('needs an approval').waitFor({ state: 'detached' })
    // The answer is committed before the run has ended.
    await expect.poll(() => page.locator('.run .chip').allInnerTexts()).toEqual(Array(4).fill('completed'))
  })

  it('shows the conversation in the view of the researcher, from which the private messages are absent', async () => {
    const { page } = app
    await app.showPanel('View as')
    await page.getByRole('combobox', { name: 'View as' }).selectOption({ label: 'Researcher' })
    const view = page.getByRole('log', { name: 'Messages in the view of Researcher' })
    await page.getByText('2 messages that you see here are absent from this view').waitFor()
    await view.getByText(/Done\. This is what/).waitFor()
    await view.press('Home')
    await view.getByText('Researcher does not see a message here').first().waitFor()
    expect(await view.innerText()).not.toContain('lemon cake')
    await screenshot(page, 'web-view-as')
    await page.getByRole('combobox', { name: 'View as' }).selectOption({ label: 'Planner' })
    await page.getByText('Planner sees every message that you see here.').waitFor()
  })

  it('lets the person say something, which an agent answers', async () => {
    await app.say('@planner, when is the dinner?')
    await app.sees('@planner, when is the dinner?')
    await vi.waitUntil(async () => (await app.messages()).at(-1)?.startsWith('P'), { timeout: PATIENCE_MS })
    expect(app.problems).toEqual([])
  })
})
