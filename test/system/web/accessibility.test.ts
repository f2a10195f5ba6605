// Each view of the web app in the light and the dark theme and on a phone: axe-core finds no serious violation, and a
// screenshot is stored if SCREENSHOTS names a directory. Also a conversation by keyboard only. Runs only with LONG=1.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startServer, type RunningServer } from '../../../scripts/demo/server.ts'
import { connect } from '../../../src/client/index.ts'
import { embedded } from '../../support/backend.ts'
import { chromiumPath, screenshot, startChromium } from '../../support/chromium.ts'
import { isLong } from '../../support/long.ts'
import { openApp, showViews } from '../../support/web-app.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const FORMS = {
  light: { viewport: { width: 1_280, height: 800 } },
  dark: { viewport: { width: 1_280, height: 800 }, colorScheme: 'dark' as const },
  phone: { viewport: { width: 360, height: 740 } },
}

/** Returns the serious and critical violations that axe-core finds in the page, with the elements. */
async function violationsIn(page: Page): Promise<string[]> {
  // Evaluated outside of the page's policy, which forbids inline scripts.
  await page.evaluate(AXE)
  const { violations } = await page.evaluate(() => (globalThis as any).axe.run())
  return violations
    .filter(({ impact }: { impact: string }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }: { id: string; nodes: { html: string }[] }) => `${id}: ${nodes[0]!.html}`)
}

describe.runIf(isLong && chromiumPath)('the accessibility of the web app (needs LONG=1, and Chromium)', () => {
  let server: RunningServer
  let browser: Browser
  let origin: string
  let id: string

  beforeAll(async () => {
    server = await startServer(embedded)
    ;({ origin } = new URL(server.url))
    browser = await startChromium()
    const client = connect({ url: server.url, actor: 'ada', webSocket: null })
    ;({ id } = await client.createConversation({
      title: 'Garden',
      participants: [
        { actor: 'ada', displayName: 'Ada' },
        { actor: 'bob' },
        { actor: 'fern', kind: 'AGENT', respond: 'MENTIONED', agent: { provider: 'echo' } },
      ],
    }))
    const conversation = client.conversation(id)
    await conversation.append('# Tulips\n\nI put **tulips** along the fence.\n\n```js\nplant("tulip")\n```')
    await conversation.append({ content: 'Only for you, bob.', audience: ['bob'] })
    await conversation.append({
      role: 'ASSISTANT',
      parts: [{ text: 'I look it up.' }, { toolCall: { callId: 'a', name: 'look_up', arguments: { plant: 'tulip' } } }],
    })
    await conversation.remember({ subject: 'Ada', predicate: 'plants', object: 'tulips' })
    await conversation.summarize()
    const input = { name: 'reporting', actor: 'bob', kind: 'AGENT', rights: ['READ'] }
    await client.request('mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { __typename } }', {
      input,
    })
    await client.close()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  it.each(Object.entries(FORMS))('has no serious violation: %s', async (form, options) => {
    const start = await openApp(browser, origin, { ...options, name: null })
    await start.page.getByLabel('Your name').waitFor()
    expect(await violationsIn(start.page)).toEqual([])
    await screenshot(start.page, `web-${form}-enter`)
    await start.close()

    const app = await openApp(browser, origin, options)
    const { page } = app
    expect(await violationsIn(page)).toEqual([])
    await screenshot(page, `web-${form}-welcome`)
    await page.getByRole('button', { name: 'Start an empty conversation' }).click()
    await page.getByRole('button', { name: 'Add an agent' }).click()
    expect(await violationsIn(page)).toEqual([])
    await screenshot(page, `web-${form}-new`)
    await page.keyboard.press('Escape')
    await app.open(id)
    await app.sees('I look it up.')
    expect(await violationsIn(page)).toEqual([])
    await screenshot(page, `web-${form}-conversation`)
    await page.goto(`${origin}/#/c/${id}?panel=participants`)
    await showViews(app, 'What is along the fence?', async (view) => {
      await screenshot(page, `web-${form}-${view.replaceAll(' ', '-').toLowerCase()}`)
      expect(await violationsIn(page), view).toEqual([])
    })
    await app.close()
  })

  it('can be used by keyboard only', async () => {
    const app = await openApp(browser, origin, { name: null })
    const { page } = app
    /** Returns the label or the text of the focused element; an empty text if the page itself has the focus. */
    const focused = () =>
      page.evaluate(() => {
        const { activeElement: element, body } = document
        return element === null || element === body ? '' : (element.getAttribute('aria-label') ?? element.textContent)
      })
    /** Presses Tab until the element with this label has the focus. */
    const tabTo = async (label: string | RegExp) => {
      for (let n = 0; n < 60; n++) {
        if (new RegExp(label).test((await focused()) ?? '')) return
        await page.keyboard.press('Tab')
      }
      throw new Error(`Tab does not reach ${label}.`)
    }
    await page.getByLabel('Your name').waitFor()
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT')
    await page.keyboard.type('kay')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Welcome, kay' }).waitFor()
    await tabTo(/Start an empty conversation/)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.getByRole('textbox', { name: 'Title' }).focus()
    await page.keyboard.type('Keys')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Keys' }).waitFor()
    await tabTo('^Message$')
    for (const text of ['one', 'two', 'three']) {
      await page.keyboard.type(text)
      await page.keyboard.press('Enter')
      await app.sees(text)
    }
    await page.getByText('Sending …').first().waitFor({ state: 'detached' })
    await page.keyboard.press('Shift+Tab')
    await tabTo('^Messages$')
    await page.keyboard.press('ArrowUp')
    /** Returns the text of the focused message. */
    const focusedText = () => page.evaluate(() => document.querySelector('.turn:focus')?.textContent)
    await expect.poll(focusedText).toContain('three')
    await page.keyboard.press('ArrowUp')
    await expect.poll(focusedText).toContain('two')
    await page.keyboard.press('e')
    const field = page.getByLabel('The new text of the message')
    await expect.poll(() => field.inputValue()).toBe('two')
    await page.keyboard.press('End')
    await page.keyboard.type(' edited')
    await page.keyboard.press('Enter')
    await app.sees('two edited')
    await app.close()
  })

  it('returns the focus to the button that opened a dialog', async () => {
    const app = await openApp(browser, origin)
    const { page } = app
    const dialog = page.getByRole('dialog')
    const hasFocus = async (opener: Locator) => {
      await expect.poll(() => opener.evaluate((element) => element === document.activeElement)).toBe(true)
    }
    const start = page.getByRole('button', { name: 'Start an empty conversation' })
    for (const close of [() => page.keyboard.press('Escape'), () => dialog.getByLabel('Close').click()]) {
      await start.click()
      await dialog.waitFor()
      await close()
      await dialog.waitFor({ state: 'detached' })
      await hasFocus(start)
    }
    await app.open(id)
    await app.showPanel('People')
    const menu = page.getByRole('button', { name: 'Actions for Ada' })
    await menu.click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await hasFocus(menu)
    await app.close()
  })
})
